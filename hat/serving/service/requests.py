"""What clients send and get: a question as JSON, an answer, an error."""

import secrets
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hat.agent.episode import Episode
from hat.domains.base import Task
from hat.errors import BadInput
from hat.serving.service.answer import Effort
from hat.serving.service.pair import ServedPair
from hat.validation import first_problem

_ShortText = Annotated[str, Field(max_length=200)]


class Question(BaseModel):
    """The body of `POST /v1/questions`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    question: str = Field(min_length=1)
    session: dict[_ShortText, _ShortText | int] = Field(max_length=32)
    """What the harness's prompt asks of the room, e.g. `host`, `ends_at` and `showing`."""
    language: str = Field(default="en", max_length=35)
    deadline_ms: int | None = Field(default=None, ge=1)
    """Milliseconds from arrival within which an answer is of use; the service's own bound applies, too."""
    stream: bool = False
    """Answer with server-sent events."""


class AnswerError(Exception):
    """A question that gets an error for an answer."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: int | None = None) -> None:
        self.status = status
        self.code = code
        self.message = message
        self.retry_after = retry_after
        super().__init__(message)

    def document(self) -> dict[str, Any]:
        """The error as clients get it."""
        return {"error": {"code": self.code, "message": self.message}}


def read_question(body: bytes, max_characters: int) -> Question:
    """The question in a request's body.

    Raises:
        AnswerError: 400, with what is wrong.
    """
    try:
        question = Question.model_validate_json(body)
    except ValidationError as error:
        raise AnswerError(400, "bad_request", first_problem(error)) from error
    if len(question.question) > max_characters:
        raise AnswerError(400, "bad_request", f"question: longer than {max_characters} characters")
    return question


def begin_episode(pair: ServedPair, question: Question) -> Episode:
    """The episode of a viewer's question, whose gold nobody knows.

    Raises:
        AnswerError: 400 when the session lacks a value that the harness's prompt asks for.
    """
    identity = secrets.token_hex(8)
    task = Task(
        id=identity,
        split="test",
        intent="",
        question=question.question,
        session=question.session,
        slots={},
        operations=(),
        facts=(),
        answerable=True,
        language=question.language,
    )
    try:
        return Episode(pair.state, task, pair.domain, episode_id=identity)
    except BadInput as error:
        raise AnswerError(400, "bad_session", error.what) from error


def answer_document(
    pair: ServedPair, episode: Episode, effort: Effort, *, arrived: float, begun: float, finished: float
) -> dict[str, Any]:
    """The answer. Times are seconds since the question arrived."""
    return {
        "schema_version": 1,
        "id": episode.id,
        "reply": episode.reply if episode.end == "replied" else None,
        "end": episode.end,
        "pair": pair.document(),
        "turns": len(episode.turns),
        "tool_calls": sum(len(turn.calls) for turn in episode.turns),
        "output_tokens": effort.output_tokens,
        "engine_faults": len(effort.faults),
        "queued_seconds": round(begun - arrived, 6),
        "turn_first_tokens": [round(at - arrived, 6) for at in effort.turns],
        "seconds": round(finished - arrived, 6),
    }
