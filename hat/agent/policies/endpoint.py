"""Plays episodes with a model behind an OpenAI-compatible endpoint: many at once, patient with failures."""

import asyncio
import email.utils
import os
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import httpx

from hat.agent.calls import AssistantTurn, MalformedCall, parse_assistant
from hat.agent.episode import Episode
from hat.agent.policies.chat_wire import UnreadableResponse, read_response, wire_messages
from hat.agent.policies.config import EndpointConfig
from hat.agent.policy import Executor, answer_requests
from hat.errors import BadInput, EnvironmentFailure

_RETRIED_STATUS = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REFUSING_STATUS = frozenset({401, 402, 403, 404, 405})
"""The endpoint will not answer any request: going on is useless."""
_CONNECT_SECONDS = 10.0


class _Unanswered(Exception):
    """One request has no answer, while others may have."""


class EndpointPolicy:
    """A served model as a policy. A finished episode is handed over at once: a crash loses only those open.

    Raises:
        BadInput: no URL or no model is named.
    """

    def __init__(self, config: EndpointConfig, *, seed: int = 0) -> None:
        if not config.url or not config.model:
            missing = "url" if not config.url else "model"
            raise BadInput(
                f"the endpoint's {missing} is not given",
                where=f"generate.endpoint.{missing}",
                mend="Set both url and model.",
            )
        self.config = config
        self.name = f"endpoint:{config.model}"
        self._jitter = random.Random(seed)

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        """Drive every episode to its end; one that the endpoint cannot answer ends with ``engine_error``.

        Raises:
            EnvironmentFailure: the endpoint cannot be reached, refuses all requests, or keeps failing.
        """
        asyncio.run(self._play(episodes, execute, on_done))

    def reply_to(self, questions: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
        """Plain replies to conversations in the message format, in their order; empty where one got no answer.

        Raises:
            EnvironmentFailure: the endpoint cannot be reached, refuses all requests, or keeps failing.
        """
        return asyncio.run(self._reply_to(questions))

    async def _reply_to(self, questions: Sequence[Sequence[dict[str, Any]]]) -> list[str]:
        slots = asyncio.Semaphore(self.config.concurrency)

        async def reply(client: httpx.AsyncClient, messages: Sequence[dict[str, Any]]) -> str:
            async with slots:
                try:
                    output = await self._ask(client, messages, [])
                    turn = parse_assistant(output) if isinstance(output, str) else output
                except (_Unanswered, MalformedCall):
                    return ""
            return turn.content

        async with self._client() as client:
            tasks = [asyncio.create_task(reply(client, messages)) for messages in questions]
            try:
                return list(await asyncio.gather(*tasks))
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    def _client(self) -> httpx.AsyncClient:
        key = os.environ.get(self.config.key_variable, "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        timeout = httpx.Timeout(
            self.config.timeout_seconds, connect=min(_CONNECT_SECONDS, self.config.timeout_seconds)
        )
        return httpx.AsyncClient(headers=headers, timeout=timeout)

    async def _play(
        self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]
    ) -> None:
        queue = iter(enumerate(episodes))
        answered: list[int] = []
        unanswered: list[str] = []

        async def work(client: httpx.AsyncClient) -> None:
            for index, episode in queue:
                try:
                    await self._play_one(client, episode, execute)
                    answered.append(index)
                except _Unanswered as error:
                    unanswered.append(str(error))
                    episode.fail()
                on_done(index)

        async with self._client() as client:
            workers = [
                asyncio.create_task(work(client)) for _ in range(min(self.config.concurrency, len(episodes)))
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)
        if unanswered and not answered:
            raise EnvironmentFailure(f"no request was answered: {unanswered[-1]}", where=self.config.url)

    async def _play_one(self, client: httpx.AsyncClient, episode: Episode, execute: Executor) -> None:
        while not episode.done:
            output = await self._ask(client, episode.messages(), episode.tools)
            answer_requests(episode, episode.submit(output), execute)

    async def _ask(
        self,
        client: httpx.AsyncClient,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
    ) -> str | AssistantTurn:
        body: dict[str, Any] = {
            "model": self.config.model,
            "messages": wire_messages(messages),
            "temperature": self.config.temperature,
            "max_tokens": self.config.max_new_tokens,
        }
        if tools:
            body["tools"] = list(tools)
        if self.config.raw_calls:
            # Without special tokens the tags of calls could be lost; with `none`, tools stay in the prompt.
            body |= {"skip_special_tokens": False} | ({"tool_choice": "none"} if tools else {})
        problem = ""
        for attempt in range(self.config.retries + 1):
            asked_to_wait = 0.0
            try:
                response = await client.post(f"{self.config.url.rstrip('/')}/chat/completions", json=body)
                if response.is_success:
                    return read_response(response.json())
                problem = f"HTTP {response.status_code}: {_short(response.text)}"
                if response.status_code in _REFUSING_STATUS:
                    raise self._failure(problem, f"Check the URL, the model and {self.config.key_variable}.")
                if response.status_code not in _RETRIED_STATUS:
                    raise _Unanswered(problem)
                asked_to_wait = retry_after(response.headers.get("Retry-After", ""))
            except httpx.TimeoutException:
                problem = f"no answer within {self.config.timeout_seconds:g} s"
            except httpx.TransportError as error:
                problem = f"cannot be reached: {error or type(error).__name__}"
            except (UnreadableResponse, ValueError) as error:
                problem = f"answers with something unreadable: {error}"
            if attempt < self.config.retries:
                await asyncio.sleep(self._wait(attempt, asked_to_wait))
        if problem.startswith("answers with something unreadable"):
            raise _Unanswered(problem)
        raise self._failure(problem, f"Tried {self.config.retries + 1} times. Start it and run again.")

    def _wait(self, attempt: int, asked_to_wait: float) -> float:
        """Seconds before the next attempt: doubling and uneven, so that clients do not come back together."""
        own = self.config.first_wait_seconds * 2**attempt * self._jitter.uniform(0.5, 1.5)
        return float(min(self.config.longest_wait_seconds, max(own, asked_to_wait)))

    def _failure(self, problem: str, mend: str) -> EnvironmentFailure:
        return EnvironmentFailure(problem, where=self.config.url, mend=mend)


