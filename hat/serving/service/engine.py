"""What the service asks of an engine: a model that it serves, and of that model one turn of a conversation."""

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


class ServedModel(Protocol):
    """One model on an engine. It never answers for another, also when the engine has been given another since.

    Cancelling a call ends the work on it in the engine, too.
    """

    url: str

    async def is_served(self) -> bool:
        """Whether the engine still has this very model.

        Raises:
            EngineFault: the engine cannot be reached or does not answer.
        """

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], max_new_tokens: int
    ) -> Completion:
        """The assistant's next turn, greedily decoded.

        Raises:
            EngineFault: there is none, or the engine has this model no longer.
        """


class Engine(Protocol):
    """A server of models."""

    url: str

    async def find(self, harness: str, model_digest: str) -> ServedModel | None:
        """This very model, exported for that harness; None where the engine does not serve it now.

        Raises:
            EngineFault: the engine cannot be reached or does not answer.
        """
