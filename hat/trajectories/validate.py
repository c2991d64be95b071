"""Validation of trajectories with Great Expectations: what must hold before anything is trained on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hat.errors import BadInput
from hat.harness.model import Harness
from hat.trajectories.config import ValidateConfig
from hat.trajectories.validate_rows import COLUMNS, Row

EXAMPLES = 5
"""Offending rows that a report shows for each expectation."""


@dataclass(frozen=True)
class ExpectationOutcome:
    """What one expectation found."""

    name: str
    meaning: str
    """What is expected, in a sentence."""
    met: bool
    unexpected: int
    """Rows that break it; 0 for an expectation on the whole table."""
    observed: str
    """What was found instead, for an expectation on the whole table; else empty."""
    examples: tuple[str, ...]
    """Up to `EXAMPLES` offending rows: line, id and value."""


@dataclass(frozen=True)
class ValidationReport:
    """The outcome of the whole suite on one data set."""

    rows: int
    outcomes: tuple[ExpectationOutcome, ...]
    engine: str
    """Name and version of what checked the expectations."""

    @property
    def met(self) -> bool:
        return all(outcome.met for outcome in self.outcomes)

    def require(self, where: str) -> None:
        """Raise `BadInput` naming every expectation that failed, with an example of each."""
        failed = [outcome for outcome in self.outcomes if not outcome.met]
        if failed:
            raise BadInput(
                f"{len(failed)} of {len(self.outcomes)} expectations failed: "
                + "; ".join(_in_short(outcome) for outcome in failed),
                where=where,
                mend="Nothing was trained. The report of step `validate` shows every expectation.",
            )


@dataclass(frozen=True)
class _Expected:
    """One expectation before it is run: the name of Great Expectations' class and its arguments."""

    name: str
    meaning: str
    kind: str
    arguments: dict[str, Any]


def validate_rows(rows: Sequence[Row], harness: Harness, config: ValidateConfig) -> ValidationReport:
    """Run the suite on rows of `hat.trajectories.validate_rows`."""
    expected = _suite(harness, config)
    results, engine = _run(rows, expected)
    outcomes = [_outcome(one, results[one.name]) for one in expected]
    return ValidationReport(len(rows), tuple(outcomes), engine)


def _suite(harness: Harness, config: ValidateConfig) -> list[_Expected]:
    limits = harness.limits
    return [
        # Great Expectations calls an empty table a success in everything else.
        _Expected(
            "row count",
            f"at least {config.minimum_trajectories} trajectories",
            "ExpectTableRowCountToBeBetween",
            {"min_value": config.minimum_trajectories},
        ),
        _only("schema", "every line is a trajectory document of this schema version", "schema_problem", [""]),
        _unique("unique ids", "no id occurs twice", "id"),
        _unique("no duplicates", "no two episodes are the same: task, harness state and turns", "content"),
        _only("training split", "every task is of the training split", "split", ["train"]),
        _only("no leakage", "no task is an evaluation item", "held_out_in", [""]),
        _only(
            "harness",
            "every episode was played under this harness",
            "harness",
            [f"{harness.name}@{harness.version} {harness.digest}"],
        ),
        _only("declared tools", "every call names a tool of the harness", "undeclared_tools", [""]),
        _only("valid calls", "every call's arguments satisfy the tool's input schema", "call_problem", [""]),
        _only("readable turns", "every assistant turn could be parsed", "unreadable_turns", [0]),
        _only("replied", "every episode ended with a reply", "end", ["replied"]),
        _Expected(
            "scored",
            "every trajectory has been scored",
            "ExpectColumnValuesToNotBeNull",
            {"column": "accuracy"},
        ),
        _only(
            "accepted",
            "every reply asserts exactly the gold facts, or the judge accepted it (accuracy 1)",
            "accuracy",
            [1],
        ),
        _between(
            "question length", "question_characters", 1, config.largest_question_characters, "characters"
        ),
        _between("reply length", "reply_characters", 1, limits.max_reply_characters, "characters"),
        _between("turns", "turns", 1, limits.max_turns, "assistant turns"),
        _between("calls", "calls", 0, limits.max_tool_calls, "tool calls"),
    ]


def _only(name: str, meaning: str, column: str, values: list[Any]) -> _Expected:
    return _Expected(name, meaning, "ExpectColumnValuesToBeInSet", {"column": column, "value_set": values})


def _unique(name: str, meaning: str, column: str) -> _Expected:
    return _Expected(name, meaning, "ExpectColumnValuesToBeUnique", {"column": column})


def _between(name: str, column: str, low: int, high: int, unit: str) -> _Expected:
    arguments = {"column": column, "min_value": low, "max_value": high}
    return _Expected(name, f"{low} to {high} {unit}", "ExpectColumnValuesToBeBetween", arguments)


def _run(rows: Sequence[Row], expected: Sequence[_Expected]) -> tuple[dict[str, dict[str, Any]], str]:
    """Great Expectations' result of each expectation, by name, and its version. Writes and sends nothing."""
    # Imported here: it takes seconds, and listing or compiling must not pay for it.
    import great_expectations as gx
    import pandas
    from great_expectations.data_context.types.base import ProgressBarsConfig

    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # object: pandas would turn integers beside nulls into floats, and examples would show them so.
    table = pandas.DataFrame(list(rows), columns=list(COLUMNS), dtype=object)
    asset = context.data_sources.add_pandas("trajectories").add_dataframe_asset("trajectories")
    batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": table})
    expectations = [
        getattr(gx.expectations, one.kind)(**one.arguments, meta={"name": one.name}) for one in expected
    ]
    suite = gx.ExpectationSuite(name="trajectories", expectations=expectations)
    shown = {"result_format": "COMPLETE", "unexpected_index_column_names": ["line", "id"]}
    validation = batch.validate(suite, result_format=shown)
    documents: list[dict[str, Any]] = [result.to_json_dict() for result in validation.results]
    results = {document["expectation_config"]["meta"]["name"]: document for document in documents}
    return results, f"Great Expectations {gx.__version__}"


def _outcome(one: _Expected, result: dict[str, Any]) -> ExpectationOutcome:
    raised = result["exception_info"].get("exception_message")
    found = result["result"]
    examples = [
        f"{_place(row)}: {_shown(row.get(one.arguments['column']))}"
        for row in found.get("unexpected_index_list") or ()
    ]
    observed = found.get("observed_value")
    return ExpectationOutcome(
        name=one.name,
        meaning=one.meaning,
        met=bool(result["success"]),
        unexpected=int(found.get("unexpected_count") or 0),
        observed=str(raised or ("" if observed is None else observed)),
        examples=tuple(examples[:EXAMPLES]),
    )


def _place(row: dict[str, Any]) -> str:
    return f"line {row['line']}" + (f" ({row['id']})" if row["id"] else "")


def _shown(value: Any) -> str:
    text = "nothing" if value is None else str(value)
    return text if len(text) <= 200 else text[:199] + "…"


def _in_short(outcome: ExpectationOutcome) -> str:
    found = outcome.examples[0] if outcome.examples else outcome.observed
    rows = f" ({outcome.unexpected} of the rows)" if outcome.unexpected else ""
    return f"{outcome.name}{rows}: expected {outcome.meaning}, found {found}"
