"""The full suites: what each changes, how its items are drawn, proven and summed up."""

import json
from collections import Counter
from pathlib import Path

import pytest

from hat.domains.base import Domain, get_domain
from hat.errors import BadInput
from hat.evaluation.full_suites.noise import with_name_noise
from hat.evaluation.full_suites.registry import FULL_SUITES, build_suite
from hat.evaluation.full_suites.robustness import COMPONENTS
from hat.evaluation.full_suites.run import run_suites
from hat.evaluation.full_suites.settings import SuiteSettings
from hat.evaluation.full_suites.summary import macro_summary, verdict_flips, worst_state
from hat.evaluation.full_suites.variants import LAYOUT, NAMES, PAIRED, TEST_ONLY
from hat.evaluation.suites import build_suites
from hat.harness.model import Harness
from hat.harness.registry import Registry

REGISTRY = Path(__file__).parents[3] / "harness_registry"
VARIANTS = ("names_only", "layout_only", "combined")
DEV = SuiteSettings()
TEST = SuiteSettings(split="test")
FEW = SuiteSettings(items=8)


@pytest.fixture(scope="module")
def harness() -> Harness:
    return Registry(REGISTRY).load("live-shop", "1.0.0")


@pytest.fixture(scope="module")
def domain() -> Domain:
    return get_domain("live_shop")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Uses of the test split are logged here."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize(("name", "split"), [(n, s) for n in VARIANTS for s in ("dev", "test")])
def test_a_variant_has_200_items_from_50_states_with_4_tasks_of_one_session_each(
    harness, domain, name, split
):
    items = build_suite(name, harness, domain, SuiteSettings(split=split)).items
    states = Counter(item.state.digest for item in items)
    assert (len(items), len(states), set(states.values())) == (200, 50, {4})
    assert {item.task.split for item in items} == {item.state.split for item in items} == {split}
    sessions = {(item.state.digest, tuple(sorted(item.task.session.items()))) for item in items}
    assert len(sessions) == 50


def test_names_only_changes_names_and_layout_only_everything_but_names(harness, domain):
    names, layout, both = (build_suite(name, harness, domain, FEW).items for name in VARIANTS)
    for item in names:
        assert set(item.state.families) == set(NAMES)
        assert item.state.canonical.layout == harness.layout
        assert item.state.canonical.blocks == harness.blocks
        assert not {t.name for t in item.state.presented.tools} & {t.name for t in harness.tools}
    for item in layout:
        assert set(item.state.families) == set(LAYOUT)
        assert item.state.canonical.layout in ("plain", "json")
        assert {t.name for t in item.state.presented.tools} == {t.name for t in harness.tools}
        assert {s.name for s in item.state.presented.skills} == {s.name for s in harness.skills}
    assert all(set(item.state.families) == {*NAMES, *LAYOUT} for item in both)


def test_paired_suites_ask_the_same_questions_under_other_states(harness, domain):
    of = {name: build_suite(name, harness, domain, DEV).items for name in PAIRED}
    questions = {name: [item.task.digest for item in items] for name, items in of.items()}
    assert len(set(questions["combined"])) == 200
    assert all(asked == questions["combined"] for asked in questions.values())
    states = [{item.state.digest for item in items} for items in of.values()]
    assert len(set.union(*states)) == 151


def test_fewer_items_are_the_first_of_more_and_another_seed_gives_others(harness, domain):
    for name in ("combined", "live_stream_qa"):
        more, few = (build_suite(name, harness, domain, settings).items for settings in (DEV, FEW))
        assert few == more[:8]
        other = build_suite(name, harness, domain, SuiteSettings(items=8, seed=1)).items
        assert not {item.task.digest for item in few} & {item.task.digest for item in other}


def test_live_stream_items_begin_with_those_of_a_run(harness, domain):
    from hat.evaluation.config import EvaluateConfig

    of_a_run = build_suites(harness, domain, EvaluateConfig())["live_stream_qa"]
    full = build_suite("live_stream_qa", harness, domain, DEV).items
    assert len(full) == 200
    assert list(full[: len(of_a_run)]) == of_a_run


