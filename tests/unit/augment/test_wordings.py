"""Wordings by a strong model: asked once, checked like those written by hand, and proven by the gates."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hat.agent.policies.config import EndpointConfig
from hat.agent.policies.endpoint import EndpointPolicy
from hat.augment.plan import expert_gold
from hat.augment.state import HarnessState
from hat.augment.verify import Gold
from hat.augment.wordings.ask import read_list
from hat.augment.wordings.checks import problems
from hat.augment.wordings.make import as_document, make_wordings, split_of
from hat.augment.wordings.texts import Text, texts_of, with_text
from hat.domains.base import get_domain
from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry
from pipelines.cli.main import app

REGISTRY = Path(__file__).resolve().parents[3] / "harness_registry"
HARNESS = Registry(REGISTRY).load("live-shop", "1.0.0")
TEXTS = {(text.bank, text.key): text for text in texts_of(HARNESS)}
GOOD = {
    "Stock left of a link, or sold out": ["Whether a link is sold out, or its stock left", "Stock of a link"],
    "Load a reply skill with `@load_skill` first.": ["First use `@load_skill` to load a reply skill."],
}


@pytest.fixture(scope="module")
def gold() -> Gold:
    return expert_gold(HARNESS, get_domain("live_shop"), "train", count=13)


@contextmanager
def server(reply: Callable[[str], str | int]) -> Iterator[tuple[str, list[str]]]:
    """A real endpoint; ``reply`` gives the text or the HTTP status for a question. Yields its URL and the questions."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            assert "tools" not in body
            asked.append(body["messages"][-1]["content"])
            answer = reply(asked[-1])
            status = answer if isinstance(answer, int) else 200
            message = {"choices": [{"message": {"role": "assistant", "content": answer}}]}
            payload = json.dumps(message).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *arguments: Any) -> None:
            pass

    running = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=running.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{running.server_port}/v1", asked
    finally:
        running.shutdown()
        running.server_close()
        thread.join()


def listed(question: str) -> str:
    """Good wordings where there are some, and the text itself elsewhere."""
    words = question.split("\n")[1]
    return json.dumps(GOOD.get(words, [words]))


def made_with(url: str, gold: Gold, cache: Path):
    policy = EndpointPolicy(EndpointConfig(url=url, model="strong", retries=0, first_wait_seconds=0.01))
    return make_wordings(HARNESS, gold, count=2, model="strong", ask_model=policy.reply_to, cache=cache)


def test_what_passes_is_kept_in_the_layout_of_the_banks_and_the_rest_with_its_reasons(
    tmp_path: Path, gold: Gold
) -> None:
    with server(listed) as (url, asked):
        made = made_with(url, gold, tmp_path)
    assert len(asked) == len(TEXTS)
    document = as_document(made, HARNESS, "strong")
    stock = document["banks"]["tool_descriptions"]["check_stock"]
    assert sorted(words for of_split in stock.values() for words in of_split) == sorted(
        GOOD["Stock left of a link, or sold out"]
    )
    hook = document["banks"]["hook_messages"]["reply_skill_loaded"]
    assert [words for of_split in hook.values() for words in of_split] == [
        "First use `@load_skill` to load a reply skill."
    ]
    assert len(document["refused"]) == len(TEXTS) - 2
    assert {problem for entry in document["refused"] for problem in entry["problems"]} == {
        "is the text itself"
    }


def test_a_question_is_asked_once_and_one_without_an_answer_again(tmp_path: Path, gold: Gold) -> None:
    failing = "Read a skill before you reply"

    def fails_once(question: str) -> str | int:
        return 400 if failing in question.split("\n")[1] else listed(question)

    with server(fails_once) as (url, asked):
        first = made_with(url, gold, tmp_path)
        assert len(asked) == len(TEXTS)
    with server(listed) as (url, asked):
        second = made_with(url, gold, tmp_path)
        assert [question.split("\n")[1] for question in asked] == [failing]
    assert [one for one in second if one.text.key != "load_skill"] == [
        one for one in first if one.text.key != "load_skill"
    ]
    with server(lambda question: 401) as (url, asked):
        assert made_with(url, gold, tmp_path) == second
        assert asked == []


def test_an_endpoint_that_refuses_stops_the_work(tmp_path: Path, gold: Gold) -> None:
    with server(lambda question: 401) as (url, _), pytest.raises(EnvironmentFailure, match="401"):
        made_with(url, gold, tmp_path)


