"""G4: mutants of the gold still fail under the state, so that a state cannot make a wrong solution right.

A mutant fails when what is left is not fit to learn from (`hat.trajectories.selection.rejection_reason`). Every state
is tried with one mutant of each kind; which gold it is made from goes round with the seed, so that a plan of states
covers every kind on every task. `mutants_of` gives all mutants of one gold trajectory.
"""

import random
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hat.agent.calls import Call
from hat.augment.codec import UnknownName
from hat.augment.state import HarnessState
from hat.augment.verify.finding import Finding
from hat.augment.verify.gold import Script, Subject, play
from hat.augment.verify.round_trip import probes
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import rejection_reason, was_blocked, without_blocked_turns

_DIGITS = re.compile(r"\d+")
_SWAPS_NAMES = "C1"


@dataclass(frozen=True)
class Mutant:
    """A wrong solution."""

    kind: str
    symbol: str
    """Where it is wrong."""
    script: Script
    surface: str = ""
    refused: bool = False
    """Whether the wrong call must itself be refused, beyond the whole being wrong."""


def check_mutants(subject: Subject) -> Iterator[Finding]:
    """G4."""
    count = len(subject.trajectories)
    rng = random.Random(subject.state.seed)
    material: dict[int, _Gold] = {}
    for number, make in enumerate(_KINDS.values()):
        for offset in range(count):
            index = (subject.state.seed + number + offset) % count
            if index not in material:
                material[index] = _Gold(subject, index, rng)
            mutant = make(material[index])
            if mutant is not None:
                yield from try_mutant(mutant, subject, subject.trajectories[index])
                break


def mutants_of(subject: Subject, index: int) -> list[Mutant]:
    """Every mutant that can be made of one gold trajectory."""
    material = _Gold(subject, index, random.Random(subject.state.seed))
    made = (make(material) for make in _KINDS.values())
    return [mutant for mutant in made if mutant is not None]


def try_mutant(mutant: Mutant, subject: Subject, trajectory: Trajectory) -> Iterator[Finding]:
    """A finding where the mutant passes."""
    gold, state = subject.gold, subject.state
    episode = play(mutant.script, state, trajectory.task, gold)
    if episode is None:
        return
    played = episode.trajectory()
    # Judged as generated episodes are: without the turns that took no effect.
    kept = without_blocked_turns(played) if any(map(was_blocked, played.turns)) else played
    scored = kept.with_scores(gold.domain.score(kept.task, kept, state.canonical))
    if rejection_reason(scored) is None:
        if not mutant.refused and _right_without_the_state(mutant, subject, trajectory):
            return
        why = f"the mutant {mutant.kind!r} of {trajectory.task.id} passes: {mutant.symbol}"
        yield Finding(mutant.symbol, why, mutant.surface)
    elif mutant.refused and not any(
        observation.kind in ("unknown_name", "blocked")
        for turn in played.turns
        for observation in turn.observations
    ):
        why = f"the mutant {mutant.kind!r} of {trajectory.task.id} is not refused: {mutant.symbol}"
        yield Finding(mutant.symbol, why, mutant.surface)


def _right_without_the_state(mutant: Mutant, subject: Subject, trajectory: Trajectory) -> bool:
    """Whether the same canonical calls are right under the unchanged harness: another solution, and no mutant."""
    gold, original = subject.gold, HarnessState.original(subject.harness)
    try:
        script = [
            (content, [original.encode(subject.state.decode(call)) for call in calls])
            for content, calls in mutant.script
        ]
    except UnknownName:
        return False
    episode = play(script, original, trajectory.task, gold)
    if episode is None:
        return False
    kept = without_blocked_turns(episode.trajectory())
    return rejection_reason(kept.with_scores(gold.domain.score(kept.task, kept, subject.harness))) is None


