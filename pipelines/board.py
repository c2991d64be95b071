"""How far a run has come and how long it may still take, from its progress events."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from hat.runs.progress import Event
from hat.steps.contract import STEPS, contract

Plan = Literal["auto", "train", "screen"]
"""What a run is to do: `auto` trains unless the screen passes, `train` screens nothing, `screen` trains nothing."""
ENDED = ("ran", "cached", "skipped", "failed")
_FALLBACK_SECONDS = 2.0
_TRUST_AFTER = 0.05
"""Share of a step from which on its own pace is believed rather than the profile's expectation."""
_IN_PARTS = ("screen", "evaluate")
"""Steps that count anew for each model that they work on, so that the pace of one part says nothing of the next."""


@dataclass
class StepState:
    """One step as the events tell it; times are seconds since the epoch."""

    name: str
    status: str = "waiting"  # waiting | running | ran | cached | skipped | failed
    started: float = 0.0
    ended: float = 0.0
    done: int = 0
    total: int = 0
    note: str = ""
    part_started: float = 0.0
    """When what is counted now began: a step may count one thing after the other."""
    counted: float = 0.0
    """When it last counted."""

    def seconds(self, now: float) -> float:
        """Seconds it has taken so far."""
        if self.status == "waiting":
            return 0.0
        return max(0.0, (now if self.status == "running" else self.ended) - self.started)


@dataclass
class Board:
    """The steps of one run in order. ``expected`` holds seconds a step is expected to take."""

    expected: Mapping[str, float]
    steps: dict[str, StepState] = field(default_factory=dict)
    plan: Plan = "auto"

    @staticmethod
    def of(expected: Mapping[str, float], names: Iterable[str] | None = None, plan: Plan = "auto") -> "Board":
        """A board on which every step waits."""
        return Board(
            expected, {name: StepState(name) for name in names or (step.name for step in STEPS)}, plan
        )

    @property
    def running(self) -> StepState | None:
        """The step that is running."""
        return next((step for step in self.steps.values() if step.status == "running"), None)

    @property
    def ended(self) -> int:
        """How many steps have come to an end, one way or the other."""
        return sum(step.status in ENDED for step in self.steps.values())

    def apply(self, event: Event) -> StepState:
        """Take in one event and return the step it changed."""
        step = self.steps.setdefault(event.step, StepState(event.step))
        if event.event == "progress" and step.status != "running":
            step = self.running or step  # the screen evaluates, too: its progress is the screen's
        if event.event == "started":
            step.status, step.started, step.done, step.total = "running", event.at, 0, 0
            step.part_started = step.counted = event.at
        elif event.event == "progress":
            if step.total and (event.total != step.total or event.done < step.done):
                step.part_started = step.counted
            step.counted = event.at
            step.done, step.total, step.note = event.done, event.total, event.note
        elif event.event in ENDED:
            if event.event == "failed":
                self._cut_off()
            step.status, step.ended, step.note = event.event, event.at, event.note
            if event.step == "screen" and event.value != "train":
                self._not_needed(promoted=event.value == "promote", at=event.at)
            if event.step == "decide" and event.value != "PASS":
                self.steps["promote"].status = "skipped"
        return step

    @property
    def may_pass(self) -> bool:
        """Whether the model in production may still turn out to be good enough, so that nothing is trained."""
        return self.plan == "auto" and "screen" in self.steps and self.steps["screen"].status not in ENDED

    def remaining_seconds(self, now: float | None = None, *, trains: bool = True) -> float:
        """An estimate of the seconds left: the running step's own pace, the profile's word for the others.

        With ``trains`` false it is that of a run whose screen passes, as any run with the plan `screen` hopes for.
        """
        moment = time.time() if now is None else now
        without = self.plan == "screen" or not trains
        return sum(
            self._left(step, moment)
            for step in self.steps.values()
            if not (without and step.status == "waiting" and contract(step.name).trains)
        )

    def _left(self, step: StepState, now: float) -> float:
        expected = self.expected.get(step.name, _FALLBACK_SECONDS)
        if step.name == "screen" and self.plan == "train":
            expected = _FALLBACK_SECONDS
        if step.status == "waiting":
            return expected
        if step.status != "running":
            return 0.0
        unspent = max(0.0, expected - step.seconds(now))
        share = step.done / step.total if step.total else 0.0
        if share < _TRUST_AFTER:
            return unspent
        by_pace = (now - step.part_started) * (1 - share) / share
        return max(by_pace, unspent) if step.name in _IN_PARTS else by_pace

    def _cut_off(self) -> None:
        """Nothing more will run but the exit step."""
        for step in self.steps.values():
            if step.status == "waiting":
                step.status, step.note = "skipped", "not reached"

    def _not_needed(self, *, promoted: bool, at: float) -> None:
        for step in self.steps.values():
            if step.status == "waiting" and (
                contract(step.name).trains or (step.name == "promote" and not promoted)
            ):
                step.status, step.started, step.ended, step.note = "skipped", at, at, "not needed"
