"""The local runner on a small graph of real steps: reuse, resume, failure, and death of either process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kfp import compiler, dsl

from hat.runs import places
from hat.runs.progress import Reader
from hat.runs.watch import is_alive
from hat.steps.entries import read_entry
from pipelines import local

STEPS = '''
"""Cheap real steps: they write files, count their calls, and can be told to hang or fail."""
import os, time
from pathlib import Path
from hat.errors import BadInput

def _called(name):
    with open(os.environ["HAT_TEST_CALLS"], "a") as handle:
        handle.write(name + "\\n")
'''
MAKE = (
    STEPS
    + """
def run(*, text, config, made_out):
    _called("make")
    Path(made_out).write_text(text)
    return "go"
"""
)
SLOW = (
    STEPS
    + """
def run(*, made, slow_out_dir):
    _called("slow")
    behaviour = Path(os.environ["HAT_TEST_BEHAVIOUR"]).read_text()
    if behaviour == "hang":
        Path(slow_out_dir, "half").write_text("half")
        Path(os.environ["HAT_TEST_BEHAVIOUR"] + ".pid").write_text(str(os.getpid()))
        time.sleep(600)
    if behaviour == "refuse":
        raise BadInput("the data is wrong", where="row 3", mend="Mend the row.")
    if behaviour == "crash":
        raise ZeroDivisionError("nobody expected this")
    Path(slow_out_dir, "whole").write_text(Path(made).read_text() * 2)
"""
)
LAST = (
    STEPS
    + """
def run(*, slow_dir, last_out):
    _called("last")
    Path(last_out).write_text(Path(slow_dir, "whole").read_text())
"""
)


@dsl.component(base_image="python-test", install_kfp_package=False)
def make(text: str, config: str, made: dsl.Output[dsl.Artifact]) -> str:
    from hat.steps.journal import run_step

    return str(
        run_step(
            "small_steps.make", parameters={"text": text, "config": config}, outputs={"made_out": made.path}
        )
    )


@dsl.component(base_image="python-test", install_kfp_package=False)
def slow(made: dsl.Input[dsl.Artifact], slow: dsl.Output[dsl.Artifact]):
    from hat.steps.journal import run_step

    run_step("small_steps.slow", inputs={"made": made.path}, outputs={"slow_out_dir": slow.path})


@dsl.component(base_image="python-test", install_kfp_package=False)
def last(slow: dsl.Input[dsl.Artifact], last: dsl.Output[dsl.Artifact]):
    from hat.steps.journal import run_step

    run_step("small_steps.last", inputs={"slow_dir": slow.path}, outputs={"last_out": last.path})


@dsl.pipeline(name="small")
def small(text: str, config: str = "{}"):
    made = make(text=text, config=config)
    with dsl.If(made.outputs["Output"] == "go"):
        last(slow=slow(made=made.outputs["made"]).outputs["slow"])


class Bench:
    """A store, a state folder, a compiled graph, and steps whose calls are counted."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.package = root / "small.yaml"
        self.calls_file = root / "calls"
        self.behaviour = root / "behaviour"
        self.behaviour.write_text("work")
        compiler.Compiler().compile(small, str(self.package))
        modules = root / "modules" / "small_steps"
        modules.mkdir(parents=True)
        for name, code in {"__init__": "", "make": MAKE, "slow": SLOW, "last": LAST}.items():
            (modules / f"{name}.py").write_text(code)

    def run(self, run: str, text: str = "a"):
        started = local.start(self.package, {"text": text, "config": "{}"}, run)
        return started

    def finish(self, run: str, text: str = "a"):
        return self.run(run, text).wait(lambda: None)

    @property
    def calls(self) -> list[str]:
        return self.calls_file.read_text().split() if self.calls_file.exists() else []

    def status(self, run: str, step: str) -> str | None:
        entry = read_entry(places.open_run_store(), run, step)
        return entry.status if entry else None

    def wait_for_hang(self) -> int:
        pid_file = Path(f"{self.behaviour}.pid")
        deadline = time.time() + 60
        while time.time() < deadline:
            if pid_file.exists() and pid_file.read_text():
                return int(pid_file.read_text())
            time.sleep(0.05)
        raise AssertionError("the step never started")


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "modules"))
    monkeypatch.setenv("HAT_TEST_CALLS", str(tmp_path / "calls"))
    monkeypatch.setenv("HAT_TEST_BEHAVIOUR", str(tmp_path / "behaviour"))
    return Bench(tmp_path)


