"""Runs the instruction-following suite: IFEval by lm-eval's checkers where its prompts are, else our own."""

import json
import os
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from hat.errors import BadInput, EnvironmentFailure
from hat.evaluation.instruction_following import (
    PROMPTS_FILE,
    SUITE,
    InstructionItem,
    own_items,
    suite_document,
)
from hat.files import sha256_file

PROMPTS_VARIABLE = "HAT_IFEVAL_FILE"
"""Environment variable that names a file of IFEval prompts where the settings name none."""
HUB = "hub"
"""Given instead of a file: take the prompts from the Hugging Face Hub."""

INCONSISTENT_PROMPTS: Mapping[str, str] = {
    "1174": 'asks for the letter o "at least 6 times" and is checked for fewer than 6'
}
"""Keys of prompts that no reply can be judged on fairly, and why."""

NEED_PUNKT = ("change_case:capital_word_frequency", "length_constraints:number_sentences")
"""Checkers that split text with NLTK's `punkt_tab` data, which lm-eval downloads when it is imported."""

Generate = Callable[[Sequence[str]], Sequence[str]]
"""Plain prompts in, one reply a prompt out, in order: a chat without harness, tools or system prompt."""


def run_instruction_following(
    generate: Generate,
    count: int,
    seed: int,
    prompts_file: str | Path | None = None,
    *,
    token_cap: int | None = None,
) -> dict[str, Any]:
    """Ask ``count`` prompts (all, if there are fewer) and score the replies; the result's ``suite`` names it.

    Args:
        generate: answers all prompts at once.
        count: how many prompts, drawn with ``seed``; the same numbers give the same prompts for every model.
        prompts_file: IFEval's ``input_data.jsonl``, or `HUB`; None: what `PROMPTS_VARIABLE` names, else our
            suite.
        token_cap: the limit that ``generate`` puts on a reply, for the record.

    Raises:
        BadInput: a malformed prompts file, count < 1, or not one reply a prompt.
        EnvironmentFailure: IFEval was asked for and lm-eval is not installed, or the Hub cannot be reached.
    """
    if count < 1:
        raise BadInput(f"{count} prompts asked for", where="evaluate", mend="Ask for at least one.")
    source = prompts_file or os.environ.get(PROMPTS_VARIABLE)
    if source:
        path = _from_hub() if str(source) == HUB else Path(source)
        items, excluded = ifeval_items(path, punkt=punkt_is_there())
        suite, checkers, synthetic = "ifeval", f"lm-eval {metadata.version('lm-eval')}", False
    else:
        path, items, excluded = PROMPTS_FILE, own_items(), []
        suite, checkers, synthetic = SUITE, "own", True
    chosen = sorted(random.Random(seed).sample(range(len(items)), min(count, len(items))))
    asked = [items[index] for index in chosen]
    replies = list(generate([item.prompt for item in asked]))
    if len(replies) != len(asked):
        raise BadInput(f"{len(replies)} replies to {len(asked)} prompts", where=suite)
    return suite_document(
        suite,
        asked,
        replies,
        requested=count,
        available=len(items),
        excluded=excluded,
        checkers=checkers,
        synthetic=synthetic,
        prompts_digest=sha256_file(path),
        token_cap=token_cap,
    )


def ifeval_items(path: Path, *, punkt: bool) -> tuple[list[InstructionItem], list[dict[str, Any]]]:
    """The usable prompts of a file in IFEval's format, and what was left out: reason, checkers and keys.

    Without ``punkt`` data, prompts that a checker of `NEED_PUNKT` judges are left out.

    Raises:
        BadInput: unreadable, malformed, an unknown checker, or nothing left.
        EnvironmentFailure: lm-eval is not installed.
    """
    registry = _checkers()
    rows = _read(path, known=set(registry))
    excluded = [
        {"reason": reason, "checkers": [], "keys": [key]}
        for key, reason in INCONSISTENT_PROMPTS.items()
        if any(str(row["key"]) == key for row in rows)
    ]
    rows = [row for row in rows if str(row["key"]) not in INCONSISTENT_PROMPTS]
    if not punkt:
        unusable = [row for row in rows if set(row["instruction_id_list"]) & set(NEED_PUNKT)]
        rows = [row for row in rows if row not in unusable]
        if unusable:
            keys = [str(row["key"]) for row in unusable]
            reason = "NLTK's punkt_tab is not on this machine"
            excluded.append({"reason": reason, "checkers": list(NEED_PUNKT), "keys": keys})
    if not rows:
        raise BadInput("no usable prompt", where=str(path))
    return [_item(row) for row in rows], excluded


