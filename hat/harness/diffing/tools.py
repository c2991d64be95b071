"""Comparing tools: names, descriptions, arguments, schemas and what they are bound to."""

import json
from typing import Any

from hat.files import canonical_json
from hat.harness.diffing.change import Change
from hat.harness.diffing.names import Names, without_description
from hat.harness.model import Tool


def compare_tools(names: Names) -> list[Change]:
    """Changes of tools and their arguments, in the later version's order."""
    changes: list[Change] = []
    for old, new in names.tools.pairs:
        if old.name != new.name:
            changes.append(Change("tool", "renamed", new.name, old.name, new.name))
        if names.follow(old.description) != new.description:
            changes.append(
                Change("tool", "reworded", f"{new.name}, description", old.description, new.description)
            )
        if old.title != new.title:
            note = "models do not see titles"
            changes.append(Change("tool", "reworded", f"{new.name}, title", old.title, new.title, note))
        changes += _compare_arguments(old, new, names)
        changes += _compare_rest(old, new)
        changes += _compare_binding(old, new, names)
    changes += [Change("tool", "removed", tool.name, before=tool.name) for tool in names.tools.removed]
    changes += [Change("tool", "added", tool.name, after=tool.name) for tool in names.tools.added]
    if names.tools.reordered:
        lists = (", ".join(tool.name for tool in harness.tools) for harness in (names.before, names.after))
        changes.append(Change("tool", "reordered", "tools", *lists))
    return changes


def _compare_arguments(old: Tool, new: Tool, names: Names) -> list[Change]:
    changes: list[Change] = []
    matching = names.arguments[old.name].matching
    first, second = old.input_schema.get("properties", {}), new.input_schema.get("properties", {})
    was_required, is_required = old.input_schema.get("required", []), new.input_schema.get("required", [])
    for before, after in matching.pairs:
        subject = f"{new.name}.{after}"
        if before != after:
            changes.append(Change("argument", "renamed", subject, before, after))
        if _differs(without_description(first[before]), without_description(second[after])):
            schemas = (_shown(without_description(schema)) for schema in (first[before], second[after]))
            changes.append(Change("argument", "changed", f"{subject}, schema", *schemas))
        texts = [_description(schema) for schema in (first[before], second[after])]
        if texts[0] != texts[1]:
            changes.append(Change("argument", "reworded", f"{subject}, description", *texts))
        required = [name in among for name, among in ((before, was_required), (after, is_required))]
        if required[0] != required[1]:
            words = ("required" if value else "optional" for value in required)
            changes.append(Change("argument", "changed", subject, *words))
    for name in matching.removed:
        changes.append(Change("argument", "removed", f"{new.name}.{name}", before=_shown(first[name])))
    for name in matching.added:
        note = "required: calls without it are refused" if name in is_required else "optional"
        changes.append(
            Change("argument", "added", f"{new.name}.{name}", after=_shown(second[name]), note=note)
        )
    if matching.reordered:
        changes.append(Change("argument", "reordered", new.name, ", ".join(first), ", ".join(second)))
    return changes


def _compare_rest(old: Tool, new: Tool) -> list[Change]:
    """The input schema's other keywords, the output schema and the annotations."""
    changes = []
    others = [
        {key: value for key, value in tool.input_schema.items() if key not in ("properties", "required")}
        for tool in (old, new)
    ]
    output = [json.loads(tool.output_schema_json or "null") for tool in (old, new)]
    annotations = [json.loads(tool.annotations_json) for tool in (old, new)]
    for what, (before, after) in (
        ("inputSchema", others),
        ("outputSchema", output),
        ("annotations", annotations),
    ):
        if _differs(before, after):
            changes.append(Change("tool", "changed", f"{new.name}, {what}", _shown(before), _shown(after)))
    return changes


def _compare_binding(old: Tool, new: Tool, names: Names) -> list[Change]:
    before, after = names.before.binding(old.name), names.after.binding(new.name)
    renamed = names.arguments[old.name].renamed
    followed = {renamed.get(argument, argument): target for argument, target in before.arguments}
    matching = names.arguments[old.name].matching
    # An argument that came or went is told as that; under its own name, it has no binding to speak of.
    unbound = {(name, name) for name in (*matching.added, *matching.removed)}
    if (
        before.operation == after.operation
        and set(followed.items()) - unbound == set(after.arguments) - unbound
    ):
        return []
    first, second = (
        _shown({"operation": binding.operation, "arguments": dict(binding.arguments)})
        for binding in (before, after)
    )
    return [Change("binding", "changed", new.name, first, second, "the tool does something else now")]


def _differs(first: Any, second: Any) -> bool:
    return canonical_json(first) != canonical_json(second)


def _description(schema: Any) -> str:
    return str(schema.get("description", "")) if isinstance(schema, dict) else ""


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
