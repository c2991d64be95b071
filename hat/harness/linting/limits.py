"""Limits that contradict each other, or that another limit makes unreachable."""

from hat.harness.linting.subject import Subject
from hat.harness.model import LOAD_SKILL
from hat.harness.problems import Problems


def check_limits(subject: Subject, problems: Problems) -> None:
    """Needs a readable harness.yaml."""
    manifest = subject.reading.manifest
    if manifest is None:
        return
    limits, file = manifest.limits, subject.manifest_path
    checks = {lined.hook.check for lined in subject.reading.hooks.checks}
    if "reply_skill_loaded" in checks and limits.max_turns < 2:
        message = f"a reply needs a skill loaded in an earlier turn, but max_turns is {limits.max_turns}"
        problems.add("limits", file, message, subject.line("limits", "max_turns"))
    operations = [binding.operation for binding in manifest.bindings.values()]
    needed = (LOAD_SKILL in operations) + any(operation != LOAD_SKILL for operation in operations)
    if limits.max_tool_calls < needed:
        allowed = limits.max_tool_calls
        message = f"loading a skill and using a tool takes {needed} calls, but max_tool_calls is {allowed}"
        problems.add("limits", file, message, subject.line("limits", "max_tool_calls"))
    if limits.max_retries >= limits.max_turns:
        message = f"max_retries {limits.max_retries} is not reached within max_turns {limits.max_turns}"
        problems.add("limits-unreachable", file, message, subject.line("limits", "max_retries"))
