"""Fixtures for all tests: the shared test data and the real base model."""

import os
from pathlib import Path

import pytest

from hat.threads import thread_settings

# Set before anything imports a model library: no test may reach a hub, and threads must not wait at a core's expense.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.update(thread_settings(os.environ))
if "PYTEST_XDIST_WORKER" in os.environ:
    # Each worker has a core: two that compute with all of them take turns at waiting for each other.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

pytest.register_assert_rewrite("tests.support")

REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of test data beside the repository; tests that need it are skipped without it."""
    folder = REPOSITORY.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no ../shared/data beside the repository")
    return folder


@pytest.fixture(scope="session")
def base_model() -> Path:
    """The default base model's folder in the repository's own HAT_HOME, converted on first use. Read only."""
    from hat.home import hat_home
    from hat.models import ModelStore, default_base
    from hat.storage import open_store

    home = hat_home()
    models = ModelStore(open_store(str(home / "store")), home)
    return models.materialise(default_base(models, home))
