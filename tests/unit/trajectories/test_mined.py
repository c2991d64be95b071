"""Mined questions: without gold, they are trained on only after the judge's clear yes, and never when held out."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from hat.domains.base import get_domain
from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry
from hat.runs.config import parse_config
from hat.runs.harness_archive import publish_harness
from hat.steps import generate
from hat.storage import Store, open_store
from hat.trajectories.judge import read_judgement
from hat.trajectories.mined import MinedQuestion, held_out_questions, mined_tasks, read_mined

REPOSITORY = Path(__file__).resolve().parents[3]


def test_questions_are_read_from_the_store_and_from_another(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    line = json.dumps({"question": "包邮吗", "language": "zh"}, ensure_ascii=False)
    store.put("mined/shop.jsonl", f"{line}\n\n".encode())
    assert read_mined("mined/shop.jsonl", store) == [MinedQuestion(question="包邮吗", language="zh")]
    elsewhere = f"file://{tmp_path / 'store' / 'mined' / 'shop.jsonl'}"
    assert read_mined(elsewhere, open_store(str(tmp_path / "other"))) == read_mined("mined/shop.jsonl", store)


@pytest.mark.parametrize("line", ["{", '{"question": ""}', '{"question": "a", "viewer": "ann"}'])
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    store = open_store(str(tmp_path))
    store.put("q.jsonl", f'{{"question": "a"}}\n{line}\n'.encode())
    with pytest.raises(BadInput, match=r"q\.jsonl:2"):
        read_mined("q.jsonl", store)


def test_held_out_questions_and_duplicates_are_left_out_whatever_their_spelling() -> None:
    domain = get_domain("live_shop")
    held_out = held_out_questions(domain, 5)
    known = domain.sample_tasks("test", 5, 0)[0].question
    asked = [known.upper() + " ?", "A new question", "a new  question!", "Another one"]
    sessions = [domain.sample_session(0, "train")]
    tasks, rejected = mined_tasks([MinedQuestion(question=each) for each in asked], sessions, held_out, 9)
    assert {task.question.casefold().rstrip("!").replace("  ", " ") for task in tasks} == {
        "a new question",
        "another one",
    }
    assert rejected == {"held_out": 1, "duplicate": 1}
    assert all(task.split == "train" and task.source == "mined" and not task.facts for task in tasks)


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ('{"accept": true, "reason": "fine"}', True),
        ('{"accept": false, "reason": "invented a price"}', False),
        ('{"accept": "yes"}', False),
        ('Sure! {"accept": true}', False),
        ("", False),
        ("[true]", False),
    ],
)
def test_only_a_well_formed_yes_is_a_yes(text: str, accepted: bool) -> None:
    assert read_judgement(text).accepted is accepted


@pytest.fixture
def model() -> Iterator[tuple[str, Callable[[Callable[[str], str]], None]]]:
    """An OpenAI-compatible server: it always declines politely, and judges as the test says."""
    judge: list[Callable[[str], str]] = [lambda _: ""]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            first = body["messages"][0]["content"]
            judging = first.startswith("You judge one answer")
            begun = any(message["role"] == "tool" for message in body["messages"])
            load = '<tool_call>{"name": "load_skill", "arguments": {"name": "polite-decline"}}</tool_call>'
            play = "I cannot see that from here, sorry." if begun else load
            said = judge[0](body["messages"][1]["content"]) if judging else play
            text = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]}).encode()
            self.send_response(401 if said == "401" else 200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()

    def judge_by(function: Callable[[str], str]) -> None:
        judge[0] = function

    yield f"http://127.0.0.1:{http.server_address[1]}/v1", judge_by
    http.shutdown()
    http.server_close()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("HAT_RUN_ID", raising=False)
    return open_store(str(tmp_path / "store"))


def mine(
    store: Store, tmp_path: Path, url: str, policy: str = "endpoint"
) -> tuple[list[Any], dict[str, Any]]:
    """What `generate`'s filter makes of two questions."""
    harness = publish_harness(store, Registry(REPOSITORY / "harness_registry"), "live-shop", "1.0.0")
    store.put("mined.jsonl", b'{"question": "When will parcel one come?"}\n{"question": "Is two nicer?"}\n')
    endpoint = {"url": url, "model": "m", "first_wait_seconds": 0.01, "retries": 1}
    section: dict[str, Any] = {"mined_questions": "mined.jsonl", "judge": endpoint, "policy": policy}
    if policy == "endpoint":
        section["endpoint"] = endpoint
    settings = parse_config({"generate": section, "validation": {"held_out_tasks": 2}}, where="test")
    domain = get_domain("live_shop")
    return generate._mined(settings, domain, harness, domain.sample_tasks("train", 4, 0))


def test_what_the_judge_accepts_is_trained_on_and_nothing_else(
    store: Store, tmp_path: Path, model: tuple[str, Callable[[Callable[[str], str]], None]]
) -> None:
    url, judge_by = model
    judge_by(lambda episode: json.dumps({"accept": "parcel one" in episode, "reason": "r"}))
    accepted, counts = mine(store, tmp_path, url)
    assert [each.task.question for each in accepted] == ["When will parcel one come?"]
    assert counts == {"asked": 2, "accepted": 1, "rejected": {"refused_by_judge": 1}, "judge": "m"}


def test_a_judge_that_lets_nobody_in_stops_the_run(
    store: Store, tmp_path: Path, model: tuple[str, Callable[[Callable[[str], str]], None]]
) -> None:
    url, judge_by = model
    judge_by(lambda _: "401")
    with pytest.raises(EnvironmentFailure, match="the judge does not answer: HTTP 401"):
        mine(store, tmp_path, url)


def test_without_a_judge_or_with_the_scripted_expert_mined_questions_are_refused(
    store: Store, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"generate\.judge\.url"):
        mine(store, tmp_path, "")
    with pytest.raises(BadInput, match="scripted expert"):
        mine(store, tmp_path, "http://127.0.0.1:9/v1", policy="expert")


def test_a_judged_trajectory_passes_validation_as_training_data_only(
    store: Store, tmp_path: Path, model: tuple[str, Callable[[Callable[[str], str]], None]]
) -> None:
    from hat.trajectories.validate_rows import trajectory_row

    url, judge_by = model
    judge_by(lambda _: '{"accept": true}')
    accepted, _ = mine(store, tmp_path, url)
    harness = Registry(REPOSITORY / "harness_registry").load("live-shop", "1.0.0")
    row = trajectory_row(accepted[0], 1, harness, {})
    assert (row["accuracy"], row["split"], row["end"]) == (1, "train", "replied")
