"""Publishing a harness version to the store, so that steps never need the registry's Git repository."""

import io
import json
import tarfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from hat.domains.base import get_domain, made_from_harness
from hat.errors import BadInput, EnvironmentFailure
from hat.harness.digest import folder_files
from hat.harness.load import load_harness, read_text
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.promotion.semver import precedence
from hat.storage import NotFound, Store

MAX_ARCHIVE_BYTES = 64 << 20
POLICY = "gate.yaml"
LATEST = "latest"
"""In place of a version: the newest one that the store holds."""


@dataclass(frozen=True)
class Published:
    """What a version's `published.json` says: the digest of its newest files, and the gate policy's text."""

    digest: str
    gate_policy: str


def publish_harness(store: Store, registry: Registry, name: str, version: str | None) -> Harness:
    """Put a version's files and its harness's gate policy in the store.

    The archive is named by the digest and never replaced; `published.json` points to the newest, since a
    version that is not merged yet may still change.

    Raises:
        BadInput: unknown name or version, malformed files, no gate policy, or a harness that no run can be made of.
    """
    harness = registry.load(name, version)
    if made_from_harness(get_domain(harness.domain)):
        raise BadInput(
            f"runs are not made in the domain {harness.domain}, which an import gives a harness",
            where=f"{harness.name}@{harness.version}",
            mend="`hat eval` evaluates a model under it; a run needs a domain of its own: docs/how-to/add-a-domain.md.",
        )
    folder = registry.folder(name, harness.version)
    key = _archive_key(name, harness.version, harness.digest)
    if not store.exists(key):
        store.put(key, _archive(folder))
    policy = read_text(registry.gate_policy(name))
    document = {"schema_version": 1, "digest": harness.digest, "gate_policy": policy}
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    store.put(_pointer_key(name, harness.version), text.encode("utf-8"))
    return harness


def published(store: Store, name: str, version: str) -> Published:
    """The newest published files of a version.

    Raises:
        BadInput: the version was never published to this store.
    """
    try:
        document: dict[str, Any] = json.loads(store.get(_pointer_key(name, version)))
    except NotFound as error:
        raise BadInput(
            f"{name}@{version} is not in the store",
            where=store.url,
            mend="`hat run` and `hat submit` publish it from the registry.",
        ) from error
    return Published(document["digest"], document["gate_policy"])


def has_harness(store: Store, name: str, version: str, digest: str) -> bool:
    """Whether exactly these files of a version are in the store."""
    return store.exists(_archive_key(name, version, digest))


def published_version(store: Store, name: str, version: str) -> str:
    """``version``, or the newest published release when it is `LATEST`; pre-releases only when there is no other.

    Raises:
        BadInput: `LATEST`, and no version of that harness was ever published to this store.
    """
    if version != LATEST:
        return version
    keys = store.list(f"harnesses/{name}")
    versions = sorted({key.split("/")[2] for key in keys if key.endswith("/published.json")}, key=precedence)
    if not versions:
        mend = "`hat submit` and `hat watch` publish it from the registry."
        raise BadInput(f"no version of {name} is in the store", where=store.url, mend=mend)
    releases = [each for each in versions if "-" not in each]
    return (releases or versions)[-1]


def fetch_harness(store: Store, name: str, version: str, digest: str, folder: Path) -> Harness:
    """Unpack a published harness into ``folder`` (empty) and load it.

    Raises:
        BadInput: it is not in the store.
        EnvironmentFailure: the archive does not hold what its digest says.
    """
    key = _archive_key(name, version, digest)
    where = f"{store.url} {key}"
    try:
        data = store.get(key)
    except NotFound as error:
        raise BadInput(f"the harness {name}@{version} is not in the store", where=where) from error
    try:
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            if sum(member.size for member in archive.getmembers()) > MAX_ARCHIVE_BYTES:
                raise EnvironmentFailure(f"unpacks to more than {MAX_ARCHIVE_BYTES} bytes", where=where)
            _unpack(archive, folder)
        harness = load_harness(folder)
    except (tarfile.TarError, BadInput) as error:
        raise EnvironmentFailure(f"damaged harness archive: {error}", where=where) from error
    if harness.digest != digest:
        raise EnvironmentFailure("the archive's files have another digest", where=where)
    return harness


def _archive(folder: Path) -> bytes:
    """A tar of the folder whose bytes depend on names and contents only."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path in folder_files(folder):
            data = path.read_bytes()
            member = tarfile.TarInfo(path.relative_to(folder).as_posix())
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


def _unpack(archive: tarfile.TarFile, folder: Path) -> None:
    """Write the files of an archive. Those that `_archive` makes hold nothing else, and nothing outside of the folder.

    Raises:
        BadInput: a member is no file, or leaves the folder.
    """
    # `extractall` has no filter before Python 3.11.4.
    for member in archive:
        name = PurePosixPath(member.name)
        content = archive.extractfile(member) if member.isfile() else None
        if content is None or name.is_absolute() or ".." in name.parts:
            raise BadInput(f"{member.name!r} is not a file inside of it")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.read())


def _archive_key(name: str, version: str, digest: str) -> str:
    return f"harnesses/{name}/{version}/{digest}.tar"


def _pointer_key(name: str, version: str) -> str:
    return f"harnesses/{name}/{version}/published.json"
