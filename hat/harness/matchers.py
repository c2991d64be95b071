"""Which tools a command hook's matcher means: the part of regular expressions that needs no backtracking."""

import re

_PLAIN = re.compile(r"[A-Za-z0-9_.*|-]*")


def matcher_problem(matcher: str) -> str | None:
    """Why a matcher is not understood; None when it is: names, alternatives with ``|``, and ``.*`` for any text."""
    bare = _bare(matcher)
    if not _PLAIN.fullmatch(bare) or "*" in bare.replace(".*", ""):
        return "only names, | between them and .* for any text are understood"
    return None


def matches(matcher: str, tool: str) -> bool:
    """True when the matcher means the tool, as a whole; ``*`` and an empty one mean every tool."""
    if matcher in ("", "*"):
        return True
    if matcher_problem(matcher):
        return False
    return any(_matches_parts(choice.split(".*"), tool) for choice in _bare(matcher).split("|"))


def _bare(matcher: str) -> str:
    bare = matcher.removeprefix("^").removesuffix("$")
    if bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1]
    return bare


def _matches_parts(parts: list[str], tool: str) -> bool:
    """``parts`` in their order with any text between them. Linear: the first place that fits is as good as any."""
    if len(parts) == 1:
        return tool == parts[0]
    first, *middle, last = parts
    if len(tool) < len(first) + len(last) or not tool.startswith(first) or not tool.endswith(last):
        return False
    position, end = len(first), len(tool) - len(last)
    for part in middle:
        position = tool.find(part, position, end)
        if position < 0:
            return False
        position += len(part)
    return True