def test_a_run_goes_through_both_sides_of_a_condition_and_keeps_its_results(bench: Bench) -> None:
    assert bench.finish("one") is None
    assert bench.calls == ["make", "slow", "last"]
    assert {step: bench.status("one", step) for step in ("make", "slow", "last")} == {
        "make": "ran",
        "slow": "ran",
        "last": "ran",
    }


def test_another_run_reuses_what_has_the_same_inputs_and_only_that(bench: Bench) -> None:
    bench.finish("one")
    assert bench.finish("two") is None
    assert bench.calls == ["make", "slow", "last"]
    assert bench.status("two", "slow") == "cached"
    assert bench.finish("three", text="b") is None
    assert bench.calls == ["make", "slow", "last"] * 2


def test_a_refused_input_reaches_the_caller_as_one_message_with_its_exit_status(bench: Bench) -> None:
    bench.behaviour.write_text("refuse")
    error = bench.finish("one")
    assert error is not None
    assert (error.step, error.exit_status) == ("slow", 2)
    assert error.message == "row 3: the data is wrong. Mend the row."
    assert "last" not in bench.calls


def test_an_unexpected_error_is_told_in_one_line_and_its_traceback_is_in_the_log(bench: Bench) -> None:
    bench.behaviour.write_text("crash")
    running = bench.run("one")
    error = running.wait(lambda: None)
    assert error is not None
    assert error.exit_status == 4
    assert "ZeroDivisionError" in error.message
    assert "\n" not in error.message
    assert "Traceback" in running.log.read_text()


def test_a_failed_run_resumes_after_its_last_finished_step(bench: Bench) -> None:
    bench.behaviour.write_text("refuse")
    bench.finish("one")
    bench.behaviour.write_text("work")
    assert bench.finish("one") is None
    assert bench.calls == ["make", "slow", "slow", "last"]
    assert bench.status("one", "make") == "skipped"


def test_a_step_killed_with_sigkill_leaves_nothing_half_written_and_the_run_resumes(bench: Bench) -> None:
    bench.behaviour.write_text("hang")
    running = bench.run("one")
    os.kill(bench.wait_for_hang(), signal.SIGKILL)
    error = running.wait(lambda: None)
    assert error is not None
    assert error.exit_status == 4
    assert not [key for key in places.open_run_store().list("cache/slow") if "half" in key]
    bench.behaviour.write_text("work")
    assert bench.finish("one") is None
    assert bench.calls == ["make", "slow", "slow", "last"]


DRIVER = """
import sys
from pathlib import Path
from pipelines import local
local.start(Path(sys.argv[1]), {"text": "a", "config": "{}"}, "one").wait(lambda: None)
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_keeps_running_when_the_process_that_drives_the_run_dies(bench: Bench, number: int) -> None:
    bench.behaviour.write_text("hang")
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(bench.package)])
    step = bench.wait_for_hang()
    driver.send_signal(number)
    driver.wait()
    deadline = time.time() + 30
    while is_alive(step) and time.time() < deadline:
        time.sleep(0.1)
    assert not is_alive(step)
    bench.behaviour.write_text("work")
    assert bench.finish("one") is None
    assert bench.calls == ["make", "slow", "slow", "last"]


def test_kept_results_that_were_damaged_are_made_again(bench: Bench) -> None:
    bench.finish("one")
    store = places.open_run_store()
    kept = next(key for key in store.list("cache/slow") if key.endswith("/whole"))
    Path(str(store.local_path(kept))).write_text("tampered")
    assert bench.finish("two") is None
    assert bench.calls == ["make", "slow", "last", "slow"]


def test_progress_events_tell_each_step_from_start_to_end(bench: Bench) -> None:
    bench.finish("one")
    events = [(event.step, event.event) for event in Reader(places.run_folder("one")).events()]
    assert events == [(step, word) for step in ("make", "slow", "last") for word in ("started", "ran")]
