"""Skills against the domain: a reply skill for every intent, a tool to load them, a block that lists them."""

from hat.harness.linting.subject import Subject
from hat.harness.model import LOAD_SKILL
from hat.harness.problems import Problems
from hat.harness.reading.names import shown


def check_skills(subject: Subject, problems: Problems) -> None:
    """Rules over the set of skills; those about what is missing need every skill to be readable."""
    reading = subject.reading
    replies = [entry for entry in reading.skills if entry.skill.kind == "reply"]
    if subject.complete and not replies:
        problems.add("reply-skill-missing", reading.folder / "skills", "no skill has metadata.kind: reply")
    manifest = reading.manifest
    if manifest is not None and reading.skills:
        if all(block.kind != "skills" for block in manifest.prompt.blocks):
            line = subject.line("prompt", "blocks")
            problems.add("skills-unlisted", subject.manifest_path, "no block has kind: skills", line)
        if all(binding.operation != LOAD_SKILL for binding in manifest.bindings.values()):
            line = subject.line("bindings")
            problems.add("no-skill-loader", subject.manifest_path, f"no tool is bound to {LOAD_SKILL}", line)
    _check_intents(subject, problems)


def _check_intents(subject: Subject, problems: Problems) -> None:
    terms = subject.terms
    if terms is None:
        return
    answered: dict[str, str] = {}
    for entry in subject.reading.skills:
        line = entry.header.line("metadata", "intents")
        for intent in entry.skill.intents:
            if intent not in terms.intents:
                message = f"no intent {shown(intent)} in {terms.name}; known: {', '.join(terms.intents)}"
                problems.add("intent-unknown", entry.path, message, line)
            elif entry.skill.kind == "reply":
                if intent in answered:
                    message = f"{answered[intent]} answers {intent}, too"
                    problems.add("intent-twice", entry.path, message, line)
                answered.setdefault(intent, entry.skill.name)
    first = {entry.skill.name for entry in subject.reading.skills if entry.skill.name in answered.values()}
    for entry in subject.reading.skills:
        if entry.skill.kind == "reply" and entry.skill.name not in first:
            message = (
                f"{entry.skill.name} is never the right reply skill: no intent of the domain leads to it"
            )
            problems.add("skill-unreachable", entry.path, message, entry.header.line("metadata"))
    for intent in terms.intents if subject.complete and subject.reading.skills else ():
        if intent not in answered:
            message = f"no skill of kind reply has the intent {intent}"
            problems.add("intent-unanswered", subject.reading.folder / "skills", message)
