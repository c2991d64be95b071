"""Profiles: where a run happens and how much it does, as files people write."""

import json
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hat.errors import BadInput
from hat.nearest import known_names
from hat.runs.config import RunConfig, parse_config
from hat.steps.contract import STEPS
from hat.validation import first_problem
from pipelines.platform import Resources
from pipelines.pod import PodSettings

FOLDER = Path(__file__).parent / "profiles"
DEFAULT = "laptop"


class Profile(BaseModel):
    """One file of `pipelines/profiles/`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(pattern=r"^[a-z0-9-]{1,32}$")
    """The profile's name; equal to the file's."""
    description: str
    """One sentence on what it is for."""
    pod: PodSettings = PodSettings()
    """What all pods have in common on a cluster."""
    stages: dict[str, object] = {}
    """Settings of the stages that differ from their defaults; checked against `RunConfig`."""
    expected_seconds: dict[str, float] = {}
    """Step -> seconds it is expected to take, for the estimate of what is left."""
    resources: dict[str, Resources] = {}
    """Step -> what it asks of a cluster; `default` holds for the others."""
    accelerators: int = Field(default=0, ge=0)
    """Accelerators per pod of the steps that run a model; like the three below a default that a run may change."""
    accelerator_type: str = "nvidia.com/gpu"
    """Resource name of the accelerators."""
    node_selector: dict[str, str] = {}
    """Labels of the nodes that those steps run on."""
    tolerations: list[dict[str, str]] = []
    """Kubernetes tolerations of those steps."""

    @property
    def config(self) -> RunConfig:
        """The stages' settings, checked. Raises `BadInput`."""
        return parse_config({**self.stages, "profile": self.name}, where=f"profile {self.name}")

    def settings_json(self) -> str:
        """The stage settings as the one JSON text that the compiled pipeline carries."""
        return json.dumps({**self.stages, "profile": self.name}, ensure_ascii=False, sort_keys=True)

    def resources_of(self, step: str) -> Resources:
        """What a step asks of a cluster."""
        return self.resources.get(step, self.resources.get("default", Resources()))


def profile_names() -> list[str]:
    """The profiles that ship."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def profile_path(name: str) -> Path:
    """The file of a profile, given by its name or by the path of a YAML file.

    Raises:
        BadInput: no such profile.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.is_file():
        mend = known_names(name, profile_names())
        raise BadInput(f"no profile {name!r}", where="--profile", mend=mend)
    return path


def load_profile(name: str) -> Profile:
    """A profile by its name, or by the path of a YAML file.

    Raises:
        BadInput: no such profile, or a file that breaks the format.
    """
    path = profile_path(name)
    try:
        profile = Profile.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (ValidationError, yaml.YAMLError) as error:
        raise BadInput(f"malformed profile: {_first(error)}", where=str(path)) from error
    if profile.name != path.stem:
        raise BadInput(f"the name {profile.name!r} differs from the file's", where=str(path))
    known = {step.name for step in STEPS}
    for table in (profile.expected_seconds, profile.resources):
        if unknown := set(table) - known - {"default"}:
            raise BadInput(f"no step is called {sorted(unknown)[0]!r}", where=str(path))
    _ = profile.config
    return profile


def _first(error: Exception) -> str:
    return first_problem(error) if isinstance(error, ValidationError) else str(error)
