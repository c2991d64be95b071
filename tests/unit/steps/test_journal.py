"""The journal runs work once, keeps it whole, and tells every failure in one line."""

import json
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hat.errors import BadInput
from hat.runs.places import open_run_store
from hat.steps.entries import read_entry
from hat.steps.journal import ERROR_MARK, current_key, remember, run_step


@pytest.fixture
def in_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Enter a run; its store is in the test's folder."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    monkeypatch.delenv("HAT_RUNNER_PID", raising=False)
    return lambda run: monkeypatch.setenv("HAT_RUN_ID", run)


@pytest.fixture
def step(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., Any], str], str]:
    """Make a function a step's module and return the module's name."""

    def make(function: Callable[..., Any], name: str = "probe") -> str:
        module = types.ModuleType(f"journal_test.{name}")
        module.run = function  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, module.__name__, module)
        return module.__name__

    return make


def test_a_result_that_is_there_is_restored_without_work(tmp_path, in_run, step) -> None:
    calls = []

    def work(*, text: str, made_out: str) -> str:
        calls.append(text)
        Path(made_out).write_text(text)
        return "word"

    name = step(work)
    for run in ("one", "two"):
        in_run(run)
        outputs = {"made_out": str(tmp_path / run / "made")}
        assert run_step(name, parameters={"text": "x"}, outputs=outputs) == "word"
        assert (tmp_path / run / "made").read_text() == "x"
    assert calls == ["x"]
    entry = read_entry(open_run_store(), "two", "probe")
    assert entry is not None
    assert (entry.status, entry.value, entry.reason) == ("cached", "word", "made by one")


def test_latency_is_measured_again_in_another_run_and_not_in_the_same(tmp_path, in_run, step) -> None:
    calls = []

    def work(*, out: str) -> None:
        calls.append(1)
        Path(out).write_text("1")

    name = step(work, "latency")
    for run in ("one", "one", "two"):
        in_run(run)
        run_step(name, outputs={"out": str(tmp_path / "out")})
    assert len(calls) == 2


def test_outputs_left_by_a_killed_attempt_are_gone_before_the_work(tmp_path, in_run, step) -> None:
    in_run("one")
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "half").write_text("half")

    def work(*, out_dir: str) -> None:
        Path(out_dir, "whole").write_text("whole")

    run_step(step(work), outputs={"out_dir": str(folder)})
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_an_empty_folder_is_a_result_like_any_other(tmp_path, in_run, step) -> None:
    calls = []

    def work(*, out_dir: str) -> None:
        calls.append(out_dir)

    name = step(work)
    for run in ("one", "two"):
        in_run(run)
        run_step(name, outputs={"out_dir": str(tmp_path / run)})
    assert len(calls) == 1
    assert list((tmp_path / "two").iterdir()) == []


def test_a_step_that_leaves_an_output_out_fails(tmp_path, in_run, step, capsys) -> None:
    in_run("one")
    with pytest.raises(SystemExit) as stopped:
        run_step(step(lambda *, out: None), outputs={"out": str(tmp_path / "out")})
    assert stopped.value.code == 4
    assert "wrote nothing for out" in capsys.readouterr().err


def test_a_failure_is_one_marked_line_with_its_exit_status_and_is_kept_in_the_journal(
    tmp_path, in_run, step, capsys
) -> None:
    in_run("one")

    def work() -> None:
        raise BadInput("it is wrong", where="here", mend="Mend it.")

    with pytest.raises(SystemExit) as stopped:
        run_step(step(work))
    assert stopped.value.code == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith(ERROR_MARK)]
    told = [json.loads(line.removeprefix(ERROR_MARK)) for line in lines]
    assert told == [{"step": "probe", "message": "here: it is wrong. Mend it.", "exit_status": 2}]
    entry = read_entry(open_run_store(), "one", "probe")
    assert entry is not None
    assert (entry.status, entry.exit_status) == ("failed", 2)


def test_a_full_disk_is_an_environment_failure(in_run, step, capsys) -> None:
    in_run("one")

    def work() -> None:
        raise OSError(28, "No space left on device")

    with pytest.raises(SystemExit) as stopped:
        run_step(step(work))
    assert stopped.value.code == 4
    assert "the disk is full" in capsys.readouterr().err


def test_a_step_knows_its_key_and_the_key_is_the_same_in_the_next_attempt(tmp_path, in_run, step) -> None:
    in_run("one")
    seen = []

    def work() -> None:
        seen.append(current_key())
        if len(seen) == 1:
            raise RuntimeError("killed")

    name = step(work)
    with pytest.raises(SystemExit):
        run_step(name)
    run_step(name)
    assert seen[0] is not None
    assert seen[0] == seen[1]
    assert current_key() is None


def test_named_results_are_returned_as_json(in_run, step) -> None:
    from typing import NamedTuple

    class Made(NamedTuple):
        word: str
        count: int

    in_run("one")
    assert run_step(step(lambda: Made("go", 2))) == {"word": "go", "count": 2}


def test_remembered_work_is_done_once_for_the_same_parts(tmp_path, in_run) -> None:
    in_run("one")
    calls = []

    def work(folder: Path) -> None:
        calls.append(folder)
        (folder / "scores.json").write_text("{}")

    store = open_run_store()
    assert not remember(store, "evaluation", {"model": "a"}, tmp_path / "first", work)
    assert remember(store, "evaluation", {"model": "a"}, tmp_path / "second", work)
    assert not remember(store, "evaluation", {"model": "b"}, tmp_path / "third", work)
    assert (tmp_path / "second" / "scores.json").read_text() == "{}"
    assert len(calls) == 2
