"""Skill transforms: S1 rename, S2 re-describe, S3 add distractors, S4 shuffle and drop what no task needs."""

from collections.abc import Iterator
from dataclasses import replace

from hat.augment.banks import bank
from hat.augment.naming import LEGAL_NAME, SKILL_STYLES, rename
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Skip, Transform, broken_bijection, with_codec, with_harness
from hat.augment.transforms.names import taken_names
from hat.augment.variants import in_names_of, misdescribed_skill, purpose, variants
from hat.harness.model import Document, Harness, Skill
from hat.harness.symbols import code_spans


class RenameSkills(Transform):
    family = "S1"
    summary = "rename skills"
    needs = "skills"
    invariant = "a bijection of names, each legal and its own"
    breaks = "a skill's name learnt by heart"
    surfaces = frozenset({"codec.skills"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        taken = taken_names(state)
        opaque = draw.rng.random() < draw.config.opaque_share
        names = [skill.name for skill in state.canonical.skills if skill.name not in state.codec.skills]
        if not names:
            raise Skip("there is no skill that has its first name")
        skills = {
            name: rename(
                name, split=draw.split, style=SKILL_STYLES[0], opaque=opaque, taken=taken, rng=draw.rng
            )
            for name in draw.renamed(names, draw.kept_share())
        }
        return with_codec(state, skills={**state.codec.skills, **skills})

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        yield from broken_bijection(before.codec.skills, after.codec.skills, "skill")
        names = {skill.name for skill in after.canonical.skills}
        for skill, shown in after.codec.skills.items():
            if skill in names and (not LEGAL_NAME.match(shown) or shown in names - {skill}):
                yield f"skill {skill} is presented as {shown}, which is illegal or another's name"


class RedescribeSkills(Transform):
    family = "S2"
    summary = "describe skills in other words"
    needs = "skills of intents for which the bank or the run has words"
    invariant = "the same applicability: words of its own intents, none of another skill's"
    breaks = "a description's wording learnt by heart"
    surfaces = frozenset({"skills"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        known = {skill.name: _descriptions(skill, state.canonical, draw) for skill in state.canonical.skills}
        if not any(known.values()):
            raise Skip(f"the bank has no descriptions for skills of domain {state.canonical.domain}")
        skills = []
        for skill in state.canonical.skills:
            words = known[skill.name]
            if not words and skill.intents:
                draw.notes.append(f"the bank has no description for a skill of {purpose(skill)}")
            elif words and draw.rng.random() < 0.7:
                skill = _described(skill, state.canonical, draw.rng.choice(words))
            skills.append(skill)
        if tuple(skills) == state.canonical.skills:
            index = next(i for i, skill in enumerate(skills) if known[skill.name])
            words = known[skills[index].name]
            skills[index] = _described(skills[index], state.canonical, draw.rng.choice(words))
        return with_harness(state, skills=tuple(skills))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        old = {skill.name: skill for skill in before.canonical.skills}
        if [skill.name for skill in after.canonical.skills] != list(old):
            yield "the skills are no longer the same in the same order"
        for skill in after.canonical.skills:
            was = old.get(skill.name)
            if was is None or was == skill:
                continue
            if replace(skill, description=was.description) != was:
                yield f"skill {skill.name} changed beyond its description"
            yield from misdescribed_skill(skill.description, purpose(skill), before.canonical.domain)


class AddDistractorSkills(Transform):
    family = "S3"
    summary = "add skills that answer nothing, near misses among them"
    needs = "nothing"
    invariant = "every skill stays, and what is added answers no intent"
    breaks = "choosing among a fixed set of skills"
    surfaces = frozenset({"skills"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        known = {skill.name for skill in state.canonical.skills}
        entries = [*bank("distractor_skills")[draw.split]]
        if draw.config.depth is not None:
            # The states that are drawn without a depth were there before the near misses were.
            entries += bank("near_miss_skills")[draw.split]
        entries = [entry for entry in entries if entry[0] not in known]
        chosen = draw.rng.sample(entries, k=min(len(entries), draw.rng.randint(1, 2)))
        if not chosen:
            raise Skip("the harness has every distractor skill of the bank already")
        skills = list(state.canonical.skills)
        for name, description, items in chosen:
            title = name.replace("-", " ").capitalize()
            skill = Skill(name, description, "strategy", (), Document(title, tuple(items)))
            skills.insert(draw.rng.randint(0, len(skills)), skill)
        return with_harness(state, skills=tuple(skills))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        old = before.canonical.skills
        if tuple(skill for skill in after.canonical.skills if skill in old) != old:
            yield "a skill was lost, changed or moved"
        for skill in after.canonical.skills:
            if skill not in old and (skill.intents or skill.kind == "reply"):
                yield f"the added skill {skill.name} answers something"


class ShuffleSkills(Transform):
    family = "S4"
    summary = "shuffle skills, drop optional ones"
    needs = "two skills"
    invariant = "every skill that a task may need stays as it is"
    breaks = "a skill's place in the list"
    surfaces = frozenset({"skills"})

    def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
        skills = list(state.canonical.skills)
        if len(skills) < 2:
            raise Skip("there are fewer than two skills")
        draw.rng.shuffle(skills)
        pointed_to = pointed_to_skills(state.canonical)
        if draw.rng.random() < 0.5:
            skills = [skill for skill in skills if skill.intents or skill.name in pointed_to]
        return with_harness(state, skills=tuple(skills))

    def check(self, before: HarnessState, after: HarnessState) -> Iterator[str]:
        pointed_to = pointed_to_skills(before.canonical)
        kept = set(after.canonical.skills)
        if kept - set(before.canonical.skills):
            yield "a skill was added or changed"
        for skill in before.canonical.skills:
            if (skill.intents or skill.name in pointed_to) and skill not in kept:
                yield f"skill {skill.name}, which a task may need, was lost"


def pointed_to_skills(harness: Harness) -> set[str]:
    """What another text points to: a skill that answers no intent serves no task, but such a one must stay."""
    texts = [item for block in harness.blocks for item in block.document.items]
    texts += [item for skill in harness.skills for item in skill.body.items]
    texts += [skill.description for skill in harness.skills] + [hook.message for hook in harness.hooks]
    return {symbol for text in texts for _, symbol in code_spans(text)}


def _descriptions(skill: Skill, harness: Harness, draw: Draw) -> tuple[str, ...]:
    """The descriptions to choose from."""
    return variants("skill_descriptions", purpose(skill), harness.domain, draw.split, draw.config.wordings)


def _described(skill: Skill, harness: Harness, words: str) -> Skill:
    return replace(skill, description=in_names_of(harness, words))
