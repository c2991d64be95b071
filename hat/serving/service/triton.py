"""Triton's vLLM backend as an engine, through the generate extension.

The backend takes finished text, so the conversation is rendered here, with the model's own chat template.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import aiohttp

from hat.serving.engines import TRITON_SOURCE_MODEL
from hat.serving.service.engine import Completion, EngineFault
from hat.serving.service.streams import events, get_json

Render = Callable[[Sequence[Mapping[str, Any]], Sequence[Mapping[str, Any]]], str]
"""(messages, tools) -> the text up to where the assistant speaks."""
LoadTemplate = Callable[[str], Render]
"""The renderer of the model with that digest."""


class TritonEngine:
    """The server at ``url``; its model is called as the harness is."""

    def __init__(self, session: aiohttp.ClientSession, url: str, load_template: LoadTemplate) -> None:
        self.url = url.rstrip("/")
        self._session = session
        self._load_template = load_template

    async def find(self, harness: str, model_digest: str) -> "TritonModel | None":
        """See `Engine.find`."""
        place = f"{self.url}/v2/models/{harness}"
        if not await _has(self._session, place, model_digest):
            return None
        render = await asyncio.to_thread(self._load_template, model_digest)
        return TritonModel(self._session, self.url, place, model_digest, render)


class TritonModel:
    """A model at its place, which keeps its name when the model changes: each turn first asks which one it is.

    That costs a millisecond. A server that was started with another model in between cannot be missed: no answer comes
    from a server that is being started.
    """

    def __init__(
        self, session: aiohttp.ClientSession, url: str, place: str, digest: str, render: Render
    ) -> None:
        self.url = url
        self._session = session
        self._place = place
        self._digest = digest
        self._render = render

    async def is_served(self) -> bool:
        """See `ServedModel.is_served`."""
        return await _has(self._session, self._place, self._digest)

    async def complete(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]], max_new_tokens: int
    ) -> Completion:
        """See `ServedModel.complete`."""
        if not await self.is_served():
            raise EngineFault("refused", f"{self.url} no longer serves model {self._digest[:12]}")
        sampling = {"temperature": 0, "max_tokens": max_new_tokens, "skip_special_tokens": False}
        body = {
            "text_input": self._render(messages, tools),
            "stream": True,
            "exclude_input_in_output": True,
            "return_finish_reason": True,
            "return_num_output_tokens": True,
            "sampling_parameters": json.dumps(sampling),
        }
        clock = asyncio.get_running_loop().time
        parts: list[str] = []
        first_token = 0.0
        tokens = 0
        async for data in events(self._session, f"{self._place}/generate_stream", body):
            text, used, finished = _read_piece(data)
            if text and not first_token:
                first_token = clock()
            parts.append(text)
            tokens += used
            if finished:
                return Completion("".join(parts), first_token or clock(), tokens)
        raise EngineFault("broken_off", f"{self.url}: the answer ended before it was complete")


async def _has(session: aiohttp.ClientSession, place: str, model_digest: str) -> bool:
    """Whether the configuration there names that model as the one that it was exported from."""
    config = await get_json(session, f"{place}/config")
    try:
        return bool(config["parameters"][TRITON_SOURCE_MODEL]["string_value"] == model_digest)
    except (KeyError, TypeError):
        return False


def _read_piece(data: str) -> tuple[str, int, bool]:
    """The text of one event, the number of its tokens, and whether it is the last."""
    try:
        piece = json.loads(data)
        if "error" in piece:
            raise EngineFault("failed", f"the engine says {piece['error']}")
        text = piece["text_output"]
        if not isinstance(text, str):
            raise TypeError("text_output is not text")
        finish = str(piece.get("finish_reason", "None"))
        return text, int(piece.get("num_output_tokens") or 0), finish not in ("None", "")
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise EngineFault("unreadable", f"not a piece of generated text: {error}") from error
