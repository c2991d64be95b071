"""Plays episodes with a model in this process: many at once, with one key-value cache across their turns."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hat.agent.episode import Episode
from hat.agent.policy import Executor, answer_requests
from hat.errors import BadInput
from hat.models.folder import check_model_folder
from hat.threads import thread_settings

if TYPE_CHECKING:
    from hat.models.generation import Sample
    from hat.models.tokens import ChatTokens, Prompt


@dataclass
class Rollout:
    """One episode in token ids, as sampled: nothing in it was decoded and tokenised again."""

    prompt_ids: tuple[int, ...] = ()
    completion_ids: list[int] = field(default_factory=list)
    """Sampled turns and what was appended between them, in order."""
    sampled: list[int] = field(default_factory=list)
    """1 where the model chose the token, 0 where it was appended; as long as ``completion_ids``."""
    log_probs: list[float] = field(default_factory=list)
    """Under the distribution that was sampled from, 0 where appended; empty unless asked for."""
    turns: list[tuple[int, int]] = field(default_factory=list)
    """Where each sampled turn begins and ends in ``completion_ids``: the episode's turns, in order."""


class LocalPolicy:
    """A transformers model as a policy.

    Args:
        model: a model folder, or a loaded (model, tokenizer).
        max_new_tokens: bound of one turn; a turn cut there is what it is, usually malformed.
        batch_size: conversations decoded at once.
        temperature: 0 is greedy.
        seed: of the sampling.
        log_probs: keep the log-probability of each sampled token.
        keep_prefixes: keep every harness prompt's keys and values from one call to the next, as a server does;
            for a few harness prompts only, since nothing is ever dropped.
    """

    def __init__(
        self,
        model: "Path | str | tuple[Any, Any]",
        *,
        max_new_tokens: int = 96,
        batch_size: int = 64,
        temperature: float = 0.0,
        seed: int = 0,
        log_probs: bool = False,
        keep_prefixes: bool = False,
        name: str = "",
    ) -> None:
        from hat.models.generation import Sampling
        from hat.models.prefix_attention import PrefixBank
        from hat.models.tokens import ChatTokens

        loaded = load_for_decoding(model) if isinstance(model, str | Path) else model
        self.model, tokenizer = loaded
        self.tokens = ChatTokens(tokenizer)
        self.name = name or f"local:{Path(str(self.model.config.name_or_path)).name}"
        self.batch_size = batch_size
        self.sampling = Sampling(max_new_tokens, temperature, seed, log_probs)
        self._bank = PrefixBank() if keep_prefixes else None

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end."""
        self.roll_out(episodes, execute, on_done)

    def roll_out(
        self,
        episodes: Sequence[Episode],
        execute: Executor,
        on_done: Callable[[int], None] = lambda index: None,
        on_turn_begun: Callable[[int], None] = lambda index: None,
    ) -> list[Rollout]:
        """Drive every episode to its end and return each one's token ids, in the order given.

        ``on_turn_begun`` is called with an episode's index when the first token of a turn of it is there.
        """
        from hat.models.generation import converse

        rollouts = [Rollout() for _ in episodes]
        openings: list[Prompt] = []
        for episode, rollout in zip(episodes, rollouts, strict=True):
            opening = self.tokens.opening(episode.messages(), episode.tools)
            openings.append(opening)
            rollout.prompt_ids = opening.ids
        # Neighbours share their first part; sorting keeps the given order among equals.
        order = sorted(range(len(episodes)), key=lambda index: openings[index].ids[: openings[index].shared])

        def answer(position: int, sample: "Sample") -> list[int] | None:
            index = order[position]
            appended = continue_rollout(self.tokens, episodes[index], rollouts[index], sample, execute)
            if appended is None:
                on_done(index)
            return appended

        converse(
            self.model,
            [openings[index] for index in order],
            answer,
            stop_ids=[self.tokens.stop_id],
            sampling=self.sampling,
            slots=self.batch_size,
            bank=self._bank,
            on_turn_begun=lambda position: on_turn_begun(order[position]),
        )
        return rollouts


def continue_rollout(
    tokens: "ChatTokens", episode: Episode, rollout: Rollout, sample: "Sample", execute: Executor
) -> list[int] | None:
    """Give a sampled turn to the episode and note it; the ids that follow it, or None when the episode is over."""
    begin = len(rollout.completion_ids)
    rollout.completion_ids.extend(sample.ids)
    rollout.sampled.extend([1] * len(sample.ids))
    rollout.log_probs.extend(sample.log_probs)
    rollout.turns.append((begin, len(rollout.completion_ids)))
    answered = len(episode.messages()) + 1
    answer_requests(episode, episode.submit(tokens.decode(sample.ids)), execute)
    if episode.done:
        return None
    appended = tokens.continuation(episode.messages(), episode.tools, answered, stopped=sample.stopped)
    rollout.completion_ids.extend(appended)
    rollout.sampled.extend([0] * len(appended))
    if sample.log_probs:
        rollout.log_probs.extend([0.0] * len(appended))
    return appended


def load_for_decoding(
    folder: str | Path, weights: Literal["bfloat16", "float32"] = "bfloat16"
) -> tuple[Any, Any]:
    """The model and tokenizer of a Hugging Face folder, ready to decode on this machine's CPU.

    Args:
        weights: bfloat16 rounds them as `export` does, so that what is judged is what is served, and computes with
            them in what is fastest here (`hat.models.precision`); float32 takes them as stored and computes in it.

    Raises:
        BadInput: the folder is not a whole model that can chat.
    """
    os.environ.update(thread_settings(os.environ))
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from hat.models.precision import compute_dtype

    folder = Path(folder)
    check_model_folder(folder)
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        model = AutoModelForCausalLM.from_pretrained(
            folder, dtype=getattr(torch, weights), local_files_only=True
        )
    except (OSError, ValueError) as error:
        raise BadInput(f"cannot be loaded: {error}", where=str(folder)) from error
    if weights == "bfloat16":
        model = model.to(compute_dtype())
    return model.eval(), tokenizer
