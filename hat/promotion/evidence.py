"""The evidence folder: read with every fault kept as a finding; and its subject, written."""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from hat.errors import BadInput
from hat.files import canonical_json, sha256_text, write_json_atomic
from hat.promotion.documents import (
    ROLES,
    EvaluationDocument,
    EvidenceSubject,
    LatencyDocument,
    Role,
    TrainingItems,
)
from hat.promotion.reasons import Reason, ReasonCode
from hat.validation import first_problem

SUBJECT = "subject.json"
LATENCY = "latency.json"
TRAINING_ITEMS = "training_items.json"
SEEDS = "evaluation/seeds"
"""Folder of evaluations of the same recipe trained with other seeds."""
_Model = TypeVar("_Model", bound=BaseModel)


@dataclass(frozen=True)
class Evidence:
    """What was recorded. A document that is absent or unreadable is None; `problems` says which and why."""

    subject: EvidenceSubject | None
    evaluations: Mapping[Role, EvaluationDocument]
    latency: LatencyDocument | None
    training_digests: frozenset[str] | None
    problems: tuple[Reason, ...]
    digest: str
    """Hex SHA-256 over the names and bytes of the documents."""
    before: Mapping[Role, EvaluationDocument] = field(default_factory=dict)
    """Evaluations of production and candidate under the previous harness, for the attribution."""
    seeds: Mapping[str, EvaluationDocument] = field(default_factory=dict)
    """Evaluations of the same recipe trained with other seeds, by name."""
    names: tuple[str, ...] = ()
    """The documents' names in the folder: what the digest covers."""


def evaluation_file(role: Role) -> str:
    """Where a model's evaluation is in the folder."""
    return f"evaluation/{role}.json"


def attribution_file(role: Role) -> str:
    """Where a model's evaluation under the previous harness is in the folder."""
    return f"attribution/{role}.json"


def load_evidence(folder: Path) -> Evidence:
    """Read an evidence folder.

    Raises:
        BadInput: no such folder, or one with no document of evidence. Anything wrong or missing beside a document
            becomes a finding, so that there is a verdict.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise BadInput("no such evidence folder", where=str(folder), mend="It holds subject.json.")
    reader = _Reader(folder)
    subject = reader.read(SUBJECT, EvidenceSubject)
    evaluations: dict[Role, EvaluationDocument] = {}
    for role in ROLES:
        document = reader.read(evaluation_file(role), EvaluationDocument)
        if document is not None:
            evaluations[role] = document
    before: dict[Role, EvaluationDocument] = {}
    for role in ROLES:
        document = reader.read(attribution_file(role), EvaluationDocument)
        if document is not None:
            before[role] = document
    seeds = {}
    for path in sorted((folder / SEEDS).glob("*.json")):
        document = reader.read(f"{SEEDS}/{path.name}", EvaluationDocument)
        if document is not None:
            seeds[path.stem] = document
    latency = reader.read(LATENCY, LatencyDocument)
    training = None
    if subject is not None and subject.training_items is not None:
        if Path(subject.training_items).name != subject.training_items:
            reader.fault(SUBJECT, f"training_items: {subject.training_items!r} is not a name in this folder")
        else:
            training = reader.read(subject.training_items, TrainingItems)
    if not reader.met:
        raise BadInput(
            "no evidence: none of its documents is in this folder", where=str(folder), mend=_mend(folder)
        )
    return Evidence(
        subject=subject,
        evaluations=evaluations,
        latency=latency,
        training_digests=None if training is None else frozenset(training.task_digests),
        problems=tuple(reader.problems),
        digest=sha256_text(canonical_json(reader.digests)),
        before=before,
        seeds=seeds,
        names=tuple(sorted(reader.digests)),
    )


def _mend(folder: Path) -> str:
    """What evidence looks like, and where there is some below."""
    holding = sorted(path.parent.name for path in folder.glob(f"*/{SUBJECT}"))
    below = f" There is evidence in {holding[0]}/ below." if holding else ""
    documents = f"{SUBJECT}, {evaluation_file('candidate')}, {LATENCY}"
    return f"Evidence is {documents} and more, as a run's steps write it.{below}"


def write_subject(
    folder: Path, subject: EvidenceSubject, training_digests: Collection[str] | None
) -> EvidenceSubject:
    """Write `subject.json` and the list of items trained on; returns the subject as written.

    Args:
        subject: its ``training_items`` is set here.
        training_digests: digests of all items trained on (empty: none were); None when unknown.
    """
    folder = Path(folder)
    if training_digests is not None:
        listed = {"schema_version": 1, "task_digests": sorted(set(training_digests))}
        write_json_atomic(folder / TRAINING_ITEMS, listed)
    name = None if training_digests is None else TRAINING_ITEMS
    complete = subject.model_copy(update={"training_items": name})
    write_json_atomic(folder / SUBJECT, complete.model_dump(mode="json"))
    return complete


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's value. Of a key that is there twice JSON readers keep one or the other, and people see both."""
    value = dict(pairs)
    if len(value) != len(pairs):
        raise ValueError("an object has a key twice")
    return value


class _Reader:
    """Reads the folder's documents, keeping faults and digests."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[Reason] = []
        self.digests: dict[str, str] = {}
        self.met = False
        """Whether any document is there, readable or not."""

    def read(self, name: str, model: type[_Model]) -> _Model | None:
        """The document, or None when it is absent (a policy that needs it says so) or faulty."""
        path = self.folder / name
        if not path.exists():
            return None
        self.met = True
        if not path.is_file():
            self.fault(name, "is not a file")
            return None
        try:
            data = path.read_bytes()
            self.digests[name] = hashlib.sha256(data).hexdigest()
            text = data.decode("utf-8")
            # Both readers accept NaN, which must be reported as such and not as a broken file.
            json.loads(text, object_pairs_hook=_no_key_twice)
            # Strictly: "no" for a truth value and "3" for a number are slips, not evidence.
            return model.model_validate_json(text, strict=True)
        except ValidationError as error:
            more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
            self.fault(name, f"{first_problem(error)}{more}")
        except OSError as error:
            # Without the path: a verdict does not depend on where its evidence lies.
            self.fault(name, f"cannot be read: {error.strerror}")
        except (ValueError, RecursionError) as error:
            self.fault(name, f"cannot be read: {error}")
        return None

    def fault(self, name: str, message: str) -> None:
        self.problems.append(Reason(ReasonCode.MALFORMED_EVIDENCE, name, f"{name}: {message}"))
