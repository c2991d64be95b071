"""G1: the same inputs give the same state, and it differs from the harness only as its families may change it.

Surfaces are what a transform declares. Below them each content has an invariant of its own (the same tools, the
same rules, the same literals ...), which only the families listed with it may loosen.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from hat.augment.invariants import check_step
from hat.augment.sampler import Step, sample_steps
from hat.augment.transforms import TRANSFORMS
from hat.augment.verify.finding import Finding
from hat.augment.verify.gold import Subject
from hat.augment.verify.variants import check_variants
from hat.harness.model import Harness, Skill, Tool
from hat.harness.symbols import code_spans

_ADDS_OR_REMOVES_TOOLS = {"T7"}
_REDESCRIBES_TOOLS = {"T3"}
_RESHAPES_ARGUMENTS = {"T5"}
_ADDS_ARGUMENTS = {"T6"}
_REDESCRIBES_SKILLS = {"S2"}
_REWRITES_RULES = {"S5", "S6", "S7", "S8", "P2", "P4"}
_MASKS_RULES = {"S7"}
_PERTURBS_LIMITS = {"P4"}
_REWORDS_HOOKS = {"K1"}
_REORDERS_HOOKS = {"K3"}
_MOVES_HOOKS = {"K4"}

_LITERAL = re.compile(r"\d+(?:[.:]\d+)*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def check_declared(subject: Subject) -> Iterator[Finding]:
    """G1."""
    state, harness = subject.state, subject.harness
    yield from _made_again(subject)
    yield from _surfaces(subject)
    families = set(state.families)
    yield from _tools(state.canonical, harness, families)
    yield from _skills(state.canonical, harness, families)
    yield from _rules(state.canonical, harness, families)
    yield from _hooks(state.canonical, harness, families)
    yield from check_variants(subject)


def _made_again(subject: Subject) -> Iterator[Finding]:
    """The same inputs give the same digest, and every family's step kept that family's own invariant."""
    state = subject.state
    steps: list[Step] = []
    if subject.again is not None:
        again = subject.again()
    else:
        task = next((one.task for one in subject.gold.trajectories if one.task.digest == state.task), None)
        if state.task and task is None:
            yield Finding(
                "task", f"the state was sampled for task {state.task[:12]}, of which there is no gold"
            )
            return
        again, steps = sample_steps(
            subject.harness, seed=state.seed, split=state.split, config=subject.config, task=task
        )
    # What is equal has equal digests; writing it out again would only cost time.
    same = (again.canonical, again.codec, again.user_blocks) == (
        state.canonical,
        state.codec,
        state.user_blocks,
    )
    if not same and again.digest != state.digest:
        yield Finding("digest", f"made again it has digest {again.digest[:12]}, not {state.digest[:12]}")
    for step in steps:
        for problem in check_step(step):
            yield Finding(step.transform.summary, problem, family=step.transform.family)


def _surfaces(subject: Subject) -> Iterator[Finding]:
    state, harness = subject.state, subject.harness
    allowed = {"files_digest"}.union(*(t.surfaces for t in TRANSFORMS if t.family in state.families))
    who = ", ".join(state.families) or "no family"
    for field in fields(harness):
        if field.name not in allowed and getattr(harness, field.name) != getattr(state.canonical, field.name):
            yield Finding(field.name, f"{field.name} changed, which {who} may not do", field.name)
    for field in fields(state.codec):
        surface = f"codec.{field.name}"
        if getattr(state.codec, field.name) and surface not in allowed:
            yield Finding(field.name, f"{surface} changed, which {who} may not do", surface)


def _tools(changed: Harness, harness: Harness, families: set[str]) -> Iterator[Finding]:
    before = {tool.name: tool for tool in harness.tools}
    after = {tool.name: tool for tool in changed.tools}
    if not families & _ADDS_OR_REMOVES_TOOLS:
        for name in before.keys() - after.keys():
            yield Finding(name, f"tool {name} was lost", "tools")
        for name in after.keys() - before.keys():
            yield Finding(name, f"tool {name} was added", "tools")
    for name in before.keys() & after.keys():
        if before[name] is not after[name]:
            yield from _tool(before[name], after[name], families)


def _tool(before: Tool, after: Tool, families: set[str]) -> Iterator[Finding]:
    if not families & _REDESCRIBES_TOOLS and (before.description, before.title) != (
        after.description,
        after.title,
    ):
        yield Finding(before.name, f"tool {before.name} is described otherwise", "tools")
    if families & _RESHAPES_ARGUMENTS or before.input_schema_json == after.input_schema_json:
        return
    old, new = before.input_schema, after.input_schema
    if families & _REDESCRIBES_TOOLS:
        old, new = _without_descriptions(old), _without_descriptions(new)
    if families & _ADDS_ARGUMENTS:
        known = old.get("properties", {})
        added = [name for name in new.get("properties", {}) if name not in known]
        new = {**new, "properties": {n: v for n, v in new.get("properties", {}).items() if n in known}}
        old = {**old, "properties": known}
        for name in added:
            if name in new.get("required", ()):
                yield Finding(name, f"the argument {name!r} added to {before.name} is required", "tools")
    if old != new:
        yield Finding(before.name, f"the input schema of {before.name} changed", "tools")


def _without_descriptions(schema: Any) -> Any:
    """The schema without its annotations; a property that is called ``description`` stays."""
    if isinstance(schema, list):
        return [_without_descriptions(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {key: value for key, value in schema.items() if key not in ("description", "title", "properties")}
    plain = {key: _without_descriptions(value) for key, value in kept.items()}
    if isinstance(schema.get("properties"), dict):
        plain["properties"] = {n: _without_descriptions(value) for n, value in schema["properties"].items()}
    return plain


def _skills(changed: Harness, harness: Harness, families: set[str]) -> Iterator[Finding]:
    before = {skill.name: skill for skill in harness.skills}
    after = {skill.name: skill for skill in changed.skills}
    for name, skill in before.items():
        if name not in after:
            # A tool that its own task does not need may go, and with it the skill of other tasks (G3 proves the task).
            if skill.intents and not families & _ADDS_OR_REMOVES_TOOLS:
                yield Finding(
                    name, f"skill {name}, which answers {', '.join(skill.intents)}, was lost", "skills"
                )
        elif skill != after[name]:
            yield from _skill(skill, after[name], families)
    for name, skill in after.items():
        if name not in before and skill.intents:
            yield Finding(name, f"skill {name} was added and answers {', '.join(skill.intents)}", "skills")


def _skill(before: Skill, after: Skill, families: set[str]) -> Iterator[Finding]:
    if (before.kind, before.intents) != (after.kind, after.intents):
        yield Finding(before.name, f"skill {before.name} answers other intents", "skills")
    if before.description != after.description and not families & _REDESCRIBES_SKILLS:
        yield Finding(before.name, f"skill {before.name} is described otherwise", "skills")
    if before.body != after.body and not families & _REWRITES_RULES:
        yield Finding(before.name, f"the text of skill {before.name} changed", "skills")


def _rules(changed: Harness, harness: Harness, families: set[str]) -> Iterator[Finding]:
    """The prompt's items are the same; where rules may be rewritten or moved, their literals still are."""
    before, after = _items(harness), _items(changed)
    if not families & _REWRITES_RULES:
        for item in (before - after).keys() | (after - before).keys():
            yield Finding(item[:40], f"the prompt no longer has the same items: {item!r}", "blocks")
        return
    if families & _PERTURBS_LIMITS:
        return
    said, says = _literals(harness), _literals(changed)
    for literal in says - said:
        yield Finding(literal, f"the rules now name {literal!r}, which the harness does not", "skills")
    if not families & (_MASKS_RULES | _ADDS_OR_REMOVES_TOOLS):
        for literal in said - says:
            yield Finding(literal, f"the rules no longer name {literal!r}", "skills")


