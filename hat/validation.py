"""What is wrong with a value that does not fit its pydantic model, in the words of whoever wrote the value."""

import re

from pydantic import ValidationError
from pydantic_core import ErrorDetails

_PLAIN = {
    "extra_forbidden": "unknown key",
    "missing": "is missing",
    "string_type": "must be text (put quotes around it)",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a finite number",
    "model_type": "must be a mapping of keys to values",
    "model_attributes_type": "must be a mapping of keys to values",
    "dict_type": "must be a mapping of keys to values",
    "list_type": "must be a list",
    "tuple_type": "must be a list",
}
"""Words for pydantic's error types; for the others its own serve, without its "Input should"."""


def reason(detail: ErrorDetails) -> str:
    """What is wrong with the value, e.g. ``must be greater than 0``."""
    message = detail["msg"].removeprefix("Value error, ")
    if detail["type"] == "too_short" and "min_length" in detail.get("ctx", {}):
        return f"must have at least {detail['ctx']['min_length']} of them"
    return _PLAIN.get(detail["type"], re.sub(r"^(Input|String|Value) should ", "must ", message))


def place(detail: ErrorDetails) -> str:
    """Where the value is, e.g. ``environments.laptop.absolute.0``; empty for the whole document."""
    return ".".join(str(part) for part in detail["loc"] if part != "[key]")


def first_problem(error: ValidationError, *, inside: str = "") -> str:
    """The first thing that is wrong, with its place; ``inside`` is where the document itself lies in a larger one."""
    detail = error.errors(include_url=False)[0]
    return ": ".join(
        part for part in (".".join(filter(None, (inside, place(detail)))), reason(detail)) if part
    )
