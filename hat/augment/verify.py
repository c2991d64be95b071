"""The machine-checked gates of a harness state: what must hold before a state may be trained on.

G1 the same inputs give the same state; each of its families changed declared surfaces only and kept its invariant.
G2 presented names are legal, injective and collide with nothing; no old name is left at a symbol position.
G3 presenting the gold and replaying it gives the same canonical episode.
G5 decoding an encoded call gives the call back, for arguments generated from the schema.

(G4, mutants, and G6, sufficiency, are not checked yet.)
"""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from hat.agent.calls import Call, parse_assistant, render_call
from hat.agent.episode import Episode
from hat.agent.policy import Executor, answer_requests
from hat.augment.arguments import sample_arguments
from hat.augment.config import AugmentConfig
from hat.augment.invariants import check_steps
from hat.augment.naming import LEGAL_NAME
from hat.augment.regenerate import regenerate
from hat.augment.state import HarnessState
from hat.domains.base import Domain
from hat.harness.model import Harness
from hat.harness.symbols import code_spans
from hat.trajectories.present import assistant_text, present
from hat.trajectories.record import Trajectory

GATES = ("G1", "G2", "G3", "G5")


@dataclass(frozen=True)
class GateFailure:
    """One broken invariant of one state."""

    gate: str
    seed: int
    families: tuple[str, ...]
    message: str


@dataclass(frozen=True)
class Gold:
    """Accepted expert trajectories under the unchanged harness, to be replayed under every state."""

    trajectories: Sequence[Trajectory]
    domain: Domain
    execute: Executor


def verify_state(
    state: HarnessState, harness: Harness, config: AugmentConfig, gold: Gold
) -> list[GateFailure]:
    """All gates of one state; an empty list when they hold.

    ``gold`` should hold tasks of every intent: they are replayed in full.
    """
    checks: dict[str, Callable[[], Iterator[str]]] = {
        "G1": lambda: check_surfaces(state, harness, config, gold),
        "G2": lambda: check_names(state),
        "G3": lambda: check_replay(state, gold),
        "G5": lambda: check_round_trip(state),
    }
    return [
        GateFailure(gate, state.seed, state.families, message)
        for gate, check in checks.items()
        for message in check()
    ]


def check_surfaces(state: HarnessState, harness: Harness, config: AugmentConfig, gold: Gold) -> Iterator[str]:
    """G1."""
    task = next((one.task for one in gold.trajectories if one.task.digest == state.task), None)
    if state.task and task is None:
        yield f"the state was sampled for task {state.task[:12]}, of which there is no gold"
    else:
        yield from check_steps(state, harness, config, task)


def check_names(state: HarnessState) -> Iterator[str]:
    """G2."""
    presented, codec = state.presented, state.codec
    for kind, names in {
        "tool": [tool.name for tool in presented.tools],
        "skill": [skill.name for skill in presented.skills],
    }.items():
        yield from _bad_names(kind, names)
    for tool in presented.tools:
        yield from _bad_names(f"argument of {tool.name}", list(tool.input_schema.get("properties", {})))
    renamed = {old for old, new in {**codec.tools, **codec.skills}.items() if old != new}
    renamed |= {old for (_, old), new in codec.arguments.items() if old != new}
    for where, text in _texts(presented):
        for _, symbol in code_spans(text):
            if renamed & set(symbol.split(".")):
                yield f"old name `{symbol}` is left in {where}"
    old_tools = renamed & {tool.name for tool in presented.tools}
    if old_tools:
        yield f"old tool names are still presented: {', '.join(sorted(old_tools))}"


def _bad_names(kind: str, names: Sequence[str]) -> Iterator[str]:
    for name, count in Counter(names).items():
        if count > 1:
            yield f"{kind} {name!r} stands for {count} things"
        if not LEGAL_NAME.match(name):
            yield f"{kind} {name!r} is not a legal name"


def _texts(harness: Harness) -> Iterator[tuple[str, str]]:
    """Every text in which symbols may stand, with what it is."""
    for block in harness.blocks:
        for item in block.document.items:
            yield f"prompt block {block.id}", item
    for skill in harness.skills:
        yield f"the description of skill {skill.name}", skill.description
        for item in skill.body.items:
            yield f"skill {skill.name}", item
    for tool in harness.tools:
        yield f"the description of tool {tool.name}", tool.description
    for hook in harness.hooks:
        yield f"the message of hook {hook.check}", hook.message


def check_replay(state: HarnessState, gold: Gold) -> Iterator[str]:
    """G3, for the gold that the state serves; a state that regenerates gets gold of its own first."""
    served = [trajectory for trajectory in gold.trajectories if state.serves(trajectory.task)]
    if not served:
        yield "there is no gold that the state serves"
    if state.regenerates:
        served = regenerate(state, [trajectory.task for trajectory in served], gold.domain, gold.execute)
    for trajectory in served:
        if (
            state.regenerates
            and gold.domain.score(trajectory.task, trajectory, state.canonical).accuracy != 1
        ):
            yield f"the gold derived again for {trajectory.task.id} is wrong: {trajectory.reply!r}"
            continue
        replayed = replay(trajectory, state, gold)
        if replayed is None:
            yield f"the gold of {trajectory.task.id} ends early"
            continue
        now = replayed.trajectory()
        if (now.turns, now.end, now.reply) != (trajectory.turns, trajectory.end, trajectory.reply):
            yield f"replaying the gold of {trajectory.task.id} gives another canonical episode"
        elif replayed.messages() != present(trajectory, state):
            yield f"the gold of {trajectory.task.id} is presented otherwise than it is played"
        elif gold.domain.score(now.task, now, state.canonical) != gold.domain.score(
            trajectory.task, trajectory, state.canonical
        ):
            yield f"the gold of {trajectory.task.id} is scored otherwise"


def replay(trajectory: Trajectory, state: HarnessState, gold: Gold) -> Episode | None:
    """The episode in which the trajectory's assistant turns are said again under ``state``; None if it ends early."""
    episode = Episode(state, trajectory.task, gold.domain, trajectory.id)
    for turn in trajectory.turns:
        if episode.done:
            return None
        answer_requests(episode, episode.submit(assistant_text(turn, state)), gold.execute)
    return episode


def check_round_trip(state: HarnessState) -> Iterator[str]:
    """G5, through the text that a model would write."""
    rng = random.Random(state.seed)
    skills = [skill.name for skill in state.canonical.skills]
    for tool in state.canonical.tools:
        for _ in range(2):
            arguments = sample_arguments(tool.input_schema, rng)
            if tool.name in state.skill_argument_of:
                arguments[state.skill_argument_of[tool.name]] = rng.choice(skills)
            call = Call(tool.name, arguments)
            (read,) = parse_assistant(render_call(state.encode(call))).calls
            if state.decode(read) != call:
                yield f"{call} comes back as {state.decode(read)}"
