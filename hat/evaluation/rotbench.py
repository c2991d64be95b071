"""RoTBench's tool lists under five levels of noise, as items of Tool/Prompt Robustness.

RoTBench (Ye et al. 2024, arXiv 2401.08326; Apache-2.0) asks each of 105 first-turn questions under a clean tool list
and under noise: names with typing mistakes (slight), reversed or made up (medium), swapped among tools and with
further arguments (heavy), and all together (union). Each record carries its own gold calls, in the names of its own
list. It is not part of this project: the reader takes the folder in which its files lie.

A list in which two tools share a name says nowhere which one a call means. Such tools are presented under names of
their own, and a gold call counts for each of them whose schema takes its arguments; `RotbenchRecord.duplicates` names
them, and their items are a kind of their own, so that a result can leave them out.

Beside each result stands the one of a policy that knows the clean lists by heart and looks at no other.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from hat.agent.calls import Call
from hat.agent.checks import argument_problem
from hat.augment.state import HarnessState
from hat.domains.base import Task
from hat.domains.tool_choice.domain import ToolChoice, tool_choice_task, tool_list_harness
from hat.domains.tool_choice.functions import ImportedTools, import_functions
from hat.errors import BadInput
from hat.evaluation.suites import SuiteItem
from hat.files import read_json
from hat.harness.model import Harness, Tool

Level = Literal["clean", "slight", "medium", "heavy", "union"]
LEVELS: tuple[Level, ...] = ("clean", "slight", "medium", "heavy", "union")
_BEFORE_TOOLS, _AFTER_TOOLS = "access of the following tools:\n", "\n\nLet's Begin!"
_ACTION = re.compile(r"Thought:.*?\nAction: (?P<name>.*?)\nAction Input: (?P<arguments>.*)", re.S)


@dataclass(frozen=True)
class RotbenchRecord:
    """One question under one tool list."""

    level: Level
    task: Task | None
    """None where no gold call fits the record's own tool list (the noise changed one and not the other)."""
    harness: Harness
    duplicates: tuple[str, ...]
    """Names that several tools of the list were published under."""
    notes: tuple[str, ...]
    """What had to be changed to present the list."""


def read_rotbench(folder: Path, level: Level) -> list[RotbenchRecord]:
    """All records of a level.

    Raises:
        BadInput: the file is absent, or a record is not as RoTBench writes it.
    """
    path = folder / f"first_turn_{level}.json"
    document = read_json(path)
    if not isinstance(document, list):
        raise BadInput("not a list of records", where=str(path))
    return [
        _record(level, number, record, f"{path}, record {number}") for number, record in enumerate(document)
    ]


def rotbench_items(records: Sequence[RotbenchRecord]) -> tuple[list[SuiteItem], ToolChoice]:
    """The records as items of Tool/Prompt Robustness, and the domain to play and score them with.

    Those without a task are left out. The domain's baseline makes the calls of the clean records among them.
    """
    items = []
    by_heart: dict[str, Call] = {}
    operations: dict[str, tuple[str, ...]] = {}
    for record in records:
        if record.task is None:
            continue
        state = HarnessState.original(record.harness)
        kind = f"rotbench_{record.level}" + ("_same_names" if record.duplicates else "")
        items.append(SuiteItem("tool_prompt_robustness", record.task, state, kind))
        if record.level == "clean":
            name, arguments = record.task.slots["acceptable"][0]
            by_heart[record.task.question] = Call(name, arguments)
        for tool in record.harness.tools:
            operations[tool.name] = tuple(tool.input_schema.get("properties", {}))
    return items, ToolChoice([item.task for item in items], operations, by_heart)


def rotbench_suite(folder: Path, most: int) -> tuple[list[SuiteItem], ToolChoice]:
    """The first ``most`` records of every level, the clean one among them: what noise costs is the difference to it.

    Raises:
        BadInput: a file is absent, or not as RoTBench writes it.
    """
    return rotbench_items([record for level in LEVELS for record in read_rotbench(folder, level)[:most]])


def _record(level: Level, number: int, record: Any, where: str) -> RotbenchRecord:
    try:
        system, user, assistant = (turn["value"] for turn in record["conversations"])
        start = system.index(_BEFORE_TOOLS) + len(_BEFORE_TOOLS)
        functions = json.loads(system[start : system.rindex(_AFTER_TOOLS)])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"not a RoTBench record: {error}", where=where) from error
    imported = import_functions(functions)
    actions = [assistant] if isinstance(assistant, str) else assistant
    acceptable = [call for action in actions for call in _gold_calls(action, imported, where)]
    counts = Counter(function["name"] for function in functions)
    question = user.removesuffix("Begin!\n").strip()
    id = f"rotbench-{level}-{number:03d}"
    return RotbenchRecord(
        level=level,
        task=tool_choice_task(id, "test", question, acceptable) if acceptable else None,
        harness=tool_list_harness(id, imported.tools),
        duplicates=tuple(name for name, count in counts.items() if count > 1),
        notes=imported.notes,
    )


def _gold_calls(action: str, imported: ImportedTools, where: str) -> Iterable[Call]:
    """The call of one acceptable action, for every tool that it may mean."""
    match = _ACTION.fullmatch(action)
    if match is None:
        raise BadInput(f"not a RoTBench action: {action[:80]!r}", where=where)
    arguments = json.loads(match["arguments"])
    for tool in imported.named(match["name"]):
        call = Call(tool.name, _legal_arguments(arguments, tool, imported))
        if argument_problem(tool.input_schema_json, json.dumps(call.arguments, ensure_ascii=False)) is None:
            yield call


def _legal_arguments(arguments: dict[str, Any], tool: Tool, imported: ImportedTools) -> dict[str, Any]:
    legal = {published: name for (owner, name), published in imported.arguments.items() if owner == tool.name}
    return {legal.get(name, name): value for name, value in arguments.items()}
