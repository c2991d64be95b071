"""A difference as Markdown for a pull request, and as lines for a terminal."""

from collections.abc import Iterator

from hat.harness.diffing.change import Change, Difference
from hat.harness.diffing.risk import highest

_HEADINGS = {
    "tool": "Tools",
    "argument": "Tools",
    "binding": "Tools",
    "skill": "Skills",
    "block": "Prompt",
    "rule": "Rules and texts",
    "hook": "Hooks",
    "limit": "Limits and layout",
    "layout": "Limits and layout",
    "domain": "Limits and layout",
}
LONGEST_SHOWN = 400


def headline(difference: Difference) -> str:
    """One line: which versions, how many changes."""
    before, after = difference.before, difference.after
    count = len(difference.changes)
    changes = "no difference" if count == 0 else "1 change" if count == 1 else f"{count} changes"
    return f"{before.name}@{before.version} to {after.name}@{after.version}: {changes}"


def summary(difference: Difference) -> str:
    """One sentence on what the difference as a whole means for training."""
    gravest = highest(difference.changes)
    if gravest is None or gravest == "cosmetic":
        return "The model sees the same: it is expected to pass screening, and nothing is trained."
    if gravest == "preserving":
        return (
            "Every task keeps its solution. The model in production is tried first; where it does not pass, a new "
            "one is trained under this version."
        )
    count = sum(change.risk == gravest for change in difference.changes)
    changes = "one change" if count == 1 else f"{count} changes"
    return f"What is right may have changed ({changes}). The model in production is tried first; expect a training."


def sections(difference: Difference) -> dict[str, list[Change]]:
    """Changes under their headings."""
    grouped: dict[str, list[Change]] = {}
    for change in difference.changes:
        grouped.setdefault(_HEADINGS[change.part], []).append(change)
    return grouped


def sentence(change: Change) -> str:
    """The change in a few words, without its texts."""
    part = {"rule": "text"}.get(change.part, change.part)
    if change.kind == "renamed":
        owner = f"of {change.subject.rpartition('.')[0]} " if change.part == "argument" else ""
        words = f"{part} {owner}renamed: {change.before} to {change.after}"
    elif change.part in ("limit", "layout", "domain") or (change.kind, change.part) == (
        "changed",
        "argument",
    ):
        words = f"{part} {change.subject}: {change.before} to {change.after}"
    else:
        words = f"{part} {change.kind}: {change.subject}"
    return f"{words} ({change.note})" if change.note else words


def texts(change: Change) -> Iterator[tuple[str, str]]:
    """("-" or "+", line) of what stood there before and now; nothing where the sentence says it."""
    if change.kind == "renamed" or change.part in ("limit", "layout", "domain"):
        return
    if (change.kind, change.part) == ("changed", "argument"):
        return
    for sign, text in (("-", change.before), ("+", change.after)):
        for line in text.splitlines():
            yield sign, line if len(line) <= LONGEST_SHOWN else f"{line[:LONGEST_SHOWN]}..."


def markdown(difference: Difference) -> str:
    """For a pull-request comment; the harness's texts stand in code blocks or escaped, never as markup."""
    lines = [f"### {headline(difference)}", "", f"> {_escaped(' '.join(difference.changed.split()))}"]
    lines += ["", summary(difference)]
    for heading, changes in sections(difference).items():
        lines += ["", f"**{heading}**", ""]
        for change in changes:
            lines.append(f"- **{change.risk}**: {_escaped(sentence(change))}")
            lines += [f"  - refused now: {_escaped(line)}" for line in change.refused]
            shown = [f"{sign} {line}" for sign, line in texts(change)]
            if shown:
                fence = _fence(shown)
                lines += [f"  {fence}diff", *(f"  {line}" for line in shown), f"  {fence}"]
    meanings = dict.fromkeys((change.risk, change.training) for change in difference.changes)
    if meanings:
        lines += ["", "What it means for training:", ""]
        lines += [f"- {risk}: {_escaped(training)}" for risk, training in meanings]
    return "\n".join(lines) + "\n"


def _fence(lines: list[str]) -> str:
    """Longer than any run of backticks in the lines."""
    longest = 2
    for line in lines:
        run = 0
        for character in line:
            run = run + 1 if character == "`" else 0
            longest = max(longest, run)
    return "`" * (longest + 1)


def _escaped(text: str) -> str:
    return "".join(f"\\{character}" if character in "\\`*_[]<>" else character for character in text)
