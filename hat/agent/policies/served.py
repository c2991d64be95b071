"""Plays episodes with a model on vLLM in token ids, for training: nothing that was sampled is tokenised again."""

import asyncio
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import httpx

from hat.agent.episode import Episode
from hat.agent.policies.local import Rollout, continue_rollout
from hat.agent.policy import Executor
from hat.errors import EnvironmentFailure

if TYPE_CHECKING:
    from hat.models.generation import Sample

_ATTEMPTS = 3
_WAIT_SECONDS = 1.0


class ServedPolicy:
    """A model at vLLM's completions endpoint, sampled from its whole distribution.

    Args:
        url: the server's address, without `/v1`.
        model: the model's name there.
        concurrency: episodes played at once, and so requests in flight.
        temperature: of the sampling.
        seed: of the sampling.
        answer_seconds: patience with one turn.
    """

    def __init__(
        self,
        url: str,
        model: str,
        tokenizer: Any,
        *,
        max_new_tokens: int,
        concurrency: int,
        temperature: float,
        seed: int,
        answer_seconds: float,
        name: str,
    ) -> None:
        from hat.models.tokens import ChatTokens

        self.tokens = ChatTokens(tokenizer)
        self.name = name
        self._url = url
        self._model = model
        self._concurrency = concurrency
        self._seed = seed
        self._answer_seconds = answer_seconds
        # Whatever the model's own generation settings say, a rollout is drawn from the policy and nothing else.
        self._sampling = {
            "max_tokens": max_new_tokens,
            "temperature": temperature,
            "top_p": 1.0,
            "top_k": -1,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
        }

    def roll_out(self, episodes: Sequence[Episode], execute: Executor) -> list[Rollout]:
        """Drive every episode to its end and return each one's token ids, in the order given.

        Raises:
            EnvironmentFailure: the server cannot be reached, refuses, or answers without ids or log-probabilities.
        """
        return asyncio.run(self._roll_out(episodes, execute))

    async def _roll_out(self, episodes: Sequence[Episode], execute: Executor) -> list[Rollout]:
        rollouts = [Rollout() for _ in episodes]
        waiting = iter(range(len(episodes)))

        async def work(client: httpx.AsyncClient) -> None:
            for index in waiting:
                await self._play(client, episodes[index], rollouts[index], index, execute)

        timeout = httpx.Timeout(self._answer_seconds, connect=10.0)
        limits = httpx.Limits(max_connections=self._concurrency)
        async with httpx.AsyncClient(timeout=timeout, limits=limits) as client:
            workers = [
                asyncio.create_task(work(client)) for _ in range(min(self._concurrency, len(episodes)))
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        return rollouts

    async def _play(
        self, client: httpx.AsyncClient, episode: Episode, rollout: Rollout, index: int, execute: Executor
    ) -> None:
        rollout.prompt_ids = self.tokens.opening(episode.messages(), episode.tools).ids
        ids = list(rollout.prompt_ids)
        turn = 0
        while True:
            seed = (self._seed * 1_000_003 + index * 1009 + turn) % (1 << 31)
            sample = await self._sample(client, ids, seed)
            appended = continue_rollout(self.tokens, episode, rollout, sample, execute)
            if appended is None:
                return
            ids += [*sample.ids, *appended]
            turn += 1

    async def _sample(self, client: httpx.AsyncClient, ids: Sequence[int], seed: int) -> "Sample":
        body = {
            "model": self._model,
            "prompt": list(ids),
            **self._sampling,
            "seed": seed,
            "stop_token_ids": [self.tokens.stop_id],
            "logprobs": 0,
            "return_token_ids": True,
            "skip_special_tokens": False,
        }
        problem = ""
        for attempt in range(_ATTEMPTS):
            try:
                response = await client.post(f"{self._url}/v1/completions", json=body)
                if response.is_success:
                    return self._read(response)
                problem = f"HTTP {response.status_code}: {' '.join(response.text.split())[:200]}"
                if response.status_code < 500 and response.status_code != 429:
                    break
            except httpx.HTTPError as error:
                problem = str(error) or type(error).__name__
            await asyncio.sleep(_WAIT_SECONDS * 2**attempt)
        raise EnvironmentFailure(f"no rollout: {problem}", where=self._url)

    def _read(self, response: httpx.Response) -> "Sample":
        from hat.models.generation import Sample

        try:
            choice = response.json()["choices"][0]
            ids = tuple(int(identity) for identity in choice["token_ids"])
            log_probs = tuple(float(value) for value in choice["logprobs"]["token_logprobs"])
            stopped = choice["finish_reason"] == "stop"
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise EnvironmentFailure(
                f"an answer without token ids or log-probabilities: {error}", where=self._url
            ) from error
        if len(ids) != len(log_probs) or not all(map(math.isfinite, log_probs)):
            raise EnvironmentFailure(
                f"{len(ids)} tokens with {len(log_probs)} log-probabilities, or some that are no numbers",
                where=self._url,
            )
        if stopped and (not ids or ids[-1] != self.tokens.stop_id):
            raise EnvironmentFailure("a turn ended without its stop token", where=self._url)
        return Sample(ids, stopped, log_probs)
