"""Settings of a model behind an OpenAI-compatible endpoint."""

from pydantic import BaseModel, ConfigDict, Field


class EndpointConfig(BaseModel):
    """Where the model is and how patiently it is asked."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(default="", pattern=r"^(https?://.+)?$")
    """Base URL up to and with `/v1`."""
    model: str = ""
    """The model's name there."""
    key_variable: str = "HAT_ENDPOINT_KEY"
    """Environment variable that holds the key; no key is sent when it is not set."""
    concurrency: int = Field(default=8, ge=1)
    """Episodes played at once, and so requests in flight."""
    timeout_seconds: float = Field(default=120, gt=0)
    """Patience with one request."""
    retries: int = Field(default=5, ge=0)
    """Further attempts after 429, a server error, a time-out, a broken connection or a malformed answer."""
    first_wait_seconds: float = Field(default=0.5, gt=0)
    """Wait before the first retry; it doubles with each, give or take half."""
    longest_wait_seconds: float = Field(default=60, gt=0)
    """Bound of one wait, also of one that the server asks for."""
    temperature: float = Field(default=0.0, ge=0)
    """Sampling temperature."""
    max_new_tokens: int = Field(default=512, ge=1)
    """Bound of one turn."""
    raw_calls: bool = False
    """Ask vLLM for a turn's raw text, calls unparsed: for a model whose calls our own strict parser is to judge."""
