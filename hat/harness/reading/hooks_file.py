"""``hooks/hooks.json``: the public layout event, matcher, hooks; only built-in checks run."""

from dataclasses import dataclass
from pathlib import Path

from hat.harness.manifest import HooksFile
from hat.harness.model import Hook
from hat.harness.problems import Problems
from hat.harness.reading.checked import checked
from hat.harness.reading.strict_json import parse_json


@dataclass(frozen=True)
class LinedHook:
    """A hook and the lines of its check and of its matcher."""

    hook: Hook
    line: int
    matcher_line: int
    path: Path


def parse_hooks(text: str, path: Path, problems: Problems) -> tuple[LinedHook, ...] | None:
    """The hooks of a file in its order; None when it cannot be used."""
    source = parse_json(text, path, problems)
    if source is None:
        return None
    hooks_file = checked(HooksFile, source, path, "hooks-schema", problems)
    if hooks_file is None:
        return None
    hooks = []
    usable = True
    for event, matchers in hooks_file.hooks.items():
        for position, entry in enumerate(matchers):
            matcher_line = source.line("hooks", event, position, "matcher")
            for index, hook in enumerate(entry.hooks):
                line = source.line("hooks", event, position, "hooks", index)
                if hook.type == "command":
                    problems.add("hook-command", path, "a hook that runs a command: commands are off", line)
                    usable = False
                elif not hook.check:
                    problems.add("hooks-schema", path, "a builtin hook names its check", line)
                    usable = False
                else:
                    lined = Hook(event, entry.matcher, hook.check, hook.message)
                    hooks.append(LinedHook(lined, line, matcher_line, path))
    return tuple(hooks) if usable else None
