"""The general checks that hooks may name: valid arguments, a loaded reply skill, the reply's length."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from hat.agent.calls import Call
from hat.augment.state import HarnessState
from hat.domains.base import Task
from hat.harness.reading.schemas import declared_arguments
from hat.harness.symbols import rewrite_code_spans
from hat.trajectories.record import Turn

_ENCODER = json.JSONEncoder(ensure_ascii=False)

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError
    from jsonschema.protocols import Validator


@dataclass(frozen=True)
class CheckContext:
    """All that a check may look at."""

    state: HarnessState
    task: Task
    turns: Sequence[Turn]
    """The turns before this one."""
    call: Call | None = None
    """The canonical call about to be made (PreToolUse)."""
    reply: str | None = None
    """The reply about to be sent (PreReply)."""


Check = Callable[[CheckContext], Mapping[str, str] | None]
"""Returns None to let pass, or the parameters of the hook's message."""


def arguments_valid(context: CheckContext) -> Mapping[str, str] | None:
    """The call's arguments satisfy the tool's input schema, and none is unknown to it.

    Before a reply: so do those of every call made, or a later call of the same tool made it right.
    """
    if context.call is not None:
        return _argument_problem(context.state, context.call)
    known = {tool.name for tool in context.state.canonical.tools}
    problems: dict[str, Mapping[str, str] | None] = {}
    for turn in context.turns:
        for call in turn.calls:
            if call.name in known:
                problems[call.name] = _of_tool(call.name, _argument_problem(context.state, call))
    return next((problem for problem in problems.values() if problem is not None), None)


def _argument_problem(state: HarnessState, call: Call) -> Mapping[str, str] | None:
    tool = state.canonical.tool(call.name)
    problem = argument_problem(tool.input_schema_json, _ENCODER.encode(dict(call.arguments)))
    return None if problem is None else {"problem": problem}


def _of_tool(tool: str, problem: Mapping[str, str] | None) -> Mapping[str, str] | None:
    """The problem with its argument named as the tool's: before a reply nothing else says whose it is."""
    if problem is None:
        return None
    return {key: rewrite_code_spans(text, lambda name: f"{tool}.{name}") for key, text in problem.items()}


@lru_cache(maxsize=16384)
def argument_problem(schema_json: str, arguments_json: str) -> str | None:
    """What is wrong with arguments under a tool's input schema; None when nothing is. Pure, hence remembered."""
    arguments = json.loads(arguments_json)
    validator = schema_validator(schema_json)
    declared = declared_arguments(validator.schema)
    for name in arguments:
        if name not in declared and not _open(validator.schema):
            return f"`{name}` is not an argument"
    error = next(iter(validator.iter_errors(arguments)), None)
    return None if error is None else _describe(error)


def tool_forbidden(context: CheckContext) -> Mapping[str, str] | None:
    """Never: for a tool, named by the hook's matcher, that is shown and may not be used."""
    return {}


def _open(schema: Mapping[str, Any]) -> bool:
    """True when a schema says itself which further arguments it takes."""
    return isinstance(schema.get("additionalProperties"), dict) or bool(schema.get("patternProperties"))


def reply_skill_loaded(context: CheckContext) -> Mapping[str, str] | None:
    """At least one reply skill was loaded before the reply."""
    reply_skills = {skill.name for skill in context.state.canonical.skills if skill.kind == "reply"}
    return None if loaded_skills(context.turns) & reply_skills else {}


def reply_length(context: CheckContext) -> Mapping[str, str] | None:
    """The reply is no longer than the harness allows, in characters."""
    limit = context.state.canonical.limits.max_reply_characters
    return None if len(context.reply or "") <= limit else {"limit": str(limit)}


def loaded_skills(turns: Sequence[Turn]) -> set[str]:
    """Canonical names of the skills that were loaded."""
    return {
        observation.value
        for turn in turns
        for observation in turn.observations
        if observation.kind == "skill"
    }


GENERAL_CHECKS: Mapping[str, Check] = {
    "arguments_valid": arguments_valid,
    "tool_forbidden": tool_forbidden,
    "reply_skill_loaded": reply_skill_loaded,
    "reply_length": reply_length,
}


@lru_cache(maxsize=4096)
def schema_validator(schema_json: str) -> "Validator":
    # Imported late: the linter needs the checks' names only, and must start quickly.
    from jsonschema import Draft7Validator, Draft202012Validator

    schema: dict[str, Any] = json.loads(schema_json)
    draft_07 = "draft-07" in str(schema.get("$schema", ""))
    return (Draft7Validator if draft_07 else Draft202012Validator)(schema)


def _describe(error: "ValidationError") -> str:
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"`{missing}` is missing"
    if not error.absolute_path:
        return "the arguments are not valid together"
    name = str(error.absolute_path[0])
    if error.validator == "type":
        return f"`{name}` must be {error.validator_value}"
    return f"`{name}` is not valid"
