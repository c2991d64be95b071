"""General instruction following: prompts with verifiable instructions, scored strictly, beside their floors.

This is our own suite, hand-written, used where IFEval's prompts are not there; it is never called IFEval.
`hat.evaluation.ifeval` scores IFEval's prompts through the same types.
"""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.evaluation.instruction_following_checks import CHECKS, followed
from hat.evaluation.statistics import wilson_interval
from hat.files import sha256_text

PROMPTS_FILE = Path(__file__).with_name("instruction_following_prompts.jsonl")
SUITE = "instruction_following"

Floor = Callable[["InstructionItem"], str]

FLOORS: Mapping[str, Floor] = {
    "empty reply": lambda item: "",
    "ok": lambda item: "ok",
    "a constant tool call": lambda item: (
        '<tool_call>{"name": "search_products", "arguments": {"query": "coat"}}</tool_call>'
    ),
    "a constant sentence": lambda item: "I am happy to help you with that, please tell me a little more.",
    "the prompt again": lambda item: item.prompt,
}
"""Replies that follow nobody's instructions: a score is worth only what it is above the best of these."""


@dataclass(frozen=True)
class InstructionItem:
    """One prompt; ``judge`` says of a reply which instructions, in the order of ``checks``, were followed."""

    id: str
    prompt: str
    checks: tuple[str, ...]
    judge: Callable[[str], tuple[bool, ...]]

    @property
    def task_digest(self) -> str:
        """SHA-256 of the prompt: what a leakage check compares."""
        return sha256_text(self.prompt)


@dataclass(frozen=True)
class InstructionAccuracy:
    """Strict accuracy over prompts (all instructions followed) and over instructions, as fractions."""

    prompts: float
    instructions: float


def own_items(path: Path = PROMPTS_FILE) -> list[InstructionItem]:
    """The hand-written prompts.

    Raises:
        BadInput: a line that is not such a prompt, with its number.
    """
    lines = path.read_text(encoding="utf-8").splitlines()
    return [_own_item(line, f"{path}:{number}") for number, line in enumerate(lines, start=1)]


def score_replies(items: Sequence[InstructionItem], replies: Sequence[str]) -> list[dict[str, Any]]:
    """One result an item, in order: ids, whether all and which instructions were followed, and the reply.

    Raises:
        ValueError: not one reply an item.
    """
    return [_result(item, reply) for item, reply in zip(items, replies, strict=True)]


def accuracy_of(results: Sequence[Mapping[str, Any]]) -> InstructionAccuracy:
    """Prompt and instruction level accuracy of results of `score_replies`; there must be at least one."""
    judged = [ok for result in results for ok in result["followed"].values()]
    return InstructionAccuracy(
        prompts=sum(result["correct"] for result in results) / len(results),
        instructions=sum(judged) / len(judged),
    )


def floors_of(items: Sequence[InstructionItem]) -> dict[str, InstructionAccuracy]:
    """What the constant and copying replies of `FLOORS` score on the same items by the same checkers."""
    return {
        name: accuracy_of(score_replies(items, [reply(item) for item in items]))
        for name, reply in FLOORS.items()
    }


def suite_document(
    suite: str, items: Sequence[InstructionItem], replies: Sequence[str], **provenance: Any
) -> dict[str, Any]:
    """The suite's part of an evaluation document (rates are fractions; ``accuracy`` is at prompt level).

    ``baseline_accuracy`` is the best floor; ``provenance`` is recorded as given.
    """
    results = score_replies(items, replies)
    accuracy, floors = accuracy_of(results), floors_of(items)
    interval = wilson_interval(sum(result["correct"] for result in results), len(results))
    best = max(floors, key=lambda name: floors[name].prompts)
    return {
        "suite": suite,
        "n": len(results),
        "accuracy": accuracy.prompts,
        "accuracy_ci": [interval.low, interval.high],
        "instruction_accuracy": accuracy.instructions,
        "instructions": sum(len(item.checks) for item in items),
        "baseline_accuracy": floors[best].prompts,
        "baseline": best,
        "floors": {
            name: {"accuracy": floor.prompts, "instruction_accuracy": floor.instructions}
            for name, floor in floors.items()
        },
        **provenance,
        "items": results,
    }


def _result(item: InstructionItem, reply: str) -> dict[str, Any]:
    judged = item.judge(reply)
    # A check may stand twice in a prompt with different parameters, so its place is part of its name.
    names = [f"{place}:{check}" for place, check in enumerate(item.checks, start=1)]
    return {
        "id": item.id,
        "task_digest": item.task_digest,
        "state": "",
        "intent": "instructions",
        "language": "en",
        "correct": int(all(judged)),
        "followed": dict(zip(names, judged, strict=True)),
        "prompt": item.prompt,
        "reply": reply,
        "end": "replied" if reply.strip() else "empty_reply",
    }


def _own_item(line: str, where: str) -> InstructionItem:
    try:
        value = json.loads(line)
        instructions = [dict(instruction) for instruction in value["instructions"]]
        checks = tuple(instruction.pop("check") for instruction in instructions)
        for check, parameters in zip(checks, instructions, strict=True):
            inspect.signature(CHECKS[check]).bind("", **parameters)
        judge = partial(_judge, checks, tuple(instructions))
        return InstructionItem(value["id"], value["prompt"], checks, judge)
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"not a prompt with instructions: {error}", where=where) from error


def _judge(checks: tuple[str, ...], parameters: tuple[dict[str, Any], ...], reply: str) -> tuple[bool, ...]:
    return tuple(followed(check, reply, given) for check, given in zip(checks, parameters, strict=True))
