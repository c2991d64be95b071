"""Which names tools, arguments and skills may have, and how to say what is wrong with one."""

import re
import unicodedata

TOOL_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Also the names of arguments: what every serving engine's function format accepts."""
SKILL_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
"""The Agent Skills format; at most 64 characters."""
_ASCII_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
HIDDEN_CATEGORIES = ("Cc", "Cf", "Zl", "Zp")


def tool_name_problem(name: str) -> str | None:
    """What is wrong with a tool's or argument's name; None when it is legal."""
    if TOOL_NAME.fullmatch(name):
        return None
    return f"{shown(name)} is not a legal name: {_reason(name, 'letters, digits, _ and -')}"


def skill_name_problem(name: str) -> str | None:
    """What is wrong with a skill's name; None when it is legal."""
    if len(name) <= 64 and SKILL_NAME.fullmatch(name):
        return None
    reason = _reason(name, "lower-case letters and digits with single hyphens between them")
    return f"{shown(name)} is not a legal skill name: {reason}"


def hidden_characters(text: str) -> list[tuple[int, str]]:
    """(offset, character) of every zero-width, direction or control character but line ends and tabs."""
    if text.isascii() and not _ASCII_CONTROL.search(text):
        return []
    return [
        (offset, character)
        for offset, character in enumerate(text)
        if character not in "\n\r\t" and unicodedata.category(character) in HIDDEN_CATEGORIES
    ]


def described(character: str) -> str:
    """A character a reader cannot see, as ``U+200B ZERO WIDTH SPACE``."""
    return f"U+{ord(character):04X} {unicodedata.name(character, 'control character')}"


def shown(name: str) -> str:
    """A name in quotes, cut to a readable length, with what cannot be printed escaped."""
    cut = name if len(name) <= 80 else f"{name[:77]}..."
    return "'" + "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in cut) + "'"


def _reason(name: str, allowed: str) -> str:
    if not name:
        return "it is empty"
    if len(name) > 64:
        return f"it has {len(name)} characters, at most 64 are allowed"
    hidden = hidden_characters(name)
    if hidden:
        return f"it holds the invisible character {described(hidden[0][1])}"
    if any(character.isspace() for character in name):
        return f"it holds a space; use {allowed}"
    wrong = next((character for character in name if not re.match(r"[A-Za-z0-9_-]", character)), None)
    return f"it holds {wrong!r}; use {allowed}" if wrong else f"use {allowed}"
