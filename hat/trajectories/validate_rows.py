"""Trajectories as a flat table for validation: one row a line of the file, one column a thing to expect."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hat.agent.calls import Call
from hat.agent.checks import CheckContext, arguments_valid
from hat.augment.state import HarnessState
from hat.domains.base import Task
from hat.errors import BadInput
from hat.files import canonical_json, sha256_text
from hat.harness.model import Harness
from hat.trajectories.record import Trajectory

TRAJECTORIES_FILE = "trajectories.jsonl"
Row = dict[str, Any]


def read_rows(path: Path, harness: Harness, held_out: Mapping[str, str]) -> list[Row]:
    """One row a line; a line that is no trajectory becomes a row that says so.

    Args:
        harness: whose canonical calls the trajectories must make.
        held_out: task digest -> the evaluation suite that it belongs to.

    Raises:
        BadInput: the file is absent or not UTF-8.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(
            f"cannot be read: {error}", where=str(path), mend="The step `generate` writes it."
        ) from error
    return [
        _row(line, number, harness, held_out) for number, line in enumerate(lines, start=1) if line.strip()
    ]


def _row(line: str, number: int, harness: Harness, held_out: Mapping[str, str]) -> Row:
    try:
        return trajectory_row(Trajectory.from_json(json.loads(line)), number, harness, held_out)
    except (BadInput, ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        return {
            **dict.fromkeys(COLUMNS),
            "line": number,
            "schema_problem": str(error) or type(error).__name__,
        }


def trajectory_row(trajectory: Trajectory, number: int, harness: Harness, held_out: Mapping[str, str]) -> Row:
    """The row of one trajectory. Texts that name a problem are empty where there is none."""
    task, scores = trajectory.task, trajectory.scores
    calls = [call for turn in trajectory.turns for call in turn.calls]
    declared = {tool.name for tool in harness.tools}
    state = HarnessState.original(harness)
    return {
        "line": number,
        "schema_problem": "" if isinstance(trajectory.id, str) and trajectory.id else "it has no id",
        "id": trajectory.id,
        "content": _content_digest(trajectory),
        "question": task.question,
        "split": task.split,
        "held_out_in": held_out.get(task.digest, ""),
        "harness": f"{trajectory.harness}@{trajectory.version} {trajectory.base_digest}",
        "undeclared_tools": ", ".join(sorted({call.name for call in calls} - declared)),
        "call_problem": _first(_call_problem(call, task, state) for call in calls if call.name in declared),
        "unreadable_turns": sum(turn.raw is not None for turn in trajectory.turns),
        "end": trajectory.end,
        # A mined question has no gold to score by: `generate` writes it only when the judge accepted it.
        "accuracy": (1 if task.source == "mined" else None) if scores is None else scores.accuracy,
        "question_characters": len(task.question),
        "reply_characters": len(trajectory.reply),
        "turns": len(trajectory.turns),
        "calls": len(calls),
    }


COLUMNS = (
    "line",
    "schema_problem",
    "id",
    "content",
    "question",
    "split",
    "held_out_in",
    "harness",
    "undeclared_tools",
    "call_problem",
    "unreadable_turns",
    "end",
    "accuracy",
    "question_characters",
    "reply_characters",
    "turns",
    "calls",
)
"""All columns, in order; `trajectory_row` fills exactly these."""


def _content_digest(trajectory: Trajectory) -> str:
    """Equal for two episodes in which the same happened to the same task under the same state."""
    value = trajectory.to_json()
    return sha256_text(canonical_json([trajectory.task.digest, trajectory.state.digest, value["turns"]]))


def _call_problem(call: Call, task: Task, state: HarnessState) -> str:
    problem = arguments_valid(CheckContext(state, task, (), call=call))
    return "" if problem is None else f"{call.name}: {problem['problem']}"


def _first(problems: Iterable[str]) -> str:
    return next((problem for problem in problems if problem), "")
