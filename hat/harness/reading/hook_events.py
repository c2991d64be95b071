"""The events that hooks may name, by the version of the public layout that has them, and what the episode runs."""

from collections.abc import Mapping
from itertools import chain

EPISODE_EVENTS = ("PreToolUse", "PostAssistant", "PreReply")
"""Where built-in checks run."""
PUBLIC_EVENTS: Mapping[str, tuple[str, ...]] = {
    "2025-07": (
        "PreToolUse", "PostToolUse", "Notification", "UserPromptSubmit", "Stop", "SubagentStop", "PreCompact",
        "SessionStart", "SessionEnd",
    ),
    "2026-01": (
        "PostToolUseFailure", "PermissionRequest", "SubagentStart", "Setup", "TeammateIdle", "TaskCompleted",
        "InstructionsLoaded", "ConfigChange", "WorktreeCreate", "WorktreeRemove",
    ),
    "2026-07": (
        "PostToolBatch", "PermissionDenied", "UserPromptExpansion", "StopFailure", "PostCompact", "Elicitation",
        "ElicitationResult", "TaskCreated", "CwdChanged", "FileChanged", "PreModelSwitch", "PostModelSwitch",
        "MessageDisplay", "DirectoryAdded",
    ),
}  # fmt: skip
"""Events of the public plugin layout (code.claude.com/docs/en/hooks), each under the list that added it."""
EVENTS = frozenset((*EPISODE_EVENTS, *chain.from_iterable(PUBLIC_EVENTS.values())))
COMMAND_EVENTS: Mapping[str, str] = {
    "PreToolUse": "PreToolUse",
    "PreReply": "PreReply",
    # The agent is about to stop, which is when an episode replies.
    "Stop": "PreReply",
}
"""Events at which a command can block, with the episode's own name for each."""
