"""Wordings as a run uses them: other words for a harness's texts, by bank, text and split, and their digest."""

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator

from hat.errors import BadInput
from hat.files import canonical_json, read_json, sha256_text
from hat.validation import first_problem

Bank = Literal["tool_descriptions", "skill_descriptions", "hook_messages"]
ByBank = dict[Bank, dict[str, dict[Literal["train", "dev", "test"], tuple[str, ...]]]]
"""Bank; the text's key (a tool's operation, a skill's kind and intents, a hook's check); split; the wordings."""

LARGEST = 1 << 20
"""Bytes of the document as JSON: more is no list of short texts, and it is part of every run's recorded settings."""


class Wordings(BaseModel):
    """What a strong model said in other words, as it is recorded with a run's settings."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    domain: str
    """What the texts are about; wordings of another domain are refused."""
    banks: ByBank
    """The wordings."""
    digest: str
    """Hex SHA-256 of domain and wordings. It is part of what decides a state."""

    @classmethod
    def of(cls, domain: str, banks: Any) -> "Wordings":
        """Wordings with their digest; raises pydantic's `ValidationError`."""
        return cls.model_validate({"domain": domain, "banks": banks, "digest": _digest(domain, banks)})

    @model_validator(mode="after")
    def _are_whole(self) -> "Wordings":
        if self.digest != _digest(self.domain, self.banks):
            raise ValueError("the digest is not that of the wordings: they were changed after they were read")
        for bank, key, by_split in self._texts():
            counts = Counter(one for listed in by_split.values() for one in listed)
            again = next((one for one, count in counts.items() if count > 1), None)
            if again is not None:
                raise ValueError(f"{bank}, {key}: {again!r} is there twice; each split has its own")
        return self

    def _texts(self) -> Iterator[tuple[str, str, Mapping[Any, tuple[str, ...]]]]:
        for bank, by_key in self.banks.items():
            for key, by_split in by_key.items():
                yield bank, key, by_split

    def of_text(self, bank: Bank, key: str) -> Iterator[str]:
        """All wordings of a text, whatever their split."""
        for listed in self.banks.get(bank, {}).get(key, {}).values():
            yield from listed


def read_wordings(path: Path) -> Wordings:
    """The wordings that can be used of a file of ``hat reword``.

    Raises:
        BadInput: absent, malformed, or too large to be recorded with a run's settings.
    """
    document = read_json(path)
    if not isinstance(document, dict) or document.get("schema_version") != 1:
        raise BadInput(
            "not a wordings document of schema version 1", where=str(path), mend="Make it with `hat reword`."
        )
    try:
        wordings = Wordings.of(document.get("domain"), document.get("banks"))  # type: ignore[arg-type]
    except (ValidationError, TypeError) as error:
        raise BadInput(_first(error), where=str(path), mend="Make it again with `hat reword`.") from error
    size = len(canonical_json(wordings.model_dump(mode="json")).encode())
    if size > LARGEST:
        raise BadInput(
            f"{size} bytes of wordings; a run takes {LARGEST} at most",
            where=str(path),
            mend="Keep fewer of each text.",
        )
    return wordings


def _digest(domain: Any, banks: Any) -> str:
    return sha256_text(canonical_json({"domain": domain, "banks": banks}))


def _first(error: Exception) -> str:
    return first_problem(error) if isinstance(error, ValidationError) else str(error)
