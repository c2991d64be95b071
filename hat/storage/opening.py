"""From a store's address to the store: a folder, or ``s3://bucket/prefix?...``."""

from pathlib import Path

from hat.errors import BadInput
from hat.storage.interface import Store
from hat.storage.local import LocalStore


def open_store(url: str) -> Store:
    """Open the store at ``url``: a folder's path, ``file://`` or ``s3://bucket/prefix?endpoint=...&region=...``.

    No connection is made; call `Store.preflight` before work that depends on the store.

    Raises:
        BadInput: the address is malformed or leads through a file, or an S3 setting is missing or unusable; the
            message names it.
    """
    if url.startswith("s3://"):
        # boto3 takes a third of a second to import: only who uses S3 pays for it.
        from hat.storage.s3 import S3Store
        from hat.storage.s3_address import parse_s3_address

        return S3Store(parse_s3_address(url))
    if "://" in url and not url.startswith("file://"):
        raise BadInput("unknown kind of store", where=url, mend="Give a folder or s3://bucket/prefix.")
    path = url.removeprefix("file://")
    if not path:
        raise BadInput("the store's address is empty", where="HAT_STORE", mend="Give a folder or s3:// URL.")
    folder = Path(path).expanduser().absolute()
    blocking = next((each for each in (folder, *folder.parents) if each.exists()), folder)
    if blocking.exists() and not blocking.is_dir():
        raise BadInput(
            f"{blocking} is not a folder", where=f"store {url}", mend="Give a folder or s3:// URL."
        )
    return LocalStore(folder)
