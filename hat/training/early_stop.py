"""Ends SFT once the model is right often enough on hard tasks, so that RL has something to teach."""

from collections.abc import Sequence
from typing import Any

from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from hat.agent.episode import Episode
from hat.agent.policies.local import LocalPolicy
from hat.augment.config import AugmentConfig
from hat.augment.plan import require_proven
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task
from hat.harness.model import Harness
from hat.training.decode_copy import DecodeCopy

_SEEDS = 8_000_000
"""Where the seeds of these tasks and states begin, away from those of every training stage."""

HardTask = tuple[HarnessState, Task]


def hard_tasks(
    harness: Harness,
    domain: Domain,
    augment: AugmentConfig,
    count: int,
    seed: int,
    intents: Sequence[str],
    trained: frozenset[str],
) -> list[HardTask]:
    """Tasks of the train split that are not in ``trained`` (digests), each under an augmented state of its own."""
    tasks = domain.sample_tasks("train", 2 * count, _SEEDS + seed, list(intents) or None)
    fresh = [task for task in tasks if task.digest not in trained][:count]
    always = augment.model_copy(update={"original_share": 0.0})
    states = [
        sample_state(harness, seed=_SEEDS + seed * count + number, split="train", config=always)
        for number in range(len(fresh))
    ]
    require_proven(states, harness, domain, always)
    return list(zip(states, fresh, strict=True))


class StopAtAccuracy(TrainerCallback):
    """Plays the hard tasks greedily every ``every`` steps and ends training at ``accuracy``.

    The looks draw nothing from a source of chance that training uses, so a run that is not stopped is what it would
    be without them.

    Args:
        model: the one to be trained, before a trainer gets it: trainers replace its forward, which a copy would share.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        tasks: Sequence[HardTask],
        domain: Domain,
        *,
        accuracy: float,
        every: int,
    ) -> None:
        self._decoder = DecodeCopy(model)
        self._tasks = tasks
        self._domain = domain
        self._tokenizer = tokenizer
        self._accuracy = accuracy
        self._every = every
        self._found: float | None = None

    def note(self) -> dict[str, float]:
        """``hard_accuracy`` for the log, after a step with a look; empty after others."""
        return {} if self._found is None else {"hard_accuracy": self._found}

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        self._found = None
        if state.global_step % self._every or not self._tasks:
            return
        self._decoder.sync(kwargs["model"], state.global_step)
        self._found = self._play()
        control.should_training_stop = control.should_training_stop or self._found >= self._accuracy

    def _play(self) -> float:
        episodes = [
            Episode(state, task, self._domain, f"hard/{number}")
            for number, (state, task) in enumerate(self._tasks)
        ]
        policy = LocalPolicy((self._decoder.model, self._tokenizer), name="sft")
        policy.play(episodes, self._domain.execute, lambda index: None)
        right = [
            self._domain.score(episode.task, episode.trajectory(), episode.state.canonical).accuracy
            for episode in episodes
        ]
        return sum(right) / len(right)