def check_endpoint(config: EndpointConfig) -> None:
    """Find out cheaply, before any work, whether the endpoint is there and has the model.

    Raises:
        BadInput: no URL or model is named.
        EnvironmentFailure: it cannot be reached, refuses the key, or lists other models only.
    """
    EndpointPolicy(config)
    key = os.environ.get(config.key_variable, "")
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        response = httpx.get(f"{config.url.rstrip('/')}/models", headers=headers, timeout=_CONNECT_SECONDS)
    except httpx.HTTPError as error:
        mend = "Start it, or correct generate.endpoint.url."
        raise EnvironmentFailure(
            f"cannot be reached: {error or type(error).__name__}", where=config.url, mend=mend
        ) from error
    if response.status_code in (401, 403):
        raise EnvironmentFailure(
            f"HTTP {response.status_code}",
            where=config.url,
            mend=f"Set {config.key_variable} to a valid key.",
        )
    names = _model_names(response)
    if names and config.model not in names:
        raise EnvironmentFailure(
            f"serves no model {config.model!r}", where=config.url, mend=f"It has: {', '.join(names[:5])}."
        )


def _model_names(response: httpx.Response) -> list[str]:
    """The models listed; none where the endpoint lists none, which the format allows."""
    try:
        return [str(model["id"]) for model in response.json()["data"]]
    except (ValueError, KeyError, TypeError):
        return []


def retry_after(value: str) -> float:
    """Seconds that the header asks to wait: a number or an HTTP date (RFC 9110, 10.2.3); 0 for neither."""
    if value.strip().isdigit():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0


def _short(text: str) -> str:
    return " ".join(text.split())[:200]
