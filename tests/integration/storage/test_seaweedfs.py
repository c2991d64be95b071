"""The S3 store against a real server, SeaweedFS: the contract, conditional writes, refusals, restarts."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import boto3
import pytest
from botocore.config import Config

from hat.errors import BadInput
from hat.storage import open_store
from hat.storage.s3 import S3Store
from tests.support.store_contract import *  # noqa: F403

BUCKET = "bucket"
START_SECONDS = 60


class Server:
    """One `weed server` with the S3 gateway, kept in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = _free_ports(8)
        self.endpoint = f"http://127.0.0.1:{self.ports[0]}"
        self.process: subprocess.Popen[bytes] | None = None
        identity = {
            "name": "test",
            "credentials": [{"accessKey": "key", "secretKey": "secret"}],
            "actions": ["Admin", "Read", "Write", "List", "Tagging"],
        }
        (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
        (folder / "data").mkdir()

    def client(self):  # type: ignore[no-untyped-def]
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
            config=Config(s3={"addressing_style": "path"}, retries={"max_attempts": 0}),
        )

    def start(self) -> None:
        s3, master, volume, filer, *grpc = self.ports
        command = [
            str(Path(sys.executable).parent / "weed"),
            "server",
            f"-dir={self.folder / 'data'}",
            "-ip=127.0.0.1",
            "-ip.bind=127.0.0.1",
            f"-master.port={master}",
            f"-master.port.grpc={grpc[0]}",
            f"-volume.port={volume}",
            f"-volume.port.grpc={grpc[1]}",
            f"-filer.port={filer}",
            f"-filer.port.grpc={grpc[2]}",
            f"-s3.port.grpc={grpc[3]}",
            "-filer",
            "-s3",
            f"-s3.port={s3}",
            f"-s3.config={self.folder / 's3.json'}",
            "-volume.preStopSeconds=1",
            "-master.volumeSizeLimitMB=64",
            "-master.electionTimeout=1s",
        ]
        with open(self.folder / "log", "ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, cwd=self.folder)
        self._wait()

    def kill(self) -> None:
        # Asked to end, it lingers for half a minute; and a crash is the harder test anyway.
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    def _wait(self) -> None:
        """Until an object written is read back: listening comes some seconds before that."""
        deadline = time.monotonic() + START_SECONDS
        client = self.client()
        while True:
            try:
                client.create_bucket(Bucket=BUCKET)
            except Exception as error:  # noqa: BLE001  whatever a starting server answers
                failure = error
            try:
                client.put_object(Bucket=BUCKET, Key="probe", Body=b"1")
                if client.get_object(Bucket=BUCKET, Key="probe")["Body"].read() == b"1":
                    return
            except Exception as error:  # noqa: BLE001
                failure = error
            if time.monotonic() > deadline or (self.process and self.process.poll() is not None):
                log = (self.folder / "log").read_text(errors="replace")[-2000:]
                raise RuntimeError(f"SeaweedFS did not come up: {failure}\n{log}")
            time.sleep(0.3)


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("seaweedfs"))
    server.start()
    yield server
    server.kill()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture
def store(server: Server, credentials: None) -> S3Store:
    # A prefix for each test, not a bucket: SeaweedFS gives every bucket volumes of its own.
    opened = open_store(address(server, f"{BUCKET}/{uuid4().hex}"))
    assert isinstance(opened, S3Store)
    return opened


def address(server: Server, place: str) -> str:
    return f"s3://{place}?endpoint={server.endpoint}&s3ForcePathStyle=true&region=us-east-1"


def test_a_file_of_several_parts_goes_in_and_out(store: S3Store, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with open(tmp_path / "folder" / "weights", "wb") as handle:
        for _ in range(70):
            handle.write(os.urandom(1 << 20))
    manifest = store.put_tree(tmp_path / "folder", "models/x")
    head = store._client.head_object(
        Bucket=store.address.bucket, Key=f"{store.address.prefix}/models/x/weights"
    )
    assert head["ETag"].strip('"').endswith("-3"), "three parts of at most 32 MiB"
    assert store.get_tree("models/x", tmp_path / "out") == manifest


def test_more_keys_than_one_page_are_listed(store: S3Store) -> None:
    keys = [f"runs/{n:04d}" for n in range(1005)]
    for key in keys:
        store.put(key, b"")
    assert store.list("runs") == keys


def test_wrong_credentials_are_named(server: Server, store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")
    with pytest.raises(BadInput, match="AWS_SECRET_ACCESS_KEY"):
        open_store(address(server, BUCKET)).preflight()


def test_a_missing_bucket_is_named(server: Server) -> None:
    with pytest.raises(BadInput, match="no-such-bucket"):
        open_store(address(server, "no-such-bucket/prefix")).preflight()


def test_what_was_stored_survives_a_crash_of_the_server(
    server: Server, store: S3Store, tmp_path: Path
) -> None:
    manifest = store.put_tree(make_folder(tmp_path), "tree")  # noqa: F405
    store.put("ledger/1", b"1", if_absent=True)
    server.kill()
    server.start()
    assert store.get_tree("tree", tmp_path / "out") == manifest
    assert store.get("ledger/1") == b"1"