@pytest.mark.parametrize("name", TEST_ONLY)
def test_what_is_kept_for_the_test_split_is_refused_on_dev(harness, domain, name):
    with pytest.raises(BadInput, match="kept for the test split"):
        build_suite(name, harness, domain, DEV)


def test_test_only_suites_hold_one_unseen_thing_in_each_state(harness, domain):
    families = build_suite("test_only_families", harness, domain, TEST).items
    assert Counter(item.kind for item in families) == {"T5": 68, "K4": 68, "xml": 64}
    for item in families:
        unseen = {"T5", "K4"} & set(item.state.families)
        assert unseen == ({item.kind} if item.kind != "xml" else set())
        assert (item.state.canonical.layout == "xml") == (item.kind == "xml")
    compositions = build_suite("test_only_compositions", harness, domain, TEST).items
    assert Counter(item.kind for item in compositions) == {"T2+P3": 100, "S8+P1": 100}
    assert all(set(item.kind.split("+")) == set(item.state.families) for item in compositions)
    for items in (families, compositions):
        states = Counter(item.state.digest for item in items)
        assert len(states) == 50
        assert max(states.values()) == 4


def test_robustness_has_five_components_of_sixty(harness, domain):
    items = build_suite("tool_prompt_robustness_full", harness, domain, DEV).items
    kinds = Counter(item.kind for item in items)
    assert {name: sum(kinds[kind] for kind in of) for name, of in COMPONENTS.items()} == {
        "noise": 60,
        "distractors": 60,
        "twins": 120,
        "unsolvable": 60,
        "faults": 60,
    }
    assert set(Counter(item.pair for item in items if item.pair).values()) == {2}
    assert len({item.id for item in items}) == 360


def test_noisy_names_are_near_the_old_ones_and_none_of_them(harness):
    old = {tool.name for tool in harness.tools} | {
        a for t in harness.tools for a in t.input_schema["properties"]
    }
    kinds = set()
    for seed in range(12):
        state = with_name_noise(harness, split="dev", seed=seed)
        shown = {tool.name: state.codec.tool(tool.name) for tool in harness.tools}
        assert not set(shown.values()) & old
        backwards = [name == new[::-1] for name, new in shown.items()]
        kinds.add(all(backwards))
        assert all(backwards) or all(abs(len(name) - len(new)) <= 2 for name, new in shown.items())
        assert state == with_name_noise(harness, split="dev", seed=seed)
    assert kinds == {True, False}


def test_the_expert_solves_every_suite_and_every_state_is_proven(harness, domain, home):
    names = [name for name in FULL_SUITES if name not in (*TEST_ONLY, "evolution")]
    document = run_suites(names, domain.expert(), harness, domain, FEW)
    for name, suite in document["suites"].items():
        assert suite["accuracy"] == 1.0, name
        assert suite["parse_rate"] == 1.0
        assert all(turn["rate"] == 1.0 for turn in suite["adherence_by_turn"])
        assert all(item["task_digest"] and item["state"]["digest"] for item in suite["items"])
    assert document["suites"]["combined"]["verdict_flips"]["rate"] == 0.0
    assert document["suites"]["combined"]["verdict_flips"]["n"] == 8
    robustness = document["suites"]["tool_prompt_robustness_full"]
    assert robustness["macro_accuracy"] == 1.0
    assert robustness["twins"]["pairs"] == 8
    assert robustness["twins"]["blind_pair_exact"] == 0.0
    assert not (home / "test-items.jsonl").exists()


def test_each_use_of_the_test_split_is_logged(harness, domain, home):
    document = run_suites(TEST_ONLY, domain.expert(), harness, domain, SuiteSettings(split="test", items=12))
    assert {suite["accuracy"] for suite in document["suites"].values()} == {1.0}
    lines = [json.loads(line) for line in (home / "test-items.jsonl").read_text().splitlines()]
    assert [line["use"] for line in lines] == [f"suite {name} for scripted-expert" for name in TEST_ONLY]
    assert lines[1]["families"] == {"K4": 4, "P3": 4, "S4": 12, "T4": 12, "T5": 4}


