"""The states that an evaluation plays under pass the same gates as those that are trained on, before any is played."""

from collections.abc import Collection, Iterable
from dataclasses import replace

from hat.augment.config import AugmentConfig
from hat.augment.plan import expert_gold
from hat.augment.state import HarnessState
from hat.augment.verify import GATES, verify_state
from hat.domains.base import Domain, Split
from hat.errors import BadInput
from hat.evaluation.distractors import answering_distractors
from hat.evaluation.suites import VARIANTS, SuiteItem
from hat.harness.model import Harness


def prove_items(items: Iterable[SuiteItem], harness: Harness, domain: Domain, split: Split) -> int:
    """Prove every state of the items once; returns how many were proven.

    Sampled states must pass all gates. Distractor tools are put into a state by no family, so there all gates but G1
    are asked. Twins change what is right on purpose, and prove their own gold where they are made.

    Raises:
        BadInput: a gate fails, or the domain's expert does not solve its tasks under the harness.
    """
    states = {
        item.state.digest: (item.state, VARIANTS if item.suite == "harness_variant_qa" else None)
        for item in items
        if item.suite == "harness_variant_qa" or item.kind == "distractor_tools"
    }
    return prove_states(states.values(), harness, domain, split)


def prove_states(
    states: Collection[tuple[HarnessState, AugmentConfig | None]],
    harness: Harness,
    domain: Domain,
    split: Split,
) -> int:
    """Prove states, each with the settings that it was sampled under; returns how many were proven.

    A state that no settings give (None) is asked all gates but G1, which samples it again.

    Raises:
        BadInput: a gate fails, or the domain's expert does not solve its tasks under the harness.
    """
    if not states:
        return 0
    gold = expert_gold(harness, domain, split)
    gold = replace(gold, execute=answering_distractors(gold.execute))
    for state, settings in states:
        failures = verify_state(
            state,
            harness,
            settings or VARIANTS,
            gold.for_state(state),
            gates=GATES if settings else GATES[1:],
        )
        if failures:
            first = failures[0]
            raise BadInput(
                f"gate {first.gate} fails on state {first.seed} in {first.transform}, {first.symbol}: "
                f"{first.message}",
                where=f"evaluate, {harness.name}@{harness.version}",
                mend="Nothing was evaluated: a score under a state that asks for another task means nothing.",
            )
    return len(states)
