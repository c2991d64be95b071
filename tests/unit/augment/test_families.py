"""Every family: it applies, keeps its invariant, can be undone, and its own check sees what breaks it."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.augment.banks import bank
from hat.augment.config import FAMILIES, AugmentConfig
from hat.augment.invariants import check_step
from hat.augment.plan import expert_gold
from hat.augment.sampler import Step, apply_all
from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS, Draw, Transform
from hat.augment.transforms.base import with_harness
from hat.augment.verify import Gold, Subject
from hat.augment.verify.names import check_names
from hat.augment.verify.replay import check_replay
from hat.augment.verify.round_trip import check_round_trip
from hat.domains.base import Task, get_domain
from hat.harness.model import Document, Harness
from hat.harness.registry import Registry
from hat.trajectories.present import opening_messages

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")
HARNESS = REGISTRY.load("live-shop", "1.0.0")
ORIGINAL = HarnessState.original(HARNESS)
BY_FAMILY = {transform.family: transform for transform in TRANSFORMS}
SPLITS = ["train", "dev", "test"]


@pytest.fixture(scope="module")
def gold() -> Gold:
    return expert_gold(HARNESS, get_domain("live_shop"), "dev", count=13)


def a_task(intent: str = "price") -> Task:
    return get_domain("live_shop").sample_tasks("dev", 1, 5, [intent])[0]


def applied(
    *families: str, seed: int = 0, split: str = "test", task: Task | None = None
) -> tuple[HarnessState, list[Step]]:
    config = AugmentConfig.full("test")
    draw = Draw(random.Random(seed), split, config, task or a_task())
    state = replace(ORIGINAL, split=split, task=draw.task.digest if draw.task else "")
    return apply_all(state, [(BY_FAMILY[family], draw) for family in families])


def subject(state: HarnessState, gold: Gold) -> Subject:
    return Subject(state, HARNESS, AugmentConfig.full("test"), gold)


def test_every_family_has_one_transform_and_says_what_it_is() -> None:
    assert sorted(t.family for t in TRANSFORMS) == sorted(FAMILIES)
    for transform in TRANSFORMS:
        for text in (transform.summary, transform.needs, transform.invariant, transform.breaks):
            assert text
        assert transform.surfaces


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_applies_keeps_its_invariant_and_can_be_undone(family: str, version: str) -> None:
    original = HarnessState.original(REGISTRY.load("live-shop", version))
    transform = BY_FAMILY[family]
    for seed in range(6):
        draw = Draw(random.Random(seed), SPLITS[seed % 3], AugmentConfig.full("test"), a_task())
        before = replace(original, task=a_task().digest)
        state, (step,) = apply_all(before, [(transform, draw)])
        assert list(check_step(step)) == []
        assert state.digest != original.digest or family == "S4"
        assert transform.undo(state, before).digest == original.digest


@given(data=st.data(), seed=st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_families_compose_in_any_order(gold: Gold, data: st.DataObject, seed: int) -> None:
    families = data.draw(st.permutations(FAMILIES))[:7]
    state, steps = applied(*families, seed=seed, split=SPLITS[seed % 3])
    for step in steps:
        assert list(check_step(step)) == []
    about = subject(state, gold)
    assert list(check_names(about)) == []
    assert list(check_round_trip(about)) == []


@given(data=st.data(), seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_composition_is_associative_on_digests(data: st.DataObject, seed: int) -> None:
    """(a then b) then c is a then (b then c): what a family draws depends on its own source of chance alone."""
    config = AugmentConfig.full("test")
    families = data.draw(st.permutations(FAMILIES))[:3]

    Change = Callable[[HarnessState], HarnessState]

    def single(family: str) -> Change:
        def change(state: HarnessState) -> HarnessState:
            draw = Draw(random.Random(f"{seed}/{family}"), "dev", config, a_task())
            return apply_all(state, [(BY_FAMILY[family], draw)])[0]

        return change

    def then(first: Change, second: Change) -> Change:
        return lambda state: second(first(state))

    a, b, c = map(single, families)
    start = replace(ORIGINAL, task=a_task().digest)
    assert then(then(a, b), c)(start).digest == then(a, then(b, c))(start).digest


@pytest.mark.parametrize("family", ["P4", "K2", "K4", "T5", "T6", "T8", "P2", "S8"])
def test_gold_holds_under_the_family(family: str, gold: Gold) -> None:
    for seed in range(3):
        state, steps = applied(family, seed=seed)
        assert steps
        assert list(check_replay(subject(state, gold))) == []


def lose_an_item(harness: Harness) -> Harness:
    block, *others = harness.blocks[1:]
    shorter = replace(block, document=Document(block.document.title, block.document.items[1:]))
    return replace(harness, blocks=(harness.blocks[0], shorter, *others))


def change_a_number(harness: Harness) -> Harness:
    def body(document: Document) -> Document:
        return Document(document.title, tuple(item.replace("30 days", "31 days") for item in document.items))

    return replace(harness, skills=tuple(replace(s, body=body(s.body)) for s in harness.skills))


def swap_steps(harness: Harness) -> Harness:
    def body(document: Document) -> Document:
        return Document(document.title, document.items[::-1])

    return replace(harness, skills=tuple(replace(s, body=body(s.body)) for s in harness.skills))


def mislead(harness: Harness) -> Harness:
    first, *others = harness.skills
    return replace(harness, skills=(replace(first, description="Coupons and what is in stock"), *others))


def lose_a_check(harness: Harness) -> Harness:
    return replace(harness, hooks=harness.hooks[:-1])


def lose_a_skill(harness: Harness) -> Harness:
    return replace(harness, skills=harness.skills[1:])


def lose_a_tool(harness: Harness) -> Harness:
    return replace(harness, tools=harness.tools[1:], bindings=harness.bindings[1:])


def lose_an_argument(harness: Harness) -> Harness:
    tool = replace(harness.tools[0], input_schema_json='{"type": "object", "properties": {}}')
    return replace(harness, tools=(tool, *harness.tools[1:]))


def tighten_a_limit(harness: Harness) -> Harness:
    return replace(harness, limits=replace(harness.limits, max_reply_characters=5, max_retries=0))


@pytest.mark.parametrize(
    ("family", "mutate"),
    [
        ("S2", mislead),
        ("S2", lose_a_skill),
        ("S3", lose_a_skill),
        ("S4", lose_a_skill),
        ("S5", change_a_number),
        ("S5", swap_steps),
        ("S5", lose_an_item),
        ("S6", change_a_number),
        ("S6", swap_steps),
        ("S7", lose_an_item),
        ("S7", change_a_number),
        ("S8", change_a_number),
        ("S8", lose_an_item),
        ("T3", lose_a_tool),
        ("T3", lose_an_argument),
        ("T4", lose_a_tool),
        ("T4", lose_an_argument),
        ("T7", lose_a_tool),
        ("T7", lose_a_skill),
        ("P1", lose_an_item),
        ("P4", tighten_a_limit),
        ("K1", lose_a_check),
        ("K2", tighten_a_limit),
        ("K3", lose_a_check),
        ("K4", lose_a_check),
    ],
)
def test_a_familys_own_check_sees_a_broken_invariant(
    family: str, mutate: Callable[[Harness], Harness]
) -> None:
    class Broken(type(BY_FAMILY[family])):  # type: ignore[misc]
        def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
            return replace(state, canonical=mutate(state.canonical))

    broken: Transform = Broken()
    draw = Draw(random.Random(0), "dev", AugmentConfig.full("dev"))
    _, (step,) = apply_all(ORIGINAL, [(broken, draw)])
    assert list(broken.check(step.before, step.after))


def test_a_change_that_was_not_declared_is_seen() -> None:
    class Overreaching(type(BY_FAMILY["P3"])):  # type: ignore[misc]
        def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
            return with_harness(super().apply(state, draw), limits=replace(HARNESS.limits, max_turns=9))

    draw = Draw(random.Random(0), "dev", AugmentConfig.full("dev"))
    _, (step,) = apply_all(ORIGINAL, [(Overreaching(), draw)])
    assert list(check_step(step)) == ["limits changed, which P3 may not do"]


def test_banks_of_texts_share_nothing_between_splits() -> None:
    for name in ("skill_descriptions", "tool_descriptions"):
        for entry in bank(name)["live_shop"].values():
            for split in SPLITS:
                assert entry[split]
            texts = [text for split in SPLITS for text in entry[split]]
            assert len(texts) == len(set(texts))
    skills = [bank("distractor_skills"), bank("near_miss_skills")]
    for banks in ([bank("distractor_tools")], skills):
        names = [entry[0] for one in banks for split in SPLITS for entry in one[split]]
        assert len(names) == len(set(names))


def test_every_description_of_the_bank_says_its_own_purpose_and_no_other() -> None:
    skills = bank("skill_descriptions")["live_shop"]
    for purpose, entry in skills.items():
        for text in (text for split in SPLITS for text in entry[split]):
            said = {other for other, e in skills.items() if any(w in text.lower() for w in e["words"])}
            assert said == {purpose}, text
    for operation, entry in bank("tool_descriptions")["live_shop"].items():
        for text in (text for split in SPLITS for text in entry[split]):
            assert any(word in text.lower() for word in entry["words"]), (operation, text)


def test_no_near_miss_is_described_by_the_words_of_a_skill_that_answers() -> None:
    words = {word for entry in bank("skill_descriptions")["live_shop"].values() for word in entry["words"]}
    for _, description, _ in (entry for split in SPLITS for entry in bank("near_miss_skills")[split]):
        assert not [word for word in words if word in description.lower()], description


def test_free_prose_stays_byte_for_byte() -> None:
    prose = "Say how many are left; with 0 left say sold out."
    for seed in range(5):
        state, _ = applied("S7", "S8", "S5", "S6", seed=seed, task=a_task("stock"))
        assert prose in state.canonical.skill("availability").body.items


def test_masked_rules_are_gone_and_the_state_serves_its_task_only() -> None:
    task = a_task("price")
    state, _ = applied("S7", task=task)
    rules = [item for block in state.canonical.blocks for item in block.document.items]
    assert not any("Unknown link" in rule for rule in rules)
    assert state.serves(task)
    assert not state.serves(a_task("off_topic"))
    kept, _ = applied("S7", task=a_task("returns"))
    assert any("final sale" in item for item in kept.canonical.skill("after-sales").body.items)


def test_context_moves_to_the_users_message_whole() -> None:
    task = a_task("host")
    state, _ = applied("P2", task=task)
    system, user = opening_messages(task, state)
    assert str(task.session["host"]) in user["content"]
    assert str(task.session["host"]) not in system["content"]
    assert user["content"].endswith(task.question)


def test_a_harness_without_what_a_family_needs_is_left_alone_with_a_reason() -> None:
    bare = replace(
        HARNESS,
        domain="elsewhere",
        tools=(),
        bindings=(),
        hooks=(),
        skills=(),
        blocks=(replace(HARNESS.blocks[0], document=Document("Role", ("You talk.",))),),
    )
    draw = Draw(random.Random(0), "test", AugmentConfig(layouts=("markdown",)))
    able = set()
    for transform in TRANSFORMS:
        state, steps = apply_all(HarnessState.original(bare), [(transform, draw)])
        if steps:
            able.add(transform.family)
        else:
            assert state.skipped == ((transform.family, state.skipped[0][1]),)
            assert state.skipped[0][1]
    assert able == {"S3", "T7", "T8", "P4", "K2"}


def test_a_tool_with_effects_keeps_its_check_before_the_call() -> None:
    acting = replace(HARNESS.tools[0], annotations_json='{"destructiveHint": true}')
    start = HarnessState.original(replace(HARNESS, tools=(acting, *HARNESS.tools[1:])))
    draw = Draw(random.Random(0), "test", AugmentConfig.full("test"))
    state, steps = apply_all(start, [(BY_FAMILY["K4"], draw)])
    assert steps == []
    assert "may have effects" in state.skipped[0][1]
