"""Keeps the served pair what the ledger says it should be, without ever serving a pair that was not promoted.

A harness for the model that is served already is swapped in between two questions; questions under way end
under the harness that they began with. A new model is swapped in when an engine serves it and has answered a
first request; until then the old pair, harness and model, stays. A store that cannot be reached changes nothing.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import HatError
from hat.harness.render import render_system_prompt, render_tools
from hat.serving.service.engine import Engine, EngineFault, ServedModel
from hat.serving.service.metrics import ServiceMetrics
from hat.serving.service.pair import ServedPair
from hat.serving.service.source import PairSource, WantedPair
from hat.serving.service.threads import DaemonThreads

_LOG = logging.getLogger(__name__)
_LEDGER_SECONDS = 20.0
"""Patience with one look at the store."""
_WARM_UP_SECONDS = 60.0


class PairFollower:
    """Holds the served pair and renews it."""

    def __init__(self, source: PairSource, engines: Sequence[Engine], metrics: ServiceMetrics) -> None:
        self.pair: ServedPair | None = None
        """What new questions are answered with; None until the first pair is warm."""
        self.not_ready = "starting"
        """Why the service is not ready; empty when it is."""
        self._source = source
        self._engines = engines
        self._metrics = metrics
        self._threads = DaemonThreads(limit=4)
        self._served: WantedPair | None = None

    async def follow(self, seconds: float) -> None:
        """Look again and again, until cancelled."""
        while True:
            await self.look()
            await asyncio.sleep(seconds)

    async def look(self) -> None:
        """One look at the ledger and the engine; never raises."""
        try:
            async with asyncio.timeout(_LEDGER_SECONDS):
                wanted = await self._threads.run(self._source.wanted)
        except Exception as error:  # noqa: BLE001  the store's client may raise anything; what is served stays
            self._metrics.ledger_failures.inc()
            self._remark(f"the ledger cannot be read: {error or type(error).__name__}")
            wanted = self._served
        else:
            if wanted is None:
                self._remark("nothing is in production")
        if wanted is not None:
            await self._serve(wanted)
        self._metrics.ready.set(0 if self.not_ready else 1)

    async def _serve(self, wanted: WantedPair) -> None:
        served = self._served
        if served is None or not served.same_pair(wanted):
            if await self._change_to(wanted):
                return
            if served is None:
                return
        assert self.pair is not None
        try:
            if not await self.pair.model.is_served():
                raise EngineFault("refused", f"{self.pair.model.url} no longer serves the model")
        except EngineFault as fault:
            self.not_ready = str(fault)
            return
        if served is not None and served.same_pair(wanted):
            self.pair = replace(self.pair, sequence=wanted.sequence)
            self._metrics.show_pair(self.pair)
            self._metrics.behind.set(0)
        self.not_ready = ""

    async def _change_to(self, wanted: WantedPair) -> bool:
        """Serve another pair, if it can be served now; else the old one, which is a promoted one, too, stays."""
        name = f"{wanted.harness}@{wanted.version} with model {wanted.model_digest[:12]}"
        try:
            self.pair = await self._prepare(wanted)
        except (EngineFault, HatError, TimeoutError) as error:
            self._metrics.behind.set(1)
            self._remark(f"cannot serve {name} yet: {error or type(error).__name__}")
            return False
        self._served = wanted
        self._metrics.show_pair(self.pair)
        self._metrics.behind.set(0)
        self.not_ready = ""
        _LOG.info("serving %s", name)
        return True

    async def _prepare(self, wanted: WantedPair) -> ServedPair:
        async with asyncio.timeout(_LEDGER_SECONDS):
            harness = await self._threads.run(lambda: self._source.load(wanted))
        domain = get_domain(harness.domain)
        model = await self._model_of(wanted)
        session = domain.sample_session(0, "dev")
        # Computes the harness prompt once, so that the first viewer does not wait for it.
        warm_up = [
            {"role": "system", "content": render_system_prompt(harness, session)},
            {"role": "user", "content": "Hello"},
        ]
        async with asyncio.timeout(_WARM_UP_SECONDS):
            await model.complete(warm_up, render_tools(harness), 1)
        state = HarnessState.original(harness)
        return ServedPair(wanted.environment, wanted.sequence, state, wanted.model_digest, domain, model)

    async def _model_of(self, wanted: WantedPair) -> ServedModel:
        problems = []
        for engine in self._engines:
            try:
                model = await engine.find(wanted.harness, wanted.model_digest)
                if model is not None:
                    return model
                problems.append(f"{engine.url} does not serve model {wanted.model_digest[:12]}")
            except EngineFault as fault:
                problems.append(str(fault))
        raise EngineFault("unreachable", "; ".join(problems))

    def _remark(self, problem: str) -> None:
        """Log it; without a pair it is also why the service is not ready."""
        _LOG.warning("%s", problem)
        if self.pair is None:
            self.not_ready = problem
