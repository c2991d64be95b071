"""What an S3 failure means to the user: which setting is wrong, or that the server is away."""

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    NoCredentialsError,
    PartialCredentialsError,
)

from hat.errors import BadInput, EnvironmentFailure, HatError
from hat.storage.interface import NotFound
from hat.storage.s3_address import S3Address

_CREDENTIALS = "Check AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY and what they may do in this bucket."
_REGION_CODES = ("AuthorizationHeaderMalformed", "PermanentRedirect", "IllegalLocationConstraintException")


def status_and_code(error: ClientError) -> tuple[int, str]:
    """The HTTP status and S3's error code (``"404"`` and the like where a HEAD answer has no body)."""
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    return int(status), str(error.response.get("Error", {}).get("Code", ""))


def explain(error: Exception, address: S3Address, key: str) -> HatError:
    """The error for a failed request: `NotFound`, `BadInput` for a wrong setting, or `EnvironmentFailure`."""
    where = f"{address.url} {key}".strip()
    if isinstance(error, ClientError):
        return _explain_answer(error, address, where)
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return BadInput("there are no S3 credentials", where=where, mend=_CREDENTIALS)
    if isinstance(error, ConnectionError):
        return EnvironmentFailure(
            f"the S3 endpoint {address.endpoint or 'of AWS'} cannot be reached: {error}",
            where=where,
            mend=_addressing_hint(address) or "Check endpoint in the address and that the server is up.",
        )
    if isinstance(error, BotoCoreError):
        return EnvironmentFailure(f"S3 failed: {error}", where=where)
    return EnvironmentFailure(f"S3 failed: {error}", where=where, mend="Try again; see the server's log.")


def _explain_answer(error: ClientError, address: S3Address, where: str) -> HatError:
    status, code = status_and_code(error)
    hint = _addressing_hint(address)
    if code == "NoSuchBucket":
        return BadInput(
            f"there is no bucket {address.bucket!r}", where=where, mend=hint or "Create it or name another."
        )
    if code in _REGION_CODES or status == 301:
        return BadInput(
            f"region is {address.region!r}, but the bucket is elsewhere ({code})",
            where=where,
            mend="Set region in the address to the bucket's own.",
        )
    if status == 404:
        return NotFound("nothing is stored there", where=where)
    if status in (401, 403):
        return BadInput(f"S3 refused the request ({code})", where=where, mend=_CREDENTIALS)
    message = error.response.get("Error", {}).get("Message", "")
    return EnvironmentFailure(f"S3 answered {status} {code} {message}".strip(), where=where, mend=hint)


def _addressing_hint(address: S3Address) -> str:
    if address.endpoint is None or address.path_style:
        return ""
    return (
        "The bucket was sent as a subdomain of the endpoint; if the server expects it in the path, "
        "add s3ForcePathStyle=true to the address."
    )
