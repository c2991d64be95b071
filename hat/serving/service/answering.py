"""One question from arrival to answer: admission, deadline, episode, metrics."""

import asyncio
import logging
from typing import Any

from hat.serving.service.admission import Admission, Draining, QueueFull
from hat.serving.service.answer import Effort, OnTurn, Patience, play
from hat.serving.service.config import ServiceConfig
from hat.serving.service.engine import EngineFault
from hat.serving.service.follow import PairFollower
from hat.serving.service.metrics import ServiceMetrics
from hat.serving.service.requests import AnswerError, Question, answer_document, begin_episode
from hat.serving.service.threads import DaemonThreads
from hat.serving.service.tools import ToolRunner

_LOG = logging.getLogger(__name__)
_THREADS_A_QUESTION = 4
"""Threads of tools that hang may outlive their question; this many times the concurrency are let live."""


class Answering:
    """What answers questions, by the pair that is served when a question's turn comes."""

    def __init__(self, config: ServiceConfig, follower: PairFollower, metrics: ServiceMetrics) -> None:
        self.admission = Admission(config.concurrency, config.queue)
        self._config = config
        self._follower = follower
        self._metrics = metrics
        self._patience = Patience(config.attempts, config.retry_seconds)
        threads = DaemonThreads(config.concurrency * _THREADS_A_QUESTION)
        self._tools = ToolRunner(threads, config.tool_seconds)

    async def answer(
        self, question: Question, arrived: float, on_turn: OnTurn | None = None
    ) -> dict[str, Any]:
        """The answer as a document.

        Args:
            arrived: when the question arrived, on the event loop's clock.

        Raises:
            AnswerError: there is none, and why.
        """
        if self._follower.pair is None:
            self._metrics.refused.labels("not_ready").inc()
            raise AnswerError(503, "not_ready", self._follower.not_ready, retry_after=5)
        asked = self._config.deadline_seconds if question.deadline_ms is None else question.deadline_ms / 1000
        deadline = arrived + min(asked, self._config.longest_deadline_seconds)
        try:
            async with self.admission.accepted_question() as slots:
                self._show_load()
                end = "error"
                try:
                    async with asyncio.timeout_at(deadline), slots:
                        document = await self._play(question, arrived, on_turn)
                    end = document["end"]
                    return document
                except TimeoutError as error:
                    end = "deadline"
                    raise AnswerError(504, "deadline", "no answer before the deadline") from error
                except EngineFault as fault:
                    end = "engine_error"
                    raise AnswerError(502, f"engine_{fault.code}", "the engine gave no answer") from fault
                except AnswerError as error:
                    end = error.code
                    raise
                except asyncio.CancelledError:
                    end = "client_gone"
                    raise
                finally:
                    seconds = asyncio.get_running_loop().time() - arrived
                    self._metrics.questions.labels(end).inc()
                    self._metrics.seconds.observe(seconds)
                    _LOG.info("question ended with %s after %.3f s", end, seconds)
        except QueueFull as error:
            self._metrics.refused.labels("queue_full").inc()
            raise AnswerError(429, "queue_full", "too many questions wait already", retry_after=1) from error
        except Draining as error:
            self._metrics.refused.labels("draining").inc()
            raise AnswerError(503, "draining", "the service is shutting down", retry_after=1) from error
        finally:
            self._show_load()

    async def _play(self, question: Question, arrived: float, on_turn: OnTurn | None) -> dict[str, Any]:
        clock = asyncio.get_running_loop().time
        pair = self._follower.pair
        assert pair is not None  # once there is one, there always is
        begun = clock()
        self._metrics.queue_seconds.observe(begun - arrived)
        episode = begin_episode(pair, question)
        effort = Effort()
        try:
            await play(
                pair,
                episode,
                effort,
                lambda task, request: self._tools.run(pair.domain, task, request),
                max_new_tokens=self._config.max_new_tokens,
                patience=self._patience,
                on_turn=on_turn,
            )
        finally:
            known = frozenset(tool.name for tool in pair.state.canonical.tools)
            self._metrics.count(episode.trajectory(), effort, known)
            if effort.turns:
                self._metrics.first_token_seconds.observe(effort.turns[0] - arrived)
        return answer_document(pair, episode, effort, arrived=arrived, begun=begun, finished=clock())

    def _show_load(self) -> None:
        self._metrics.accepted.set(self.admission.accepted)
        self._metrics.waiting.set(self.admission.waiting)
