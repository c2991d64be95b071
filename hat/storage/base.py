"""What stores share once single objects work: trees and the preflight probe."""

import uuid
from abc import ABC, abstractmethod
from pathlib import Path

from hat.errors import EnvironmentFailure
from hat.storage import tree
from hat.storage.interface import Conflict, NotFound, Stored, check_key
from hat.storage.tree import MANIFEST_NAME, TreeManifest


class ObjectStore(ABC):
    """Trees and the probe, made of the object operations that a subclass gives; see `Store` for what each does."""

    url: str

    @abstractmethod
    def put(self, key: str, data: bytes, *, if_absent: bool = False, if_match: str | None = None) -> str: ...

    @abstractmethod
    def read(self, key: str) -> Stored: ...

    @abstractmethod
    def exists(self, key: str) -> bool: ...

    @abstractmethod
    def list(self, prefix: str = "") -> list[str]: ...

    @abstractmethod
    def delete(self, key: str) -> None: ...

    @abstractmethod
    def put_file(self, path: Path, key: str) -> None: ...

    @abstractmethod
    def get_file(self, key: str, path: Path) -> None: ...

    @abstractmethod
    def local_path(self, key: str) -> Path | None: ...

    def get(self, key: str) -> bytes:
        return self.read(key).data

    def preflight(self) -> None:
        key = f"preflight/{uuid.uuid4().hex}"
        data = key.encode("utf-8")
        self.put(key, data)
        if self.get(key) != data:
            raise EnvironmentFailure("the store returned other bytes than were written", where=self.url)
        self.delete(key)

    def put_tree(self, folder: Path, prefix: str, names: tuple[str, ...] | None = None) -> TreeManifest:
        manifest = tree.scan(Path(folder), names)
        present = self.tree(prefix)
        if present is None:
            for file in manifest.files:
                self.put_file(Path(folder) / file.path, f"{prefix}/{file.path}")
            try:
                self.put(f"{prefix}/{MANIFEST_NAME}", manifest.to_bytes(), if_absent=True)
            except Conflict:
                present = self.tree(prefix)
        if present is not None and present != manifest:
            raise Conflict(
                "a complete tree with other content is there already",
                where=f"{self.url} {prefix}",
                mend="Trees are immutable: delete it first or use another key.",
            )
        return manifest

    def tree(self, prefix: str) -> TreeManifest | None:
        try:
            data = self.get(f"{check_key(prefix)}/{MANIFEST_NAME}")
        except NotFound:
            return None
        return TreeManifest.from_bytes(data, where=f"{self.url} {prefix}")

    def get_tree(self, prefix: str, folder: Path) -> TreeManifest:
        manifest = self.tree(prefix)
        where = f"{self.url} {prefix}"
        if manifest is None:
            raise NotFound("no complete tree is stored there", where=where)

        def get_file(name: str, target: Path) -> None:
            try:
                self.get_file(f"{prefix}/{name}", target)
            except NotFound as error:
                raise EnvironmentFailure(
                    f"damaged tree: {name} is missing", where=where, mend="Delete it and store it again."
                ) from error

        tree.fetch(manifest, Path(folder), get_file, where)
        return manifest

    def delete_tree(self, prefix: str) -> None:
        self.delete(f"{check_key(prefix)}/{MANIFEST_NAME}")
        for key in self.list(prefix):
            self.delete(key)
