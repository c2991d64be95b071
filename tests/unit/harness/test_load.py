"""Loading well-formed harnesses: what stands in the files is what the harness says."""

from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.harness.digest import digest_folder
from hat.harness.load import load_harness, read_harness
from hat.harness.problems import BadHarness

REPOSITORY = Path(__file__).parents[3]


def test_a_faultless_harness_loads_with_all_its_parts(shop):
    harness = shop.load()
    assert [tool.name for tool in harness.tools][:2] == ["get_info", "find_link"]
    assert [block.id for block in harness.blocks] == ["role", "rules", "skills", "room"]
    assert harness.skill("deals").body.items == ("Give the code.", "Say so when there is none.")
    assert harness.skill_for("price") == "answer"
    assert harness.binding("load_skill").arguments == (("name", "skill"),)
    assert [hook.check for hook in harness.hooks] == ["arguments_valid", "reply_skill_loaded"]
    assert harness.digest == digest_folder(shop.folder)


def test_tools_come_in_the_order_of_their_bindings(shop):
    text = (shop.folder / "harness.yaml").read_text()
    lines = text.split("bindings:\n")[1].splitlines(keepends=True)
    shop.write("harness.yaml", text.split("bindings:\n")[0] + "bindings:\n" + "".join(reversed(lines)))
    assert shop.load().tools[0].name == "load_skill"


def test_windows_line_ends_and_a_byte_order_mark_do_not_change_what_is_read(shop):
    before = shop.load()
    for path in list(shop.folder.rglob("*.*")):
        content = path.read_bytes().replace(b"\n", b"\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + content)
    reading = read_harness(shop.folder)
    assert reading.harness is not None
    assert reading.harness.content_digest == before.content_digest
    assert reading.harness.digest != before.digest
    assert {problem.rule for problem in reading.problems} == {"byte-order-mark"}


def test_text_in_any_language_is_kept_exactly(shop):
    shop.edit("prompts/rules.md", "Never guess.", "绝不猜测价格。 e\u0301t\u00e9 🙂")
    assert shop.load().blocks[1].document.items[1] == "绝不猜测价格。 e\u0301t\u00e9 🙂"


def test_an_item_may_run_over_several_lines(shop):
    shop.edit("prompts/rules.md", "- Never guess.", "- Never\n  guess.")
    assert shop.load().blocks[1].document.items[1] == "Never guess."


def test_the_digest_depends_on_names_and_bytes_of_every_file(shop):
    first = shop.load().digest
    shop.edit("prompts/role.md", "viewers", "viewers ")
    second = shop.load().digest
    shop.edit("prompts/role.md", "viewers ", "viewers")
    assert second != first
    assert shop.load().digest == first
    shop.write("notes.txt", "x")
    assert shop.load().digest not in (first, second)


def test_every_problem_is_found_in_one_reading(shop):
    shop.write("tools/stock.json", "{")
    shop.edit("skills/deals/SKILL.md", "name: deals", "name: Deals")
    shop.edit("harness.yaml", "max_turns: 6", "max_turns: many")
    shop.write("hooks/hooks.json", '{"hooks": {"BeforeTool": []}}')
    with pytest.raises(BadHarness) as caught:
        shop.load()
    found = {(Path(problem.file).name, problem.rule) for problem in caught.value.problems}
    assert {
        ("stock.json", "json-syntax"),
        ("SKILL.md", "illegal-name"),
        ("harness.yaml", "manifest-schema"),
        ("hooks.json", "hooks-schema"),
    } <= found


def test_the_message_names_the_first_problems_and_counts_the_rest(shop):
    for name in ("get_info", "find_link", "stock", "coupon", "quote_shipping", "load_skill"):
        shop.edit_tool(name, description=3)
    with pytest.raises(BadInput) as caught:
        shop.load()
    assert "6 problems" in str(caught.value)
    assert "; and 1 more" in str(caught.value)
    assert "hat harness lint" in str(caught.value)
    assert caught.value.exit_status == 2


def test_one_problem_is_told_with_file_line_and_rule(shop):
    path = shop.edit("harness.yaml", "max_turns: 6", "max_turns: 0")
    line = path.read_text().splitlines().index("  max_turns: 0") + 1
    with pytest.raises(BadInput, match=r"limits\.max_turns") as caught:
        shop.load()
    assert caught.value.where == f"{path}:{line}"
    assert "[manifest-schema]" in caught.value.what


def test_a_missing_folder_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="no such harness folder"):
        load_harness(tmp_path / "nothing")


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_the_shipped_harness_loads(version):
    folder = REPOSITORY / "harness_registry" / "live-shop" / "versions" / version
    assert read_harness(folder, name="live-shop", version=version).problems == ()
