"""`hat harness`: what people and scripts get on stdout, and the exit status."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hat.errors import BadInput
from pipelines.cli.harness import app

REPOSITORY = Path(__file__).parents[3]


def hat_harness(shop, *arguments, status=0):
    result = CliRunner().invoke(app, [*arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    return result.output


@pytest.fixture(autouse=True)
def registry(shop, monkeypatch):
    monkeypatch.setenv("HAT_REGISTRY", str(shop.root))


def test_list_names_every_version(shop, next_version):
    lines = hat_harness(shop, "list").splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["shop", "1.0.0", "-", "no"],
        ["shop", "1.1.0", "1.0.0", "no"],
    ]
    rows = json.loads(hat_harness(shop, "list", "--json"))
    assert [(row["harness"], row["version"], row["locked"]) for row in rows] == [
        ("shop", "1.0.0", False),
        ("shop", "1.1.0", False),
    ]


def test_show_prints_the_prompt_filled_in_the_tools_and_the_skills(shop):
    text = hat_harness(shop, "show", "shop")
    assert "# Rules" in text
    assert "{{" not in text
    assert '"name": "get_info"' in text
    assert "# About two" in text
    document = json.loads(hat_harness(shop, "show", "shop@1.0.0", "--json"))
    assert document["digest"] == shop.load().digest
    assert len(document["tools"]) == 6


def test_lint_succeeds_without_errors_and_fails_with_one(shop):
    assert "1 info" in hat_harness(shop, "lint", str(shop.folder))
    path = shop.edit("prompts/rules.md", "`get_info`", "`get_infos`")
    text = hat_harness(shop, "lint", "shop@1.0.0", status=1)
    assert f"{path}:5: error: " in text
    assert "[unknown-symbol]" in text


def test_lint_prints_json_of_the_agreed_form_and_nothing_else(shop):
    path = shop.edit("prompts/rules.md", "`get_info`", "`get_infos`")
    document = json.loads(hat_harness(shop, "lint", str(path), "--json", status=1))
    assert document["path"] == str(path)
    assert [set(problem) for problem in document["problems"]] == [
        {"rule", "severity", "file", "line", "message"}
    ]
    assert document["problems"][0]["file"] == str(path)


def test_lint_explains_a_rule_and_suggests_one_for_a_typo(shop):
    assert "running text" in hat_harness(shop, "lint", "--explain", "pinned-symbol")
    with pytest.raises(BadInput, match="Did you mean 'pinned-symbol'"):
        hat_harness(shop, "lint", "--explain", "pined-symbol")


@pytest.mark.parametrize("target", ["nothing", "shop@9.9.9", "/nowhere/at/all"])
def test_lint_of_nothing_is_bad_input(shop, target):
    with pytest.raises(BadInput, match="no such file or folder"):
        hat_harness(shop, "lint", target)


def test_diff_prints_each_form(shop, next_version):
    next_version.edit("harness.yaml", "max_turns: 6", "max_turns: 5")
    next_version.edit("prompts/rules.md", "Never guess.", "Never ever guess [x].")
    text = hat_harness(shop, "diff", "shop@1.0.0", "shop@1.1.0")
    assert "limit max_turns: 6 to 5" in text
    assert "+ Never ever guess [x]." in text
    document = json.loads(hat_harness(shop, "diff", "shop@1.0.0", str(next_version.folder), "--json"))
    assert [change["kind"] for change in document["changes"]] == ["reworded", "changed"]
    assert hat_harness(shop, "diff", "shop@1.0.0", "shop", "--markdown").startswith(
        "### shop@1.0.0 to shop@1.1.0"
    )


def test_import_and_export_go_there_and_back(shop, tmp_path):
    tool = {"name": "find", "description": "Find it", "inputSchema": {"type": "object"}}
    source, back = tmp_path / "list.json", tmp_path / "back.json"
    source.write_text(json.dumps({"tools": [tool]}))
    assert "hat harness lint" in hat_harness(shop, "import", str(source), "--as", "found@1.0.0")
    assert "a tools/list result" in hat_harness(shop, "export", "found@1.0.0", "--out", str(back))
    assert json.loads(back.read_text()) == {"tools": [tool]}
    with pytest.raises(BadInput, match="has no version"):
        hat_harness(shop, "import", str(source), "--as", "found")
    with pytest.raises(BadInput, match="was not imported"):
        hat_harness(shop, "export", "shop@1.0.0", "--out", str(tmp_path / "other"))


def test_an_import_of_one_page_of_tools_says_that_more_follow(shop, tmp_path):
    source = tmp_path / "page.json"
    tool = {"name": "find", "description": "Find it", "inputSchema": {"type": "object"}}
    source.write_text(json.dumps({"tools": [tool], "nextCursor": "p2"}))
    said = hat_harness(shop, "import", str(source), "--as", "found@1.0.0")
    assert "more tools follow on a page that is not here" in said


def test_diff_writes_a_page(shop, next_version, tmp_path):
    next_version.edit("harness.yaml", "max_turns: 6", "max_turns: 5")
    page = tmp_path / "diff.html"
    assert "[behaviour-changing]" in hat_harness(
        shop, "diff", "shop@1.0.0", "shop@1.1.0", "--html", str(page)
    )
    assert page.read_text().startswith("<!doctype html>")


def test_new_edit_lock_and_check_is_the_way_of_a_harness_commit(shop, tmp_path):
    def git(*arguments):
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    hat_harness(shop, "lock", "shop")
    git("init", "-q", "-b", "main")
    git("add", "-A")
    git("commit", "-q", "-m", "base")
    hat_harness(shop, "new", "shop", "1.0.1", "--from", "1.0.0")
    assert "not-locked" in hat_harness(shop, "check", "--base", "main", status=1)
    manifest = shop.folder.parent / "1.0.1" / "harness.yaml"
    text = manifest.read_text()
    manifest.write_text(text.replace(text.splitlines()[4], "changed: Shorter replies."))
    assert "locked 1.0.1; 1 locked before" in hat_harness(shop, "lock", "shop")
    text = hat_harness(shop, "check", "--base", "main")
    assert "no problems" in text
    assert "shop@1.0.0 to shop@1.0.1: no difference" in text
    assert "`hat run shop@1.0.1` screens" in text
    (shop.folder.parent / "1.0.1" / "prompts" / "rules.md").write_text(
        "# Rules\n\n- Use `get_info` for prices.\n"
    )
    document = json.loads(hat_harness(shop, "check", "--base", "main", "--json", status=1))
    assert "locked-digest" in {problem["rule"] for problem in document["problems"]}
    lock = shop.root / "shop" / "versions.lock"
    lock.write_text(
        "".join(line for line in lock.read_text().splitlines(keepends=True) if "1.0.1" not in line)
    )
    hat_harness(shop, "lock", "shop")
    (version,) = json.loads(hat_harness(shop, "check", "--base", "main", "--json"))["versions"]
    assert (version["version"], version["parent"], version["risk"]) == (
        "1.0.1",
        "1.0.0",
        "behaviour-changing",
    )
    assert "**behaviour-changing**: text removed" in hat_harness(
        shop, "check", "--base", "main", "--markdown"
    )


def test_a_check_promises_no_run_of_an_imported_harness(shop, tmp_path):
    hat_harness(shop, "lock", "shop")
    for arguments in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)
    source = tmp_path / "list.json"
    tool = {"name": "find", "description": "Find it", "inputSchema": {"type": "object"}}
    source.write_text(json.dumps({"tools": [tool]}))
    hat_harness(shop, "import", str(source), "--as", "found@1.0.0")
    hat_harness(shop, "lock", "found")
    text = hat_harness(shop, "check", "--base", "main")
    assert "no run: `hat eval MODEL --harness found@1.0.0`" in " ".join(text.split())


def test_starting_a_harness_command_imports_no_heavy_library():
    code = (
        "import sys; from typer.testing import CliRunner; from pipelines.cli.harness import app\n"
        "result = CliRunner().invoke(app, sys.argv[1:]); assert result.exit_code == 0, result.output\n"
        "heavy = {'torch', 'transformers', 'kfp', 'kubernetes', 'boto3', 'datasets', 'numpy', 'pandas'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    target = str(REPOSITORY / "harness_registry" / "live-shop" / "versions" / "1.1.0")
    for arguments in (["lint", target], ["show", target], ["diff", target, target]):
        result = subprocess.run(
            [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("command", ["show", "lint", "export"])
@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("shpo", "no harness named 'shpo'.*Known: shop"),
        ("shop@1.0.7", "shop has no version 1.0.7.*Known: 1.0.0, 1.1.0"),
        ("shop@1.1", "'shop@1.1' is not a harness.*Did you mean '1.1.0'[?] Known: 1.0.0, 1.1.0"),
        ("Shop@1.1.0", "'Shop@1.1.0' is not a harness.*Known: shop"),
    ],
)
def test_an_unknown_reference_says_what_there_is(shop, next_version, command, reference, said):
    more = ["--out", "somewhere"] if command == "export" else []
    with pytest.raises(BadInput, match=said):
        hat_harness(shop, command, reference, *more)


def test_a_path_that_is_not_there_is_no_harness(shop):
    with pytest.raises(BadInput) as caught:
        hat_harness(shop, "lint", "elsewhere/SKILL.md")
    assert str(caught.value) == "elsewhere/SKILL.md: no such file or folder"


@pytest.mark.parametrize("command", [["diff", "shop@1.0.0", "shop@1.1.0"], ["check", "--base", "main"]])
def test_two_formats_for_standard_output_are_refused(shop, next_version, command):
    with pytest.raises(BadInput, match="--json and --markdown"):
        hat_harness(shop, *command, "--json", "--markdown")


def test_a_page_is_written_beside_either_format(shop, next_version, tmp_path):
    for form in ("--json", "--markdown"):
        page = tmp_path / f"{form}.html"
        assert hat_harness(shop, "diff", "shop@1.0.0", "shop@1.1.0", form, "--html", str(page))
        assert page.read_text().startswith("<!doctype html>")


def test_a_rule_and_a_path_are_not_linted_together(shop):
    with pytest.raises(BadInput, match="Give one of the two"):
        hat_harness(shop, "lint", "shop@1.0.0", "--explain", "pinned-symbol")