def punkt_is_there() -> bool:
    """Whether NLTK's sentence data is on this machine; nothing is downloaded.

    Raises:
        EnvironmentFailure: nltk is not installed.
    """
    try:
        import nltk
    except ImportError as error:
        raise _not_installed(error) from error
    try:
        nltk.data.find("tokenizers/punkt_tab")
    except LookupError:
        return False
    return True


def _item(row: Mapping[str, Any]) -> InstructionItem:
    return InstructionItem(
        id=f"ifeval-{row['key']}",
        prompt=row["prompt"],
        checks=tuple(row["instruction_id_list"]),
        judge=partial(_judge, row),
    )


def _judge(row: Mapping[str, Any], reply: str) -> tuple[bool, ...]:
    from lm_eval.tasks.ifeval import utils

    example = utils.InputExample(row["key"], row["instruction_id_list"], row["prompt"], row["kwargs"])
    return tuple(map(bool, utils.test_instruction_following_strict(example, reply).follow_instruction_list))


def _checkers() -> Mapping[str, Any]:
    """lm-eval's checkers, imported without the download that its import would start."""
    rank = os.environ.get("LOCAL_RANK")
    try:
        # Only rank 0 downloads punkt_tab, and a failed download costs a long time-out.
        os.environ["LOCAL_RANK"] = "1"
        import langdetect
        from lm_eval.tasks.ifeval import instructions_registry
    except ImportError as error:
        raise _not_installed(error) from error
    finally:
        os.environ.pop("LOCAL_RANK")
        if rank is not None:
            os.environ["LOCAL_RANK"] = rank
    # langdetect samples: without a seed one reply is English on one day and not on the next.
    langdetect.DetectorFactory.seed = 0
    return instructions_registry.INSTRUCTION_DICT


def _read(path: Path, *, known: set[str]) -> list[dict[str, Any]]:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        mend = "Give IFEval's input_data.jsonl."
        raise BadInput(f"cannot be read: {error}", where=str(path), mend=mend) from error
    numbered = enumerate(lines, start=1)
    return [_row(line, known, f"{path}:{number}") for number, line in numbered if line.strip()]


def _row(line: str, known: set[str], where: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
        names, arguments = row["instruction_id_list"], row["kwargs"]
        unknown = sorted(set(names) - known)
        if unknown:
            raise ValueError(f"unknown checkers {unknown}")
        if not names or len(names) != len(arguments) or not isinstance(row["prompt"], str):
            raise ValueError("a prompt and one kwargs object for each instruction are needed")
        # Published copies fill every possible argument with null; the checkers take absence only.
        kwargs = [{key: value for key, value in given.items() if value is not None} for given in arguments]
        return {"key": row["key"], "prompt": row["prompt"], "instruction_id_list": names, "kwargs": kwargs}
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(f"not an IFEval prompt: {error}", where=where) from error


def _from_hub() -> Path:
    from huggingface_hub import hf_hub_download

    try:
        return Path(hf_hub_download("google/IFEval", "ifeval_input_data.jsonl", repo_type="dataset"))
    except Exception as error:  # the client raises a dozen unrelated types for one cause
        mend = f"Give a file in {PROMPTS_VARIABLE}, or none to use the project's own suite."
        what = f"IFEval's prompts cannot be fetched: {error}"
        raise EnvironmentFailure(what, where="hub", mend=mend) from error


def _not_installed(error: ImportError) -> EnvironmentFailure:
    mend = "pip install 'hat-pipelines[eval]', or give no IFEval prompts to use the project's own suite."
    return EnvironmentFailure(f"IFEval needs lm-eval's checkers: {error}", where="evaluate", mend=mend)
