"""Prompt templates: only ``{{ session_value }}`` is allowed, so that none can compute, loop or reach out."""

from functools import lru_cache
from pathlib import Path

from jinja2 import TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from hat.harness.problems import Problems

_REACHING = (nodes.Getattr, nodes.Getitem, nodes.Call)
_ENVIRONMENT = ImmutableSandboxedEnvironment()


def check_template(text: str, file: Path, line: int, problems: Problems) -> frozenset[str]:
    """Note what is not a plain session value; returns the names of the values that the text asks for."""
    if "{" not in text:
        return frozenset()
    try:
        found = _parsed(text)
    except (TemplateSyntaxError, RecursionError, ValueError, OverflowError, MemoryError) as error:
        message = error.message if isinstance(error, TemplateSyntaxError) else str(error)
        problems.add("template-syntax", file, f"not a template: {message}", line)
        return frozenset()
    names: set[str] = set()
    if not found and ("{%" in text or "{#" in text):
        problems.add("template-expression", file, "comments and raw blocks are not filled, but lost", line)
    for node in found:
        if isinstance(node, nodes.Name):
            names.add(node.name)
        elif isinstance(node, _REACHING) or next(node.find_all(_REACHING), None) is not None:
            problems.add(
                "template-reach", file, "a template may not look inside values or call anything", line
            )
        else:
            problems.add(
                "template-expression", file, "a template may only name a session value, {{ host }}", line
            )
    return frozenset(names)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> tuple[nodes.Node, ...]:
    """The expressions and statements of a template, its plain text left out."""
    found: list[nodes.Node] = []
    for statement in _ENVIRONMENT.parse(text).body:
        if isinstance(statement, nodes.Output):
            found.extend(node for node in statement.nodes if not isinstance(node, nodes.TemplateData))
        else:
            found.append(statement)
    return tuple(found)
