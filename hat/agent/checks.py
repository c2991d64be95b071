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
from hat.trajectories.record import Turn

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
    """The call's arguments satisfy the tool's input schema, and none is unknown to it."""
    call = context.call
    assert call is not None
    tool = context.state.canonical.tool(call.name)
    schema = tool.input_schema
    declared = declared_arguments(schema)
    for name in call.arguments:
        if name not in declared and not _open(schema):
            return {"problem": f"`{name}` is not an argument"}
    error = next(iter(_validator(tool.input_schema_json).iter_errors(dict(call.arguments))), None)
    return None if error is None else {"problem": _describe(error)}


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
    "reply_skill_loaded": reply_skill_loaded,
    "reply_length": reply_length,
}


@lru_cache(maxsize=4096)
def _validator(schema_json: str) -> "Validator":
    # Imported late: the linter needs the checks' names only, and must start quickly.
    from jsonschema import Draft7Validator, Draft202012Validator

    schema: dict[str, Any] = json.loads(schema_json)
    draft_07 = "draft-07" in str(schema.get("$schema", ""))
    return (Draft7Validator if draft_07 else Draft202012Validator)(schema)


def _describe(error: "ValidationError") -> str:
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return f"`{missing}` is missing"
    name = str(error.absolute_path[0]) if error.absolute_path else "arguments"
    if error.validator == "type":
        return f"`{name}` must be {error.validator_value}"
    return f"`{name}` is not valid"
