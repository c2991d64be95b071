"""What makes a folder a usable Hugging Face model, and its digest; torch is not needed to tell."""

import json
import struct
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.files import read_json
from hat.storage.tree import TreeManifest, scan

MODEL_FILE_PATTERNS = (
    "*.safetensors",
    "*.safetensors.index.json",
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "chat_template.jinja",
)
"""What determines a model's answers; all else in a folder (cards, optimizer state) is left out."""

_SAFETENSORS_HEADER_LIMIT = 100_000_000  # bytes; the format's own limit


def model_files(folder: Path) -> tuple[str, ...]:
    """The names of the model's files in ``folder``, sorted."""
    names = (path.name for path in Path(folder).iterdir() if path.is_file())
    return tuple(sorted(n for n in names if any(fnmatch(n, pattern) for pattern in MODEL_FILE_PATTERNS)))


def model_manifest(folder: Path) -> TreeManifest:
    """Names, sizes and SHA-256 of the model's files; its ``digest`` is the model's."""
    return scan(Path(folder), model_files(folder))


def check_model_folder(folder: Path) -> None:
    """Check that a folder holds a complete model that can chat.

    Weights are checked by the structure of their files (a truncated or overwritten one is found), not by
    loading them.

    Raises:
        BadInput: there is no such folder, or its configuration, weights, tokenizer or chat template are
            missing or damaged.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadInput("no such model folder", where=str(folder))
    if not isinstance(_json_object(folder / "config.json").get("model_type"), str):
        raise BadInput("config.json names no model_type", where=str(folder / "config.json"))
    _check_weights(folder)
    names = set(model_files(folder))
    if not names & {"tokenizer.json", "tokenizer.model"} and not {"vocab.json", "merges.txt"} <= names:
        raise BadInput(
            "the model has no tokenizer",
            where=str(folder),
            mend="Save it with tokenizer.save_pretrained(folder).",
        )
    if not _has_chat_template(folder, names):
        raise BadInput(
            "the model's tokenizer has no chat template",
            where=str(folder),
            mend="Use a chat model, or add its template as chat_template.jinja.",
        )


def _check_weights(folder: Path) -> None:
    shards = sorted(folder.glob("*.safetensors"))
    if not shards:
        pickled = sorted(path.name for path in folder.glob("*.bin"))
        raise BadInput(
            f"only pickled weights ({pickled[0]})" if pickled else "the model has no weights",
            where=str(folder),
            mend="Save it with model.save_pretrained(folder), which writes safetensors.",
        )
    tensors = {name for shard in shards for name in _tensor_names(shard)}
    for index in folder.glob("*.safetensors.index.json"):
        missing = sorted(set(_json_object(index).get("weight_map", {})) - tensors)
        if missing:
            raise BadInput(
                f"weights are incomplete: {len(missing)} tensors are missing, such as {missing[0]}",
                where=str(index),
                mend="Copy all shards of the model.",
            )


def _tensor_names(path: Path) -> list[str]:
    """The tensors of a safetensors file whose size agrees with its header (format: safetensors README)."""
    size = path.stat().st_size
    damaged = BadInput("the weights are damaged", where=str(path), mend="Copy or download the file again.")
    with open(path, "rb") as handle:
        start = handle.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(size - 8, _SAFETENSORS_HEADER_LIMIT):
            raise damaged
        try:
            header = json.loads(handle.read(length))
            names = [name for name in header if name != "__metadata__"]
            end = max(header[name]["data_offsets"][1] for name in names)
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise damaged from error
    if 8 + length + end != size:
        raise damaged
    return names


def _has_chat_template(folder: Path, names: set[str]) -> bool:
    if "chat_template.jinja" in names:
        return bool((folder / "chat_template.jinja").read_text(encoding="utf-8").strip())
    settings = folder / "tokenizer_config.json"
    return settings.is_file() and bool(_json_object(settings).get("chat_template"))


def _json_object(path: Path) -> dict[str, Any]:
    value = read_json(path)
    if not isinstance(value, dict):
        raise BadInput("not a JSON object", where=str(path))
    return value
