"""Who else uses the processor."""

import subprocess
import sys
from pathlib import Path

import pytest

from hat.serving import machine
from hat.serving.machine import Usage


def test_others_are_what_is_busy_beside_us(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 2)
    before = Usage(clock=100.0, own=5.0, machine=1000.0)
    assert machine.others_share(before, Usage(110.0, 15.0, 1010.0)) == 0.0
    assert machine.others_share(before, Usage(110.0, 15.0, 1015.0)) == pytest.approx(0.25)
    assert machine.others_share(before, Usage(110.0, 15.0, 1009.0)) == 0.0


def test_the_load_average_decides_only_where_the_system_tells_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine, "cores", lambda: 2)
    untold = machine.others_share(Usage(0.0, 0.0, None), Usage(1.0, 0.0, 3.0))
    assert untold is None
    assert machine.is_shared(untold, 2.5)
    assert not machine.is_shared(untold, 2.0)
    assert not machine.is_shared(0.05, 2.5)
    assert machine.is_shared(0.3, 0.0)


def test_another_process_at_work_is_seen() -> None:
    before = machine.usage_now()
    if before.machine is None:
        pytest.skip("this system does not tell the use of its processors")
    subprocess.run([sys.executable, "-c", "sum(range(20_000_000))"], check=True)
    share = machine.others_share(before, machine.usage_now())
    assert share is not None
    assert share > 0.1


def test_the_processor_can_be_described() -> None:
    assert machine.cores() >= 1
    assert machine.load_average() >= 0
    assert isinstance(machine.cpu_name(), str)


def test_the_accelerator_is_what_nvidias_tool_names_and_without_it_a_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.hardware() == "cpu"
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H20'\necho 'NVIDIA H20'\n")
    tool.chmod(0o755)
    assert machine.hardware() == "NVIDIA H20"
    tool.write_text("#!/bin/sh\nexit 9\n")  # a driver that does not answer
    assert machine.hardware() == "cpu"
