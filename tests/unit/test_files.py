"""Atomic writes: all or nothing, through links, and never over what is no file."""

import os
import stat
from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.files import read_json, write_text_atomic


def test_a_write_through_a_symbolic_link_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("old", encoding="utf-8")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    write_text_atomic(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text(encoding="utf-8") == "new"


def test_what_is_no_regular_file_is_never_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "folder"):
        with pytest.raises(BadInput, match="no regular file"):
            write_text_atomic(tmp_path / name, "text")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder", "pipe"]


def test_json_nested_too_deeply_or_below_a_file_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "deep.json").write_text("[" * 200_000, encoding="utf-8")
    with pytest.raises(BadInput, match="nested too deeply"):
        read_json(tmp_path / "deep.json")
    with pytest.raises(BadInput, match="no such file"):
        read_json(tmp_path / "deep.json" / "more.json")
