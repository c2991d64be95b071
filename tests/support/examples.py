"""Python examples of the documentation: run them, and see that they print what the page says.

``python -m tests.support.examples`` rewrites the outputs after a change that moved them.
"""

import contextlib
import io
import re
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
_EXAMPLE = re.compile(r"```python\n(?P<code>.*?)```\n\n```text\n(?P<printed>.*?)```", re.S)


def pages_with_examples() -> list[Path]:
    """Pages that hold a Python example and its output."""
    return [
        page
        for page in sorted((REPOSITORY / "docs").rglob("*.md"))
        if _EXAMPLE.search(page.read_text(encoding="utf-8"))
    ]


def with_outputs(text: str, name: str) -> str:
    """The page with what its examples print; they run in the page's order and share their names."""
    names: dict[str, Any] = {"__name__": name}

    def run(match: re.Match[str]) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(match["code"], name, "exec"), names)
        return f"```python\n{match['code']}```\n\n```text\n{printed.getvalue().rstrip()}\n```"

    return _EXAMPLE.sub(run, text)


def main() -> None:
    """Rewrite every page's outputs; examples expect to run in the repository's root."""
    with contextlib.chdir(REPOSITORY):
        for page in pages_with_examples():
            text = page.read_text(encoding="utf-8")
            page.write_text(with_outputs(text, page.name), encoding="utf-8")


if __name__ == "__main__":
    main()
