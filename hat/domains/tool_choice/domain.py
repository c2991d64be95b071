"""Tasks whose whole answer is one right tool call: harness, gold, score, and two policies to hold a model against."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hat.agent.calls import Call, render_call
from hat.agent.policy import answer_requests
from hat.domains.base import Scores, Split, Task, ToolOutcome
from hat.errors import BadInput
from hat.files import canonical_json
from hat.harness.model import Binding, Block, Document, Harness, Hook, Limits, Tool

if TYPE_CHECKING:
    from hat.agent.checks import Check
    from hat.agent.episode import Episode
    from hat.agent.policy import Executor, Policy
    from hat.trajectories.record import Trajectory

NAME = "tool_choice"
INTENT = "call_a_tool"
_LIMITS = Limits(max_turns=4, max_tool_calls=4, max_reply_characters=2000, max_retries=1)
_ROLE = Document(
    "Role", ("Answer by calling the one tool that the question needs.", "Then say that it is done.")
)
_HOOKS = (
    Hook("PreToolUse", "*", "arguments_valid", "Wrong arguments: {problem}. Fix them and call again."),
    Hook("PreReply", "*", "reply_length", "The reply is longer than {limit} characters. Shorten it."),
)


def tool_list_harness(name: str, tools: Sequence[Tool]) -> Harness:
    """A harness of tools only: each does the operation of its own name."""
    bindings = tuple(
        (tool.name, Binding(tool.name, tuple((a, a) for a in tool.input_schema.get("properties", {}))))
        for tool in tools
    )
    return Harness(
        name=name,
        version="1.0.0",
        parent=None,
        changed="Made from a published list of tools.",
        domain=NAME,
        tools=tuple(tools),
        skills=(),
        blocks=(Block("role", "prompt", _ROLE),),
        hooks=_HOOKS,
        limits=_LIMITS,
        layout="markdown",
        bindings=bindings,
    )


def tool_choice_task(id: str, split: Split, question: str, acceptable: Sequence[Call]) -> Task:
    """A task that any one of the acceptable calls solves.

    Raises:
        BadInput: there is no acceptable call.
    """
    if not acceptable:
        raise BadInput("no call is acceptable", where=id)
    return Task(
        id=id,
        split=split,
        intent=INTENT,
        question=question,
        session={},
        slots={"acceptable": [[call.name, dict(call.arguments)] for call in acceptable]},
        operations=((acceptable[0].name, dict(acceptable[0].arguments)),),
        facts=(),
        answerable=True,
        source="hand-written",
    )


class ToolChoice:
    """A domain whose tasks are given: published questions, each with its own tool list."""

    name: str = NAME
    intents: tuple[str, ...] = (INTENT,)
    checks: Mapping[str, Check] = {}

    def __init__(
        self,
        tasks: Sequence[Task],
        operations: Mapping[str, tuple[str, ...]] | None = None,
        by_heart: Mapping[str, Call] | None = None,
    ) -> None:
        """``by_heart``: by question, the call that the baseline knows; the first acceptable one where it is absent."""
        self._tasks = list(tasks)
        self.operations = operations or {}
        self._by_heart = by_heart or {}

    def sample_session(self, seed: int, split: Split) -> Mapping[str, str | int]:
        return {}

    def sample_tasks(
        self,
        split: Split,
        count: int,
        seed: int,
        intents: Sequence[str] | None = None,
        session: Mapping[str, str | int] | None = None,
    ) -> list[Task]:
        """The first ``count`` of the tasks given; they are a fixed set, so nothing is drawn.

        Raises:
            BadInput: there are fewer.
        """
        if count > len(self._tasks):
            raise BadInput(f"only {len(self._tasks)} different tasks of {count} are there", where=NAME)
        return self._tasks[:count]

    def hand_written_tasks(self) -> list[Task]:
        return list(self._tasks)

    def execute(
        self, task: Task, operation: str, arguments: Mapping[str, Any], attempt: int = 0
    ) -> ToolOutcome:
        """Every call is taken; whether it was the right one is for the score."""
        return ToolOutcome("ok", {"done": True})

    def score(self, task: Task, trajectory: Trajectory, harness: Harness) -> Scores:
        """Right: the only call taken is one of the acceptable ones, name and arguments exact.

        ``effectiveness`` is 0.5 where the tool and the names of its arguments are right and their values are not;
        ``tool_rationality`` asks for the tool alone.
        """
        made = [
            call
            for turn in trajectory.turns
            for call, observation in zip(turn.calls, turn.observations, strict=True)
            if observation.kind in ("result", "error")
        ]
        acceptable = [Call(name, arguments) for name, arguments in task.slots["acceptable"]]
        replied = trajectory.end == "replied"
        exact = replied and len(made) == 1 and any(_same(made[0], call) for call in acceptable)
        near = len(made) == 1 and any(
            made[0].name == call.name and made[0].arguments.keys() == call.arguments.keys()
            for call in acceptable
        )
        tools = {call.name for call in acceptable}
        return Scores(
            accuracy=int(exact),
            effectiveness=1.0 if exact else 0.5 if near else 0.0,
            tool_rationality=sum(call.name in tools for call in made[:1]) / len(made) if made else 0.0,
            skill_selection=1.0,
            skill_loaded=False,
            refused=not made,
            parsed=all(turn.raw is None for turn in trajectory.turns),
        )

    def expert(self) -> Policy:
        """Makes the first acceptable call: it knows the gold, for replaying it."""
        return _Script("gold-call", lambda episode: episode.state.encode(_first_acceptable(episode.task)))

    def baseline(self) -> Policy:
        """Harness-blind: makes the call that it knows by heart, whatever the state presents."""

        def known(episode: Episode) -> Call:
            return self._by_heart.get(episode.task.question) or _first_acceptable(episode.task)

        return _Script("canonical-call", known)


class _Script:
    def __init__(self, name: str, choose: Callable[[Episode], Call]) -> None:
        self.name = name
        self._choose = choose

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """One call, then a reply, whatever came of it."""
        for index, episode in enumerate(episodes):
            text = render_call(self._choose(episode))
            while not episode.done:
                answer_requests(episode, episode.submit(text), execute)
                text = "Done."
            on_done(index)


def _first_acceptable(task: Task) -> Call:
    name, arguments = task.slots["acceptable"][0]
    return Call(name, arguments)


def _same(made: Call, wanted: Call) -> bool:
    """As JSON text, since 1, 1.0 and True are equal in Python."""
    return made.name == wanted.name and canonical_json(dict(made.arguments)) == canonical_json(
        dict(wanted.arguments)
    )
