"""A store in an S3 bucket, AWS or compatible, through boto3."""

import os
import time
import uuid
from pathlib import Path
from typing import Any

import boto3
from boto3.exceptions import S3UploadFailedError
from boto3.s3.transfer import TransferConfig
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from hat.errors import BadInput
from hat.files import as_environment_failure
from hat.storage.base import ObjectStore
from hat.storage.interface import Conflict, NotFound, Stored, check_key
from hat.storage.s3_address import S3Address
from hat.storage.s3_errors import explain, status_and_code

_MEBIBYTE = 1 << 20
_TRANSFER = TransferConfig(multipart_threshold=32 * _MEBIBYTE, multipart_chunksize=32 * _MEBIBYTE)
_WRITER = "hat-writer"
_DISTURBED = (409, "ConditionalRequestConflict")
"""AWS's answer to a conditional write beside another one; its documentation asks to send it again."""


class S3Store(ObjectStore):
    """Keys lie below the address's prefix; etags are S3's own; credentials are found as boto3 finds them."""

    def __init__(self, address: S3Address) -> None:
        self.address = address
        self.url = address.url
        try:
            self._client = boto3.session.Session().client(
                "s3",
                region_name=address.region,
                endpoint_url=address.endpoint,
                config=Config(
                    s3={"addressing_style": "path" if address.path_style else "virtual"},
                    retries={"mode": "standard", "max_attempts": 6},
                    connect_timeout=10,
                    read_timeout=60,
                ),
            )
        except (BotoCoreError, ValueError) as error:
            raise BadInput(f"S3 cannot be set up: {error}", where=self.url) from error

    def preflight(self) -> None:
        try:
            # Asked first, because some servers make an absent bucket when they are written to.
            self._client.list_objects_v2(Bucket=self.address.bucket, MaxKeys=1)
        except (ClientError, BotoCoreError) as error:
            raise explain(error, self.address, "") from error
        super().preflight()

    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str:
        writer = uuid.uuid4().hex
        conditions = {"IfNoneMatch": "*"} if if_absent else {}
        if if_match is not None:
            conditions["IfMatch"] = if_match
        place = self._place(key)
        write = {**place, "Body": data, "Metadata": {_WRITER: writer}, **conditions}
        try:
            answer = self._put_undisturbed(write)
        except ClientError as error:
            status, code = status_and_code(error)
            lost = status == 412 or (status, code) == _DISTURBED
            if conditions and (lost or (if_match is not None and status == 404 and code == "NoSuchKey")):
                # A write whose answer was lost is sent again and then meets itself.
                if (etag := self._own_write(place, writer)) is not None:
                    return etag
                what = "exists already" if if_absent else "changed since it was read"
                raise Conflict(what, where=f"{self.url} {key}") from error
            raise explain(error, self.address, key) from error
        except BotoCoreError as error:
            raise explain(error, self.address, key) from error
        return str(answer["ETag"])

    def read(self, key: str) -> Stored:
        try:
            answer = self._client.get_object(**self._place(key))
            return Stored(answer["Body"].read(), str(answer["ETag"]))
        except (ClientError, BotoCoreError) as error:
            raise explain(error, self.address, key) from error

    def exists(self, key: str) -> bool:
        try:
            self._client.head_object(**self._place(key))
        except (ClientError, BotoCoreError) as error:
            failure = explain(error, self.address, key)
            if isinstance(failure, NotFound):
                return False
            raise failure from error
        return True

    def list(self, prefix: str = "") -> list[str]:
        start = self._key(prefix) if prefix else self.address.prefix
        keys = []
        try:
            pages = self._client.get_paginator("list_objects_v2").paginate(
                Bucket=self.address.bucket, Prefix=f"{start}/" if start else ""
            )
            for page in pages:
                keys += [entry["Key"] for entry in page.get("Contents", ())]
        except (ClientError, BotoCoreError) as error:
            raise explain(error, self.address, prefix) from error
        cut = len(self.address.prefix) + 1 if self.address.prefix else 0
        found = sorted(key[cut:] for key in keys if not key.endswith("/"))
        return found if found or not prefix or not self.exists(prefix) else [prefix]

    def delete(self, key: str) -> None:
        try:
            self._client.delete_object(**self._place(key))
        except (ClientError, BotoCoreError) as error:
            raise explain(error, self.address, key) from error

    def put_file(self, path: Path, key: str) -> None:
        if not Path(path).is_file():
            raise BadInput("no such file", where=str(path))
        try:
            self._client.upload_file(str(path), self.address.bucket, self._key(key), Config=_TRANSFER)
        except (ClientError, BotoCoreError, S3UploadFailedError) as error:
            raise explain(error, self.address, key) from error

    def get_file(self, key: str, path: Path) -> None:
        path = Path(path)
        temporary = path.with_name(f".{path.name}.partial")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._client.download_file(self.address.bucket, self._key(key), str(temporary), Config=_TRANSFER)
            os.replace(temporary, path)
        except (ClientError, BotoCoreError) as error:
            raise explain(error, self.address, key) from error
        except OSError as error:
            raise as_environment_failure(error, path) from error
        finally:
            temporary.unlink(missing_ok=True)

    def local_path(self, key: str) -> Path | None:
        check_key(key)
        return None

    def _key(self, key: str) -> str:
        check_key(key)
        return f"{self.address.prefix}/{key}" if self.address.prefix else key

    def _place(self, key: str) -> dict[str, Any]:
        return {"Bucket": self.address.bucket, "Key": self._key(key)}

    def _put_undisturbed(self, write: dict[str, Any]) -> Any:
        """Put an object; again where another conditional write was under way, which decides nothing by itself."""
        for pause in (0.1, 0.2, 0.4, 0.8):
            try:
                return self._client.put_object(**write)
            except ClientError as error:
                if status_and_code(error) != _DISTURBED:
                    raise
                time.sleep(pause)
        return self._client.put_object(**write)

    def _own_write(self, place: dict[str, Any], writer: str) -> str | None:
        try:
            head = self._client.head_object(**place)
        except (ClientError, BotoCoreError):
            return None
        return str(head["ETag"]) if head.get("Metadata", {}).get(_WRITER) == writer else None
