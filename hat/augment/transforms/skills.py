"""Skill transforms: S1 rename, S3 add distractors, S4 shuffle and drop what no task needs."""

from dataclasses import replace

from hat.augment.banks import bank
from hat.augment.naming import SKILL_STYLES, rename
from hat.augment.state import HarnessState
from hat.augment.transforms.base import Draw, Transform
from hat.augment.transforms.names import taken_names
from hat.harness.model import Document, Skill
from hat.harness.symbols import code_spans


def _rename(state: HarnessState, draw: Draw) -> HarnessState:
    taken = taken_names(state)
    opaque = draw.rng.random() < draw.config.opaque_share
    skills = {
        skill.name: rename(
            skill.name, split=draw.split, style=SKILL_STYLES[0], opaque=opaque, taken=taken, rng=draw.rng
        )
        for skill in state.canonical.skills
        if skill.name not in state.codec.skills
    }
    return replace(state, codec=replace(state.codec, skills={**state.codec.skills, **skills}))


def _add_distractors(state: HarnessState, draw: Draw) -> HarnessState:
    known = {skill.name for skill in state.canonical.skills}
    entries = [entry for entry in bank("distractor_skills")[draw.split] if entry[0] not in known]
    chosen = draw.rng.sample(entries, k=min(len(entries), draw.rng.randint(1, 2)))
    skills = list(state.canonical.skills)
    for name, description, items in chosen:
        title = name.replace("-", " ").capitalize()
        skill = Skill(name, description, "strategy", (), Document(title, tuple(items)))
        skills.insert(draw.rng.randint(0, len(skills)), skill)
    return replace(state, canonical=replace(state.canonical, skills=tuple(skills)))


def _shuffle_and_drop(state: HarnessState, draw: Draw) -> HarnessState:
    skills = list(state.canonical.skills)
    draw.rng.shuffle(skills)
    # A skill that answers no intent serves no task; one that another text points to must stay all the same.
    pointed_to = {symbol for text in _texts(state) for _, symbol in code_spans(text)}
    if draw.rng.random() < 0.5:
        skills = [skill for skill in skills if skill.intents or skill.name in pointed_to]
    return replace(state, canonical=replace(state.canonical, skills=tuple(skills)))


def _texts(state: HarnessState) -> list[str]:
    harness = state.canonical
    texts = [item for block in harness.blocks for item in block.document.items]
    texts += [item for skill in harness.skills for item in skill.body.items]
    texts += [skill.description for skill in harness.skills] + [hook.message for hook in harness.hooks]
    return texts


S1 = Transform("S1", "rename skills", frozenset({"codec.skills"}), _rename)
S3 = Transform("S3", "add distractor skills", frozenset({"skills"}), _add_distractors)
S4 = Transform("S4", "shuffle skills, drop optional ones", frozenset({"skills"}), _shuffle_and_drop)
