"""The HTTP side of the service: routes, bodies, server-sent events."""

import asyncio
import json
import logging
from typing import Any

from aiohttp import web
from prometheus_client import CONTENT_TYPE_LATEST

from hat.serving.service.answer import turn_document
from hat.serving.service.answering import Answering
from hat.serving.service.config import ServiceConfig
from hat.serving.service.follow import PairFollower
from hat.serving.service.metrics import ServiceMetrics
from hat.serving.service.requests import AnswerError, Question, read_question
from hat.trajectories.record import Turn

_LOG = logging.getLogger(__name__)
QUESTIONS = "/v1/questions"
PAIR = "/v1/pair"


def build_app(
    config: ServiceConfig, answering: Answering, follower: PairFollower, metrics: ServiceMetrics
) -> web.Application:
    """The application. It owns nothing: whoever calls starts and stops the follower."""

    async def ask(request: web.Request) -> web.StreamResponse:
        arrived = asyncio.get_running_loop().time()
        try:
            question = read_question(await _body(request), config.max_question_characters)
        except AnswerError as error:
            metrics.refused.labels(error.code).inc()
            return _error(error)
        if question.stream or "text/event-stream" in request.headers.get("Accept", ""):
            return await _stream(request, answering, question, arrived)
        try:
            return _json(await answering.answer(question, arrived))
        except AnswerError as error:
            return _error(error)

    async def show_pair(request: web.Request) -> web.Response:
        pair = follower.pair
        if pair is None:
            return _error(AnswerError(503, "not_ready", follower.not_ready, retry_after=5))
        about = {"engine": config.engine, "hardware": config.hardware, "concurrency": config.concurrency}
        return _json({"schema_version": 1, **pair.document(), **about})

    async def health(request: web.Request) -> web.Response:
        return _json({"status": "ok"})

    async def ready(request: web.Request) -> web.Response:
        reason = "draining" if answering.admission.draining else follower.not_ready
        return _json({"ready": not reason, "reason": reason}, status=503 if reason else 200)

    async def show_metrics(request: web.Request) -> web.Response:
        return web.Response(body=metrics.text(), headers={"Content-Type": CONTENT_TYPE_LATEST})

    app = web.Application(client_max_size=config.max_body_bytes, middlewares=[_last_resort])
    app.router.add_post(QUESTIONS, ask)
    app.router.add_get(PAIR, show_pair)
    app.router.add_get("/healthz", health)
    app.router.add_get("/readyz", ready)
    app.router.add_get("/metrics", show_metrics)
    return app


async def _stream(
    request: web.Request, answering: Answering, question: Question, arrived: float
) -> web.StreamResponse:
    """Events: one `turn` for each turn, then `answer` or `error`.

    A reply is sent whole, when its hooks have let it pass: text that a hook may still block never leaves.
    """
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-store"})

    async def send(event: str, document: dict[str, Any]) -> None:
        if not response.prepared:
            await response.prepare(request)
        data = json.dumps(document, ensure_ascii=False)
        await response.write(f"event: {event}\ndata: {data}\n\n".encode())

    async def on_turn(number: int, turn: Turn) -> None:
        await send("turn", turn_document(number, turn))

    try:
        await send("answer", await answering.answer(question, arrived, on_turn))
    except AnswerError as error:
        if not response.prepared:
            return _error(error)
        await send("error", error.document())
    await response.write_eof()
    return response


async def _body(request: web.Request) -> bytes:
    try:
        return await request.read()
    except web.HTTPRequestEntityTooLarge as error:
        raise AnswerError(413, "too_large", "the body is too large") from error


@web.middleware
async def _last_resort(request: web.Request, handler: Any) -> web.StreamResponse:
    """Unknown paths and mistakes of ours are answered with JSON, too, and never with a traceback."""
    try:
        response: web.StreamResponse = await handler(request)
        return response
    except web.HTTPException as error:
        return _error(AnswerError(error.status, "http", error.reason))
    except ConnectionError:
        raise
    except Exception:  # noqa: BLE001  the last place
        _LOG.exception("%s %s failed", request.method, request.path)
        return _error(AnswerError(500, "internal", "the service made a mistake; its log has more"))


def _json(document: dict[str, Any], status: int = 200) -> web.Response:
    return web.Response(
        text=json.dumps(document, ensure_ascii=False), status=status, content_type="application/json"
    )


def _error(error: AnswerError) -> web.Response:
    response = _json(error.document(), error.status)
    if error.retry_after is not None:
        response.headers["Retry-After"] = str(error.retry_after)
    return response
