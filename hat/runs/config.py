"""The settings of one run: a section for each stage, checked before any work starts."""

import difflib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from hat.augment.config import AugmentConfig, test_only_settings
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig
from hat.files import read_json, write_json_atomic
from hat.promotion.config import GateConfig
from hat.serving.config import EngineConfig, ExportConfig, LatencyConfig
from hat.training.config import OPDConfig, RLConfig, SFTConfig
from hat.training.distributed.config import DistributedConfig
from hat.trajectories.config import GenerateConfig, ValidateConfig
from hat.validation import place, reason


class HooksConfig(BaseModel):
    """What a harness's hooks may do in a run."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    allow_commands: bool = False
    """Lets hooks of type `command` run, in a child process with limits (`hat.agent.command_hooks`)."""


class RunConfig(BaseModel):
    """What `config.json` holds. Every section has defaults that are the vetted setting."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: int = 1
    """Version of this document's layout."""
    profile: str = ""
    """Name of the profile that the settings come from."""
    code_version: str = ""
    """SHA-256 of the package sources and constraints: part of every cache key."""
    domain: str = ""
    """What the agent works on; empty: the harness says."""
    seed: int = Field(default=0, ge=0)
    """Seed of everything random in the run."""
    base_model: str = "smollm2-135m-instruct"
    """What training starts from: the default base, a folder, an s3:// URL or a Hub id."""
    hooks: HooksConfig = HooksConfig()
    """What hooks may do."""
    augment: AugmentConfig = AugmentConfig()
    """Harness states."""
    generate: GenerateConfig = GenerateConfig()
    """Training tasks and the policy that solves them."""
    validation: ValidateConfig = ValidateConfig()
    """Checks of the trajectories before training."""
    sft: SFTConfig = SFTConfig()
    """Supervised fine-tuning."""
    distributed: DistributedConfig = DistributedConfig()
    """Supervised fine-tuning in several processes."""
    opd: OPDConfig = OPDConfig()
    """On-policy distillation."""
    rl: RLConfig = RLConfig()
    """Reinforcement learning."""
    export: ExportConfig = ExportConfig()
    """Packages for serving."""
    engine: EngineConfig = EngineConfig()
    """What runs the models that are judged."""
    latency: LatencyConfig = LatencyConfig()
    """How answers are timed."""
    evaluate: EvaluateConfig = EvaluateConfig()
    """The suites."""
    gate: GateConfig = GateConfig()
    """How the run is decided."""

    @field_validator("augment")
    @classmethod
    def _trains_on_no_test_item(cls, augment: AugmentConfig) -> AugmentConfig:
        kept = test_only_settings(augment)
        if kept:
            raise ValueError(f"{kept[0]} is kept for the test split, and a run trains on its states")
        return augment

    @model_validator(mode="after")
    def _leaves_out_a_whole_dimension(self) -> "RunConfig":
        for name, share in (("generate", self.generate.fault_share), ("rl", self.rl.fault_share)):
            if share and "hooks" in self.augment.without:
                raise ValueError(
                    f"{name}.fault_share must be 0 where augment.without leaves out hooks: faults are part of them"
                )
        return self

    @model_validator(mode="after")
    def _stops_in_one_process(self) -> "RunConfig":
        if self.sft.stop_accuracy and self.distributed.nodes:
            raise ValueError("sft.stop_accuracy needs distributed.nodes=0: one process plays the tasks")
        return self

    @property
    def environment(self) -> str:
        """Whose policy decides and whose ledger is written."""
        return self.gate.environment or self.profile

    @staticmethod
    def read(path: str | Path) -> "RunConfig":
        """Read `config.json`.

        Raises:
            BadInput: absent, malformed, or a key that no stage knows.
        """
        return parse_config(read_json(Path(path)), where=str(path))

    def write(self, path: str | Path) -> None:
        """Write `config.json`."""
        write_json_atomic(Path(path), self.model_dump(mode="json"))


IDENTITY = ("schema_version", "profile", "code_version", "domain")
"""Keys that a run sets itself and that `--set` must not touch."""


def parse_config(values: Any, *, where: str) -> RunConfig:
    """Check settings against every stage's model.

    Raises:
        BadInput: naming each wrong key and, for an unknown one, the nearest that exists.
    """
    try:
        return RunConfig.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(_problem(detail) for detail in error.errors())
        raise BadInput(problems, where=where) from error


def parse_overrides(settings: list[str]) -> dict[str, Any]:
    """Turn ``section.field=value`` texts into {dotted key: value}; a value is JSON when it parses, else text.

    Raises:
        BadInput: no `=`, or a value that Kubeflow would expand.
    """
    overrides = {}
    for setting in settings:
        key, separator, text = setting.partition("=")
        if not separator or not key.strip():
            raise BadInput(
                f"{setting!r} is not key=value", where="--set", mend="Write --set section.field=value."
            )
        if "{{$" in text:
            raise BadInput("a value may not contain '{{$': Kubeflow expands it", where=f"--set {key}")
        try:
            overrides[key.strip()] = json.loads(text)
        except json.JSONDecodeError:
            overrides[key.strip()] = text
    return overrides


def apply_overrides(values: Mapping[str, Any], overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with each dotted key replaced.

    Raises:
        BadInput: an unknown key, naming the nearest one that exists.
    """
    known = set(known_keys())
    merged = json.loads(json.dumps(values))
    for key, value in overrides.items():
        if key not in known:
            raise BadInput(f"unknown setting {key!r}", where="--set", mend=_nearest(key, known))
        *sections, field = key.split(".")
        target = merged
        for section in sections:
            target = target.setdefault(section, {})
        target[field] = value
    return merged


def known_keys() -> list[str]:
    """Every dotted key that `--set` accepts."""
    return [key for key in _keys(RunConfig, "") if key not in IDENTITY]


def _keys(model: type[BaseModel], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        yield prefix + name
        if isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            yield from _keys(field.annotation, f"{prefix}{name}.")


def _problem(detail: ErrorDetails) -> str:
    key = place(detail)
    if detail["type"] == "extra_forbidden":
        return f"unknown setting {key!r} ({_nearest(key, set(known_keys()))})"
    return f"{key}: {reason(detail)}"


def _nearest(key: str, known: set[str]) -> str:
    matches = difflib.get_close_matches(key, sorted(known), n=1, cutoff=0.5)
    return f"Did you mean {matches[0]!r}?" if matches else f"Known: {', '.join(sorted(known))}."
