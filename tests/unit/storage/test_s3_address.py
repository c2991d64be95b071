"""S3 addresses: the query is understood, and a missing or unusable setting is named before any work."""

import subprocess
import sys
from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.storage import open_store
from hat.storage.s3_address import S3Address, parse_s3_address


@pytest.fixture(autouse=True)
def no_configured_region(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))


def test_the_query_is_understood() -> None:
    address = parse_s3_address(
        "s3://bucket/some/prefix?endpoint=http://127.0.0.1:9000&s3ForcePathStyle=true&region=eu-west-1"
    )
    assert address == S3Address("bucket", "some/prefix", "eu-west-1", "http://127.0.0.1:9000", True)


@pytest.mark.parametrize(
    ("url", "endpoint"),
    [
        ("s3://b/p?region=r&endpoint=store.example:9000", "https://store.example:9000"),
        ("s3://b/p?region=r&endpoint=store.example:9000&disableSSL=true", "http://store.example:9000"),
        ("s3://b/p?region=r&endpoint=http%3A%2F%2Fstore.example", "http://store.example"),
        ("s3://b/p?region=r", None),
    ],
)
def test_the_endpoint_is_understood(url: str, endpoint: str | None) -> None:
    assert parse_s3_address(url).endpoint == endpoint


def test_keys_are_joined_to_the_path_and_not_to_the_query() -> None:
    store = open_store("s3://bucket/prefix/?endpoint=http://127.0.0.1:9&s3ForcePathStyle=true&region=r")
    assert store.url == "s3://bucket/prefix"


@pytest.mark.parametrize("variable", ["AWS_REGION", "AWS_DEFAULT_REGION"])
def test_the_region_may_come_from_the_environment(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(variable, "ap-east-1")
    assert parse_s3_address("s3://bucket").region == "ap-east-1"


def test_the_region_may_come_from_the_aws_configuration(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("[default]\nregion = us-west-2\n")
    assert parse_s3_address("s3://bucket").region == "us-west-2"


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("s3://bucket/prefix", "region"),
        ("s3://bucket?region=r&endpoint=http://127.0.0.1:9000", "s3ForcePathStyle"),
        ("s3://bucket?region=r&endpoint=http://localhost:9000&s3ForcePathStyle=false", "s3ForcePathStyle"),
        ("s3://bucket?region=r&endpoint=http://[::1]:9000", "s3ForcePathStyle"),
        ("s3://bucket?region=r&s3ForcePathStyle=yes", "s3ForcePathStyle"),
        ("s3://bucket?region=r&endpoint=ftp://host", "endpoint"),
        ("s3://bucket?region=r&endpoint=http://host/path", "endpoint"),
        ("s3://bucket?region=r&usePathStyle=true", "usePathStyle"),
        ("s3://bucket?region=r&region=q", "region"),
        ("s3:///prefix?region=r", "s3://bucket"),
    ],
)
def test_a_missing_or_unusable_setting_is_named(url: str, named: str) -> None:
    with pytest.raises(BadInput, match=named) as caught:
        open_store(url)
    assert caught.value.exit_status == 2


def test_a_local_store_is_opened_without_importing_boto3(tmp_path: Path) -> None:
    code = (
        "import sys; from hat.storage import open_store; open_store(sys.argv[1]).put('a', b'1');"
        "assert not {'boto3', 'botocore', 'torch'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "store")], check=True)
