"""Hooks: known checks, at events where they are asked, with matchers that match."""

from hat.harness.linting.subject import Subject
from hat.harness.matchers import matcher_problem, matches
from hat.harness.problems import Problems
from hat.harness.reading.names import shown


def check_hooks(subject: Subject, problems: Problems) -> None:
    """Each hook on its own, and checks that two hooks name."""
    _check_commands(subject, problems)
    seen: dict[str, int] = {}
    for lined in subject.reading.hooks.checks:
        hook, file = lined.hook, lined.path
        if subject.terms is not None and hook.check not in subject.terms.checks:
            message = f"no check {shown(hook.check)}; known: {', '.join(sorted(subject.terms.checks))}"
            problems.add("hook-check", file, message, lined.line)
        if hook.matcher != "*":
            if hook.event != "PreToolUse":
                message = f"{hook.event} has no tool to match: the matcher must be *"
                problems.add("hook-matcher", file, message, lined.matcher_line)
            elif hook.matcher not in subject.tool_names:
                message = f"the matcher {shown(hook.matcher)} is no tool of this version"
                problems.add("hook-matcher", file, message, lined.matcher_line)
        if (hook.check == "calls_well_formed") != (hook.event == "PostAssistant"):
            message = f"{hook.check} is never asked at {hook.event}"
            problems.add("hook-event", file, message, lined.line)
        if hook.check in seen:
            message = (
                f"{hook.check} has a hook on line {seen[hook.check]} already, whose message is the one given"
            )
            problems.add("hook-twice", file, message, lined.line)
        seen.setdefault(hook.check, lined.line)


def _check_commands(subject: Subject, problems: Problems) -> None:
    for lined in subject.reading.hooks.commands:
        hook = lined.hook
        if hook.event != "PreToolUse" or hook.matcher == "*":
            continue
        wrong = matcher_problem(hook.matcher)
        if wrong or not any(matches(hook.matcher, tool) for tool in subject.tool_names):
            reason = wrong or "no tool of this version has such a name"
            message = f"the matcher {shown(hook.matcher)} matches nothing: {reason}"
            problems.add("hook-unmatched", lined.path, message, lined.matcher_line)
