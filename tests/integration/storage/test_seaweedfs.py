"""The S3 store against a real server, SeaweedFS: the contract, refusals, faults on the way, crashes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError

from hat.errors import BadInput, EnvironmentFailure
from hat.storage import Conflict, open_store
from hat.storage.s3 import S3Store
from tests.support.seaweedfs import BUCKET, Server, address
from tests.support.store_contract import *  # noqa: F403

pytestmark = pytest.mark.usefixtures("credentials")


@pytest.fixture
def store(server: Server, credentials: None) -> S3Store:
    # A prefix for each test, not a bucket: SeaweedFS gives every bucket volumes of its own.
    opened = open_store(address(server, f"{BUCKET}/{uuid4().hex}"))
    assert isinstance(opened, S3Store)
    return opened


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


def test_an_unknown_key_is_named(server: Server, store: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    refused = open_store(address(server, BUCKET))
    with pytest.raises(BadInput, match="AWS_ACCESS_KEY_ID"):
        refused.preflight()
    with pytest.raises(BadInput, match="refused the request"):
        refused.put("ledger/x/y/00000001.json", b"{}", if_absent=True)


def test_a_process_killed_while_it_sends_a_large_file_leaves_no_object(
    store: S3Store, tmp_path: Path
) -> None:
    with open(tmp_path / "weights", "wb") as handle:
        for _ in range(100):
            handle.write(os.urandom(1 << 20))
    sender = subprocess.Popen(
        [sys.executable, "-c", _SLOW_SENDER, store_url(store), str(tmp_path / "weights")]
    )
    deadline = time.monotonic() + 60
    uploads: list[Any] = []
    while not uploads and time.monotonic() < deadline:
        uploads = store._client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
        time.sleep(0.1)
    assert uploads, "the upload never began"
    sender.send_signal(signal.SIGKILL)
    sender.wait()
    assert not store.exists("models/x/weights")
    assert store.list("models") == []
    store.put_file(tmp_path / "weights", "models/x/weights")
    store.get_file("models/x/weights", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == (tmp_path / "weights").read_bytes()


_SLOW_SENDER = """
import sys, time
from pathlib import Path
from hat.storage import open_store
store = open_store(sys.argv[1])
def slowly(**_):
    time.sleep(0.5)
store._client.meta.events.register("after-call.s3.CreateMultipartUpload", slowly)
store._client.meta.events.register("before-send.s3.UploadPart", lambda request, **_: time.sleep(5))
store.put_file(Path(sys.argv[2]), "models/x/weights")
"""


def store_url(store: S3Store) -> str:
    place = store.address
    settings = f"endpoint={place.endpoint}&s3ForcePathStyle=true&region={place.region}"
    return f"s3://{place.bucket}/{place.prefix}?{settings}"


def test_bytes_that_change_on_the_way_are_refused_and_not_stored(store: S3Store) -> None:
    def corrupt(request: Any, **_: Any) -> None:
        body = request.body if isinstance(request.body, bytes) else request.body.read()
        request.body = body.replace(b"promoted", b"promotes")

    store._client.meta.events.register("before-send.s3.PutObject", corrupt)
    with pytest.raises(EnvironmentFailure, match="400"):
        store.put("ledger/1", b"promoted", if_absent=True)
    assert not store.exists("ledger/1")


def test_a_wrong_checksum_is_refused_by_this_server(store: S3Store) -> None:
    """What the other test relies on: moto, for one, stores such an object."""
    with pytest.raises(ClientError) as caught:
        store._client.put_object(Bucket=BUCKET, Key="wrong", Body=b"1", ChecksumCRC32="AAAAAA==")
    assert caught.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_damage_on_the_servers_disk_is_found_by_the_manifest(store: S3Store, tmp_path: Path) -> None:
    store.put_tree(make_folder(tmp_path), "tree")  # noqa: F405
    store._client.put_object(Bucket=BUCKET, Key=f"{store.address.prefix}/tree/b.txt", Body=b"tw0")
    with pytest.raises(EnvironmentFailure, match="does not have the content"):
        store.get_tree("tree", tmp_path / "out")


def test_virtual_host_style_against_this_path_style_server_names_the_setting(server: Server) -> None:
    with pytest.raises(BadInput, match="s3ForcePathStyle"):
        open_store(f"s3://{BUCKET}/x?endpoint={server.endpoint}&region=us-east-1")
    # By name the bucket's subdomain cannot be told beforehand to lead nowhere.
    by_name = server.endpoint.replace("127.0.0.1", "store.invalid")
    with pytest.raises(EnvironmentFailure, match="s3ForcePathStyle=true"):
        open_store(f"s3://{BUCKET}/x?endpoint={by_name}&region=us-east-1").preflight()


def test_a_missing_region_is_named_before_the_server_is_asked(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(BadInput, match="region"):
        open_store(f"s3://{BUCKET}/x?endpoint={server.endpoint}&s3ForcePathStyle=true")


@pytest.mark.parametrize("region", ["us-east-1", "eu-west-1", "anything-else-1"])
def test_any_region_serves_where_the_server_has_none(server: Server, region: str) -> None:
    where = f"s3://{BUCKET}/{uuid4().hex}?endpoint={server.endpoint}&s3ForcePathStyle=true&region={region}"
    store = open_store(where)
    store.preflight()
    store.put("a", b"1")
    assert store.get("a") == b"1"


def test_the_query_may_come_in_any_order_and_escaped_and_never_reaches_a_key(server: Server) -> None:
    prefix = uuid4().hex
    escaped = quote(server.endpoint, safe="")
    one = open_store(f"s3://{BUCKET}/{prefix}/?region=us-east-1&s3ForcePathStyle=true&endpoint={escaped}")
    one.put("a/b", b"1")
    host = server.endpoint.removeprefix("http://")
    settings = f"disableSSL=true&endpoint={host}&s3ForcePathStyle=true&region=us-east-1"
    assert open_store(f"s3://{BUCKET}/{prefix}?{settings}").list() == ["a/b"]
    listed = server.client().list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]
    assert [entry["Key"] for entry in listed] == [f"{prefix}/a/b"]


def test_an_endpoint_that_itself_has_a_query_is_refused_with_its_name(server: Server) -> None:
    endpoint = quote(f"{server.endpoint}?token=1", safe="")
    with pytest.raises(BadInput, match="endpoint"):
        open_store(f"s3://{BUCKET}/x?endpoint={endpoint}&s3ForcePathStyle=true&region=us-east-1")


def test_a_conditional_write_survives_a_restart_of_the_server(server: Server, store: S3Store) -> None:
    etag = store.put("ledger/1", b"1", if_absent=True)
    server.kill()
    server.start()
    with pytest.raises(Conflict):
        store.put("ledger/1", b"2", if_absent=True)
    store.put("ledger/1", b"1!", if_match=etag)
    with pytest.raises(Conflict):
        store.put("ledger/1", b"2", if_match=etag)


def test_a_server_that_is_away_is_an_environment_failure_and_what_it_had_is_there_again(
    server: Server, store: S3Store
) -> None:
    store.put("key", b"1")
    server.kill()
    with pytest.raises(EnvironmentFailure, match="cannot be reached"):
        store.put("key", b"2", if_match='"x"')
    server.start()
    assert store.get("key") == b"1"
