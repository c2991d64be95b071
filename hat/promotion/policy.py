"""The gate policy: what `gate.yaml` may say, one policy an environment, read strictly."""

from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from hat.errors import BadInput
from hat.evaluation.statistics import minimum_n_for_margin, minimum_n_for_percentile, minimum_n_for_rate
from hat.files import canonical_json, sha256_text
from hat.harness.problems import Problems
from hat.harness.reading.checked import checked
from hat.promotion import ledger
from hat.promotion.reading import parse_lined, refusal
from hat.schema_version import SchemaVersion

Metric = Literal[
    "accuracy",
    "effectiveness",
    "tool_rationality",
    "skill_selection",
    "skill_load_rate",
    "parse_rate",
    "refusal_rate",
    "over_refusal_rate",
]
LOWER_IS_BETTER: frozenset[Metric] = frozenset({"over_refusal_rate"})
"""Of every other metric more is better."""
Reference = Literal["base", "production"]
Measure = Literal["reply", "first_token"]
Severity = Literal["hard", "soft"]
SliceKey = Literal["intent", "skill", "language", "family", "harness"]
# Strict numbers: `at_least: yes` would otherwise be read as a bar of 1.
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Points = Annotated[Number, Field(ge=0, le=100)]
Confidence = Annotated[float, Field(strict=True, ge=0.5, lt=1)]
Power = Annotated[float, Field(strict=True, ge=0.5, lt=1)]
Environment = Annotated[str, Field(pattern=ledger.NAME)]
"""What a ledger can be of."""
Count = Annotated[int, Field(strict=True, ge=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class AbsoluteCriterion(_Strict):
    """A metric's one-sided Wilson bound must be on the right side of a bar."""

    suite: str = Field(min_length=1)
    """Evaluation suite, e.g. `live_stream_qa`."""
    metric: Metric
    at_least: Annotated[Number, Field(ge=0, lt=100)] | None = None
    """The bar of a metric of which more is better, in points of 100: the lower bound must reach it."""
    at_most: Annotated[Number, Field(gt=0, le=100)] | None = None
    """The bar of a metric of which less is better: the upper bound must not exceed it."""
    severity: Severity = "hard"
    """`soft`: reported like the others, and never decides."""
    confidence: Confidence = 0.95
    """Confidence of the one-sided bound: 1 - α."""
    power: Power = 0.8
    """Power of the detectable rate that is reported beside the result."""
    minimum_n: Count
    """Items below which nothing is proven, and a shortfall decides only when it is itself proven."""

    @property
    def share_bar(self) -> float:
        """The bar for the share of good outcomes, in points, whichever way the metric points."""
        return self.at_least if self.at_least is not None else 100 - (self.at_most or 0)

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        wanted, other = ("at_most", "at_least") if self.metric in LOWER_IS_BETTER else ("at_least", "at_most")
        if getattr(self, wanted) is None or getattr(self, other) is not None:
            raise ValueError(f"{self.metric} needs `{wanted}` and no `{other}`")
        needed = minimum_n_for_rate(self.share_bar / 100, 1.0, self.confidence) or 1
        if self.minimum_n < needed:
            raise ValueError(
                f"{getattr(self, wanted):g} cannot be proven with {self.minimum_n} items, all right: needs {needed}"
            )
        return self


class RelativeCriterion(_Strict):
    """The candidate may not be worse than a reference by more than a margin, paired by item."""

    suite: str | tuple[str, ...] = Field(min_length=1)
    """A suite; or several that ask the same: the first that the candidate was evaluated on counts."""
    metric: Metric
    against: Reference
    """The model compared with. Criteria against `production` do not apply while nothing is in production."""
    margin: Points
    """The largest acceptable loss, in points."""
    rule: Literal["proof", "veto"]
    """`proof`: the lower bound of the difference must be above -margin. `veto`: for samples too small to
    prove that; an observed loss beyond the margin fails, anything less passes."""
    severity: Severity = "hard"
    confidence: Confidence = 0.95
    power: Power = 0.8
    """Power of the detectable margin that is reported, and of the number of pairs that the margin needs."""
    minimum_n: Count

    def suite_of(self, evaluated: Collection[str]) -> str:
        """The suite that counts among those evaluated."""
        named = (self.suite,) if isinstance(self.suite, str) else self.suite
        return next((suite for suite in named if suite in evaluated), named[0])

    @model_validator(mode="after")
    def _can_be_met(self) -> Self:
        needed = minimum_n_for_margin(self.margin / 100, 0, 0, 1, self.confidence)
        if self.rule == "proof" and (needed is None or self.minimum_n < needed):
            raise ValueError(
                f"a margin of {self.margin:g} cannot be proven with {self.minimum_n} items that all agree: "
                + (f"needs {needed}" if needed else "no number of items proves a margin of 0")
            )
        return self


class SliceCriterion(_Strict):
    """No slice of at least `minimum_n` items may fall below a bar, or lose more than a margin: a veto each."""

    suite: str = Field(min_length=1)
    metric: Metric
    by: SliceKey
    against: Reference | None = None
    margin: Points | None = None
    """With `against`: the largest acceptable loss of a slice."""
    at_least: Annotated[Number, Field(ge=0, lt=100)] | None = None
    """Instead of these two: a bar that holds without a pair in production, too."""
    severity: Severity = "hard"
    confidence: Confidence = 0.95
    """Confidence of the reported bounds, all slices of the criterion together."""
    minimum_n: Count
    """A smaller slice is reported, and fails only when that is proven at that confidence."""

    @model_validator(mode="after")
    def _has_one_bar(self) -> Self:
        compared = (self.against is not None, self.margin is not None)
        if any(compared) != all(compared) or (self.at_least is None) != all(compared):
            raise ValueError("a slice needs either `at_least`, or `against` with `margin`")
        if self.at_least is not None and self.metric in LOWER_IS_BETTER:
            raise ValueError(f"less {self.metric} is better: `at_least` cannot hold it down")
        return self


class SeedsCriterion(_Strict):
    """The recipe must reach a bar whatever seed it is trained with: the worst seed counts."""

    suite: str = Field(min_length=1)
    metric: Metric
    at_least: Annotated[Number, Field(ge=0, lt=100)]
    """The bar of the worst seed, in points."""
    minimum_seeds: Annotated[int, Field(strict=True, ge=2)]
    """Trainings that must have been evaluated, the candidate included."""
    severity: Severity = "hard"

    @model_validator(mode="after")
    def _points_up(self) -> Self:
        if self.metric in LOWER_IS_BETTER:
            raise ValueError(f"less {self.metric} is better: `at_least` cannot hold it down")
        return self


class PercentileLimit(_Strict):
    """A latency percentile's upper confidence bound may not exceed a limit."""

    measure: Measure = "reply"
    """Until the whole reply is there, or until the engine's first token is: both from the scheduled send."""
    percentile: Annotated[Number, Field(gt=0, lt=100)]
    milliseconds: Annotated[Number, Field(gt=0)]
    severity: Severity = "hard"
    confidence: Confidence = 0.95

    @property
    def minimum_n(self) -> int:
        """The fewest requests that can prove it, with none over."""
        return minimum_n_for_percentile(self.percentile / 100, self.confidence)


class LatencyPolicy(_Strict):
    """From the scheduled send of a question to its complete reply, on the exported model."""

    arrival: Literal["closed-loop", "poisson"]
    concurrency: Count | None = None
    """Questions in flight at a time. For Poisson arrivals optional: how many the service answers at once, which
    the evidence must then state to be the same."""
    rate: Annotated[Number, Field(gt=0)] | None = None
    """Mean arrivals a second; Poisson only. Evidence under a higher rate is accepted."""
    warmup_requests: int = Field(default=3, strict=True, ge=0)
    """So many first requests never count, slow or not: fixed beforehand, so that nobody can pick them."""
    shared_device: bool = False
    """Whether a device that other work shared is acceptable."""
    limits: tuple[PercentileLimit, ...] = Field(min_length=1)

    @property
    def requests_needed(self) -> int:
        """The fewest requests to send, warm-up included, for every limit to be provable with none over."""
        return self.warmup_requests + max(limit.minimum_n for limit in self.limits)

    @model_validator(mode="after")
    def _load_is_stated(self) -> Self:
        if self.arrival == "closed-loop" and (self.concurrency is None or self.rate is not None):
            raise ValueError("closed-loop needs `concurrency` and no `rate`")
        if self.arrival == "poisson" and self.rate is None:
            raise ValueError("poisson needs `rate`")
        return self


class Policy(_Strict):
    """What one environment asks of a pair before it goes into production there."""

    description: str = Field(min_length=1)
    """What passing proves and what it does not, for whoever reads the verdict."""
    engines: tuple[str, ...] = Field(min_length=1)
    """Engines whose evidence counts, e.g. `transformers`, `vllm`."""
    hardware: tuple[str, ...] = Field(min_length=1)
    """Hardware whose evidence counts: `cpu` or an accelerator's name."""
    absolute: tuple[AbsoluteCriterion, ...] = Field(min_length=1)
    relative: tuple[RelativeCriterion, ...] = ()
    slices: tuple[SliceCriterion, ...] = ()
    seeds: tuple[SeedsCriterion, ...] = ()
    reported: tuple[str, ...] = ()
    """Suites that are reported with their interval and never decide."""
    latency: LatencyPolicy | None = None
    leakage: Literal["forbid"] = "forbid"
    """No evaluation item may have been trained on; checked by the digest of each item."""

    def digest(self, environment: str) -> str:
        """Hex SHA-256 of the policy with the environment that it is for."""
        return sha256_text(canonical_json({"environment": environment, **self.model_dump(mode="json")}))


class GatePolicies(_Strict):
    """A whole `gate.yaml`."""

    schema_version: SchemaVersion
    environments: dict[Environment, Policy] = Field(min_length=1)
    """Environment (profile name, e.g. `laptop`) to its policy."""

    def policy(self, environment: str, *, where: str = "gate.yaml") -> Policy:
        """The policy of one environment.

        Raises:
            BadInput: the file has none for it.
        """
        if environment not in self.environments:
            known = ", ".join(sorted(self.environments))
            message = f"no policy for environment {environment!r}"
            raise BadInput(message, where=where, mend=f"It has policies for: {known}.")
        return self.environments[environment]


def parse_policies(text: str, *, where: str) -> GatePolicies:
    """Read the text of a `gate.yaml`.

    Raises:
        BadInput: not YAML, or naming every wrong or unknown key at once, each at its line.
    """
    source = parse_lined(text, where=where)
    if not isinstance(source.value, dict):
        raise BadInput("not a mapping with `schema_version` and `environments`", where=where)
    problems = Problems()
    policies = checked(GatePolicies, source, Path(where), "gate-policy", problems, known=every_key())
    if policies is None:
        mend = "docs/how-to/gate-policy.md lists the keys."
        raise refusal(problems.sorted(), where=where, mend=mend)
    return policies


def load_policies(path: Path) -> GatePolicies:
    """Read a `gate.yaml` file.

    Raises:
        BadInput: absent, not UTF-8, not YAML, or a wrong key.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise BadInput(f"cannot be read as a gate policy: {why}", where=str(path)) from error
    return parse_policies(text, where=str(path))


def every_key() -> set[str]:
    """Every key that a `gate.yaml` may hold."""
    criteria: list[type[BaseModel]] = [AbsoluteCriterion, RelativeCriterion, SliceCriterion, SeedsCriterion]
    criteria.append(PercentileLimit)
    models: list[type[BaseModel]] = [GatePolicies, Policy, LatencyPolicy, *criteria]
    return {name for model in models for name in model.model_fields}
