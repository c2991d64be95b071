"""Settings of the agent service."""

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from hat.evaluation.config import EvaluateConfig

EngineKind = Literal["vllm", "triton-vllm"]
"""Names as gate policies have them."""


def http_address(text: str) -> str:
    """``text``, which must be an HTTP server's base URL. Raises `ValueError`."""
    parts = urlsplit(text)  # raises ValueError, and so does a port that is none
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError(f"not the address of an HTTP server: {text!r}; e.g. http://127.0.0.1:8000")
    return text


class ServiceConfig(BaseModel):
    """How questions are admitted, answered and bounded."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: str = Field(default="127.0.0.1", min_length=1)
    """Address to listen on; `0.0.0.0` in a container."""
    port: int = Field(default=8080, ge=0, le=65535)
    """0 takes any free port."""
    engine: EngineKind = "vllm"
    """What the engines are."""
    engines: tuple[Annotated[str, AfterValidator(http_address)], ...] = Field(min_length=1)
    """Base URLs. The one that serves the model of the pair is asked, so that a new model's engine can be started
    beside the old one's."""
    hardware: str = "unknown"
    """What the engines run on, as gate policies name it; only the operator knows."""
    concurrency: int = Field(default=8, ge=1)
    """Questions worked on at once."""
    queue: int = Field(default=32, ge=0)
    """Questions that may wait beyond those; further ones are refused with 429."""
    deadline_seconds: float = Field(default=60.0, gt=0)
    """Until when a question is answered that names no deadline, its time in the queue included."""
    longest_deadline_seconds: float = Field(default=120.0, gt=0)
    """Bound of a deadline that a question may name; a drain takes no longer than this."""
    tool_seconds: float = Field(default=10.0, gt=0)
    """Patience with one tool call; the model is told of a time-out as of any error of a tool."""
    attempts: int = Field(default=3, ge=1)
    """How often one turn is asked of an engine that breaks off or fails, within the deadline."""
    retry_seconds: float = Field(default=0.25, gt=0)
    """Wait before the second attempt; it doubles with each."""
    max_new_tokens: int = Field(default=EvaluateConfig().max_new_tokens, ge=1)
    """Bound of one turn, as in the evaluation."""
    max_question_characters: int = Field(default=2000, ge=1)
    max_body_bytes: int = Field(default=65536, ge=1024)
    """Larger request bodies are refused with 413."""
    poll_seconds: float = Field(default=5.0, gt=0)
    """How often the ledger and the engine are looked at."""
