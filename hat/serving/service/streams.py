"""Requests to an engine over HTTP: server-sent events in, every kind of failure as an `EngineFault`."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp

from hat.serving.service.engine import EngineFault

_OVERLOADED = frozenset({408, 429, 503})
_LISTING_SECONDS = 5.0
_LONGEST_LINE = 1 << 20


def open_session(concurrency: int) -> aiohttp.ClientSession:
    """Connections kept alive for ``concurrency`` requests; deadlines are the caller's."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=concurrency + 4),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=5.0),
        read_bufsize=_LONGEST_LINE,
    )


async def get_json(session: aiohttp.ClientSession, url: str) -> Any:
    """One JSON document. Raises `EngineFault`."""
    try:
        async with asyncio.timeout(_LISTING_SECONDS), session.get(url) as response:
            if response.status != 200:
                raise EngineFault("failed", f"HTTP {response.status} from {url}")
            return json.loads(await response.read())
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        raise EngineFault("unreachable", f"{url}: {error or type(error).__name__}") from error
    except ValueError as error:
        raise EngineFault("unreadable", f"{url}: {error}") from error


async def events(session: aiohttp.ClientSession, url: str, body: Any) -> AsyncIterator[str]:
    """The data of each server-sent event that the engine answers a request with.

    Raises:
        EngineFault: no answer, an answer that is not an event stream, or one that breaks off.
    """
    begun = False
    try:
        async with session.post(url, json=body) as response:
            if response.status != 200:
                raise _refusal(response.status, await response.text())
            if response.content_type != "text/event-stream":
                raise EngineFault("unreadable", f"answered with {response.content_type}, not with events")
            async for line in response.content:
                begun = True
                if line.startswith(b"data:"):
                    yield line[5:].decode("utf-8").strip()
    except UnicodeDecodeError as error:
        raise EngineFault("unreadable", f"an event is not UTF-8: {error}") from error
    except (aiohttp.ClientError, OSError, ValueError) as error:
        code = "broken_off" if begun or isinstance(error, aiohttp.ServerDisconnectedError) else "unreachable"
        raise EngineFault(code, f"{url}: {error or type(error).__name__}") from error


def _refusal(status: int, text: str) -> EngineFault:
    code = "overloaded" if status in _OVERLOADED else "failed" if status >= 500 else "refused"
    return EngineFault(code, f"HTTP {status}: {' '.join(text.split())[:200]}")
