"""The fuzz target itself: a few seconds of it in every test run, ten minutes by hand (see README.md)."""

import json
import subprocess
import sys
from pathlib import Path


def test_a_few_seconds_of_fuzzing_find_nothing(tmp_path):
    report = tmp_path / "report.json"
    command = [
        sys.executable,
        "-m",
        "tests.fuzz.loader",
        "--minutes",
        "0.1",
        "--seed",
        "7",
        "--out",
        str(report),
    ]
    result = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(report.read_text())["examples"] > 0
