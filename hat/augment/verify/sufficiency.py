"""G6: whoever reads what the state renders can make the gold, and the gold fits the limits.

Followed turn by turn: a call's tool and arguments are among the presented tools, a loaded skill is listed, an
argument's value stands in what was read so far or in the schema, and every value that the reply must assert stands
in what was read. A value that the unchanged harness does not show either is not the state's fault (third-party gold
asks for what only the world tells). What a text refers to exists. Where texts of rules were rewritten, moved or
left out, a policy that reads only the state (the domain's expert) must still come to the gold.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any
from xml.sax.saxutils import escape

from hat.agent.calls import Call
from hat.agent.episode import Episode
from hat.augment.codec import Codec
from hat.augment.state import HarnessState
from hat.augment.verify.finding import Finding
from hat.augment.verify.gold import Gold, Subject
from hat.harness.model import Harness
from hat.harness.render import render_skill
from hat.harness.symbols import code_spans
from hat.trajectories.record import Trajectory

_NUMBER = re.compile(r"\d+(?:\.\d+)?")


def check_sufficiency(subject: Subject) -> Iterator[Finding]:
    """G6."""
    yield from _dangling_references(subject)
    yield from _lost_in_rendering(subject)
    for index, (trajectory, episode) in enumerate(zip(subject.trajectories, subject.replays, strict=True)):
        if episode is not None:
            findings = list(_derivable(subject, index, trajectory, episode))
            yield from findings and _beyond_the_harness(findings, subject, trajectory)
            yield from _limits(subject.state.canonical, trajectory)
    # Gold that was derived again was read from the state's rules in the first place.
    if not subject.state.regenerates and _rule_texts(subject.state.canonical) != _rule_texts(subject.harness):
        yield from _readable(subject)


def _dangling_references(subject: Subject) -> Iterator[Finding]:
    """References to symbols of the harness that the state no longer has."""
    gone = _symbols(subject.harness) - _symbols(subject.state.canonical)
    if not gone:
        return
    for where, text in _texts(subject.state.canonical):
        for _, symbol in code_spans(text):
            if symbol in gone:
                yield Finding(
                    symbol, f"{where} refers to `{symbol}`, which the state no longer has", "skills"
                )


def _symbols(harness: Harness) -> set[str]:
    return {tool.name for tool in harness.tools} | {skill.name for skill in harness.skills}


def _texts(harness: Harness) -> Iterator[tuple[str, str]]:
    for block in harness.blocks:
        for item in block.document.items:
            yield f"prompt block {block.id}", item
    for skill in harness.skills:
        yield f"the description of skill {skill.name}", skill.description
        for item in skill.body.items:
            yield f"skill {skill.name}", item
    for hook in harness.hooks:
        yield f"the message of hook {hook.check}", hook.message


def _lost_in_rendering(subject: Subject) -> Iterator[Finding]:
    """Items of the presented prompt and skills that the layout does not show."""
    presented = subject.state.presented
    episode = next((episode for episode in subject.replays if episode is not None), None)
    if episode is None:
        return
    prompt = "\n".join(message["content"] for message in episode.messages()[:2])
    for block in presented.blocks:
        for item in block.document.items:
            if "{" not in item and not _shown(item, prompt):
                yield Finding(block.id, f"the prompt does not show {item!r} of block {block.id}", "layout")
    for skill in presented.skills:
        if not (_shown(skill.description, prompt) and _shown(skill.name, prompt)):
            yield Finding(skill.name, f"the prompt does not list skill {skill.name!r}", "layout")
        loaded = render_skill(presented, skill.name)
        for item in skill.body.items:
            if not _shown(item, loaded):
                yield Finding(skill.name, f"loading skill {skill.name!r} does not show {item!r}", "layout")


def _shown(text: str, rendered: str) -> bool:
    """Whether a text stands in a rendering, as it is or as JSON or XML write it."""
    if text in rendered:
        return True
    return json.dumps(text, ensure_ascii=False)[1:-1] in rendered or escape(text) in rendered


def _derivable(subject: Subject, index: int, trajectory: Trajectory, episode: Episode) -> Iterator[Finding]:
    """Every symbol and value of one gold episode, against the messages before it."""
    task = trajectory.task
    messages = episode.messages()
    read = [message["content"] for message in messages[:2]]
    at = 2
    for turn, (_, calls) in zip(trajectory.turns, subject.scripts[index], strict=True):
        for call, presented in zip(turn.calls, calls, strict=True):
            for symbol, why, surface in _call_symbols(call, presented, subject, read):
                yield Finding(symbol, f"{why}, so the gold of {task.id} cannot be derived", surface)
        at += 1  # the assistant's own message tells nothing new
        while at < len(messages) and messages[at]["role"] != "assistant":
            read.append(messages[at]["content"])
            at += 1
    for fact in task.facts:
        if fact.value and not _stands_in(fact.value, read):
            why = f"{fact.kind} {fact.value!r} stands nowhere in what the gold of {task.id} reads"
            yield Finding(fact.kind, why, "skills")


def _beyond_the_harness(
    findings: list[Finding], subject: Subject, trajectory: Trajectory
) -> Iterator[Finding]:
    """Without those that the unchanged harness gives as well."""
    gold = Gold((trajectory,), subject.gold.domain, subject.gold.execute)
    original = Subject(HarnessState.original(subject.harness), subject.harness, subject.config, gold)
    (episode,) = original.replays
    known = {f.symbol for f in _derivable(original, 0, trajectory, episode)} if episode else set()
    for finding in findings:
        if finding.symbol not in known:
            yield finding


def _call_symbols(
    call: Call, presented: Call, subject: Subject, read: list[str]
) -> Iterator[tuple[str, str, str]]:
    schema: Any = subject.presented_schemas.get(presented.name)
    if schema is None:
        yield call.name, f"tool {presented.name!r} is not presented", "tools"
        return
    properties = schema.get("properties", {})
    for name in presented.arguments.keys() - properties.keys():
        yield name, f"{presented.name} has no argument {name!r} in its schema", "codec.arguments"
    skill_argument = subject.state.skill_argument_of.get(call.name)
    for name, value in call.arguments.items():
        if name == skill_argument:
            shown = subject.state.codec.skill(value)
            if not any(f"`{shown}`" in text for text in read):
                yield value, f"skill {shown!r} is named nowhere", "skills"
        elif not all(_stands_in(leaf, read) or _in_schema(leaf, properties) for leaf in _leaves(value)):
            yield name, f"the value {value!r} of {call.name}.{name} stands nowhere", "blocks"


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for item in value.values():
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _in_schema(value: Any, properties: Mapping[str, Any]) -> bool:
    """Whether the schema itself offers the value: a choice of an enumeration, a constant, a default, or yes and no."""
    if isinstance(value, bool) or value is None:
        return True
    return any(
        isinstance(schema, dict)
        and (value in schema.get("enum", ()) or value in (schema.get("const"), schema.get("default")))
        for schema in properties.values()
    )


def _stands_in(value: Any, read: list[str]) -> bool:
    """Whether a value stands in a text; a number, as a number of its own."""
    text = str(value).casefold()
    if _NUMBER.fullmatch(text):
        return any(float(text) in _numbers(one) for one in read)
    return any(text in _folded(one) for one in read)


@lru_cache(maxsize=4096)
def _numbers(text: str) -> frozenset[float]:
    return frozenset(map(float, _NUMBER.findall(text)))


@lru_cache(maxsize=4096)
def _folded(text: str) -> str:
    return text.casefold()


def _limits(harness: Harness, trajectory: Trajectory) -> Iterator[Finding]:
    limits = harness.limits
    used = {
        "max_turns": len(trajectory.turns),
        "max_tool_calls": sum(len(turn.calls) for turn in trajectory.turns),
        "max_reply_characters": len(trajectory.reply),
    }
    for name, count in used.items():
        if count > getattr(limits, name):
            why = f"the gold of {trajectory.task.id} needs {count}, and {name} is {getattr(limits, name)}"
            yield Finding(name, why, "limits")


def _rule_texts(harness: Harness) -> set[str]:
    """Texts that may hold rules, whatever their order; skills that answer nothing have none for a task."""
    items = {item for block in harness.blocks for item in block.document.items}
    for skill in harness.skills:
        if skill.intents:
            items.update(f"{skill.name}: {item}" for item in (skill.description, *skill.body.items))
    return items


def _readable(subject: Subject) -> Iterator[Finding]:
    """The expert sees question, session and the state's texts, and nothing of the gold."""
    gold, state = subject.gold, subject.state
    plain = HarnessState(state.canonical, Codec(), state.base_digest)
    episodes = [Episode(plain, trajectory.task, gold.domain) for trajectory in subject.trajectories]
    gold.domain.expert().play(episodes, gold.execute, lambda index: None)
    for trajectory, episode in zip(subject.trajectories, episodes, strict=True):
        if (tuple(episode.turns), episode.reply) != (trajectory.turns, trajectory.reply):
            why = f"read anew, the state's rules lead to {episode.reply!r} in {trajectory.task.id}"
            yield Finding(trajectory.task.intent, f"{why}, not to {trajectory.reply!r}", "skills")
