"""Harness states with tools that no task needs: plausible ones that answer nothing."""

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hat.agent.policy import Executor
from hat.augment.state import HarnessState
from hat.domains.base import Task, ToolOutcome
from hat.harness.model import UNAVAILABLE, Binding, Tool

# name, description, arguments: per split, so that developing on one says nothing about the other.
_BANK: Mapping[str, tuple[tuple[str, str, tuple[str, ...]], ...]] = {
    "dev": (
        ("get_viewer_count", "How many viewers watch now", ()),
        ("pin_comment", "Pin a comment on top", ("comment",)),
        ("get_weather", "Weather of a city", ("city",)),
        ("list_playlist", "Songs played in the room", ()),
        ("count_likes", "Likes that a link got", ("link_id",)),
        ("get_product_photos", "Photos of a link", ("link_id",)),
    ),
    "test": (
        ("mute_viewer", "Mute a viewer", ("viewer",)),
        ("get_exchange_rate", "Rate of a currency", ("currency",)),
        ("start_raffle", "Start a raffle in the room", ()),
        ("get_review_score", "Stars that a link got", ("link_id",)),
        ("track_parcel", "Where a parcel is", ("parcel",)),
        ("get_supplier", "Who makes a link", ("link_id",)),
    ),
}


def with_distractor_tools(state: HarnessState, *, split: str, seed: int, count: int = 3) -> HarnessState:
    """The state with ``count`` more tools among its own, in seeded places."""
    draw = random.Random(f"{state.base_digest}/{split}/{seed}")
    taken = {tool.name for tool in state.canonical.tools}
    free = [entry for entry in _BANK[split] if entry[0] not in taken]
    tools, bindings = list(state.canonical.tools), list(state.canonical.bindings)
    for name, description, arguments in draw.sample(free, k=min(count, len(free))):
        tools.insert(draw.randint(0, len(tools)), _tool(name, description, arguments))
        bindings.append((name, Binding(UNAVAILABLE, tuple((argument, argument) for argument in arguments))))
    canonical = replace(state.canonical, tools=tuple(tools), bindings=tuple(bindings), files_digest="")
    return replace(state, canonical=canonical, seed=seed, split=split)


def answering_distractors(execute: Executor) -> Executor:
    """An executor that knows the distractors' operation: it always fails."""

    def execute_or_refuse(
        task: Task, operation: str, arguments: Mapping[str, Any], attempt: int
    ) -> ToolOutcome:
        if operation == UNAVAILABLE:
            return ToolOutcome("error", "This tool has nothing for you.", UNAVAILABLE)
        return execute(task, operation, arguments, attempt)

    return execute_or_refuse


def _tool(name: str, description: str, arguments: tuple[str, ...]) -> Tool:
    properties = {
        argument: {"type": "integer" if argument == "link_id" else "string"} for argument in arguments
    }
    schema = {
        "type": "object",
        "properties": properties,
        "required": list(arguments),
        "additionalProperties": False,
    }
    return Tool(name, description, json.dumps(schema))
