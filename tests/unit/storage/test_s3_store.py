"""The S3 store against moto's server: the contract of all stores, without network or credentials."""

from collections.abc import Iterator
from types import SimpleNamespace
from uuid import uuid4

import boto3
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ReadTimeoutError
from moto.server import ThreadedMotoServer

from hat.errors import BadInput, EnvironmentFailure
from hat.storage import Conflict, open_store
from hat.storage.s3 import S3Store
from tests.support.store_contract import *  # noqa: F403


@pytest.fixture(scope="module")
def endpoint() -> Iterator[str]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    client = boto3.client(
        "s3",
        endpoint_url=address,
        region_name="us-east-1",
        aws_access_key_id="key",
        aws_secret_access_key="secret",
    )
    client.create_bucket(Bucket="bucket")
    yield address
    server.stop()


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")


@pytest.fixture
def store(endpoint: str, credentials: None) -> S3Store:
    opened = open_store(
        f"s3://bucket/some/{uuid4().hex}?endpoint={endpoint}&s3ForcePathStyle=true&region=us-east-1"
    )
    assert isinstance(opened, S3Store)
    return opened


def test_a_prefix_keeps_its_neighbours_out(store: S3Store) -> None:
    prefix = store.address.prefix
    store.put("a", b"1")
    store._client.put_object(Bucket="bucket", Key=f"{prefix}-2/a", Body=b"")
    assert store.list() == ["a"]
    listed = store._client.list_objects_v2(Bucket="bucket", Prefix=prefix)["Contents"]
    assert [entry["Key"] for entry in listed] == [f"{prefix}-2/a", f"{prefix}/a"]


def test_a_write_whose_answer_is_lost_does_not_lose_to_itself(store: S3Store) -> None:
    # The first answer is dropped after the server has stored the object; botocore then sends it again.
    dropped = []

    def drop_first(request, **_) -> None:  # type: ignore[no-untyped-def]
        if not dropped:
            dropped.append(request.url)
            from botocore.httpsession import URLLib3Session

            URLLib3Session().send(request)
            raise ReadTimeoutError(endpoint_url=request.url)

    store._client.meta.events.register("before-send.s3.PutObject", drop_first)
    store.put("key", b"1", if_absent=True)
    assert dropped
    assert store.get("key") == b"1"


@pytest.mark.parametrize("answers", [1, 4])
def test_a_conditional_write_beside_another_is_sent_again_and_not_taken_for_lost(
    store: S3Store, answers: int
) -> None:
    """AWS answers 409 while another conditional write of the key is under way; neither has lost by that."""
    left = [None] * answers

    def disturbed(request, **_):  # type: ignore[no-untyped-def]
        if not left:
            return None
        left.pop()
        body = b"<Error><Code>ConditionalRequestConflict</Code></Error>"
        raw = SimpleNamespace(stream=lambda *_, **__: iter([body]))
        return AWSResponse(request.url, 409, {"content-type": "application/xml"}, raw)

    store._client.meta.events.register("before-send.s3.PutObject", disturbed)
    store.put("key", b"1", if_absent=True)
    assert not left
    assert store.get("key") == b"1"
    with pytest.raises(Conflict):
        store.put("key", b"2", if_absent=True)


def test_a_missing_bucket_is_named(endpoint: str) -> None:
    store = open_store(f"s3://absent/x?endpoint={endpoint}&s3ForcePathStyle=true&region=us-east-1")
    with pytest.raises(BadInput, match="no bucket 'absent'"):
        store.preflight()


def test_missing_credentials_are_named(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    store = open_store(f"s3://bucket/x?endpoint={endpoint}&s3ForcePathStyle=true&region=us-east-1")
    with pytest.raises(BadInput, match="AWS_ACCESS_KEY_ID"):
        store.preflight()


def test_a_server_that_is_down_is_an_environment_failure() -> None:
    # Port 9 (discard) has no listener.
    store = open_store("s3://bucket/x?endpoint=http://127.0.0.1:9&s3ForcePathStyle=true&region=us-east-1")
    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:9"):
        store.preflight()


def test_virtual_host_style_that_fails_names_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    store = open_store("s3://bucket/x?endpoint=http://store.invalid:9000&region=us-east-1")
    with pytest.raises(EnvironmentFailure, match="s3ForcePathStyle"):
        store.preflight()
