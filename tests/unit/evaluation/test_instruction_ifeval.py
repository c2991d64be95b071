"""Which instruction-following suite runs, and IFEval's own prompts scored by lm-eval's checkers."""

import json
import socket
from importlib.util import find_spec
from pathlib import Path

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.evaluation import ifeval
from hat.evaluation.instruction_following import floors_of

IFEVAL = Path(__file__).parents[4] / "shared" / "data" / "ifeval" / "input_data.jsonl"

needs_checkers = pytest.mark.skipif(
    find_spec("lm_eval") is None, reason="lm-eval is not installed (extra `eval`)"
)
needs_prompts = pytest.mark.skipif(not IFEVAL.exists(), reason="IFEval's prompts are not on this machine")


@pytest.fixture(autouse=True)
def no_prompts_from_outside(monkeypatch):
    monkeypatch.delenv(ifeval.PROMPTS_VARIABLE, raising=False)


@pytest.fixture
def no_network(monkeypatch):
    def refuse(*arguments, **keywords):
        raise AssertionError("a network connection was tried")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)


def answer_ok(prompts):
    return ["ok"] * len(prompts)


def write_prompts(path, *rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def row(key=1, names=("punctuation:no_comma",), kwargs=({},), prompt="Say it without commas."):
    return {"key": key, "prompt": prompt, "instruction_id_list": list(names), "kwargs": list(kwargs)}


def test_without_ifeval_prompts_our_own_suite_runs_under_its_own_name(no_network):
    document = ifeval.run_instruction_following(answer_ok, 30, 0)
    assert (document["suite"], document["n"], document["excluded"]) == ("instruction_following", 30, [])
    assert document["synthetic"] is True


def test_the_same_seed_draws_the_same_prompts_and_another_seed_others():
    def ids(seed):
        return [item["id"] for item in ifeval.run_instruction_following(answer_ok, 30, seed)["items"]]

    assert ids(1) == ids(1) != ids(2)
    assert len(set(ids(1))) == 30


def test_asking_for_more_prompts_than_there_are_takes_all_and_says_so():
    document = ifeval.run_instruction_following(answer_ok, 10_000, 0)
    assert document["requested"] == 10_000
    assert document["n"] == document["available"] < 100


def test_a_reply_for_every_prompt_is_required():
    with pytest.raises(BadInput, match="0 replies to 3 prompts"):
        ifeval.run_instruction_following(lambda prompts: [], 3, 0)


def test_no_prompts_is_bad_input():
    with pytest.raises(BadInput):
        ifeval.run_instruction_following(answer_ok, 0, 0)


@needs_checkers
def test_ifeval_prompts_are_judged_by_lm_eval_without_the_network(tmp_path, no_network, monkeypatch):
    path = write_prompts(
        tmp_path / "input_data.jsonl",
        row(1, kwargs=[{"num_words": None}]),
        row(
            2,
            ["length_constraints:number_words"],
            [{"relation": "at least", "num_words": 3}],
            "Three words or more.",
        ),
    )
    monkeypatch.setenv(ifeval.PROMPTS_VARIABLE, str(path))
    document = ifeval.run_instruction_following(answer_ok, 5, 0)
    assert document["suite"] == "ifeval"
    assert {item["id"]: item["correct"] for item in document["items"]} == {"ifeval-1": 1, "ifeval-2": 0}
    assert document["checkers"].startswith("lm-eval ")


@needs_checkers
def test_prompts_whose_checkers_lack_data_are_left_out_by_name(tmp_path):
    path = write_prompts(
        tmp_path / "input_data.jsonl",
        row(1),
        row(2, ["length_constraints:number_sentences"], [{"relation": "at least", "num_sentences": 2}]),
        row(
            3,
            ["change_case:capital_word_frequency"],
            [{"capital_relation": "at least", "capital_frequency": 2}],
        ),
    )
    items, excluded = ifeval.ifeval_items(path, punkt=False)
    assert [item.id for item in items] == ["ifeval-1"]
    assert excluded[0]["keys"] == ["2", "3"]
    assert set(excluded[0]["checkers"]) == set(ifeval.NEED_PUNKT)
    assert len(ifeval.ifeval_items(path, punkt=True)[0]) == 3


@needs_checkers
def test_the_checkers_listed_as_needing_data_are_those_that_fail_without_it(monkeypatch):
    from lm_eval.tasks.ifeval import instructions_util

    registry = ifeval._checkers()

    def absent(*arguments, **keywords):
        raise LookupError("punkt_tab")

    monkeypatch.setattr(instructions_util, "_get_sentence_tokenizer", absent)
    monkeypatch.setattr(instructions_util.nltk, "word_tokenize", absent)
    arguments = {
        "combination:repeat_prompt": {"prompt_to_repeat": "a"},
        "length_constraints:nth_paragraph_first_word": {
            "num_paragraphs": 1,
            "nth_paragraph": 1,
            "first_word": "a",
        },
    }
    failed = set()
    for name, checker in registry.items():
        instruction = checker(name)
        instruction.build_description(**arguments.get(name, {}))
        try:
            instruction.check_following("One sentence here. And *another* one, in PLAIN English words.")
        except LookupError:
            failed.add(name)
    assert failed == set(ifeval.NEED_PUNKT)


@needs_checkers
@pytest.mark.parametrize(
    "bad",
    [
        "{",
        json.dumps(row(names=["no:such_checker"])),
        json.dumps(row(kwargs=[])),
        json.dumps({"key": 1}),
        json.dumps([1]),
    ],
)
def test_a_malformed_line_is_named(tmp_path, bad):
    path = tmp_path / "input_data.jsonl"
    path.write_text(json.dumps(row()) + "\n" + bad + "\n", encoding="utf-8")
    with pytest.raises(BadInput, match=r"input_data\.jsonl:2"):
        ifeval.ifeval_items(path, punkt=True)


@needs_checkers
def test_an_absent_file_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="nowhere"):
        ifeval.run_instruction_following(answer_ok, 1, 0, tmp_path / "nowhere.jsonl")


def test_an_unreachable_hub_is_a_failure_of_the_surroundings(monkeypatch, tmp_path):
    huggingface_hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(EnvironmentFailure, match="cannot be fetched"):
        ifeval.run_instruction_following(answer_ok, 1, 0, ifeval.HUB)


@needs_checkers
@needs_prompts
def test_the_published_prompts_load_with_the_inconsistent_one_left_out():
    items, excluded = ifeval.ifeval_items(IFEVAL, punkt=True)
    assert len(items) == 540
    assert excluded[0]["keys"] == ["1174"]


@needs_checkers
@needs_prompts
def test_echoing_the_prompt_is_the_highest_floor_of_ifeval():
    items, _ = ifeval.ifeval_items(IFEVAL, punkt=False)
    floors = floors_of(items)
    assert floors["empty reply"].prompts == 0
    assert max(floors, key=lambda name: floors[name].prompts) == "the prompt again"
    assert 0.2 < floors["the prompt again"].prompts < 0.3
