"""G1, texts said in other words: each is one of its own variants in the state's split, and of no other."""

from collections.abc import Iterator

from hat.augment.variants import in_names_of, purpose, variants
from hat.augment.verify.finding import Finding
from hat.augment.verify.gold import Subject
from hat.augment.wordings.document import Bank


def check_variants(subject: Subject) -> Iterator[Finding]:
    """Descriptions of tools and skills and messages of hooks that differ from the harness's own."""
    changed, harness = subject.state.canonical, subject.harness
    tools = {tool.name: tool.description for tool in harness.tools}
    for tool in changed.tools:
        if tool.description != tools.get(tool.name, tool.description):
            operation = changed.binding(tool.name).operation
            yield from _unknown(subject, "tool_descriptions", operation, tool.description, "tools")
    skills = {skill.name: skill.description for skill in harness.skills}
    for skill in changed.skills:
        if skill.description != skills.get(skill.name, skill.description):
            yield from _unknown(subject, "skill_descriptions", purpose(skill), skill.description, "skills")
    if changed.hooks is not harness.hooks:
        messages = {(hook.check, hook.message) for hook in harness.hooks}
        for hook in changed.hooks:
            if (hook.check, hook.message) not in messages:
                yield from _unknown(subject, "hook_messages", hook.check, hook.message, "hooks")


def _unknown(subject: Subject, name: Bank, key: str, words: str, surface: str) -> Iterator[Finding]:
    split = subject.state.split
    known = variants(name, key, subject.harness.domain, split, subject.config.wordings)
    if all(words != in_names_of(subject.state.canonical, one) for one in known):
        yield Finding(key, f"{words!r} is none of the {split} variants of {key}", surface)
