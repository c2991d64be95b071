"""The in-process engine of one viewer at a time: answers a question by an Episode, with nothing computed twice."""

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Self

from hat.agent.episode import Episode
from hat.agent.policies.local import LocalPolicy
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task
from hat.harness.model import Harness
from hat.serving.load import Answered


class InProcessEngine:
    """A model folder in this process, as bfloat16, under a harness as it is; one question at a time.

    The harness prompt's keys and values are kept from question to question, and a conversation's own from turn
    to turn. Questions that arrive meanwhile wait, like at any single-user server.

    Raises:
        BadInput: the folder is not a whole chat model, or one that cannot be decoded in-process.
    """

    def __init__(self, model: Path, harness: Harness, domain: Domain, *, max_new_tokens: int) -> None:
        self._policy = LocalPolicy(model, max_new_tokens=max_new_tokens, batch_size=1, keep_prefixes=True)
        self._state = HarnessState.original(harness)
        self._domain = domain
        self._worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="engine")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._worker.shutdown(wait=True, cancel_futures=True)

    def answering(self, tasks: Sequence[Task]) -> Callable[[int], "asyncio.Future[Answered]"]:
        """What `hat.serving.load` drives: answers the question of ``tasks`` with that index."""

        def answer(index: int) -> "asyncio.Future[Answered]":
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._worker, self._play, tasks[index])

        return answer

    def _play(self, task: Task) -> Answered:
        # The event loop's clock is this one (asyncio: BaseEventLoop.time).
        started = time.monotonic()
        begun: list[float] = []
        episode = Episode(self._state, task, self._domain)
        (rollout,) = self._policy.roll_out(
            [episode], self._domain.execute, on_turn_begun=lambda _: begun.append(time.monotonic())
        )
        return Answered(
            started=started,
            turns=tuple(begun),
            finished=time.monotonic(),
            output_tokens=sum(rollout.sampled),
            details={"intent": task.intent, "end": episode.end},
        )
