"""Reads rules about tools from the prompt of a harness: which may not be used, which come before the skill.

The syntax is plain sentences with the tools in code spans. A sentence that names one tool and says `may not` or
`must not` forbids it. A sentence that names a tool and the one that loads skills orders the two: as
they stand, or the other way round with `after` between them. Anything else is no rule of these kinds.
"""

import re
from collections.abc import Iterator

from hat.harness.model import LOAD_SKILL, Harness
from hat.harness.symbols import code_spans

_FORBIDS = re.compile(r"\b(?:may|must) not\b", re.I)
_INVERTS = re.compile(r"\bafter\b", re.I)


def forbidden_tools(harness: Harness) -> frozenset[str]:
    """Tools that a rule of the prompt forbids, by canonical name."""
    found = set()
    for item, tools in _rules(harness):
        if len(tools) == 1 and _FORBIDS.search(item):
            found.add(tools[0][1])
    return frozenset(found)


def tools_before_skill(harness: Harness) -> frozenset[str]:
    """Tools that a rule of the prompt wants called before the skill is loaded, by canonical name."""
    return frozenset(tool for tool, first in _orders(harness) if first)


def tools_after_skill(harness: Harness) -> frozenset[str]:
    """Tools that a rule of the prompt, which names them, wants called after the skill is loaded."""
    return frozenset(tool for tool, first in _orders(harness) if not first)


def _orders(harness: Harness) -> Iterator[tuple[str, bool]]:
    """(tool, whether it comes before the skill) of each rule that orders the two."""
    load = harness.tool_for(LOAD_SKILL)
    for item, tools in _rules(harness):
        if len(tools) != 2 or (tools[0][1] == load) == (tools[1][1] == load):
            continue
        (begin, first), (end, second) = tools
        if _INVERTS.search(item[begin:end]):
            first, second = second, first
        yield (first, True) if second == load else (second, False)


def _rules(harness: Harness) -> Iterator[tuple[str, list[tuple[int, str]]]]:
    """Each item of the prompt that names tools, with where and which."""
    known = {tool.name for tool in harness.tools}
    for block in harness.blocks:
        for item in block.document.items:
            tools = [(place, symbol) for place, symbol in code_spans(item) if symbol in known]
            if tools:
                yield item, tools