def _items(harness: Harness) -> Counter[str]:
    return Counter(
        text for block in harness.blocks for text in (f"# {block.document.title}", *block.document.items)
    )


def _literals(harness: Harness) -> set[str]:
    """Numbers and references in prompt and skills; distractor skills have rules of their own."""
    texts = [item for block in harness.blocks for item in block.document.items]
    texts += [item for skill in harness.skills if skill.intents for item in skill.body.items]
    found: set[str] = set()
    for text in texts:
        found.update(_LITERAL.findall(text), (f"`{symbol}`" for _, symbol in code_spans(text)))
    return found


def _hooks(changed: Harness, harness: Harness, families: set[str]) -> Iterator[Finding]:
    if changed.hooks == harness.hooks:
        return
    before = [(hook.event, hook.matcher, hook.check) for hook in harness.hooks]
    after = [(hook.event, hook.matcher, hook.check) for hook in changed.hooks]
    if families & _MOVES_HOOKS:
        # A check moves between pre-tool and pre-reply; G3 and G4 prove the same final accept set.
        same = {check for *_, check in before} == {check for *_, check in after}
    elif families & _REORDERS_HOOKS:
        same = Counter(before) == Counter(after)
    else:
        same = before == after
    if not same:
        yield Finding("hooks", "the hooks no longer make the same checks in the same order", "hooks")
    messages = {hook.check: hook.message for hook in harness.hooks}
    for hook in changed.hooks:
        original = messages.get(hook.check, hook.message)
        if hook.message == original:
            continue
        if not families & _REWORDS_HOOKS:
            yield Finding(hook.check, f"the message of hook {hook.check} changed", "hooks")
        elif _fix(hook.message) != _fix(original):
            why = (
                f"the message of hook {hook.check} no longer says {sorted(_fix(original))}: {hook.message!r}"
            )
            yield Finding(hook.check, why, "hooks")


def _fix(message: str) -> set[str]:
    """What a message must name for the model to mend its turn: placeholders and references."""
    return set(_PLACEHOLDER.findall(message)) | {f"`{symbol}`" for _, symbol in code_spans(message)}
