"""The board's estimate follows the running step's pace and forgets what will not run."""

import io

import pytest
from rich.console import Console

from hat.runs.progress import Event
from pipelines.board import Board, Plan
from pipelines.live import LineView

EXPECTED = {"resolve": 10.0, "screen": 20.0, "sft": 300.0, "promote": 1.0}


NAMES = ["resolve", "screen", "sft", "promote"]


def board(plan: Plan = "auto") -> Board:
    return Board.of(EXPECTED, NAMES, plan)


def test_before_anything_ran_the_profile_is_believed() -> None:
    assert board().remaining_seconds(0.0) == 331.0


def test_a_running_step_counts_down_by_its_own_pace_once_it_has_one() -> None:
    it = board()
    it.apply(Event(0.0, "resolve", "started"))
    it.apply(Event(4.0, "resolve", "ran"))
    it.apply(Event(4.0, "screen", "started"))
    assert it.remaining_seconds(9.0) == 15.0 + 301.0
    it.apply(Event(14.0, "screen", "progress", 1, 5))
    assert it.remaining_seconds(14.0) == pytest.approx(40.0 + 301.0)


def test_a_step_that_counts_anew_for_each_model_goes_by_the_pace_of_the_one_it_is_at() -> None:
    it = board("train")
    it.apply(Event(0.0, "screen", "started"))
    it.apply(Event(80.0, "screen", "progress", 42, 42, "base model"))
    it.apply(Event(90.0, "screen", "progress", 50, 100, "candidate model"))
    others = 10.0 + 301.0
    assert it.remaining_seconds(90.0) == pytest.approx(10.0 + others)
    it.apply(Event(100.0, "screen", "progress", 75, 100, "candidate model"))
    assert it.remaining_seconds(100.0) == pytest.approx(20.0 / 3 + others)


@pytest.mark.parametrize(("value", "left"), [("promote", 1.0), ("stop", 0.0), ("train", 301.0)])
def test_the_screen_decides_what_is_still_to_come(value: str, left: float) -> None:
    it = board()
    it.apply(Event(0.0, "resolve", "ran"))
    it.apply(Event(9.0, "screen", "ran", value=value))
    assert it.remaining_seconds(9.0) == left


def test_a_step_that_takes_longer_than_expected_never_has_negative_time_left() -> None:
    it = board()
    it.apply(Event(0.0, "sft", "started"))
    assert it.remaining_seconds(10_000.0) == 31.0


def test_after_a_failure_nothing_is_left_to_wait_for() -> None:
    it = board()
    it.apply(Event(0.0, "resolve", "started"))
    it.apply(Event(1.0, "resolve", "failed"))
    assert it.remaining_seconds(1.0) == 0.0


def test_a_run_that_screens_may_end_without_training() -> None:
    it = board()
    assert it.may_pass
    assert (it.remaining_seconds(0.0, trains=False), it.remaining_seconds(0.0)) == (31.0, 331.0)
    it.apply(Event(0.0, "screen", "started"))
    assert it.may_pass
    it.apply(Event(9.0, "screen", "ran", value="train"))
    assert not it.may_pass


@pytest.mark.parametrize(("plan", "left"), [("train", 10.0 + 2.0 + 301.0), ("screen", 31.0)])
def test_what_is_known_beforehand_counts(plan: Plan, left: float) -> None:
    it = board(plan)
    assert not it.may_pass
    assert it.remaining_seconds(0.0) == left


def test_both_ends_of_a_screened_run_are_said() -> None:
    console = Console(file=io.StringIO(), width=200)
    view = LineView(console)
    it = board()
    view.show(it, [Event(0.0, "resolve", "started"), Event(1.0, "resolve", "ran")])
    view.show(it, [Event(2.0, "screen", "ran", value="promote")])
    first, second, last = console.file.getvalue().splitlines()
    assert first.endswith("left if the model in production passes, about 5 min if one is trained)")
    assert "(about 21 s left if" in second
    assert last.endswith("(about 1 s left)")
