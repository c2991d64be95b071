"""Threads that wait: a default, and never against what the user has set."""

import re
from pathlib import Path

import pytest

from hat.threads import SPIN_COUNT, thread_settings


def test_waiting_threads_spin_briefly_where_nothing_is_said() -> None:
    assert thread_settings({"OMP_NUM_THREADS": "2"}) == {"GOMP_SPINCOUNT": "3000"}


@pytest.mark.parametrize("file", ["Makefile", "images/Containerfile"])
def test_what_starts_without_the_library_has_the_same_setting(file: str) -> None:
    text = (Path(__file__).parents[2] / file).read_text()
    assert re.findall(r"GOMP_SPINCOUNT\s*\??=\s*(\d+)", text) == [str(SPIN_COUNT)]


@pytest.mark.parametrize("name", ["OMP_WAIT_POLICY", "GOMP_SPINCOUNT"])
def test_what_the_user_says_of_waiting_threads_stays(name: str) -> None:
    assert thread_settings({name: "PASSIVE"}) == {}
