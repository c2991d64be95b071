"""Publishes model folders to the store and materialises them on this machine."""

import shutil
from pathlib import Path

from hat.errors import EnvironmentFailure
from hat.files import as_environment_failure, read_json, write_json_atomic
from hat.home import hat_home
from hat.models.folder import check_model_folder, model_files, model_manifest
from hat.models.reference import ModelRef
from hat.storage import NotFound, Store
from hat.storage.lock import file_lock
from hat.storage.tree import TreeManifest, verify


class ModelStore:
    """The models of one store, with a cache below ``home`` (default `hat_home`) shared by all processes."""

    def __init__(self, store: Store, home: Path | None = None) -> None:
        self.store = store
        self._cache = (home or hat_home()) / "cache" / "models"

    def publish(self, folder: Path, base: str, notes: str = "") -> ModelRef:
        """Store a Hugging Face folder's model files, once for the same content, and return its reference.

        Raises:
            BadInput: the folder is not a complete model with tokenizer and chat template.
        """
        folder = Path(folder)
        check_model_folder(folder)
        manifest = model_manifest(folder)
        reference = ModelRef(digest=manifest.digest, base=base, notes=notes)
        if self.store.tree(reference.prefix) != manifest:
            self.store.put_tree(folder, reference.prefix, model_files(folder))
        return reference

    def materialise(self, reference: ModelRef) -> Path:
        """A local Hugging Face folder with the model's verified files; never write into it.

        A store on this machine is read in place. Otherwise the first caller downloads, the others wait.

        Raises:
            NotFound: the store has no such model.
            EnvironmentFailure: the stored model is damaged, or the disk is full.
        """
        in_place = self.store.local_path(reference.prefix)
        folder = in_place or self._cache / reference.digest
        with file_lock(self._cache / f"{reference.digest}.lock"):
            manifest = self._manifest(reference)
            if in_place is not None:
                self._verify_once(folder, manifest, reference)
                return folder
            if folder.is_dir():
                try:
                    self._verify_once(folder, manifest, reference)
                    return folder
                except EnvironmentFailure:
                    _remove(folder)  # a damaged cache is only a cache: fetch it again
            for left in self._cache.glob(f".{reference.digest}.*"):
                _remove(left)  # of a killed process: only the lock's holder fetches
            self.store.get_tree(reference.prefix, folder)
            self._stamp(reference).unlink(missing_ok=True)
            self._verify_once(folder, manifest, reference)
            return folder

    def _manifest(self, reference: ModelRef) -> TreeManifest:
        manifest = self.store.tree(reference.prefix)
        if manifest is None:
            raise NotFound(
                f"the store has no model {reference.digest[:12]}",
                where=self.store.url,
                mend="Publish it, or set HAT_STORE to the store that has it.",
            )
        if manifest.digest != reference.digest:
            raise EnvironmentFailure(
                "the stored model's manifest does not match its digest",
                where=f"{self.store.url} {reference.prefix}",
                mend="Delete it and publish the model again.",
            )
        return manifest

    def _verify_once(self, folder: Path, manifest: TreeManifest, reference: ModelRef) -> None:
        """Hash the files unless none was touched since they were last hashed (sizes and times of change)."""
        states = {}
        for file in manifest.files:
            path = folder / file.path
            if path.is_file():
                status = path.stat()
                states[file.path] = [status.st_size, status.st_mtime_ns, status.st_ino]
        stamp = self._stamp(reference)
        expected = {"schema_version": 1, "folder": str(folder), "files": states}
        if len(states) == len(manifest.files) and stamp.is_file() and read_json(stamp) == expected:
            return
        verify(folder, manifest, where=str(folder))
        write_json_atomic(stamp, expected)

    def _stamp(self, reference: ModelRef) -> Path:
        return self._cache / f"{reference.digest}.verified.json"


def _remove(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except OSError as error:
        raise as_environment_failure(error, folder) from error
