"""vLLM's OpenAI-compatible server as an engine.

The raw text of a turn is asked for (``tool_choice: none`` keeps the tools in the prompt and leaves calls
unparsed): the episode parses it, so a call that training refuses is refused here, too. vLLM's own parser is
lenient with an unclosed tag, for example.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp

from hat.agent.policies.chat_wire import wire_messages
from hat.serving.engines import model_name
from hat.serving.service.engine import Completion, EngineFault
from hat.serving.service.streams import events, get_json


class VllmEngine:
    """The server at ``url`` (without `/v1`)."""

    def __init__(self, session: aiohttp.ClientSession, url: str) -> None:
        self.url = url.rstrip("/").removesuffix("/v1")
        self._session = session

    async def find(self, harness: str, model_digest: str) -> "VllmModel | None":
        """See `Engine.find`: the export serves the model under a name with its digest, too."""
        model = VllmModel(self._session, self.url, model_name(harness, model_digest))
        return model if await model.is_served() else None


class VllmModel:
    """A model by its name with the digest: a server that was given another one answers 404."""

    def __init__(self, session: aiohttp.ClientSession, url: str, name: str) -> None:
        self.url = url
        self._session = session
        self._name = name

    async def is_served(self) -> bool:
        """See `ServedModel.is_served`."""
        listed = await get_json(self._session, f"{self.url}/v1/models")
        try:
            return self._name in {str(model["id"]) for model in listed["data"]}
        except (KeyError, TypeError) as error:
            raise EngineFault("unreadable", f"{self.url}: not a list of models") from error

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], max_new_tokens: int
    ) -> Completion:
        """See `ServedModel.complete`."""
        body: dict[str, Any] = {
            "model": self._name,
            "messages": wire_messages(messages),
            "temperature": 0.0,
            "max_tokens": max_new_tokens,
            "skip_special_tokens": False,
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        if tools:
            body |= {"tools": list(tools), "tool_choice": "none"}
        clock = asyncio.get_running_loop().time
        parts: list[str] = []
        first_token = 0.0
        tokens = 0
        async for data in events(self._session, f"{self.url}/v1/chat/completions", body):
            if data == "[DONE]":
                return Completion("".join(parts), first_token or clock(), tokens)
            text, used = _read_chunk(data)
            if text and not parts:
                first_token = clock()
            if text:
                parts.append(text)
            tokens = used or tokens
        raise EngineFault("broken_off", f"{self.url}: the answer ended before it was complete")


def _read_chunk(data: str) -> tuple[str, int]:
    """The text of one event, and the number of sampled tokens where it tells."""
    try:
        chunk = json.loads(data)
        if "error" in chunk:
            raise EngineFault("failed", f"the engine says {chunk['error']}")
        usage = chunk.get("usage") or {}
        choices = chunk.get("choices") or []
        text = (choices[0].get("delta") or {}).get("content") or "" if choices else ""
        if not isinstance(text, str):
            raise TypeError("content is not text")
        return text, int(usage.get("completion_tokens") or 0)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise EngineFault("unreadable", f"not a piece of a chat completion: {error}") from error