def test_the_policy_that_ignores_the_harness_survives_layout_and_no_renaming(harness, domain):
    names = ("variant_reference", *VARIANTS)
    suites = run_suites(names, domain.twins.blind(harness), harness, domain, FEW)["suites"]
    assert suites["variant_reference"]["accuracy"] == suites["layout_only"]["accuracy"] == 1.0
    assert suites["names_only"]["accuracy"] == suites["combined"]["accuracy"] == 0.0
    assert suites["names_only"]["verdict_flips"] == {
        **suites["names_only"]["verdict_flips"],
        "n": 8,
        "rate": 1.0,
        "lost": 8,
        "gained": 0,
    }
    assert suites["layout_only"]["verdict_flips"]["lost"] == 0
    assert suites["names_only"]["adherence_by_turn"][0]["rate"] == 0.0


def test_an_unknown_suite_and_none_are_refused(harness, domain):
    with pytest.raises(BadInput, match="Known: live_stream_qa"):
        run_suites(["names"], domain.expert(), harness, domain, FEW)
    with pytest.raises(BadInput, match="no suite is named"):
        run_suites([], domain.expert(), harness, domain, FEW)


def _item(kind: str, correct, *, place: int, pair: str = "", state: str = "s"):
    blind = {"exact": correct, "blind_correct": 0, "blind_exact": 0} if pair else {}
    return {
        "id": f"t{place}/{kind}",
        "kind": kind,
        "correct": correct,
        "baseline_correct": 0,
        "pair": pair,
        "task_digest": str(place),
        "state": {"digest": state, "families": ["T1"]},
        **blind,
    }


def test_the_macro_average_weighs_components_alike_and_pairs_as_wholes():
    items = [
        *(_item("name_noise", 1, place=n) for n in range(3)),
        _item("description_noise", 0, place=3),
        *(_item("distractor_tools", 1, place=n) for n in range(10, 14)),
        *(_item("twin_C1", n % 2, place=20 + n, pair="a") for n in range(2)),
        *(_item("twin_C2", 1, place=22 + n, pair="b") for n in range(2)),
        *(_item("unsolvable", 0, place=n) for n in range(30, 90)),
        _item("faults", 1, place=90),
    ]
    result = macro_summary(items)
    assert {name: part["accuracy"] for name, part in result["components"].items()} == {
        "noise": 0.75,
        "distractors": 1.0,
        "twins": 0.5,
        "unsolvable": 0.0,
        "faults": 1.0,
    }
    assert result["components"]["twins"]["n"] == 2
    assert result["macro_accuracy"] == pytest.approx(0.65)
    low, high = result["macro_accuracy_ci"]
    assert low < 0.65 < high
    assert macro_summary(items[:-1])["macro_accuracy"] is None


def test_flips_count_both_ways_and_leave_out_what_was_not_judged():
    before = [_item("", correct, place=n) for n, correct in enumerate((1, 1, 0, 0, None))]
    after = [_item("x", correct, place=n) for n, correct in enumerate((1, 0, 1, None, 1))]
    flips = verdict_flips(before, after)
    assert (flips["n"], flips["lost"], flips["gained"]) == (3, 1, 1)
    assert flips["rate"] == pytest.approx(2 / 3)
    assert verdict_flips([], after)["rate"] is None


def test_the_worst_state_is_named_with_its_size():
    items = [
        _item("", c, place=n, state=s) for n, (c, s) in enumerate([(1, "a"), (0, "b"), (1, "b"), (None, "c")])
    ]
    assert worst_state(items) == {
        "digest": "b",
        "families": ["T1"],
        "n": 2,
        "accuracy": 0.5,
        "states_as_low": 1,
    }
    assert worst_state([]) is None