def test_an_answer_that_is_no_list_is_refused_and_said_so(tmp_path: Path, gold: Gold) -> None:
    with server(lambda question: "Sure! Here you go.") as (url, _):
        made = made_with(url, gold, tmp_path)
    assert {one.problems for one in made} == {("the answer is no JSON list of strings",)}
    assert read_list('```json\n["a"]\n```') == ["a"]
    assert read_list('["a", 1]') is None


@pytest.mark.parametrize(
    ("bank", "key", "wording", "problem"),
    [
        ("tool_descriptions", "check_stock", "Stock left of a link, or sold out", "itself"),
        ("tool_descriptions", "check_stock", "Stock left\nof a link", "line ends"),
        ("tool_descriptions", "check_stock", "Weather of the day", "shares no word"),
        ("tool_descriptions", "check_stock", "Price and details of a link left", "nearer"),
        ("tool_descriptions", "check_stock", "Stock left of 3 links, or sold out", "numbers"),
        ("tool_descriptions", "check_stock", "Stock not left of a link", "negates"),
        ("tool_descriptions", "check_stock", "Stock left, like `@find_coupon`", "code spans"),
        ("tool_descriptions", "check_stock", "Stock left, by check_stock", "running text"),
        ("tool_descriptions", "check_stock", "Stock left of a {link}", "placeholder"),
        ("tool_descriptions", "check_stock", "Stock left <|im_end|>", "chat format"),
        ("tool_descriptions", "check_stock", "Stock left " * 12, "spaces around"),
        ("tool_descriptions", "check_stock", "Stock left of a link " * 6 + "now", "longer"),
        ("hook_messages", "reply_length", "The reply is too long. Shorten it.", "placeholders"),
        ("hook_messages", "reply_skill_loaded", "Load a reply skill first.", "code spans"),
        ("hook_messages", "reply_skill_loaded", "`@load_skill` a reply `skill first.", "backticks"),
    ],
)
def test_a_wording_that_loses_or_adds_something_is_refused(
    bank: str, key: str, wording: str, problem: str
) -> None:
    text = TEXTS[bank, key]  # type: ignore[index]
    others = [other for other in TEXTS.values() if other.bank == bank]
    assert any(problem in found for found in problems(wording, text, others, HARNESS))


def test_a_wording_under_which_a_gate_fails_is_refused(tmp_path: Path, gold: Gold) -> None:
    first, *others = gold.trajectories
    spoiled = replace(gold, trajectories=[replace(first, reply="Something else."), *others])
    with server(listed) as (url, _):
        made = made_with(url, spoiled, tmp_path)
    proven = [one for one in made if one.problems != ("is the text itself",)]
    assert len(proven) == 3
    assert all("gate G3" in one.problems[0] for one in proven)


def test_every_text_can_be_put_back_and_stands_under_every_version() -> None:
    for version in ("1.0.0", "1.1.0"):
        harness = Registry(REGISTRY).load("live-shop", version)
        for text in texts_of(harness):
            again = with_text(HarnessState.original(harness), text).canonical
            assert again == harness
    newer = Registry(REGISTRY).load("live-shop", "1.1.0")
    state = with_text(HarnessState.original(newer), Text("tool_descriptions", "find_coupon", "Codes"))
    assert state.canonical.tool("get_deal").description == "Codes"


def test_wordings_are_divided_and_none_moves() -> None:
    words = [f"wording {number}" for number in range(400)]
    counts = {split: sum(split_of(one) == split for one in words) for split in ("train", "dev", "test")}
    assert 160 < counts["train"] < 240
    assert min(counts["dev"], counts["test"]) > 60


def test_the_command_writes_the_file_and_refuses_what_is_no_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    out = tmp_path / "wordings.json"
    arguments = [
        "reword",
        "live-shop@1.0.0",
        "--model",
        "strong",
        "--out",
        str(out),
        "--registry",
        str(REGISTRY),
    ]
    with server(listed) as (url, _):
        done = CliRunner().invoke(app, [*arguments, "--url", url])
    assert done.exit_code == 0, done.output
    assert "tool_descriptions: 2 kept" in done.output
    assert json.loads(out.read_text(encoding="utf-8"))["harness"] == "live-shop@1.0.0"
    out.write_text("[1]", encoding="utf-8")
    refused = CliRunner().invoke(app, [*arguments, "--url", url])
    assert isinstance(refused.exception, BadInput)
    assert "holds no wordings of live-shop@1.0.0" in str(refused.exception)
    assert out.read_text(encoding="utf-8") == "[1]"
    refused = CliRunner().invoke(app, [*arguments, "--url", "ftp://x"])
    assert isinstance(refused.exception, BadInput)
