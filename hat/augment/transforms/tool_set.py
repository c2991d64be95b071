"""T7: add tools that no task needs, or take away tools that this task does not need."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hat.augment.banks import bank
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform, with_harness
from hat.augment.transforms.names import referring_texts, taken_names
from hat.augment.transforms.skills import pointed_to_skills
from hat.domains.base import Task
from hat.harness.model import LOAD_SKILL, UNAVAILABLE, Binding, Harness, Skill, Tool
from hat.harness.symbols import code_spans


class ChangeToolSet(Transform):
    family = "T7"
    summary = "add tools that no task needs, or remove those that this task does not need"
    needs = "nothing to add; a task to remove"
    invariant = (
        "no other way to solve: an added tool only ever fails, a removed one is named nowhere any more"
    )
    breaks = "choosing among a fixed set of tools"
    surfaces = frozenset({"tools", "bindings", "skills", "only_task"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        if draw.task is not None and draw.rng.random() < 0.5:
            removed = _without_tool(state, draw.task, draw)
            if removed is not None:
                return removed
        taken = taken_names(state)
        entries = [entry for entry in bank("distractor_tools")[draw.split] if entry[0] not in taken]
        chosen = draw.rng.sample(entries, k=min(len(entries), draw.rng.randint(1, 3)))
        if not chosen:
            raise Skip("the harness has every distractor tool of the bank already")
        tools, bindings = list(state.canonical.tools), list(state.canonical.bindings)
        for name, description, arguments in chosen:
            tools.insert(draw.rng.randint(0, len(tools)), _distractor(name, description, arguments))
            bindings.append((name, Binding(UNAVAILABLE, tuple((name, name) for name in arguments))))
        return with_harness(state, tools=tuple(tools), bindings=tuple(bindings))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        old, new = before.canonical, after.canonical
        if [tool for tool in new.tools if tool in old.tools] != [
            tool for tool in old.tools if tool in new.tools
        ]:
            yield "tools changed places"
        for tool in new.tools:
            if tool not in old.tools and new.binding(tool.name).operation != UNAVAILABLE:
                yield f"the added tool {tool.name} does something"
        if {name for name, _ in new.bindings} != {tool.name for tool in new.tools}:
            yield "tools and bindings are of different tools"
        gone = {tool.name for tool in old.tools} - {tool.name for tool in new.tools}
        if (gone or new.skills != old.skills) and not after.only_task:
            yield "something was removed, but the state does not say for which task it is"
        named = {symbol for text in referring_texts(new) for _, symbol in code_spans(text)}
        if gone & named:
            yield f"{', '.join(sorted(gone & named))} is gone and still named"
        if any(old.binding(name).operation == LOAD_SKILL for name in gone):
            yield "the tool that loads skills is gone"


def _distractor(name: str, description: str, arguments: list[str]) -> Tool:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {argument: {"type": "string"} for argument in arguments},
        "required": list(arguments),
        "additionalProperties": False,
    }
    # It only reads, as those of the harness may: no annotation gives it away, or forbids what they allow.
    return Tool(name, description, json.dumps(schema), annotations_json='{"readOnlyHint": true}')


def _without_tool(state: HarnessState, task: Task, draw: Draw) -> HarnessState | None:
    """One tool less, and with it the skills of other tasks that name it; None where every tool may be needed."""
    harness = state.canonical
    needed = {operation for operation, _ in task.operations} | {LOAD_SKILL}
    candidates = []
    for tool in harness.tools:
        without = _removed(harness, tool, task)
        if harness.binding(tool.name).operation not in needed and without is not None:
            candidates.append(without)
    if not candidates:
        return None
    return replace(state, canonical=draw.rng.choice(candidates), only_task=True)


def _removed(harness: Harness, tool: Tool, task: Task) -> Harness | None:
    intents = {task.intent, task.slots.get("asked", task.intent)}
    naming = [skill for skill in harness.skills if tool.name in _named_in(skill)]
    pointed_to = pointed_to_skills(harness)
    if any(intents & set(skill.intents) or skill.name in pointed_to for skill in naming):
        return None
    changed = replace(
        harness,
        tools=tuple(other for other in harness.tools if other != tool),
        bindings=tuple(binding for binding in harness.bindings if binding[0] != tool.name),
        skills=tuple(skill for skill in harness.skills if skill not in naming),
        hooks=tuple(hook for hook in harness.hooks if hook.matcher != tool.name),
    )
    named = {symbol.split(".")[0] for text in referring_texts(changed) for _, symbol in code_spans(text)}
    return None if tool.name in named or changed.hooks != harness.hooks else changed


def _named_in(skill: Skill) -> set[str]:
    texts = (skill.description, *skill.body.items)
    return {symbol.split(".")[0] for text in texts for _, symbol in code_spans(text)}
