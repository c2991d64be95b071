"""What is asked of each model, by suite of the reproduction: plain data. One measurement is one unit of work.

To add a measurement, add one line to a suite: the fields of `EvaluateConfig` that ask for its items.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hat.errors import BadInput

CHAIN = "benchmarks/evolution/registry"
"""Registry folder of the later versions of each harness, below the repository's root."""
GENERAL_ARMS = ("base", "fixed_sft", "hat")
"""Arms of which `core` measures general ability."""


@dataclass(frozen=True)
class Measurement:
    """One set of items: some of an evaluation's (``items``), a full suite's (``full_suite``), or ``divergence``."""

    name: str
    title: str
    items: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `EvaluateConfig` that ask for items; every other count is 0."""
    full_suite: str = ""
    """Name of a suite of `hat.evaluation.full_suites`."""
    count: int = 0
    """Items of the full suite, in its own units; 0: its own number."""
    divergence: int = 0
    """General prompts on which the model is compared with the base (`hat.evaluation.general_ability`)."""
    needs_chain: bool = False
    """Whether it asks under the later versions in `CHAIN`."""
    arms: tuple[str, ...] = ()
    """Arms that are measured; empty: all."""
    minutes: float = 4.0
    """Expected on 2 cores with the default base model."""


@dataclass(frozen=True)
class Suite:
    """What `--suite` names."""

    name: str
    profile: str
    """Profile whose settings train the models, unless another is named."""
    split: str
    measurements: tuple[Measurement, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Settings that differ from the profile's, by dotted key."""
    arms: tuple[str, ...] = ()
    """Arms that belong to it; empty: all."""
    seeds: tuple[int, ...] = ()
    """Replaces the arms' seeds."""
    pace: float = 1.0
    """Its units' time as a share of what is expected with the default base model."""


_T1 = Measurement("live_stream_qa", "T1 Live-Stream QA", {"live_stream_qa": 200})
_T2 = Measurement("combined", "T2 Harness-Variant QA, combined", full_suite="combined", count=200)
_TWINS = Measurement("twins", "Twins", {"robustness": {"twin_pairs": 60}}, minutes=3)
_EVOLUTION = Measurement(
    "evolution", "Real evolution", full_suite="evolution", count=40, needs_chain=True, minutes=4
)
_GENERAL = Measurement("general", "Instruction following", {"instruction_following": 541}, minutes=3)
_DIVERGENCE = Measurement(
    "divergence",
    "Reverse KL to the base",
    divergence=70,
    arms=("fixed_sft", "hsa_sft", "fixed_opd", "hsa_opd", "hat"),
    minutes=3,
)


def _variants(suite: str, title: str) -> Measurement:
    return Measurement(suite, f"T2 Harness-Variant QA, {title}", full_suite=suite, count=200)


SUITES: Mapping[str, Suite] = {
    suite.name: suite
    for suite in (
        Suite(
            "core",
            "laptop",
            "test",
            (_T1, _T2, _TWINS, _EVOLUTION, replace(_GENERAL, arms=GENERAL_ARMS), _DIVERGENCE),
        ),
        Suite(
            "full",
            "laptop",
            "test",
            (
                _T1,
                _T2,
                _variants("names_only", "names only"),
                _variants("layout_only", "layout only"),
                _variants("test_only_compositions", "compositions never trained on"),
                _variants("test_only_families", "families never trained on"),
                Measurement(
                    "tool_prompt_robustness_full",
                    "T3 Tool/Prompt Robustness",
                    full_suite="tool_prompt_robustness_full",
                    count=60,
                    minutes=8,
                ),
                _TWINS,
                _EVOLUTION,
                _GENERAL,
                _DIVERGENCE,
            ),
        ),
        Suite(
            "smoke",
            "tiny",
            "dev",
            (
                replace(_T1, items={"live_stream_qa": 4}),
                Measurement("harness_variant_qa", "T2 Harness-Variant QA", {"harness_variant_qa": 4}),
                replace(_GENERAL, items={"instruction_following": 4}, arms=GENERAL_ARMS),
            ),
            settings={
                "base_model": "random-tiny",
                "evaluate.max_new_tokens": 8,
                "evaluate.instruction_tokens": 8,
                "rl.max_new_tokens": 8,
            },
            arms=("base", "fixed_sft", "hsa_sft", "hat"),
            seeds=(0, 1),
            pace=0.05,
        ),
    )
}


def suite(name: str) -> Suite:
    """The suite of that name. Raises `BadInput`, naming those that exist."""
    if name not in SUITES:
        raise BadInput(f"no suite {name!r}", where="--suite", mend=f"Known: {', '.join(SUITES)}.")
    return SUITES[name]