class _Gold:
    """One gold trajectory as mutants are made from it."""

    def __init__(self, subject: Subject, index: int, rng: random.Random) -> None:
        self.harness = subject.harness
        self.state = subject.state
        self.trajectory = subject.trajectories[index]
        self.script = subject.scripts[index]
        self.rng = rng
        loads = subject.state.skill_argument_of
        positions = [
            (turn, at, call)
            for turn, step in enumerate(self.trajectory.turns)
            for at, call in enumerate(step.calls)
        ]
        self.domain_calls = [position for position in positions if position[2].name not in loads]
        self.skill_loads = [position for position in positions if position[2].name in loads]
        # Without an earlier load (of a strategy) a solution may still be right.
        self.needed = [*self.domain_calls, *self.skill_loads[-1:]]

    def with_call(self, turn: int, at: int, call: Call) -> Script:
        """The script with one presented call replaced."""
        script = list(self.script)
        content, calls = script[turn]
        script[turn] = (content, [*calls[:at], call, *calls[at + 1 :]])
        return script

    def without(self, dropped: list[tuple[int, int, Call]]) -> Script:
        """The script without some calls; turns that become empty go."""
        places = {(turn, at) for turn, at, _ in dropped}
        kept = [
            (content, [call for at, call in enumerate(calls) if (turn, at) not in places])
            for turn, (content, calls) in enumerate(self.script)
        ]
        return [(content, calls) for content, calls in kept if content or calls]

    def with_reply(self, reply: str) -> Script:
        return [*self.script[:-1], (reply, [])]


def _wrong_tool(gold: _Gold) -> Mutant | None:
    if not gold.domain_calls:
        return None
    turn, at, call = gold.rng.choice(gold.domain_calls)
    known = gold.state.skill_argument_of
    others = [t for t in gold.state.canonical.tools if t.name != call.name and t.name not in known]
    if not others:
        return None
    # A tool that the harness does not have is the likeliest other way to solve.
    known_tools = {tool.name for tool in gold.harness.tools}
    other = gold.rng.choice([tool for tool in others if tool.name not in known_tools] or others)
    generated, _ = gold.rng.choice(probes(other.input_schema_json))
    known_arguments = other.input_schema.get("properties", {})
    arguments = {**generated, **{n: v for n, v in call.arguments.items() if n in known_arguments}}
    script = gold.with_call(turn, at, gold.state.encode(Call(other.name, arguments)))
    return Mutant("wrong tool", other.name, script, "tools")


def _wrong_argument(gold: _Gold) -> Mutant | None:
    candidates = [(place, name) for place in gold.domain_calls for name in place[2].arguments]
    if not candidates:
        return None
    (turn, at, call), name = gold.rng.choice(candidates)
    schema = gold.state.canonical.tool(call.name).input_schema.get("properties", {}).get(name, {})
    wrong = _other_value(call.arguments[name], schema if isinstance(schema, dict) else {})
    changed = Call(call.name, {**call.arguments, name: wrong})
    script = gold.with_call(turn, at, gold.state.encode(changed))
    return Mutant("wrong argument", f"{call.name}.{name}", script, "codec.arguments")


def _other_value(value: Any, schema: Mapping[str, Any]) -> Any:
    others = [other for other in schema.get("enum", ()) if other != value]
    if others:
        return others[0]
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str):
        return f"{value}x"
    return [*value, 0] if isinstance(value, list) else {**value, "x": 0} if isinstance(value, dict) else 0


def _wrong_skill(gold: _Gold) -> Mutant | None:
    if not gold.skill_loads:
        return None
    turn, at, call = gold.skill_loads[-1]
    loaded = {
        position[2].arguments.get(gold.state.skill_argument_of[call.name]) for position in gold.skill_loads
    }
    others = [s.name for s in gold.state.canonical.skills if s.name not in loaded]
    if not others:
        return None
    other = gold.rng.choice(others)
    changed = Call(call.name, {**call.arguments, gold.state.skill_argument_of[call.name]: other})
    return Mutant("wrong skill", other, gold.with_call(turn, at, gold.state.encode(changed)), "skills")


