"""Where this machine keeps its state: HAT_HOME for the cache, HAT_STORE for what runs leave behind."""

import os
from pathlib import Path


def hat_home() -> Path:
    """The folder of local state: ``HAT_HOME``, else ``.hat`` in the nearest folder above that has a registry.

    Outside any repository it is ``.hat`` in the current folder. The folder need not exist yet.
    """
    named = os.environ.get("HAT_HOME")
    if named:
        return Path(named).expanduser().resolve()
    here = Path.cwd()
    for folder in (here, *here.parents):
        if (folder / "harness_registry").is_dir():
            return folder / ".hat"
    return here / ".hat"


def store_url() -> str:
    """The store's address, for `hat.storage.open_store`: ``HAT_STORE``, else a folder in `hat_home`."""
    return os.environ.get("HAT_STORE") or str(hat_home() / "store")
