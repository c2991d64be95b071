"""What the service asks of an engine: which models it serves, and one turn of a conversation."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class EngineFault(Exception):
    """The engine gave no usable answer to one request.

    ``code`` is from a closed set: ``unreachable``, ``broken_off``, ``unreadable``, ``overloaded``, ``failed``,
    ``refused``. Only a refusal is pointless to repeat: decoding is greedy, so a turn may be asked for again.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(message)

    @property
    def may_pass(self) -> bool:
        """Whether the same request may be answered when it is sent again."""
        return self.code != "refused"


@dataclass(frozen=True)
class Completion:
    """One turn as an engine wrote it."""

    text: str
    """The raw text: tool calls are parsed by the episode, as strictly as in training."""
    first_token: float
    """When its first piece was there, on the event loop's clock."""
    tokens: int
    """Sampled tokens, as far as the engine tells."""


class Engine(Protocol):
    """A served model. Cancelling a call ends the work on it in the engine, too."""

    url: str

    async def serves(self, harness: str, model_digest: str) -> bool:
        """Whether this very model, exported for that harness, can be asked now.

        Raises:
            EngineFault: the engine cannot be reached or does not answer.
        """

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], max_new_tokens: int
    ) -> Completion:
        """The assistant's next turn, greedily decoded.

        Raises:
            EngineFault: there is none.
        """