def _no_skill(gold: _Gold) -> Mutant | None:
    if not gold.skill_loads:
        return None
    return Mutant("no skill loaded", gold.skill_loads[-1][2].name, gold.without(gold.skill_loads), "skills")


def _no_look_up(gold: _Gold) -> Mutant | None:
    """The rule that facts are looked up."""
    if not gold.domain_calls:
        return None
    return Mutant(
        "facts not looked up", gold.domain_calls[0][2].name, gold.without(gold.domain_calls), "blocks"
    )


def _too_long(gold: _Gold) -> Mutant | None:
    """The limit on a reply's length."""
    reply = gold.trajectory.reply
    limit = gold.state.canonical.limits.max_reply_characters
    if not reply:
        return None
    padded = reply + " really" * (limit // 7 + 1)
    return Mutant("reply too long", "max_reply_characters", gold.with_reply(padded), "limits")


def _wrong_number(gold: _Gold) -> Mutant | None:
    """The rule that only returned values are stated."""
    reply = gold.trajectory.reply
    found = list(_DIGITS.finditer(reply))
    if not found:
        return None
    last = found[-1]
    changed = f"{reply[: last.start()]}{int(last.group()) + 1}{reply[last.end() :]}"
    return Mutant("wrong number in the reply", last.group(), gold.with_reply(changed), "blocks")


def _old_tool(gold: _Gold) -> Mutant | None:
    tools = gold.state.codec.tools
    renamed = [p for p in gold.needed if tools.get(p[2].name, p[2].name) != p[2].name]
    if not renamed or _SWAPS_NAMES in gold.state.families:
        return None
    turn, at, call = gold.rng.choice(renamed)
    presented = gold.script[turn][1][at]
    script = gold.with_call(turn, at, Call(call.name, presented.arguments))
    return Mutant("old tool name", call.name, script, "codec.tools", refused=True)


def _old_arguments(gold: _Gold) -> Mutant | None:
    changed = [p for p in gold.needed if gold.script[p[0]][1][p[1]].arguments.keys() != p[2].arguments.keys()]
    if not changed:
        return None
    turn, at, call = gold.rng.choice(changed)
    presented = gold.script[turn][1][at]
    # The skill's value stays as presented: only the names of the arguments are the old ones.
    skill_argument = gold.state.skill_argument_of.get(call.name)
    arguments = dict(call.arguments)
    if skill_argument in arguments:
        arguments[skill_argument] = gold.state.codec.skill(arguments[skill_argument])
    script = gold.with_call(turn, at, Call(presented.name, arguments))
    return Mutant("old argument name", ", ".join(call.arguments), script, "codec.arguments", refused=True)


def _old_skill(gold: _Gold) -> Mutant | None:
    if not gold.skill_loads:
        return None
    turn, at, call = gold.skill_loads[-1]
    argument = gold.state.skill_argument_of[call.name]
    old = call.arguments.get(argument)
    if not isinstance(old, str) or gold.state.codec.skill(old) == old:
        return None
    presented = gold.script[turn][1][at]
    shown = _with_value(dict(presented.arguments), gold.state.codec.skill(old), old)
    script = gold.with_call(turn, at, Call(presented.name, shown))
    return Mutant("old skill name", old, script, "codec.skills", refused=True)


def _with_value(arguments: Any, old: str, new: str) -> Any:
    """The arguments with one value in place of another, in whatever layout."""
    if isinstance(arguments, dict):
        return {name: _with_value(value, old, new) for name, value in arguments.items()}
    return new if arguments == old else arguments


_KINDS: Mapping[str, Callable[[_Gold], Mutant | None]] = {
    "wrong tool": _wrong_tool,
    "wrong argument": _wrong_argument,
    "wrong skill": _wrong_skill,
    "no skill loaded": _no_skill,
    "facts not looked up": _no_look_up,
    "reply too long": _too_long,
    "wrong number in the reply": _wrong_number,
    "old tool name": _old_tool,
    "old argument name": _old_arguments,
    "old skill name": _old_skill,
}
