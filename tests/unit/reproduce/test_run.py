"""Running units: what is done is skipped, order does not matter, and a failure stops only what needs it.

The process that trains is replaced by one that hands back an outcome at once; `tests/e2e/test_reproduce.py` runs the
real one, and the last tests here run it as far as it comes without a model.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.models import ModelRef
from hat.reproduce import process
from hat.reproduce.attempts import Attempt, note_attempts, read_attempts
from hat.reproduce.request import CONFIG, REQUEST, Outcome, Request
from hat.reproduce.results import read_result, result_path
from hat.reproduce.run import Code, lock_of, run_units
from hat.reproduce.units import Unit, units_of
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.storage.lock import file_lock_if_free
from tests.support.reproduction import REPOSITORY, digest, plan_of

REGISTRY = REPOSITORY / "harness_registry"
CODE = Code("d" * 64, "c" * 40, False, "hat reproduce --suite smoke")


class Words:
    """A view that writes down what it is told."""

    def __init__(self) -> None:
        self.ended: list[tuple[str, str]] = []
        self.notes: dict[str, str] = {}

    def starts(self, unit: Unit, left: Sequence[Unit]) -> None:
        return None

    def goes_on(self, unit: Unit, event: Any) -> None:
        return None

    def ends(self, unit: Unit, word: str, note: str) -> None:
        self.ended.append((unit.id, word))
        self.notes[unit.id] = note


class Worker:
    """Does every unit at once, publishes a model that is a single file, and fails where it is told to."""

    def __init__(self, failing: str = "") -> None:
        self.failing = failing
        self.requests: dict[str, Request] = {}
        self.configs: dict[str, RunConfig] = {}

    def __call__(self, folder: Path, run: str, code_version: str, on_event: Any) -> Any:
        request = Request.model_validate_json((folder / REQUEST).read_text())
        self.requests[request.unit] = request
        self.configs[request.unit] = RunConfig.read(folder / CONFIG)
        if request.unit == self.failing:
            raise EnvironmentFailure("the disk is full", where=request.unit)
        model = None
        if request.step != "evaluate":
            place = folder / "model"
            place.mkdir()
            (place / "weights").write_text(request.unit)
            model = ModelRef(digest=digest(request.unit), base="made up")
            open_run_store().put_tree(place, model.prefix)
        start = request.start["digest"] if request.start else digest("base")
        attempt = Attempt(
            started="2026-12-01T00:00:00+00:00",
            code_version=code_version,
            wall_seconds=3,
            cpu_seconds=2,
            peak_memory_bytes=1,
        )
        step = request.step if request.step != "evaluate" else "evaluation"
        outcome = Outcome(
            base_digest=digest("base"),
            start_digest=start,
            model=model.model_dump() if model else None,
            rows=({"id": "one", "correct": 1},),
            steps=({"name": step, "status": "ran", "seconds": 1.0},),
            platform="Linux",
            hardware="2 cores",
        )
        return outcome, [attempt, attempt]


@pytest.fixture
def worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    made = Worker()
    monkeypatch.setattr(process, "work", made)
    return made


def run(out: Path, units: Sequence[Unit], plan: Any = None) -> tuple[list[Any], Words]:
    words = Words()
    failures = run_units(units, plan or plan_of("smoke"), REGISTRY, out, CODE, words)
    return failures, words


def test_each_unit_leaves_a_file_with_where_it_comes_from(tmp_path: Path, worker: Worker) -> None:
    units = units_of(plan_of("smoke"), ("hat",), (1,))
    failures, words = run(tmp_path / "out", units)
    assert not failures
    assert [word for _, word in words.ended] == ["done"] * len(units)
    result = read_result(result_path(tmp_path / "out", "evaluate-hat-1-general"))
    assert (result.header.name, result.header.seed, result.header.split) == ("hat", 1, "dev")
    assert result.header.start_digest == digest("train-hat-1")
    assert result.header.provenance.commit == "c" * 40
    assert (result.header.provenance.attempts, result.header.provenance.wall_seconds) == (2, 6.0)
    assert result.rows == ({"id": "one", "correct": 1},)
    assert read_result(result_path(tmp_path / "out", "train-hat-1")).header.start_digest == digest(
        "train-hsa_opd-1"
    )
    assert worker.configs["train-hat-1"].seed == 1
    assert list((tmp_path / "home" / "runs").iterdir()) == []


def test_what_is_done_is_not_done_again(tmp_path: Path, worker: Worker) -> None:
    units = units_of(plan_of("smoke"), ("fixed_sft",), (0,))
    run(tmp_path / "out", units)
    before = {path: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    worker.requests.clear()
    _, words = run(tmp_path / "out", units)
    assert worker.requests == {}
    assert {word for _, word in words.ended} == {"skipped"}
    assert {path: path.read_bytes() for path in (tmp_path / "out").iterdir()} == before


def test_units_run_in_any_order_that_their_models_allow(tmp_path: Path, worker: Worker) -> None:
    units = units_of(plan_of("smoke"), ("fixed_sft", "hsa_sft"), (0, 1))
    trainings = [unit for unit in units if unit.stage]
    measured = [unit for unit in units if unit.measurement]
    for unit in [*reversed(trainings), *reversed(measured)]:
        failures, words = run(tmp_path / "out", [unit])
        assert (failures, words.ended) == ([], [(unit.id, "done")])


def test_a_measurement_without_its_model_names_the_unit_that_makes_it(tmp_path: Path, worker: Worker) -> None:
    (unit,) = units_of(plan_of("smoke"), only=("evaluate-hat-0-live_stream_qa",))
    (failure,), _ = run(tmp_path / "out", [unit])
    assert "it waits for train-hat-0" in str(failure)
    assert "hat reproduce --only train-hat-0" in str(failure)
    assert failure.exit_status == 2


def test_a_model_that_is_in_another_store_is_asked_for(
    tmp_path: Path, worker: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = units_of(plan_of("smoke"), ("fixed_sft",), (0,))
    run(tmp_path / "out", units[:1])
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "another"))
    (failure, *_), _ = run(tmp_path / "out", units)
    assert "that train-fixed_sft-0 made is not in this store" in str(failure)
    assert "Set HAT_STORE" in str(failure)


def test_a_failure_stops_only_what_needs_it(tmp_path: Path, worker: Worker) -> None:
    worker.failing = "train-hsa_sft-0"
    units = units_of(plan_of("smoke"), ("hat", "fixed_sft"), (0,))
    failures, words = run(tmp_path / "out", units)
    assert [str(each) for each in failures] == ["train-hsa_sft-0: the disk is full"]
    ended = dict(words.ended)
    assert ended["train-hsa_sft-0"] == "failed"
    assert ended["train-hat-0"] == "skipped"
    assert ended["evaluate-fixed_sft-0-live_stream_qa"] == "done"


def test_a_file_of_other_settings_is_neither_used_up_nor_replaced(tmp_path: Path, worker: Worker) -> None:
    units = units_of(plan_of("smoke"), ("base",))
    run(tmp_path / "out", units)
    other = plan_of("smoke", **{"evaluate.max_new_tokens": 9})
    _, words = run(tmp_path / "out", units_of(other, ("base",)), other)
    assert "made with other settings: delete it" in words.notes["evaluate-base-0-live_stream_qa"]


def test_two_processes_never_work_on_one_unit(tmp_path: Path, worker: Worker) -> None:
    (unit, *_) = units_of(plan_of("smoke"), ("base",))
    with file_lock_if_free(lock_of(tmp_path / "out", unit)) as alone:
        assert alone
        _, words = run(tmp_path / "out", [unit])
    assert words.notes[unit.id] == "another process runs it"


def test_costs_of_killed_attempts_count_unless_the_code_changed(tmp_path: Path) -> None:
    attempts = [
        Attempt(started="2026-12-01T00:00:00+00:00", code_version=code, wall_seconds=60) for code in "aab"
    ]
    note_attempts(tmp_path, attempts)
    assert len(read_attempts(tmp_path, "a")) == 2
    assert read_attempts(tmp_path, "c") == []


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder for the real process, whose harness does not exist."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    place = tmp_path / "home" / "runs" / "reproduce-x"
    place.mkdir(parents=True)
    RunConfig().write(place / CONFIG)
    request = Request(
        unit="x", step="sft", harness="no-such-shop", version="1.0.0", registry=REGISTRY, start=None
    )
    (place / REQUEST).write_text(request.model_dump_json())
    return place


def test_the_process_says_why_it_failed_and_its_cost_is_noted(folder: Path) -> None:
    with pytest.raises(BadInput, match="no harness named 'no-such-shop'"):
        process.work(folder, "reproduce-x", "d" * 64, lambda event: None)
    (attempt,) = read_attempts(folder, "d" * 64)
    assert attempt.cpu_seconds > 0
    assert attempt.peak_memory_bytes > 1_000_000
    assert json.loads((folder / "attempts.json").read_text())["schema_version"] == 1
