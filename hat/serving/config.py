"""Settings of export, of the engine that judges a model, and of the latency measurement."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from hat.evaluation.config import EvaluateConfig


class ExportConfig(BaseModel):
    """How the candidate is packaged for serving engines."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str = Field(default="", pattern=r"^([A-Za-z0-9][A-Za-z0-9._-]{0,63})?$")
    """What engines call the model; empty: the harness's name."""
    max_model_len: int = Field(default=2048, ge=64)
    """Tokens of a whole conversation: harness, four turns and the tools' results fit many times."""
    tool_call_parser: str = Field(default="hermes", min_length=1)
    """vLLM's parser of the model's tool calls; `hermes` reads the tags of our chat template."""
    enforce_eager: bool = True
    """Do not compile the model in vLLM: needed on a CPU; turn it off for an accelerator."""
    license: str = ""
    """SPDX id of the base model's licence for the model card; empty: known for the default base only."""


class EngineConfig(BaseModel):
    """What runs the models that `screen`, `evaluate` and `latency` judge."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["transformers", "vllm"] = "transformers"
    """`transformers`: in the step's process, on its CPU. `vllm`: vLLM's server, which the step starts and ends."""
    command: str = Field(default="vllm", min_length=1)
    """vLLM's executable, by name or path. vLLM lives in an environment of its own."""
    variables: dict[str, str] = {}
    """Environment variables for it, e.g. `VLLM_TARGET_DEVICE: cpu`."""
    arguments: dict[str, str | int | float | bool] = {}
    """Arguments of `vllm serve`, long names without dashes, beside those of the export."""
    start_seconds: float = Field(default=600.0, gt=0)
    """Patience with its start, in which it loads the weights."""
    concurrency: int = Field(default=8, ge=1)
    """Episodes played at once in an evaluation, and so requests in flight."""
    answer_seconds: float = Field(default=300.0, gt=0)
    """Patience with one turn in an evaluation."""
    exclusive: bool = False
    """You state that nothing else uses the device while latency is measured; a client of a server cannot see that."""


class LatencyConfig(BaseModel):
    """The questions that are timed. Their number, arrival and warm-up are the gate policy's."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    requests: int | None = Field(default=None, ge=1)
    """Questions asked, the policy's warm-up included; by default the fewest that can prove its limits."""
    split: Literal["dev", "test"] = "dev"
    """Whose products and phrasings the questions are about."""
    max_new_tokens: int = Field(default=EvaluateConfig().max_new_tokens, ge=1)
    """Bound of one turn, as in the evaluation."""
    timeout_seconds: float = Field(default=120.0, gt=0)
    """A reply that comes later than this after its scheduled send counts as a timeout."""
    seed: int = Field(default=0, ge=0)
    """Draws the questions and, in an open loop, their arrival times."""
