"""``hooks/hooks.json`` in the public layout event, matcher, hooks: built-in checks and commands, the rest kept."""

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from hat.harness.manifest import BuiltinEntry, CommandEntry, HooksFile
from hat.harness.model import CommandHook, Hook, HookEvent
from hat.harness.problems import Problems
from hat.harness.reading.checked import checked
from hat.harness.reading.hook_events import COMMAND_EVENTS, EPISODE_EVENTS, EVENTS
from hat.harness.reading.lined import Lined
from hat.harness.reading.names import shown
from hat.harness.reading.strict_json import parse_json

COMMAND_SECONDS = 60
"""What a command gets where it does not say."""


@dataclass(frozen=True)
class LinedHook:
    """A hook and the lines of its check and of its matcher."""

    hook: Hook
    line: int
    matcher_line: int
    path: Path


@dataclass(frozen=True)
class LinedCommand:
    """A hook that runs a command, and the lines of the command and of its matcher."""

    hook: CommandHook
    line: int
    matcher_line: int
    path: Path


@dataclass(frozen=True)
class HookFile:
    """What an episode can use of a file of hooks, in the file's order."""

    checks: tuple[LinedHook, ...] = ()
    commands: tuple[LinedCommand, ...] = ()


def parse_hooks(text: str, path: Path, problems: Problems) -> HookFile | None:
    """The hooks of a file; None when it cannot be used."""
    source = parse_json(text, path, problems)
    return None if source is None else check_hooks_file(source, path, problems)


def check_hooks_file(source: Lined, path: Path, problems: Problems) -> HookFile | None:
    """The hooks of a parsed file; None when it cannot be used."""
    if _note_other_layout(source, path, problems):
        return None
    hooks_file = checked(HooksFile, source, path, "hooks-schema", problems)
    if hooks_file is None:
        return None
    checks: list[LinedHook] = []
    commands: list[LinedCommand] = []
    usable = True
    for event, matchers in hooks_file.hooks.items():
        if event not in EVENTS:
            near = difflib.get_close_matches(event, sorted(EVENTS), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            line = source.line("hooks", event)
            problems.add("hooks-schema", path, f"there is no event {shown(event)}{hint}", line)
            usable = False
            continue
        for position, entry in enumerate(matchers):
            matcher_line = source.line("hooks", event, position, "matcher")
            for index, hook in enumerate(entry.hooks):
                line = source.line("hooks", event, position, "hooks", index)
                if isinstance(hook, BuiltinEntry):
                    if event not in EPISODE_EVENTS:
                        message = f"built-in checks run at {', '.join(EPISODE_EVENTS)}, not at {event}"
                        problems.add("hooks-schema", path, message, line)
                        usable = False
                        continue
                    lined = Hook(cast(HookEvent, event), entry.matcher, hook.check, hook.message)
                    checks.append(LinedHook(lined, line, matcher_line, path))
                elif isinstance(hook, CommandEntry) and event in COMMAND_EVENTS and not hook.in_background:
                    problems.add(
                        "hook-command", path, "a command: it runs only where a profile allows it", line
                    )
                    matcher = "*" if entry.matcher in ("", "*") else entry.matcher
                    seconds = min(hook.timeout or COMMAND_SECONDS, COMMAND_SECONDS)
                    command = CommandHook(COMMAND_EVENTS[event], matcher, hook.command, seconds)
                    commands.append(LinedCommand(command, line, matcher_line, path))
                else:
                    why = f"a hook of type {hook.type} at {event}"
                    problems.add("hook-kept", path, f"{why} is kept in the file, and never run", line)
    return HookFile(tuple(checks), tuple(commands)) if usable else None


def _note_other_layout(source: Lined, path: Path, problems: Problems) -> bool:
    """Note, once, a file in the layout of another product or a layout of no product; True when it is one."""
    value: Any = source.value
    if not isinstance(value, dict):
        return False
    hooks = value.get("hooks")
    if isinstance(hooks, dict):
        foreign = [event for event in hooks if event[:1].islower()]
        if foreign:
            message = (
                f"events such as {shown(foreign[0])} are of another product's layout: write the public one, "
                "event (PreToolUse, ...) to a list of {matcher, hooks: [{type, command}]}"
            )
            problems.add("hooks-layout", path, message, source.line("hooks", foreign[0]))
            return True
    elif isinstance(value.get("events"), list):
        message = (
            "a list of events: the public layout has a mapping under `hooks`, event to a list of matchers"
        )
        problems.add("hooks-layout", path, message, source.line("events"))
        return True
    elif "hooks" not in value and value and all(event in EVENTS for event in value):
        problems.add(
            "hooks-layout", path, "the events stand under a key `hooks`", source.line(next(iter(value)))
        )
        return True
    return False
