"""Plays one question's episode against an engine: turns, retries, tool calls, and what it took."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from hat.agent.episode import Episode, Request
from hat.domains.base import Task, ToolOutcome
from hat.serving.service.engine import Completion, EngineFault
from hat.serving.service.pair import ServedPair
from hat.trajectories.record import Turn

RunTool = Callable[[Task, Request], Awaitable[ToolOutcome]]
OnTurn = Callable[[int, Turn], Awaitable[None]]
"""Told of each turn, by its number, once its tools have answered."""


@dataclass
class Effort:
    """What an answer took; kept also of an answer that failed. Times on the event loop's clock, in seconds."""

    turns: list[float] = field(default_factory=list)
    """When the first token of each turn was there."""
    output_tokens: int = 0
    faults: list[str] = field(default_factory=list)
    """Codes of the engine's faults, those that passed included."""


@dataclass(frozen=True)
class Patience:
    """How often a turn is asked for, and how long the first wait between is, in seconds."""

    attempts: int
    retry_seconds: float


async def play(
    pair: ServedPair,
    episode: Episode,
    effort: Effort,
    run_tool: RunTool,
    *,
    max_new_tokens: int,
    patience: Patience,
    on_turn: OnTurn | None = None,
) -> None:
    """Drive the episode to its end.

    Raises:
        EngineFault: a turn has no answer after all attempts; the episode has ended with ``engine_error``.
    """
    while not episode.done:
        try:
            completion = await _ask(pair, episode, effort, max_new_tokens, patience)
        except EngineFault:
            episode.fail()
            raise
        effort.turns.append(completion.first_token)
        effort.output_tokens += completion.tokens
        requests = episode.submit(completion.text)
        if requests:
            # In their order, as everywhere else: a later call may depend on what an earlier one changed.
            episode.observe([await run_tool(episode.task, request) for request in requests])
        if on_turn is not None:
            await on_turn(len(episode.turns) - 1, episode.turns[-1])


async def _ask(
    pair: ServedPair, episode: Episode, effort: Effort, max_new_tokens: int, patience: Patience
) -> Completion:
    wait = patience.retry_seconds
    for attempt in range(1, patience.attempts + 1):
        try:
            return await pair.model.complete(episode.messages(), episode.tools, max_new_tokens)
        except EngineFault as fault:
            effort.faults.append(fault.code)
            if not fault.may_pass or attempt == patience.attempts:
                raise
        await asyncio.sleep(wait)
        wait *= 2
    raise AssertionError("unreachable")


def turn_document(number: int, turn: Turn) -> dict[str, Any]:
    """A turn as it is streamed: which tools were called and how that went; never text that no hook has seen."""
    return {
        "turn": number,
        "calls": [
            {"tool": call.name, "outcome": observation.kind}
            for call, observation in zip(turn.calls, turn.observations, strict=True)
        ],
        "blocked_by": turn.verdict.check if turn.verdict else None,
    }
