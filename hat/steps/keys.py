"""The key of a step's result: a digest of everything that the result depends on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hat.files import canonical_json, read_json, sha256_file, sha256_text
from hat.steps.contract import ALWAYS_SECTIONS, ALWAYS_SUBJECT_FIELDS, StepContract


def step_key(step: StepContract, inputs: Mapping[str, str], parameters: Mapping[str, Any]) -> str:
    """Hex SHA-256 over the step's name, its parameters, the settings and subject fields it reads, and the
    content of its other input files. Paths, run names and clock times do not enter.
    """
    parts: dict[str, Any] = {"step": step.name, "parameters": dict(parameters), "inputs": {}}
    for name, path in inputs.items():
        if name == "config":
            parts["config"] = _pick(read_json(Path(path)), ALWAYS_SECTIONS + step.sections)
        elif name == "subject":
            parts["subject"] = _pick(read_json(Path(path)), ALWAYS_SUBJECT_FIELDS + step.subject_fields)
        else:
            parts["inputs"][name] = content_digest(Path(path))
    return sha256_text(canonical_json(parts))


def content_digest(path: Path) -> str:
    """Hex SHA-256 of a file, or of a folder's sorted (relative path, file digest) pairs."""
    if path.is_file():
        return sha256_file(path)
    pairs = sorted((file.relative_to(path).as_posix(), sha256_file(file)) for file in _files(path))
    return sha256_text(canonical_json(pairs))


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def _pick(document: Mapping[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    return {key: document[key] for key in keys if key in document}
