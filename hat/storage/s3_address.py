"""The address of an S3 store, in the form that Kubeflow Pipelines uses for its pipeline root."""

import ipaddress
import os
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from hat.errors import BadInput

_SETTINGS = ("region", "endpoint", "s3ForcePathStyle", "disableSSL")


@dataclass(frozen=True)
class S3Address:
    """Where an S3 store is: ``endpoint`` is None for AWS itself; ``prefix`` has no slash at its ends."""

    bucket: str
    prefix: str
    region: str
    endpoint: str | None
    path_style: bool

    @property
    def url(self) -> str:
        """The address without its settings, as messages show it."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")


def parse_s3_address(url: str) -> S3Address:
    """Parse ``s3://bucket/prefix?region=...&endpoint=http://...&s3ForcePathStyle=true&disableSSL=true``.

    The query belongs to the whole address: it is split off before any key is joined to the prefix. A region
    may come from ``AWS_REGION``, ``AWS_DEFAULT_REGION`` or the AWS configuration file instead.

    Raises:
        BadInput: the address is malformed, or a setting (named) is unknown, missing or unusable.
    """
    parts = urlsplit(url)
    if parts.scheme != "s3" or not parts.netloc or parts.fragment:
        raise BadInput("not an S3 address", where=url, mend="Write s3://bucket/prefix?region=...")
    settings = _settings(parts.query, url)
    endpoint = _endpoint(settings, url)
    path_style = _flag(settings, "s3ForcePathStyle", url)
    if endpoint is not None and not path_style and _has_no_subdomains(endpoint):
        raise BadInput(
            f"s3ForcePathStyle is not set, but {endpoint} cannot have the bucket as a subdomain",
            where=url,
            mend="Add s3ForcePathStyle=true to the address.",
        )
    return S3Address(
        bucket=parts.netloc,
        prefix=parts.path.strip("/"),
        region=settings.get("region") or _configured_region(url),
        endpoint=endpoint,
        path_style=path_style,
    )


def _settings(query: str, url: str) -> dict[str, str]:
    settings: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in _SETTINGS:
            raise BadInput(
                f"unknown S3 setting {name!r}", where=url, mend=f"Known are {', '.join(_SETTINGS)}."
            )
        if name in settings:
            raise BadInput(f"the S3 setting {name} is given twice", where=url)
        settings[name] = value
    return settings


def _flag(settings: dict[str, str], name: str, url: str) -> bool:
    value = settings.get(name, "false")
    if value not in ("true", "false"):
        raise BadInput(f"{name} is {value!r}", where=url, mend=f"Write {name}=true or {name}=false.")
    return value == "true"


def _endpoint(settings: dict[str, str], url: str) -> str | None:
    plain = _flag(settings, "disableSSL", url)
    endpoint = settings.get("endpoint")
    if not endpoint:
        return None
    if "://" not in endpoint:
        endpoint = f"{'http' if plain else 'https'}://{endpoint}"
    parts = urlsplit(endpoint)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/") or parts.query:
        raise BadInput(
            f"endpoint is {settings['endpoint']!r}", where=url, mend="Write endpoint=http://host:port."
        )
    return f"{parts.scheme}://{parts.netloc}"


def _has_no_subdomains(endpoint: str) -> bool:
    host = urlsplit(endpoint).hostname or ""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return host == "localhost"
    return True


def _configured_region(url: str) -> str:
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if not region:
        import botocore.session

        region = botocore.session.get_session().get_config_variable("region")
    if not region:
        raise BadInput(
            "no region is set for S3",
            where=url,
            mend="Add region=... to the address or set AWS_REGION.",
        )
    return str(region)
