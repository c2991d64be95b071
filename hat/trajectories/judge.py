"""A strong model as the judge of episodes that have no gold: accepted only on a clear and well-formed yes."""

import asyncio
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from hat.agent.policies.config import EndpointConfig
from hat.agent.policies.endpoint import retry_after
from hat.errors import BadInput, EnvironmentFailure
from hat.trajectories.record import Trajectory

PROMPT = """You judge one answer of a shopping assistant. You see the viewer's question, what the assistant looked up,
and its reply. Say yes only if all three hold:
1. Every statement of fact in the reply is in what was looked up, or in the session.
2. The reply answers the question, or says plainly that it cannot and why.
3. Nothing was looked up that the question does not need.
Answer with one JSON object and nothing else: {"accept": true or false, "reason": "a few words"}"""
_LONGEST_REASON = 80
_REFUSING = frozenset({401, 402, 403, 404, 405})


@dataclass(frozen=True)
class Judgement:
    """What the judge said of one episode."""

    accepted: bool
    reason: str


class Judge:
    """A judge behind an OpenAI-compatible endpoint.

    Raises:
        BadInput: no URL or no model is named.
    """

    def __init__(self, config: EndpointConfig) -> None:
        if not config.url or not config.model:
            missing = "url" if not config.url else "model"
            raise BadInput(
                f"the judge's {missing} is not given, and mined questions have no gold",
                where=f"generate.judge.{missing}",
                mend="Set generate.judge.url and generate.judge.model, or leave generate.mined_questions empty.",
            )
        self.config = config

    def judge(self, trajectories: Sequence[Trajectory]) -> list[Judgement]:
        """One judgement each, in order. An answer that is not exactly what was asked for is a no.

        Raises:
            EnvironmentFailure: the endpoint refuses us or keeps failing.
        """
        return asyncio.run(self._judge(trajectories))

    async def _judge(self, trajectories: Sequence[Trajectory]) -> list[Judgement]:
        key = os.environ.get(self.config.key_variable, "")
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        room = asyncio.Semaphore(self.config.concurrency)
        async with httpx.AsyncClient(headers=headers, timeout=self.config.timeout_seconds) as client:

            async def one(trajectory: Trajectory) -> Judgement:
                async with room:
                    return read_judgement(await self._ask(client, trajectory))

            return list(await asyncio.gather(*(one(each) for each in trajectories)))

    async def _ask(self, client: httpx.AsyncClient, trajectory: Trajectory) -> str:
        body = {
            "model": self.config.model,
            "messages": [
                {"role": "system", "content": PROMPT},
                {"role": "user", "content": episode_text(trajectory)},
            ],
            "temperature": 0.0,
            "max_tokens": self.config.max_new_tokens,
        }
        wait, problem = self.config.first_wait_seconds, ""
        for attempt in range(self.config.retries + 1):
            asked = 0.0
            try:
                answer = await client.post(f"{self.config.url.rstrip('/')}/chat/completions", json=body)
                if answer.is_success:
                    return str(answer.json()["choices"][0]["message"]["content"])
                problem = f"HTTP {answer.status_code}"
                asked = retry_after(answer.headers.get("Retry-After", ""))
                if answer.status_code in _REFUSING:
                    break
            except httpx.HTTPError as error:
                problem = str(error) or type(error).__name__
            except (ValueError, KeyError, IndexError, TypeError):
                return ""  # no chat completion: no clear yes
            if attempt < self.config.retries:
                await asyncio.sleep(min(max(wait, asked), self.config.longest_wait_seconds))
                wait *= 2
        mend = f"Check the URL, the model and {self.config.key_variable}."
        raise EnvironmentFailure(f"the judge does not answer: {problem}", where=self.config.url, mend=mend)


def read_judgement(text: str) -> Judgement:
    """The judge's answer. Only ``{"accept": true, ...}`` as a whole is a yes."""
    try:
        value: Any = json.loads(text)
    except ValueError:
        return Judgement(False, "unreadable_judgement")
    if not isinstance(value, dict) or not isinstance(value.get("accept"), bool):
        return Judgement(False, "unreadable_judgement")
    return Judgement(value["accept"], str(value.get("reason", ""))[:_LONGEST_REASON])


def episode_text(trajectory: Trajectory) -> str:
    """The episode as the judge reads it: one JSON document."""
    looked_up = [
        {"call": call.name, "arguments": dict(call.arguments), "result": observation.value}
        for turn in trajectory.turns
        for call, observation in zip(turn.calls, turn.observations, strict=False)
    ]
    document = {
        "session": dict(trajectory.task.session),
        "question": trajectory.task.question,
        "looked_up": looked_up,
        "reply": trajectory.reply,
    }
    return json.dumps(document, ensure_ascii=False, indent=1)
