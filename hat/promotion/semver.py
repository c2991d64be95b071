"""The order of harness versions (Semantic Versioning 2.0.0, section 11)."""

import re

from hat.errors import BadInput

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?")

Precedence = tuple[int, int, int, tuple[tuple[int, int, str], ...]]


def precedence(version: str) -> Precedence:
    """A key that orders versions: compare with ``<``.

    Raises:
        BadInput: not a semantic version.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        raise BadInput(f"{version!r} is not a version", mend="Write it as 1.2.3 or 1.2.3-rc.1.")
    major, minor, patch, prerelease = match.groups()
    if prerelease is None:
        # A release comes after all of its pre-releases.
        parts: tuple[tuple[int, int, str], ...] = ((2, 0, ""),)
    else:
        identifiers = prerelease.split(".")
        parts = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in identifiers)
    return int(major), int(minor), int(patch), parts
