"""The hand-written instruction suite: its checkers, its prompts and its floors."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.errors import BadInput
from hat.evaluation.instruction_following import (
    FLOORS,
    PROMPTS_FILE,
    accuracy_of,
    floors_of,
    own_items,
    score_replies,
    suite_document,
)
from hat.evaluation.instruction_following_checks import CHECKS, followed, sentences_of, words_of

ITEMS = own_items()
EXAMPLES = [json.loads(line)["example"] for line in PROMPTS_FILE.read_text(encoding="utf-8").splitlines()]


def test_there_are_at_least_sixty_different_prompts():
    assert len({item.prompt for item in ITEMS}) == len({item.id for item in ITEMS}) == len(ITEMS) >= 60


@pytest.mark.parametrize(
    ("item", "example"), list(zip(ITEMS, EXAMPLES, strict=True)), ids=[item.id for item in ITEMS]
)
def test_every_prompt_can_be_satisfied(item, example):
    (result,) = score_replies([item], [example])
    assert result["correct"] == 1, result["followed"]


def test_every_checker_is_used_and_rejects_some_text_of_the_suite():
    texts = [*EXAMPLES, *(item.prompt for item in ITEMS)]
    for check in CHECKS:
        using = [item for item in ITEMS if check in item.checks]
        assert using, check
        place = using[0].checks.index(check)
        assert not all(using[0].judge(text)[place] for text in texts), check


def test_no_floor_reaches_a_tenth_of_the_prompts():
    floors = floors_of(ITEMS)
    assert set(floors) == set(FLOORS)
    assert floors["empty reply"].prompts == floors["empty reply"].instructions == 0
    assert all(floor.prompts < 0.1 for floor in floors.values())


@pytest.mark.parametrize("check", CHECKS)
def test_an_empty_reply_follows_nothing(check):
    item = next(item for item in ITEMS if check in item.checks)
    assert not any(item.judge(" \n"))


@pytest.mark.parametrize(
    ("check", "parameters", "good", "bad"),
    [
        ("words", {"low": 2, "high": 3}, "well-known don't", "one"),
        ("words", {"low": 2, "high": 3}, "one two three", "one two three four"),
        ("sentences", {"low": 2, "high": 2}, 'He said "go!" Then he left', "Version 3.5 is out."),
        ("lower_case", {}, "all low 1.", "one Big"),
        ("upper_case", {}, "ALL HIGH 1.", "ONE small"),
        ("lower_case", {}, "a", "1 2 3"),
        ("include", {"texts": ["cat"]}, "The Cat.", "concatenate"),
        ("exclude", {"texts": ["cat"]}, "concatenate", "a CAT!"),
        ("repeat", {"text": "red", "count": 2}, "red, Red", "red red red"),
        ("bullets", {"count": 2}, "- a\n* b", "- a\n-b"),
        ("numbered", {"count": 2}, "1. a\n2) b", "1. a\n3. b"),
        ("starts_with", {"text": "Dear"}, "Dear me", "dear me"),
        ("ends_with", {"text": "Bye."}, "So. Bye.", "Bye. So"),
        ("one_of", {"options": ["Yes."]}, "Yes.", "Yes. Sure."),
        ("quoted", {}, '"all of it"', '"one" and "two"'),
        ("json_object", {"keys": ["a"]}, '{"a": 1}', '```json\n{"a": 1}\n```'),
        ("json_object", {"keys": ["a"]}, '{"a": 1}', '{"a": 1, "b": 2}'),
        ("json_list", {"count": 1}, '["a"]', "[1]"),
        ("no_commas", {}, "none", "直播间，特价"),
        ("no_digits", {}, "none", "room ٣"),
        ("title", {}, "<<A walk>>\ntext", "text <<A walk>> text"),
        ("placeholders", {"low": 1}, "Dear [name]", "Dear []"),
        ("highlights", {"count": 1}, "a *b c* d", "a **b** d"),
        ("highlights", {"count": 1}, "* item with *one*", "* item"),
        ("postscript", {}, "text\nP.S. more", "P.S. more"),
        ("two_answers", {}, "a ****** b", "a ****** a"),
        ("paragraphs", {"count": 2}, "a\n\n\nb", "a\nb"),
        ("lines", {"count": 2}, "a\n\nb", "a b"),
        ("capital_words", {"low": 1}, "a BIG one", "A one"),
        ("without_letter", {"letter": "e"}, "a dog", "Every dog"),
    ],
)
def test_a_checker_accepts_what_follows_and_rejects_what_does_not(check, parameters, good, bad):
    assert followed(check, good, parameters)
    assert not followed(check, bad, parameters)


@given(st.text())
def test_checkers_judge_any_reply_without_an_error(reply):
    for item in ITEMS:
        assert len(item.judge(reply)) == len(item.checks)


@given(st.lists(st.sampled_from(["one", "two", "it's", "re-do"]), min_size=1, max_size=6))
def test_counting_agrees_with_how_the_text_was_built(parts):
    assert words_of(" ".join(parts)) == parts
    assert len(sentences_of(" ".join(f"{part}." for part in parts))) == len(parts)


def test_a_suite_document_holds_scores_floors_and_every_item():
    items, replies = ITEMS[:4], [*EXAMPLES[:3], "ok"]
    document = suite_document("instruction_following", items, replies, token_cap=64)
    assert (document["n"], document["accuracy"], document["token_cap"]) == (4, 0.75, 64)
    assert document["accuracy_ci"][0] < 0.75 < document["accuracy_ci"][1]
    assert [item["correct"] for item in document["items"]] == [1, 1, 1, 0]
    assert document["items"][0]["task_digest"] == items[0].task_digest
    assert document["baseline_accuracy"] == max(floor["accuracy"] for floor in document["floors"].values())
    json.dumps(document, allow_nan=False)


def test_instruction_accuracy_counts_every_instruction_once():
    (three,) = [item for item in ITEMS if item.prompt.startswith("Name three rivers")]
    results = score_replies([three], ["Nile\nRhine\nMekong"])
    assert accuracy_of(results).prompts == 0
    assert accuracy_of(results).instructions == pytest.approx(2 / 3)


def test_a_malformed_prompt_line_is_named(tmp_path):
    path = tmp_path / "prompts.jsonl"
    path.write_text('{"id": "a", "prompt": "b", "instructions": [{"check": "words", "least": 3}]}\n')
    with pytest.raises(BadInput, match=r"prompts\.jsonl:1"):
        own_items(path)
