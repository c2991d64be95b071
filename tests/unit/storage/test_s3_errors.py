"""What each answer of an S3 server is called, and whose fault it is."""

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from hat.errors import BadInput, EnvironmentFailure
from hat.storage import NotFound
from hat.storage.s3_address import S3Address
from hat.storage.s3_errors import explain

AWS = S3Address("bucket", "prefix", "eu-west-1", None, path_style=False)
VIRTUAL = S3Address("bucket", "prefix", "eu-west-1", "http://store.example", path_style=False)


def answer(status: int, code: str) -> ClientError:
    response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "GetObject")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("status", "code", "kind", "message"),
    [
        (404, "NoSuchKey", NotFound, "nothing is stored"),
        (404, "404", NotFound, "nothing is stored"),
        (404, "NoSuchBucket", BadInput, "no bucket 'bucket'"),
        (403, "SignatureDoesNotMatch", BadInput, "AWS_SECRET_ACCESS_KEY"),
        (403, "403", BadInput, "AWS_ACCESS_KEY_ID"),
        (301, "PermanentRedirect", BadInput, "region is 'eu-west-1'"),
        (400, "AuthorizationHeaderMalformed", BadInput, "region is 'eu-west-1'"),
        (500, "InternalError", EnvironmentFailure, "500 InternalError"),
        (503, "SlowDown", EnvironmentFailure, "503 SlowDown"),
    ],
)
def test_an_answer_is_called_what_it_is(status: int, code: str, kind: type, message: str) -> None:
    error = explain(answer(status, code), AWS, "key")
    assert type(error) is kind
    assert message in str(error)
    assert "s3://bucket/prefix" in str(error)


def test_a_bucket_not_found_by_subdomain_names_the_setting() -> None:
    # A path-style server takes the key's first part for the bucket and says that it has none.
    assert "s3ForcePathStyle=true" in str(explain(answer(404, "NoSuchBucket"), VIRTUAL, "key"))


def test_an_unreachable_endpoint_is_the_environments_fault() -> None:
    error = explain(EndpointConnectionError(endpoint_url="http://store.example"), VIRTUAL, "key")
    assert isinstance(error, EnvironmentFailure)
    assert "http://store.example" in str(error)
