"""Harnesses that we did not write: RoTBench's tool lists hold under every gate, BFCL's under G2 and G5."""

import json
import os
import random
from functools import cache
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from hat.augment.config import FAMILIES, TEST_ONLY_FAMILIES, AugmentConfig
from hat.augment.plan import expert_gold
from hat.augment.sampler import sample_state
from hat.augment.verify import CHECKS, Gold, Subject, verify_state
from hat.domains.tool_choice.domain import ToolChoice, tool_list_harness
from hat.domains.tool_choice.functions import import_functions
from hat.evaluation.rotbench import LEVELS, Level, RotbenchRecord, read_rotbench, rotbench_items
from hat.evaluation.run import play_items

ROTBENCH = Path(__file__).resolve().parents[4] / "shared" / "data" / "rotbench"
DUPLICATES: dict[Level, int] = {"clean": 3, "slight": 5, "medium": 5, "heavy": 6, "union": 2}
UNFIT: dict[Level, int] = {"clean": 0, "slight": 1, "medium": 1, "heavy": 0, "union": 0}
"""Records whose gold names an argument that their own tool list does not have."""
RECORDS: dict[Level, int] = {"clean": 105, "slight": 210, "medium": 210, "heavy": 210, "union": 105}

needs_rotbench = pytest.mark.skipif(not ROTBENCH.is_dir(), reason="../shared/data/rotbench is absent")


@cache
def records(level: Level) -> list[RotbenchRecord]:
    return read_rotbench(ROTBENCH, level)


# Families of skills need skills; a published tool list has none.
FOR_TOOLS = tuple(family for family in FAMILIES if family[0] in "TPK")
TOOL_FAMILIES = tuple(family for family in FAMILIES if family in ("T1", "T2", "T3", "T4", "T5", "T6"))


@needs_rotbench
@pytest.mark.parametrize("split", ["train", "test"])
def test_every_gate_holds_for_augmented_rotbench_lists(split: str) -> None:
    families = tuple(f for f in FOR_TOOLS if split == "test" or f not in TEST_ONLY_FAMILIES)
    config = AugmentConfig(original_share=0, families=families)
    for number, record in enumerate(records("clean")):
        gold = expert_gold(record.harness, ToolChoice([record.task]), "test", count=1)
        state = sample_state(record.harness, seed=number, split=split, config=config)
        assert verify_state(state, record.harness, config, gold) == [], record.task.id


@needs_rotbench
@pytest.mark.parametrize("level", LEVELS)
def test_rotbench_records_with_duplicate_tool_names_are_found_and_made_callable(level: Level) -> None:
    read = records(level)
    assert len(read) == RECORDS[level]
    assert sum(record.task is None for record in read) == UNFIT[level]
    assert sum(bool(record.duplicates) for record in read) == DUPLICATES[level]
    for record in read:
        names = [tool.name for tool in record.harness.tools]
        assert len(set(names)) == len(names)
        if record.duplicates:
            assert any("is there before" in note for note in record.notes)


@needs_rotbench
@pytest.mark.parametrize("level", LEVELS)
def test_rotbench_items_are_solved_by_their_gold_and_told_from_a_wrong_call(level: Level) -> None:
    items, domain = rotbench_items(records(level))
    assert len(items) == RECORDS[level] - UNFIT[level]
    assert {item.suite for item in items} == {"tool_prompt_robustness"}
    for policy, right in ((domain.expert(), 1), (_first_tool(), 0)):
        played = play_items(policy, items, domain)
        scores = [domain.score(item.task, played[item.id], item.state.canonical) for item in items]
        assert all(score.accuracy == right for score in scores)


def _first_tool():
    """Calls the first tool that is not acceptable, without arguments or with made-up ones."""
    from hat.agent.calls import Call, render_call
    from hat.agent.policy import answer_requests

    class FirstTool:
        name = "first-tool"

        def play(self, episodes, execute, on_done):
            for episode in episodes:
                right = {name for name, _ in episode.task.slots["acceptable"]}
                tool = next(t for t in episode.state.canonical.tools if t.name not in right)
                arguments = dict.fromkeys(tool.input_schema["required"], "x")
                text = render_call(Call(tool.name, arguments))
                while not episode.done:
                    answer_requests(episode, episode.submit(text), execute)
                    text = "Done."

    return FirstTool()


