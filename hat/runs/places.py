"""Names and places of runs: the local working folder, the store, and the run this process works for."""

import getpass
import os
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex

from hat.home import hat_home, store_url
from hat.storage import Store, open_store

RUN = "HAT_RUN_ID"


def open_run_store() -> Store:
    """The store that runs, models and ledgers are kept in."""
    return open_store(store_url())


def run_id() -> str:
    """The run this process works for, or an empty string outside of a run."""
    return os.environ.get(RUN, "")


def user_name() -> str:
    """Who runs this process; `unknown` in a container that gives its number no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def run_folder(run: str) -> Path:
    """The local working folder of a run: progress, log and task outputs. The record is in the store."""
    return hat_home() / "runs" / run


def new_run_id(harness: str, version: str, now: datetime | None = None) -> str:
    """A run's name: UTC time, harness, version and four random hex digits; sorts by time."""
    moment = now or datetime.now(UTC)
    return f"{moment:%Y%m%d-%H%M%S}-{harness}-{version}-{token_hex(2)}"
