"""What is wrong with a value, in words for whoever wrote it."""

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from hat.schema_version import SchemaVersion
from hat.validation import first_problem


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    flag: bool = True
    count: int = Field(default=1, ge=1)
    share: float = 0.5
    kind: Literal["a", "b"] = "a"
    names: list[str] = []


class Document(BaseModel):
    schema_version: SchemaVersion = 1
    parts: dict[str, Part] = {}


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"flag": "no"}, "parts.x.flag: must be true or false"),
        ({"count": "3"}, "parts.x.count: must be a whole number"),
        ({"count": 0}, "parts.x.count: must be greater than or equal to 1"),
        ({"share": []}, "parts.x.share: must be a number"),
        ({"kind": "c"}, "parts.x.kind: must be 'a' or 'b'"),
        ({"names": "a"}, "parts.x.names: must be a list"),
        ({"names": [1]}, "parts.x.names.0: must be text (put quotes around it)"),
        ({"other": 1}, "parts.x.other: unknown key"),
        ([], "parts.x: must be a mapping of keys to values"),
    ],
)
def test_a_wrong_value_is_named_by_its_place_and_in_plain_words(part: Any, message: str) -> None:
    with pytest.raises(ValidationError) as caught:
        Document.model_validate({"parts": {"x": part}})
    assert first_problem(caught.value) == message
    assert first_problem(caught.value, inside="settings") == f"settings.{message}"


@pytest.mark.parametrize("version", [True, 1.0, "1", None, 2])
def test_a_layout_version_is_the_whole_number_1_only(version: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        Document.model_validate({"schema_version": version})
    assert first_problem(caught.value).startswith("schema_version: must be")
    assert Document.model_validate({"schema_version": 1}).schema_version == 1
