"""What `hat` does when nobody reads its output, or when it cannot be written: as Unix tools do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
HAT = [sys.executable, "-m", "pipelines.cli"]
READER_GONE = 141


def hat_without_reader(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run `hat` with a standard output whose reader has left already."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [*HAT, *arguments], stdout=writer, stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, check=False
        )
    finally:
        os.close(writer)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("harness", "list"),
        ("harness", "show", "live-shop@1.0.0"),
        ("harness", "show", "live-shop@1.0.0", "--json"),
        ("gate", "tests/data/evidence/gate.yaml", "tests/data/evidence/sound"),
    ],
    ids=" ".join,
)
def test_a_reader_that_left_ends_the_program_without_a_word(arguments: tuple[str, ...]) -> None:
    result = hat_without_reader(*arguments)
    assert (result.returncode, result.stderr) == (READER_GONE, "")


def test_a_reader_of_remarks_that_left_changes_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        command = [*HAT, "harness", "show", "nothing@1.0.0"]
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=writer, cwd=REPOSITORY, check=False)
    finally:
        os.close(writer)
    assert (result.returncode, result.stdout) == (2, b"")


def test_a_closed_standard_output_loses_the_output_only() -> None:
    command = f"exec {sys.executable} -m pipelines.cli harness list >&-"
    result = subprocess.run(
        ["sh", "-c", command], stderr=subprocess.PIPE, text=True, cwd=REPOSITORY, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")


def test_a_full_standard_output_is_one_message() -> None:
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [*HAT, "harness", "list"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            cwd=REPOSITORY,
            check=False,
        )
    assert result.returncode == 4
    assert result.stderr == "hat: standard output: No space left on device\n"
