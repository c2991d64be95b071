"""A Kubeflow API server, a Git repository with harnesses and a store, all real and all small."""

import os
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from hat.harness.lock import lock_versions
from hat.harness.registry import Registry
from hat.storage import Store, open_store
from pipelines.compile import Compiled, compile_profile
from pipelines.kubeflow import Address, Connection
from tests.support.kubeflow_server import KubeflowServer, serving

REPOSITORY = Path(__file__).resolve().parents[3]
IMAGES = {family: f"registry/hat-python-{family}@sha256:{'0' * 64}" for family in ("cpu", "train")}


@pytest.fixture
def server() -> Iterator[KubeflowServer]:
    with serving(KubeflowServer()) as running:
        yield running


@pytest.fixture
def connection(server: KubeflowServer) -> Connection:
    return Connection(Address(server.url), delays=(0.0, 0.0, 0.0))


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Compiled:
    return compile_profile("tiny", tmp_path_factory.mktemp("compiled"), IMAGES, commit="c" * 40)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HAT_STORE", f"file://{tmp_path / 'store'}")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.delenv("HAT_RUN_ID", raising=False)
    return open_store(os.environ["HAT_STORE"])


@dataclass(frozen=True)
class Checkout:
    """A Git repository with a registry, to push harness versions to."""

    folder: Path

    @property
    def registry(self) -> Path:
        return self.folder / "harness_registry"

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@localhost", "-c", "commit.gpgsign=false"]
        command = ["git", "-C", str(self.folder), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str = "change") -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD")

    def add_version(self, version: str, of: str = "live-shop") -> None:
        """A new version like 1.0.0, locked."""
        source = REPOSITORY / "harness_registry" / "live-shop" / "versions" / "1.0.0"
        target = self.registry / of / "versions" / version
        earlier = Registry(self.registry).versions(of) if target.parent.is_dir() else []
        for path in (path for path in source.rglob("*") if path.is_file()):
            place = target / path.relative_to(source)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(path.read_bytes())
        manifest = target / "harness.yaml"
        text = manifest.read_text(encoding="utf-8")
        text = text.replace("version: 1.0.0", f"version: {version}").replace("name: live-shop", f"name: {of}")
        if earlier:
            text = text.replace("parent: null", f"parent: {earlier[-1]}")
        manifest.write_text(text, encoding="utf-8")
        gate = self.registry / of / "gate.yaml"
        gate.write_bytes((REPOSITORY / "harness_registry" / "live-shop" / "gate.yaml").read_bytes())
        lock_versions(Registry(self.registry), of)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A repository whose registry holds live-shop 1.0.0."""
    made = Checkout(tmp_path / "checkout")
    made.folder.mkdir()
    made.git("init", "-q", "-b", "main")
    made.add_version("1.0.0")
    made.commit("live-shop 1.0.0")
    return made
