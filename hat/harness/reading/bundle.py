"""The files below a version folder: listed without following links, read with limits, as text."""

import os
import re
import stat
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from hat.errors import EnvironmentFailure
from hat.harness.problems import Problems
from hat.harness.reading.names import described, hidden_characters

MAX_FILES = 5000
MAX_FOLDERS_DEEP = 16
MAX_FILE_BYTES = 1 << 20
MAX_TOTAL_BYTES = 64 << 20
_BYTE_ORDER_MARK = "\ufeff"
_CHAT_MARKER = re.compile(r"<\|[A-Za-z_]{1,40}\|>")


def list_files(folder: Path, problems: Problems) -> list[Path]:
    """The regular files below ``folder``, sorted; links, special files and too much of anything are noted.

    Raises:
        EnvironmentFailure: the folder cannot be read.
    """
    files: list[Path] = []
    total = 0
    if folder.is_symlink():
        problems.add("symlink", folder, "a harness is no symbolic link")
        return []
    for path, status in _walk(folder, problems, depth=0):
        if stat.S_ISLNK(status.st_mode):
            problems.add("symlink", path, "symbolic links are not accepted: copy the file here")
        elif not stat.S_ISREG(status.st_mode):
            problems.add("not-a-file", path, "neither a file nor a folder")
        elif len(files) >= MAX_FILES:
            problems.add("too-large", folder, f"more than {MAX_FILES} files")
            break
        else:
            total += status.st_size
            files.append(path)
    if total > MAX_TOTAL_BYTES:
        problems.add("too-large", folder, f"more than {MAX_TOTAL_BYTES} bytes in all")
    _note_collisions(folder, files, problems)
    return sorted(files)


def read_source(path: Path, problems: Problems) -> str | None:
    """A file's text with line ends as ``\\n`` and without a byte-order mark; None when it cannot be used.

    Raises:
        EnvironmentFailure: the file is there but the system refuses to read it.
    """
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            problems.add(
                "symlink" if stat.S_ISLNK(status.st_mode) else "not-a-file", path, "not a regular file"
            )
            return None
        if status.st_size > MAX_FILE_BYTES:
            problems.add("too-large", path, f"larger than {MAX_FILE_BYTES} bytes")
            return None
        data = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        problems.add("missing-file", path, "no such file")
        return None
    except OSError as error:
        raise EnvironmentFailure(f"cannot be read: {error.strerror or error}", where=str(path)) from error
    return _decoded(data, path, problems)


def _decoded(data: bytes, path: Path, problems: Problems) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        problems.add("not-utf8", path, f"byte {error.start} (0x{data[error.start]:02x}) is not UTF-8", line)
        return None
    if text.startswith(_BYTE_ORDER_MARK):
        problems.add("byte-order-mark", path, "begins with a byte-order mark: save it as UTF-8 without one")
        text = text[1:]
    if not text.strip():
        problems.add("empty-file", path, "the file is empty")
        return None
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    _note_hidden_text(text, path, problems)
    return text


def _note_hidden_text(text: str, path: Path, problems: Problems) -> None:
    noted: set[int] = set()
    for offset, character in hidden_characters(text):
        line = text.count("\n", 0, offset) + 1
        if line not in noted:
            noted.add(line)
            problems.add(
                "hidden-character", path, f"holds the invisible character {described(character)}", line
            )
        if len(noted) == 20:
            break
    for match in _CHAT_MARKER.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        problems.add("chat-marker", path, f"{match.group()} would end or begin a turn of the chat", line)


def _walk(folder: Path, problems: Problems, depth: int) -> Iterator[tuple[Path, os.stat_result]]:
    if depth > MAX_FOLDERS_DEEP:
        problems.add("too-deep", folder, f"folders nested deeper than {MAX_FOLDERS_DEEP} levels")
        return
    try:
        with os.scandir(folder) as entries:
            names = sorted(entries, key=lambda entry: entry.name)
        for entry in names:
            path = folder / entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _walk(path, problems, depth + 1)
            else:
                yield path, entry.stat(follow_symlinks=False)
    except OSError as error:
        raise EnvironmentFailure(f"cannot be read: {error.strerror or error}", where=str(folder)) from error


def _note_collisions(folder: Path, files: list[Path], problems: Problems) -> None:
    seen: dict[str, Path] = {}
    for path in files:
        name = path.relative_to(folder).as_posix()
        if any("\udc80" <= character <= "\udcff" for character in name):
            problems.add(
                "path-name", name.encode("utf-8", "replace").decode(), "the file's name is not UTF-8"
            )
            continue
        folded = unicodedata.normalize("NFC", name).casefold()
        if folded in seen:
            other = seen[folded].name
            message = f"differs from {other} only in case or Unicode form: some systems cannot hold both"
            problems.add("path-name", path, message)
        seen[folded] = path
