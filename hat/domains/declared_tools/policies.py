"""Two policies for declared tools: an expert that follows the harness, and a baseline that knows names by heart."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import Executor, answer_requests
from hat.domains.declared_tools.domain import INTENT, Procedure
from hat.harness.model import LOAD_SKILL, LOAD_SKILL_ARGUMENT, Harness
from hat.trajectories.record import Turn

if TYPE_CHECKING:
    from hat.domains.declared_tools.domain import DeclaredTools

UNKNOWN = "Sorry, no tool does that."
RETRIES = 2


class DeclaredExpert:
    """Reads the question by rule and follows the harness. It sees nothing of the task's gold."""

    name = "scripted-expert"

    def __init__(self, domain: DeclaredTools) -> None:
        self._domain = domain

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end, one after the other."""
        for index, episode in enumerate(episodes):
            plan = self._plan(episode.task.question, episode.state.canonical)
            action = next(plan)
            while True:
                text = action if isinstance(action, str) else render_call(episode.state.encode(action))
                answer_requests(episode, episode.submit(text), execute)
                if episode.done:
                    break
                action = plan.send(episode.turns[-1])
            on_done(index)

    def _plan(self, question: str, harness: Harness) -> Generator[Call | str, Turn, None]:
        asked = self._domain.understand(question)
        reply = UNKNOWN
        if isinstance(asked, Procedure):
            turn = yield _call(harness, LOAD_SKILL, {LOAD_SKILL_ARGUMENT: asked.skill})
            if turn.observations[0].kind == "skill":
                reply = f"Procedure: {harness.skill(asked.skill).body.title}."
        elif asked is not None:
            for _ in range(1 + RETRIES):
                turn = yield _call(harness, *asked)
                (observation,) = turn.observations
                if observation.kind == "result":
                    reply = f"Done. Receipt {observation.value['receipt']}."
                    break
        yield _call(harness, LOAD_SKILL, {LOAD_SKILL_ARGUMENT: harness.skill_for(INTENT)})
        while True:
            yield reply


class DeclaredBaseline:
    """Calls every tool by the operation's name and loads no skill: what the tasks are worth without a harness."""

    name = "names-by-heart"

    def __init__(self, domain: DeclaredTools) -> None:
        self._domain = domain

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end, one after the other."""
        for index, episode in enumerate(episodes):
            asked = self._domain.understand(episode.task.question)
            reply = UNKNOWN
            if asked is not None and not isinstance(asked, Procedure):
                answer_requests(episode, episode.submit(render_call(Call(*asked))), execute)
                results = [o.value for turn in episode.turns for o in turn.observations if o.kind == "result"]
                reply = f"Done. Receipt {results[0]['receipt']}." if results else UNKNOWN
            while not episode.done:
                episode.submit(reply)
            on_done(index)


def _call(harness: Harness, operation: str, arguments: Mapping[str, Any]) -> Call:
    tool = harness.tool_for(operation)
    names = {to: name for name, to in harness.binding(tool).arguments}
    return Call(tool, {names.get(name, name): value for name, value in arguments.items()})
