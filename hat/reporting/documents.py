"""The documents that a run left in the store, found by what they are and read without trusting them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hat.errors import HatError
from hat.reporting.model import ROLES
from hat.steps.contract import STEPS
from hat.storage import Store

STAGES = ("sft", "opd", "rl")
_LARGEST_BYTES = 32 << 20
"""A document larger than this is not read: it is none of those that a report needs."""


@dataclass
class RunDocuments:
    """Raw JSON values; empty where there is none."""

    record: Mapping[str, Any] = field(default_factory=dict)
    subject: Mapping[str, Any] = field(default_factory=dict)
    """`subject.json` of `resolve`."""
    config: Mapping[str, Any] = field(default_factory=dict)
    evidence_subject: Mapping[str, Any] = field(default_factory=dict)
    """`subject.json` of the evidence folder."""
    verdict: Mapping[str, Any] = field(default_factory=dict)
    evaluations: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    latency: Mapping[str, Any] = field(default_factory=dict)
    logs: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    generation: Mapping[str, Any] = field(default_factory=dict)
    step_keys: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_documents(store: Store, run: str) -> RunDocuments:
    """Whatever can be read of a run; what cannot is named in `problems`."""
    found = RunDocuments()
    reader = _Reader(store, found.problems)
    found.record = reader.mapping(f"runs/{run}/record.json")
    for step in (contract.name for contract in STEPS):
        entry = reader.mapping(f"runs/{run}/steps/{step}.json", quiet=True)
        found.step_keys[step] = str(entry.get("key") or "")
        place = entry.get("place")
        if isinstance(place, str) and place:
            _take_step(found, reader, step, place)
    return found


def _take_step(found: RunDocuments, reader: "_Reader", step: str, place: str) -> None:
    """Later steps replace what earlier ones found: the evidence of a training run replaces the screen's."""
    for key in reader.keys(place):
        inside = key.removeprefix(f"{place}/")
        name = inside.rsplit("/", 1)[-1].removesuffix(".json")
        if step in STAGES and inside.startswith("metrics"):
            found.logs[step] = reader.lines(key)
        elif step == "resolve" and name.startswith("config"):
            found.config = reader.mapping(key)
        elif step == "resolve" and name.startswith("subject"):
            found.subject = reader.mapping(key)
        elif step == "generate" and name == "summary":
            found.generation = reader.mapping(key)
        elif name in ROLES:
            found.evaluations[name] = reader.mapping(key)
        elif name == "latency" and "/" in inside:
            found.latency = reader.mapping(key)
        elif name == "subject" and "/" in inside:
            found.evidence_subject = reader.mapping(key)
        elif inside in ("verdict", "verdict_out", "verdict.json"):
            found.verdict = reader.mapping(key)


class _Reader:
    """Reads from the store and writes down what could not be read."""

    def __init__(self, store: Store, problems: list[str]) -> None:
        self._store = store
        self._problems = problems

    def keys(self, place: str) -> list[str]:
        try:
            return sorted(self._store.list(place))
        except (HatError, OSError) as error:
            self._problems.append(f"{place}: {error}")
            return []

    def mapping(self, key: str, *, quiet: bool = False) -> Mapping[str, Any]:
        text = self._text(key, quiet=quiet)
        try:
            value = json.loads(text) if text else {}
        except (ValueError, RecursionError) as error:
            self._problems.append(f"{key}: not JSON: {error}")
            return {}
        if isinstance(value, Mapping):
            return value
        self._problems.append(f"{key}: not a JSON object")
        return {}

    def lines(self, key: str) -> list[Mapping[str, Any]]:
        """The JSON objects of a JSONL file; a torn last line is left out."""
        values = []
        for line in self._text(key).splitlines():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, Mapping):
                values.append(value)
        return values

    def _text(self, key: str, *, quiet: bool = False) -> str:
        try:
            data = self._store.get(key)
            if len(data) > _LARGEST_BYTES:
                raise ValueError(f"larger than {_LARGEST_BYTES >> 20} MB")
            return data.decode("utf-8")
        except (HatError, OSError, ValueError) as error:
            if not quiet:
                self._problems.append(f"{key}: {error}")
            return ""
