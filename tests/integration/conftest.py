"""Fixtures for tests against real servers."""

from collections.abc import Iterator

import pytest

from tests.support.seaweedfs import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One server a module."""
    server = Server(tmp_path_factory.mktemp("seaweedfs"))
    server.start()
    yield server
    server.kill()


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """The key that the server accepts."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
