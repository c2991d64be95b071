"""Presenting canonical turns under a harness state: the messages that a model sees."""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from hat.agent.calls import render_call
from hat.augment.state import HarnessState
from hat.domains.base import Task
from hat.harness.render import render_skill, render_system_prompt
from hat.harness.symbols import rewrite_code_spans
from hat.trajectories.record import Observation, Trajectory, Turn, Verdict

Message = dict[str, Any]

DEFAULT_MESSAGES: Mapping[str, str] = {
    "calls_well_formed": "That call was not readable: {problem}.",
    "command": "{message}",
    "too_many_calls": "The limit of {limit} tool calls is reached. Reply now.",
}
"""What is said when the harness has no hook of its own for a check that the episode always makes."""

_ENCODER = json.JSONEncoder(ensure_ascii=False)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def opening_messages(task: Task, state: HarnessState) -> list[Message]:
    """The system prompt and the viewer's question, after the blocks that the state puts before it."""
    question = task.question
    if state.user_blocks:
        question = f"{render_system_prompt(state.user_harness, task.session)}\n\n{question}"
    return [
        {"role": "system", "content": render_system_prompt(state.system_harness, task.session)},
        {"role": "user", "content": question},
    ]


def turn_messages(turn: Turn, state: HarnessState, index: int) -> list[Message]:
    """The assistant's message of turn number ``index`` and what follows it (nothing, after an accepted reply)."""
    if turn.raw is not None:
        messages: list[Message] = [{"role": "assistant", "content": turn.raw}]
    else:
        assistant: Message = {"role": "assistant", "content": turn.content}
        if turn.calls:
            assistant["tool_calls"] = [
                {
                    "id": call_id(index, position),
                    "type": "function",
                    "function": {"name": call.name, "arguments": dict(call.arguments)},
                }
                for position, call in enumerate(map(state.encode, turn.calls))
            ]
        messages = [assistant]
    for position, (call, observation) in enumerate(zip(turn.calls, turn.observations, strict=True)):
        content = present_observation(observation, call.name, state)
        messages.append({"role": "tool", "tool_call_id": call_id(index, position), "content": content})
    if turn.verdict is not None:
        messages.append({"role": "user", "content": present_verdict(turn.verdict, None, state)})
    return messages


def present(trajectory: Trajectory, state: HarnessState) -> list[Message]:
    """All messages of a trajectory under a state: what `hat.agent.episode.Episode.messages` gives there."""
    messages = opening_messages(trajectory.task, state)
    for index, turn in enumerate(trajectory.turns):
        messages.extend(turn_messages(turn, state, index))
    return messages


def assistant_text(turn: Turn, state: HarnessState) -> str:
    """The text that the assistant would have written for this turn under this state."""
    if turn.raw is not None:
        return turn.raw
    return turn.content + "".join(render_call(state.encode(call)) for call in turn.calls)


def call_id(turn_index: int, position: int) -> str:
    """The id that ties a tool message to its call."""
    return f"call_{turn_index}_{position}"


def present_observation(observation: Observation, canonical_tool: str, state: HarnessState) -> str:
    """The content of the tool message."""
    envelope = state.codec.envelope
    if observation.kind == "result":
        value = envelope.wrap_result(observation.value) if envelope else observation.value
        return _ENCODER.encode(value)
    if observation.kind == "error":
        error = {"error": observation.code, "message": observation.value}
        if envelope:
            error = envelope.wrap_error(observation.code, observation.value)
        return _ENCODER.encode(error)
    if observation.kind == "skill":
        return render_skill(state.presented, state.codec.skill(observation.value))
    if observation.kind == "unknown_name" and observation.code == "value":
        return f"Unknown value `{observation.value}`. Use a value that the tool's schema lists."
    if observation.kind == "unknown_name":
        return f"Unknown {observation.code} `{observation.value}`. Known: {', '.join(_known(observation, state))}."
    assert observation.verdict is not None
    return present_verdict(observation.verdict, canonical_tool, state)


def present_verdict(verdict: Verdict, canonical_tool: str | None, state: HarnessState) -> str:
    """The hook's message under this state, its placeholders filled with presented names."""
    message = DEFAULT_MESSAGES.get(verdict.check, "Blocked by `{check}`.")
    for hook in state.presented.hooks:
        if hook.check == verdict.check:
            message = hook.message
            break

    def symbol(name: str) -> str:
        if canonical_tool is not None and _is_argument(state, canonical_tool, name):
            return state.codec.argument_path(canonical_tool, name)
        return state.present_symbol(name)

    values = {"check": verdict.check, **verdict.parameters}
    shown = {name: rewrite_code_spans(value, symbol) for name, value in values.items()}
    return _PLACEHOLDER.sub(lambda match: shown.get(match.group(1), match.group(0)), message)


def _is_argument(state: HarnessState, tool: str, name: str) -> bool:
    codec = state.codec
    return (tool, name) in codec.arguments or (tool in codec.shapes and name in codec.shapes[tool].grouped)


def _known(observation: Observation, state: HarnessState) -> Iterable[str]:
    if observation.code == "skill":
        return (f"`{skill.name}`" for skill in state.presented.skills)
    return (f"`{tool.name}`" for tool in state.presented.tools)
