"""An OpenAI-compatible server that misbehaves on purpose. Only faults are tested with it, never a model."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

LOAD_DECLINE = '<tool_call>{"name": "load_skill", "arguments": {"name": "polite-decline"}}</tool_call>'
DECLINE = "Sorry, I cannot answer that."

Turn = Callable[[Sequence[dict[str, Any]]], str]


def polite(messages: Sequence[dict[str, Any]]) -> str:
    """Loads a skill, then declines: an episode that passes every hook of the live shop."""
    return DECLINE if any(message["role"] == "tool" for message in messages) else LOAD_DECLINE


@dataclass
class FakeEngine:
    """Faults are used up in order, one a request: `die`, `garbage`, `not-events`, `cut`, or an HTTP status."""

    models: list[str]
    turn: Turn = polite
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0
    """How long a turn takes."""
    asked: list[str] = field(default_factory=list)
    """The model that each request named."""
    bodies: list[dict[str, Any]] = field(default_factory=list)
    """What was asked, in order."""
    served: int = 0
    cancelled: int = 0
    """Requests whose client went away."""
    url: str = ""
    runner: web.AppRunner | None = None

    async def stop(self) -> None:
        """Cut off every answer under way and listen no more, as when the process is killed."""
        assert self.runner is not None
        assert self.runner.server is not None
        for connection in list(self.runner.server.connections):
            if connection.transport is not None:
                connection.transport.abort()
        await self.runner.cleanup()

    async def say_healthy(self, request: web.Request) -> web.Response:
        return web.Response()

    async def list_models(self, request: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [{"id": name} for name in self.models]})

    async def complete(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.asked.append(body["model"])
        if body["model"] not in self.models:
            return web.json_response({"error": {"message": "no such model"}}, status=404)
        self.bodies.append(body)
        fault = self.faults.pop(0) if self.faults else ""
        if not body.get("stream"):
            message = {"role": "assistant", "content": self.turn(body["messages"])}
            return web.json_response({"choices": [{"message": message}]})
        if fault.isdigit():
            return web.json_response({"error": {"message": "as told"}}, status=int(fault))
        if fault == "not-events":
            return web.json_response({"choices": []})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        text = self.turn(body["messages"])
        half = len(text) // 2
        await _send(response, text[:half])
        if fault == "die":
            assert request.transport is not None
            request.transport.abort()
            return response
        if fault == "garbage":
            await response.write(b"data: {not json\n\n")
            return response
        if fault == "cut":
            await response.write_eof()
            return response
        try:
            await asyncio.sleep(self.seconds)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        await _send(response, text[half:])
        await response.write(b'data: {"choices": [], "usage": {"completion_tokens": 7}}\n\ndata: [DONE]\n\n')
        await response.write_eof()
        self.served += 1
        return response


@asynccontextmanager
async def fake_engine(*models: str, port: int = 0, **settings: Any) -> AsyncIterator[FakeEngine]:
    """A running engine that lists ``models``."""
    engine = FakeEngine(list(models), **settings)
    app = web.Application(client_max_size=1 << 22)
    app.router.add_get("/health", engine.say_healthy)
    app.router.add_get("/v1/models", engine.list_models)
    app.router.add_post("/v1/chat/completions", engine.complete)
    runner = web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port, reuse_address=True).start()
    engine.runner = runner
    engine.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield engine
    finally:
        await runner.cleanup()


async def _send(response: web.StreamResponse, text: str) -> None:
    data = json.dumps({"choices": [{"delta": {"content": text}}]})
    await response.write(f"data: {data}\n\n".encode())
