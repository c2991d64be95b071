"""The pipeline's steps in order, and what each one's result depends on besides its input files."""

from dataclasses import dataclass


@dataclass(frozen=True)
class StepContract:
    """One step: what of `config.json` and `subject.json` it reads, and how its result is kept.

    ``reusable``: another run may take it. ``kept``: a later attempt of the same run may. ``trains``: it runs
    only when a model is trained.
    """

    name: str
    sections: tuple[str, ...] = ()
    subject_fields: tuple[str, ...] = ()
    reusable: bool = True
    kept: bool = True
    trains: bool = False


ALWAYS_SECTIONS = ("code_version", "domain", "seed")
ALWAYS_SUBJECT_FIELDS = ("harness", "version", "harness_digest", "allow_hook_commands")

STEPS = (
    StepContract("resolve", reusable=False),
    StepContract(
        "screen",
        ("evaluate", "latency", "engine", "export", "gate"),
        (
            "base",
            "production",
            "production_version",
            "production_harness_digest",
            "gate_policy",
            "plan",
            "mode",
            "environment",
            "ledger_head",
        ),
        reusable=False,
    ),
    StepContract("augment", ("augment", "generate"), trains=True),
    StepContract("generate", ("augment", "generate"), trains=True),
    StepContract("validate", ("validation", "evaluate"), trains=True),
    StepContract("sft", ("sft", "augment", "distributed"), ("base",), trains=True),
    StepContract("opd", ("opd", "augment", "sft"), ("base",), trains=True),
    StepContract("rl", ("rl", "augment", "sft"), ("base",), trains=True),
    StepContract("export", ("export", "sft", "opd", "rl"), ("base",), trains=True),
    StepContract(
        "evaluate",
        ("evaluate", "augment", "engine", "export"),
        # The evidence names environment and head of the ledger: taken from a run against another, it would not fit.
        (
            "base",
            "production",
            "production_version",
            "production_harness_digest",
            "environment",
            "ledger_head",
        ),
        trains=True,
    ),
    StepContract(
        "latency",
        ("latency", "engine", "export"),
        ("gate_policy", "environment"),
        reusable=False,
        trains=True,
    ),
    StepContract(
        "decide",
        ("gate",),
        ("gate_policy", "production", "environment", "ledger_head"),
        reusable=False,
        trains=True,
    ),
    StepContract(
        "promote", (), ("production", "production_version", "environment", "ledger_head"), reusable=False
    ),
    StepContract("finalize", reusable=False, kept=False),
)

_BY_NAME = {step.name: step for step in STEPS}


def contract(name: str) -> StepContract:
    """The contract of one step; a step that is not in the table depends on its files alone."""
    return _BY_NAME.get(name, StepContract(name))
