"""A Kubeflow API server, a Git repository with harnesses and a store, all real and all small."""

import os
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hat.files import sha256_text
from hat.harness.lock import lock_versions
from hat.harness.registry import Registry
from hat.promotion.ledger import Proposal, promote
from hat.runs.record import RunError, RunRecord
from hat.storage import Store, open_store
from pipelines.compile import Compiled, compile_profile
from pipelines.kubeflow import Address, Connection
from pipelines.watching import watch
from pipelines.watching.order import WatchOrder
from pipelines.watching.repository import Repository
from pipelines.watching.watch import Reports, Source, watch_once
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


ORDER = WatchOrder("tiny", IMAGES)


@pytest.fixture
def fast_compiler(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes seconds and gives the same each time; everything after it is real."""
    monkeypatch.setattr(watch, "compile_profile", lambda *_: compiled)
    monkeypatch.setattr("pipelines.kubeflow.connection.DELAYS", (0.0,))


@pytest.fixture
def one_pass(checkout: Checkout, server: KubeflowServer, store: Store) -> Callable[..., dict[str, str]]:
    def run(
        order: WatchOrder = ORDER, revision: str = "HEAD", reports: Reports | None = None
    ) -> dict[str, str]:
        source = Source(Repository(checkout.folder), revision)
        said: list[str] = []
        outcomes = watch_once(order, source, Address(server.url), reports or Reports(), said.append)
        return {f"{each.harness}@{each.version}": each.kind for each in outcomes}

    return run


def names(server: KubeflowServer) -> list[str]:
    return [run["display_name"] for run in server.runs.values()]


def put_in_production(store: Store, version: str, head: int = 0) -> None:
    digest = sha256_text(version)
    proposal = Proposal(
        environment="tiny",
        harness="live-shop",
        version=version,
        harness_digest=digest,
        model={"digest": digest},
        run=f"run-{version}",
        verdict_digest=digest,
        evidence_digest=digest,
        who="t",
        when="2026-01-01T00:00:00+00:00",
    )
    promote(store, proposal, expected_head=head)


def a_record(run: str, status: Any, verdict: Any, error: RunError | None = None) -> RunRecord:
    return RunRecord(
        run=run,
        harness="live-shop",
        version="1.0.0",
        code_version="c",
        profile="tiny",
        mode="auto",
        started="2026-01-01T00:00:00+00:00",
        status=status,
        verdict=verdict,
        error=error,
    )