@needs_rotbench
def test_a_harness_blind_policy_solves_clean_lists_and_none_with_renamed_tools() -> None:
    record = records("clean")[0]
    domain = ToolChoice([record.task])
    config = AugmentConfig(original_share=0, families=("T1",), probability=1, partial_share=0)
    state = sample_state(record.harness, seed=1, split="dev", config=config)
    (item,), _ = rotbench_items([record])
    from dataclasses import replace

    for under, right in ((item, 1), (replace(item, state=state), 0)):
        played = play_items(domain.baseline(), [under], domain)
        assert domain.score(record.task, played[under.id], record.harness).accuracy == right


def bfcl_folder() -> Path | None:
    """The data of the wheel `bfcl-eval`, which is installed without its dependencies; nothing of it is imported."""
    if given := os.environ.get("HAT_BFCL_DATA"):
        return Path(given)
    spec = util.find_spec("bfcl_eval")
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "data" if places else None


BFCL = bfcl_folder()
needs_bfcl = pytest.mark.skipif(
    BFCL is None or not BFCL.is_dir(),
    reason="bfcl-eval is not installed (pip install --no-deps bfcl-eval==2026.3.23)",
)


@cache
def function_sets() -> list[tuple[str, list[dict[str, Any]]]]:
    """(id, functions) of 500 single-turn entries, drawn once, and the largest set, of 37 functions."""
    assert BFCL is not None
    found = []
    for path in sorted(BFCL.glob("BFCL_v4_*.json")):
        if "format_sensitivity" in path.name:  # no entries, but ids of other files' entries
            continue
        for line in path.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            functions = entry.get("function")
            if functions:
                found.append((entry["id"], [functions] if isinstance(functions, dict) else functions))
    assert len(found) > 1900
    largest = max(found, key=lambda entry: len(entry[1]))
    return [*random.Random(0).sample(found, 499), largest]


@needs_bfcl
def test_published_function_sets_hold_names_and_round_trips_under_the_tool_families() -> None:
    config = AugmentConfig(original_share=0, families=TOOL_FAMILIES, probability=1)
    seen: set[str] = set()
    largest = 0
    for number, (id, functions) in enumerate(function_sets()):
        imported = import_functions(functions)
        harness = tool_list_harness("bfcl", imported.tools)
        gold = Gold((), ToolChoice([]), ToolChoice([]).execute)
        # The test split: T5 is legal nowhere else.
        state = sample_state(harness, seed=number, split="test", config=config)
        subject = Subject(state, harness, config, gold)
        for gate in ("G1", "G2", "G5"):
            assert list(CHECKS[gate](subject)) == [], (id, gate)
        largest = max(largest, len(imported.tools))
        said = " ".join(imported.notes)
        seen |= {word for word in ("'dict'", "'tuple'", "'any'", "not legal") if word in said}
    assert largest == 37
    assert seen == {"'dict'", "'tuple'", "'any'", "not legal"}


def test_odd_types_and_names_are_read_and_said() -> None:
    imported = import_functions(
        [
            {
                "name": "math.factorial",
                "description": "n!",
                "parameters": {
                    "type": "dict",
                    "properties": {
                        "n": {"type": "integer"},
                        "point": {"type": "tuple", "items": {"type": "float"}},
                        "extra": {"type": "any"},
                        "options": {"type": "dict", "properties": {"exact": {"type": "Boolean"}}},
                        "code:": {"type": "string"},
                    },
                    "required": ["n", "code:", "gone"],
                },
            },
            {"name": "math.factorial", "parameters": {"type": "dict", "properties": {}}},
        ]
    )
    first, second = imported.tools
    assert (first.name, second.name) == ("math_factorial", "math_factorial_2")
    assert imported.named("math.factorial") == (first, second)
    assert first.input_schema == {
        "type": "object",
        "properties": {
            "n": {"type": "integer"},
            "point": {"type": "array", "items": {"type": "number"}},
            "extra": {},
            "options": {"type": "object", "properties": {"exact": {"type": "boolean"}}, "required": []},
            "code": {"type": "string"},
        },
        "required": ["n", "code"],
    }
    assert imported.arguments == {("math_factorial", "code"): "code:"}
    assert len(imported.notes) == 10
