"""One episode as a state machine without I/O: assistant output in, requests and observations out.

Generation, reinforcement learning, evaluation and serving all drive this one object.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hat.agent.calls import AssistantTurn, Call, MalformedCall, parse_assistant, render_assistant
from hat.agent.checks import GENERAL_CHECKS, CheckContext
from hat.agent.command_hooks import run_command
from hat.augment.codec import UnknownName
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task, ToolOutcome
from hat.errors import BadInput
from hat.files import canonical_json
from hat.harness.matchers import matches
from hat.harness.model import LOAD_SKILL, LOAD_SKILL_ARGUMENT
from hat.harness.render import render_tools
from hat.trajectories.present import Message, opening_messages, turn_messages
from hat.trajectories.record import End, Observation, StateReference, Trajectory, Turn, Verdict

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Request:
    """A domain operation that must be executed before the episode can go on."""

    index: int
    operation: str
    arguments: Mapping[str, Any]
    attempt: int
    """How many times this episode made the same request before; faults are scheduled by it."""


class Episode:
    """The episode of one task under one harness state.

    Usage: `submit` the assistant's output; execute the requests it returns, if any, and `observe` their outcomes;
    repeat until `done`.

    Raises:
        BadInput: a hook names a check that neither `hat.agent.checks` nor the domain has.
    """

    def __init__(self, state: HarnessState, task: Task, domain: Domain, episode_id: str = "") -> None:
        self.state = state
        self.task = task
        self.id = episode_id or f"{task.id}/{state.digest[:12]}"
        self.end: End = "unfinished"
        self.reply = ""
        self._checks = {**GENERAL_CHECKS, **domain.checks}
        for hook in state.canonical.hooks:
            if hook.check not in self._checks and hook.check not in ("calls_well_formed", "too_many_calls"):
                raise BadInput(
                    f"hook names an unknown check {hook.check!r}",
                    where=f"{state.canonical.name}@{state.canonical.version}",
                    mend=f"Known: {', '.join(sorted(self._checks))}.",
                )
        self._messages: list[Message] = opening_messages(task, state)
        self._shown = 0
        """Turns whose messages are rendered: many episodes are played that nobody reads."""
        self._turns: list[Turn] = []
        self._retries = 0
        self._open: tuple[AssistantTurn, list[Call], list[Observation | None]] | None = None
        self._requests: tuple[Request, ...] = ()
        self._request_counts: dict[str, int] = {}

    @property
    def done(self) -> bool:
        return self.end != "unfinished"

    @property
    def turns(self) -> Sequence[Turn]:
        return self._turns

    @property
    def requests(self) -> tuple[Request, ...]:
        """The requests whose outcomes `observe` waits for."""
        return self._requests

    @property
    def tools(self) -> list[dict[str, Any]]:
        """The presented tools, for a chat template's ``tools=``."""
        return render_tools(self.state.presented)

    def messages(self) -> list[Message]:
        """The presented conversation so far, the system prompt first."""
        for index in range(self._shown, len(self._turns)):
            self._messages.extend(turn_messages(self._turns[index], self.state, index))
        self._shown = len(self._turns)
        return list(self._messages)

    def submit(self, output: str | AssistantTurn) -> tuple[Request, ...]:
        """Take one assistant output.

        Returns:
            The domain operations that now need executing; empty when the episode already has its next observation
            or has ended.
        """
        if self.done or self._open is not None:
            raise ValueError("the episode is not waiting for the assistant")
        try:
            output_turn = parse_assistant(output) if isinstance(output, str) else output
        except MalformedCall as error:
            raw = output if isinstance(output, str) else render_assistant(output)
            verdict = Verdict("calls_well_formed", {"problem": error.message, "code": error.code})
            self._close(Turn("", verdict=verdict, raw=raw), blocked=True)
            return ()
        if output_turn.calls:
            return self._take_calls(output_turn)
        self._take_reply(output_turn)
        return ()

    def observe(self, outcomes: Sequence[ToolOutcome]) -> None:
        """Take the outcomes of the open requests, in their order."""
        if self._open is None or len(outcomes) != len(self._requests):
            raise ValueError(f"expected the outcomes of {len(self._requests)} requests, got {len(outcomes)}")
        _, _, observations = self._open
        for request, outcome in zip(self._requests, outcomes, strict=True):
            if outcome.status == "ok":
                # The code of a result is that of a silent fault, if it is broken; the model never sees it.
                observations[request.index] = Observation("result", outcome.value, outcome.code)
            else:
                observations[request.index] = Observation("error", outcome.value, outcome.code)
        self._finish_calls()

    def fail(self) -> None:
        """End the episode because the engine gave no answer."""
        self._open, self._requests = None, ()
        self.end = "engine_error"

    def trajectory(self, policy: str = "") -> Trajectory:
        """The canonical record so far."""
        state = self.state
        return Trajectory(
            id=self.id,
            task=self.task,
            harness=state.canonical.name,
            version=state.canonical.version,
            base_digest=state.base_digest,
            state=StateReference(state.seed, state.split, state.families, state.digest),
            policy=policy,
            turns=tuple(self._turns),
            end=self.end,
            reply=self.reply,
        )

    def _take_calls(self, turn: AssistantTurn) -> tuple[Request, ...]:
        calls: list[Call] = []
        observations: list[Observation | None] = []
        requests: list[Request] = []
        for presented in turn.calls:
            call, observation = self._admit(presented, len(calls))
            calls.append(call)
            observations.append(observation)
            if observation is None:
                requests.append(self._request(len(calls) - 1, call))
        self._open = (turn, calls, observations)
        self._requests = tuple(requests)
        if not requests:
            self._finish_calls()
        return self._requests

    def _admit(self, presented: Call, earlier_in_turn: int) -> tuple[Call, Observation | None]:
        """The canonical call, and its observation where it needs no execution."""
        try:
            call = self.state.decode(presented)
        except UnknownName as error:
            return presented, Observation("unknown_name", error.name, error.kind)
        if all(tool.name != call.name for tool in self.state.canonical.tools):
            return call, Observation("unknown_name", presented.name, "tool")
        limit = self.state.canonical.limits.max_tool_calls
        if sum(len(turn.calls) for turn in self._turns) + earlier_in_turn >= limit:
            return call, Observation("blocked", "", verdict=Verdict("too_many_calls", {"limit": str(limit)}))
        verdict = self._blocking_verdict("PreToolUse", call=call)
        if verdict is not None:
            return call, Observation("blocked", "", verdict=verdict)
        if self.state.canonical.binding(call.name).operation == LOAD_SKILL:
            return call, self._load_skill(call)
        return call, None

    def _load_skill(self, call: Call) -> Observation:
        arguments = dict(self.state.canonical.binding(call.name).arguments)
        skill = next(
            (call.arguments.get(name) for name, to in arguments.items() if to == LOAD_SKILL_ARGUMENT), None
        )
        if any(known.name == skill for known in self.state.canonical.skills):
            return Observation("skill", skill)
        return Observation("unknown_name", str(skill), "skill")

    def _request(self, index: int, call: Call) -> Request:
        binding = self.state.canonical.binding(call.name)
        names = dict(binding.arguments)
        arguments = {names.get(name, name): value for name, value in call.arguments.items()}
        key = canonical_json([binding.operation, arguments])
        attempt = self._request_counts.get(key, 0)
        self._request_counts[key] = attempt + 1
        return Request(index, binding.operation, arguments, attempt)

    def _finish_calls(self) -> None:
        assert self._open is not None
        turn, calls, observations = self._open
        self._open, self._requests = None, ()
        done = tuple(observation for observation in observations if observation is not None)
        blocked = all(observation.kind in ("blocked", "unknown_name") for observation in done)
        self._close(Turn(turn.content, tuple(calls), done, thinking=turn.thinking), blocked=blocked)

    def _take_reply(self, turn: AssistantTurn) -> None:
        if not turn.content:
            # An empty reply is a wrong reply; asking again would hide it.
            self._close(Turn("", thinking=turn.thinking), blocked=False)
            self.end = "empty_reply"
            return
        verdict = self._blocking_verdict("PreReply", reply=turn.content)
        closed = Turn(turn.content, verdict=verdict, thinking=turn.thinking)
        self._close(closed, blocked=verdict is not None)
        if verdict is None:
            self.reply, self.end = turn.content, "replied"

    def _blocking_verdict(
        self, event: str, call: Call | None = None, reply: str | None = None
    ) -> Verdict | None:
        """The first hook of the event that blocks, in the harness's order."""
        context = CheckContext(self.state, self.task, self._turns, call, reply)
        for hook in self.state.canonical.hooks:
            if hook.event != event or hook.check not in self._checks:
                continue
            if call is not None and hook.matcher not in ("*", call.name):
                continue
            parameters = self._checks[hook.check](context)
            if parameters is not None:
                return Verdict(hook.check, parameters)
        return self._command_verdict(event, call, reply)

    def _command_verdict(self, event: str, call: Call | None, reply: str | None) -> Verdict | None:
        """The first command that blocks, where the profile lets commands run."""
        if not self.state.canonical.commands_allowed:
            return None
        payload: dict[str, Any] = {"hook_event_name": event, "session_id": self.id}
        if call is not None:
            payload |= {"tool_name": call.name, "tool_input": dict(call.arguments)}
        else:
            payload["last_assistant_message"] = reply
        for hook in self.state.canonical.command_hooks:
            if hook.event == event and (call is None or matches(hook.matcher, call.name)):
                outcome = run_command(hook, payload)
                if outcome.status == "blocked":
                    return Verdict("command", {"message": outcome.message})
                if outcome.status == "error":
                    _LOG.warning("hook command %r: %s", hook.command[:80], outcome.message)
        return None

    def _close(self, turn: Turn, *, blocked: bool) -> None:
        self._turns.append(turn)
        limits = self.state.canonical.limits
        if blocked:
            self._retries += 1
            if self._retries > limits.max_retries:
                self.end = "retries_exhausted"
                return
        if len(self._turns) >= limits.max_turns:
            self.end = "turns_exhausted"
