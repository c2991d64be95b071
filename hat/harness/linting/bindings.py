"""Bindings against the domain: known operations, arguments that fit, nothing bound twice or left out."""

from hat.harness.linting.subject import Subject
from hat.harness.manifest import BindingEntry
from hat.harness.model import LOAD_SKILL, LOAD_SKILL_ARGUMENT
from hat.harness.problems import Problems
from hat.harness.reading.names import shown

_LOADER = {LOAD_SKILL: (LOAD_SKILL_ARGUMENT,)}
"""What is checked where the harness's own tools define the domain."""


def check_bindings(subject: Subject, problems: Problems) -> None:
    """Needs a readable harness.yaml and a known domain."""
    manifest, terms = subject.reading.manifest, subject.terms
    if manifest is None or terms is None:
        return
    operations = terms.operations
    bound: dict[str, str] = {}
    for tool, binding in manifest.bindings.items():
        line = subject.line("bindings", tool)
        if operations is not None and binding.operation not in operations:
            message = f"{tool}: no operation {shown(binding.operation)}; known: {', '.join(operations)}"
            problems.add("binding-operation", subject.manifest_path, message, line)
            continue
        if binding.operation in bound:
            message = f"{bound[binding.operation]} and {tool} both do {binding.operation}"
            problems.add("operation-twice", subject.manifest_path, message, line)
        bound.setdefault(binding.operation, tool)
        arguments = _LOADER if operations is None else operations
        if binding.operation in arguments:
            _check_arguments(tool, binding, arguments[binding.operation], subject, problems)
    for operation in operations or ():
        if operation not in bound and operation != LOAD_SKILL:
            message = f"no tool does {operation}: tasks that need it cannot be solved"
            problems.add("operation-unbound", subject.manifest_path, message, subject.line("bindings"))


def _check_arguments(
    tool: str, binding: BindingEntry, arguments: tuple[str, ...], subject: Subject, problems: Problems
) -> None:
    file = subject.manifest_path
    given: dict[str, str] = {}
    for name, target in binding.arguments.items():
        line = subject.line("bindings", tool, "arguments", name)
        if target not in arguments:
            message = (
                f"{tool}: {binding.operation} has no argument {shown(target)}; known: {', '.join(arguments)}"
            )
            problems.add("binding-argument", file, message, line)
        elif target in given:
            message = f"{tool}: {shown(given[target])} and {shown(name)} both give {target}"
            problems.add("binding-argument", file, message, line)
        given.setdefault(target, name)
    declared = next((e.tool.input_schema for e in subject.reading.tools if e.tool.name == tool), None)
    if declared is None:
        return
    line = subject.line("bindings", tool)
    for name in declared.get("properties", {}):
        # An argument that is not bound reaches the operation under its own name.
        if name not in binding.arguments:
            if name in arguments and name not in given:
                given[name] = name
            else:
                message = f"{tool}: the argument {shown(name)} is bound to nothing"
                problems.add("binding-argument", file, message, line)
    for target in arguments:
        if target not in given:
            message = f"{tool}: nothing gives {binding.operation} its argument {target}"
            problems.add("binding-argument", file, message, line)
        elif given[target] not in declared.get("required", []):
            message = (
                f"{tool}: {shown(given[target])} must be required, since {binding.operation} needs {target}"
            )
            problems.add("binding-argument", file, message, line)
