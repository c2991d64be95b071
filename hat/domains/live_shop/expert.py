"""The scripted expert: solves the simulated room's tasks through the Episode, as any model must.

It sees the question, the session, the harness and the observations, and nothing of the task's gold.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import Executor, answer_requests
from hat.augment.state import HarnessState
from hat.augment.twins.reading import forbidden_tools, tools_before_skill
from hat.domains.live_shop import replies
from hat.domains.live_shop.gold import FIRST_OPERATION
from hat.domains.live_shop.return_rules import days_to_return, read_return_rules
from hat.domains.live_shop.scoring import DOMAIN_ERRORS
from hat.domains.live_shop.understanding import Understood, understand
from hat.domains.live_shop.withholding import withheld
from hat.errors import BadInput
from hat.harness.model import LOAD_SKILL, LOAD_SKILL_ARGUMENT, Harness
from hat.trajectories.record import Observation, Turn

Action = tuple[Call, ...] | str
"""Canonical calls of one turn, or the reply."""
Plan = Generator[Action, Turn, Any]
FAULT_RETRIES = 2
"""How often the expert makes a call again after a fault, before it declines."""


@dataclass(frozen=True)
class ExpertView:
    """All that the expert may look at."""

    question: str
    session: Mapping[str, str | int]
    harness: Harness


class CannotAnswer(Exception):
    """The tools do not give what the question needs, so declining is right."""


class ScriptedExpert:
    """A policy that follows the harness by rule. It is called what it is: no model."""

    name = "scripted-expert"

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end, one after the other."""
        for index, episode in enumerate(episodes):
            view = ExpertView(episode.task.question, episode.task.session, episode.state.canonical)
            play_plan(episode, solve(view), execute)
            on_done(index)


def play_plan(
    episode: Episode, plan: Plan, execute: Executor, written_for: HarnessState | None = None
) -> None:
    """Submit a plan's actions as the text a model would write, until the episode ends.

    Args:
        written_for: the state whose names the text uses; the episode's own by default.
    """
    action = next(plan)
    while True:
        text = as_text(action, written_for or episode.state)
        answer_requests(episode, episode.submit(text), execute)
        if episode.done:
            return
        action = plan.send(episode.turns[-1])


def as_text(action: Action, state: HarnessState) -> str:
    """The action exactly as a model writes it under this state."""
    return action if isinstance(action, str) else "".join(render_call(state.encode(call)) for call in action)


def solve(view: ExpertView) -> Plan:
    """The fitting skill first, then the tool calls, then a short reply; corrected for as long as hooks object."""
    asked = understand(view.question)
    skill = view.harness.skill_for(asked.intent)
    # How to compare is a skill of its own, which names this one as its last step.
    skill_last = asked.intent == "compare" or _tool_goes_first(view.harness, asked)
    if not skill_last:
        yield _load(view.harness, skill)
    try:
        if withheld(view.harness.skill(skill).body.items):
            raise CannotAnswer
        reply = yield from _look_up(view, asked)
    except CannotAnswer:
        reply = replies.DECLINE
    if skill_last:
        yield _load(view.harness, skill)
    while True:
        turn = yield reply
        if turn.verdict is not None and turn.verdict.check == "reply_skill_loaded":
            yield _load(view.harness, skill)


def _look_up(view: ExpertView, asked: Understood) -> Generator[Action, Turn, str]:
    """The reply to the question, after the calls that it needs."""
    harness = view.harness
    if asked.intent == "off_topic":
        raise CannotAnswer
    if asked.intent in ("ends_at", "host"):
        return replies.room(asked.intent, view.session)
    if asked.intent == "compare":
        a, b = asked.links
        strategy = next(
            (s.name for s in harness.skills if s.kind == "strategy" and "compare" in s.intents), None
        )
        if strategy:
            yield _load(harness, strategy)
        first, second = yield from _ask(harness, *(("product_info", {"link_id": link}) for link in (a, b)))
        return replies.compared(a, first, b, second)
    if asked.intent == "price_by_name":
        (found,) = yield from _ask(harness, ("search_products", {"query": asked.name}))
        link = found["link_id"]
    else:
        link = int(view.session["showing"]) if asked.intent == "showing_price" else asked.links[0]
    if asked.intent == "stock":
        (result,) = yield from _ask(harness, ("check_stock", {"link_id": link}))
        return replies.stock(link, result)
    if asked.intent == "coupon":
        (result,) = yield from _ask(harness, ("find_coupon", {"link_id": link}))
        return replies.coupon(link, result)
    if asked.intent == "shipping":
        if not asked.region:
            raise CannotAnswer
        (result,) = yield from _ask(harness, ("shipping_quote", {"link_id": link, "region": asked.region}))
        return replies.shipping(link, asked.region, result)
    (product,) = yield from _ask(harness, ("product_info", {"link_id": link}))
    if asked.intent == "detail":
        return replies.detail(link, asked.attribute, product)
    if asked.intent == "returns":
        # A rule may stand in the prompt as well as in the skill; both are read by now.
        prompt = [item for block in harness.blocks for item in block.document.items]
        rules = read_return_rules([*prompt, *harness.skill(harness.skill_for("returns")).body.items])
        try:
            return replies.returns(link, product, days_to_return(rules, product))
        except KeyError as error:
            raise CannotAnswer from error
    return replies.price(link, product)


def _ask(harness: Harness, *wanted: tuple[str, Mapping[str, Any]]) -> Generator[Action, Turn, list[Any]]:
    """The results of domain operations asked in one turn; a call that met a fault is made again.

    Raises:
        CannotAnswer: no tool does it, or none that may be used, the answer is an error, or the fault stays.
    """
    try:
        calls = [_domain_call(harness, operation, arguments) for operation, arguments in wanted]
    except BadInput as error:
        raise CannotAnswer from error
    if forbidden_tools(harness) & {call.name for call in calls}:
        raise CannotAnswer
    results: dict[int, Any] = {}
    for _ in range(1 + FAULT_RETRIES):
        open_calls = [index for index in range(len(calls)) if index not in results]
        turn = yield tuple(calls[index] for index in open_calls)
        for index, observation in zip(open_calls, turn.observations, strict=True):
            if observation.kind == "result":
                # The domain answers with objects: anything else is a fault that nobody reported.
                if isinstance(observation.value, Mapping) and observation.value:
                    results[index] = observation.value
            elif not _is_fault(observation):
                raise CannotAnswer
        if len(results) == len(calls):
            return [results[index] for index in range(len(calls))]
    raise CannotAnswer


def _tool_goes_first(harness: Harness, asked: Understood) -> bool:
    """Whether the harness wants the tool of this question called before the skill is loaded."""
    try:
        return harness.tool_for(FIRST_OPERATION[asked.intent]) in tools_before_skill(harness)
    except (KeyError, BadInput):
        return False


def _is_fault(observation: Observation) -> bool:
    if observation.kind == "error":
        return observation.code not in DOMAIN_ERRORS
    # A simulated correction blocks a call that was right: making it again is the fix.
    return (
        observation.kind == "blocked"
        and observation.verdict is not None
        and observation.verdict.check not in ("too_many_calls", "tool_forbidden")
    )


def _domain_call(harness: Harness, operation: str, arguments: Mapping[str, Any]) -> Call:
    tool = harness.tool_for(operation)
    names = {to: name for name, to in harness.binding(tool).arguments}
    return Call(tool, {names.get(name, name): value for name, value in arguments.items()})


def _load(harness: Harness, skill: str) -> tuple[Call, ...]:
    return (_domain_call(harness, LOAD_SKILL, {LOAD_SKILL_ARGUMENT: skill}),)
