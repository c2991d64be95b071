"""The version of a document's layout, as its first key states it."""

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator


def _whole_number(value: Any) -> Any:
    # `true` and `1.0` equal 1, and a Literal compares by equality.
    if type(value) is not int:
        raise ValueError("must be the whole number 1")
    return value


SchemaVersion = Annotated[Literal[1], BeforeValidator(_whole_number)]
"""The only layout there is so far."""
