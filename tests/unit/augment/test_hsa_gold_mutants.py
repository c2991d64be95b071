"""G4 itself: which mutants are made of the gold, and that each of them fails under sound states."""

from dataclasses import replace
from pathlib import Path

import pytest

from hat.augment.config import AugmentConfig
from hat.augment.plan import expert_gold
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.augment.verify import Gold, Subject
from hat.augment.verify.mutants import mutants_of, try_mutant
from hat.domains.base import get_domain
from hat.harness.registry import Registry

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
CONFIG = AugmentConfig(original_share=0, probability=1)


@pytest.fixture(scope="module")
def gold() -> Gold:
    return expert_gold(HARNESS, get_domain("live_shop"), "dev")


def subject(seed: int, gold: Gold) -> Subject:
    state = sample_state(HARNESS, seed=seed, split="dev", config=CONFIG)
    return Subject(state, HARNESS, CONFIG, gold)


def test_every_mutant_of_every_gold_fails(gold: Gold) -> None:
    for seed in range(3):
        under = subject(seed, gold)
        for index, trajectory in enumerate(gold.trajectories):
            for mutant in mutants_of(under, index):
                assert list(try_mutant(mutant, under, trajectory)) == []


def test_a_looked_up_answer_has_every_kind_of_mutant(gold: Gold) -> None:
    (index,) = [i for i, t in enumerate(gold.trajectories) if t.task.intent == "shipping"][:1]
    kinds = {mutant.kind for mutant in mutants_of(subject(1, gold), index)}
    assert kinds == {
        *("wrong tool", "wrong argument", "wrong skill", "no skill loaded", "facts not looked up"),
        *("reply too long", "wrong number in the reply"),
        *("old tool name", "old argument name", "old skill name"),
    }


def test_what_is_right_under_the_state_only_is_reported(gold: Gold) -> None:
    """A judge that rejects everything would prove nothing: a state in which a second tool does the same is caught."""
    from hat.agent.calls import Call
    from hat.augment.verify.mutants import Mutant
    from hat.harness.model import Binding

    sound = subject(2, gold)
    canonical = sound.state.canonical
    twin = replace(canonical.tool("check_stock"), name="peek")
    bound = (*canonical.bindings, ("peek", Binding("check_stock", (("link_id", "link_id"),))))
    state = replace(sound.state, canonical=replace(canonical, tools=(*canonical.tools, twin), bindings=bound))
    under = replace(sound, state=state)
    (index,) = [i for i, t in enumerate(gold.trajectories) if t.task.intent == "stock"][:1]
    trajectory = gold.trajectories[index]
    calls = [call for turn in trajectory.turns for call in turn.calls if call.name == "check_stock"]
    link = calls[0].arguments["link_id"]
    script = [
        (
            text,
            [
                Call("peek", {"link_id": link}) if under.state.decode(c).name == "check_stock" else c
                for c in calls
            ],
        )
        for text, calls in under.scripts[index]
    ]
    (finding,) = try_mutant(Mutant("wrong tool", "peek", script), under, trajectory)
    assert "passes" in finding.why


def test_another_right_solution_is_no_mutant(gold: Gold) -> None:
    from hat.augment.verify.mutants import Mutant

    under = subject(2, gold)
    for index, trajectory in enumerate(gold.trajectories):
        untouched = Mutant("nothing changed", "gold", under.scripts[index])
        assert list(try_mutant(untouched, under, trajectory)) == []


def test_over_the_seeds_every_gold_gets_its_turn(gold: Gold) -> None:
    states = [replace(HarnessState.original(HARNESS), seed=seed) for seed in range(2)]
    chosen = [gold.for_state(state) for state in states]
    assert all(len(one.trajectories) == 13 for one in chosen)
    assert {t.id for one in chosen for t in one.trajectories} == {t.id for t in gold.trajectories}
