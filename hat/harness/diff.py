"""The semantic difference of two versions of a harness: what a reviewer of a harness commit needs to see."""

from dataclasses import fields

from hat.harness.diffing.change import Change, Difference, Version
from hat.harness.diffing.compatibility import narrowings
from hat.harness.diffing.documents import compare_documents
from hat.harness.diffing.matching import match, shared_words
from hat.harness.diffing.names import SAME, Names, match_names
from hat.harness.diffing.risk import assessed
from hat.harness.diffing.tools import compare_tools
from hat.harness.model import Block, Document, Harness, Hook, Limits

Documents = list[tuple[str, Document | None, Document | None]]


def diff_harnesses(before: Harness, after: Harness) -> Difference:
    """All differences. References in code spans follow renames, so a rename is one change and not many."""
    names = match_names(before, after)
    skill_changes, skill_documents = _compare_skills(names)
    block_changes, block_documents = _compare_blocks(names)
    changes = [
        *compare_tools(names),
        *skill_changes,
        *block_changes,
        *compare_documents(block_documents + skill_documents),
        *_compare_hooks(names),
        *_compare_settings(before, after),
    ]
    first, second = (Version(harness.name, harness.version, harness.digest) for harness in (before, after))
    narrowed = {
        new.name: narrowings(old.input_schema, new.input_schema, names.arguments[old.name].renamed)
        for old, new in names.tools.pairs
        if old.input_schema_json != new.input_schema_json
    }
    return Difference(first, second, after.changed, assessed(changes, narrowed))


def _compare_skills(names: Names) -> tuple[list[Change], Documents]:
    changes: list[Change] = []
    documents: Documents = []
    for old, new in names.skills.pairs:
        if old.name != new.name:
            changes.append(Change("skill", "renamed", new.name, old.name, new.name))
        if names.follow(old.description) != new.description:
            subject = f"{new.name}, description"
            changes.append(Change("skill", "reworded", subject, old.description, new.description))
        for what, first, second in (
            ("kind", old.kind, new.kind),
            ("intents", " ".join(old.intents), " ".join(new.intents)),
        ):
            if first != second:
                changes.append(Change("skill", "changed", f"{new.name}, {what}", first, second))
        documents.append((f"skill {new.name}", names.follow_document(old.body), new.body))
    for skill in names.skills.removed:
        changes.append(Change("skill", "removed", skill.name, before=skill.description))
        documents.append((f"skill {skill.name}", names.follow_document(skill.body), None))
    for skill in names.skills.added:
        changes.append(Change("skill", "added", skill.name, after=skill.description))
        documents.append((f"skill {skill.name}", None, skill.body))
    if names.skills.reordered:
        first, second = (", ".join(s.name for s in harness.skills) for harness in (names.before, names.after))
        note = "skills are listed by name, so a rename can move them"
        changes.append(Change("skill", "reordered", "skills", first, second, note))
    return changes, documents


def _compare_blocks(names: Names) -> tuple[list[Change], Documents]:
    changes: list[Change] = []
    matching = match(
        names.before.blocks,
        names.after.blocks,
        keys=(lambda block: block.id,),
        similarity=_block_similarity,
        threshold=SAME,
    )
    documents: Documents = []
    for old, new in matching.pairs:
        if old.id != new.id:
            changes.append(Change("block", "renamed", new.id, old.id, new.id, note="models do not see ids"))
        if old.kind != new.kind:
            changes.append(Change("block", "changed", f"{new.id}, kind", old.kind, new.kind))
        documents.append((f"block {new.id}", names.follow_document(old.document), new.document))
    for block in matching.removed:
        changes.append(Change("block", "removed", block.id, before=block.document.title))
        documents.append((f"block {block.id}", names.follow_document(block.document), None))
    for block in matching.added:
        changes.append(Change("block", "added", block.id, after=block.document.title))
        documents.append((f"block {block.id}", None, block.document))
    if matching.reordered:
        lists = (", ".join(block.id for block in harness.blocks) for harness in (names.before, names.after))
        changes.append(Change("block", "reordered", "blocks", *lists))
    return changes, documents


def _block_similarity(old: Block, new: Block) -> float:
    if not old.document.items:
        return 0.0
    return shared_words(" ".join(old.document.items), " ".join(new.document.items))


def _compare_hooks(names: Names) -> list[Change]:
    tools = {old.name: new.name for old, new in names.tools.pairs}
    changes: list[Change] = []
    matching = match(
        [(0, hook) for hook in names.before.hooks],
        [(1, hook) for hook in names.after.hooks],
        keys=(
            lambda entry: (entry[1].event, entry[1].check, _matcher(entry, tools)),
            lambda entry: entry[1].check,
        ),
        similarity=lambda left, right: 0.0,
        threshold=SAME,
    )
    for (_, old), (_, new) in matching.pairs:
        if names.follow(old.message) != new.message:
            changes.append(Change("hook", "reworded", f"{new.check}, message", old.message, new.message))
        if old.event != new.event:
            changes.append(Change("hook", "moved", new.check, old.event, new.event))
        if tools.get(old.matcher, old.matcher) != new.matcher:
            changes.append(Change("hook", "changed", f"{new.check}, matcher", old.matcher, new.matcher))
    changes += [Change("hook", "removed", hook.check, before=_shown(hook)) for _, hook in matching.removed]
    changes += [Change("hook", "added", hook.check, after=_shown(hook)) for _, hook in matching.added]
    if matching.reordered:
        first, second = (", ".join(h.check for h in harness.hooks) for harness in (names.before, names.after))
        note = "the first one that blocks is told"
        changes.append(Change("hook", "reordered", "hooks", first, second, note))
    return changes


def _matcher(entry: tuple[int, Hook], tools: dict[str, str]) -> str:
    side, hook = entry
    return tools.get(hook.matcher, hook.matcher) if side == 0 else hook.matcher


def _shown(hook: Hook) -> str:
    return f"{hook.event} {hook.matcher}: {hook.message}"


def _compare_settings(before: Harness, after: Harness) -> list[Change]:
    changes: list[Change] = []
    for limit in fields(Limits):
        first, second = getattr(before.limits, limit.name), getattr(after.limits, limit.name)
        if first != second:
            changes.append(Change("limit", "changed", limit.name, str(first), str(second)))
    commands = [
        [f"{hook.event} {hook.matcher}: {hook.command}" for hook in h.command_hooks] for h in (before, after)
    ]
    changes += [Change("hook", "removed", "command", before=c) for c in commands[0] if c not in commands[1]]
    changes += [Change("hook", "added", "command", after=c) for c in commands[1] if c not in commands[0]]
    if before.layout != after.layout:
        changes.append(Change("layout", "changed", "layout", before.layout, after.layout))
    if before.domain != after.domain:
        changes.append(Change("domain", "changed", "domain", before.domain, after.domain))
    return changes
