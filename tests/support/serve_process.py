"""`hat serve` as the process that an operator starts."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp

from tests.support.engines import REPOSITORY


@dataclass
class ServeProcess:
    """A running service; ``url`` is what it printed."""

    url: str
    process: asyncio.subprocess.Process

    def memory_bytes(self) -> int:
        """Resident memory now (proc(5): statm)."""
        with open(f"/proc/{self.process.pid}/statm", encoding="ascii") as handle:
            return int(handle.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@asynccontextmanager
async def serve_process(store: str, *arguments: str) -> AsyncIterator[ServeProcess]:
    """`hat serve live-shop ARGUMENTS`, ready."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "pipelines.cli",
        "serve",
        "live-shop",
        "--port=0",
        "--hardware=cpu",
        *arguments,
        env={**os.environ, "HAT_STORE": store, "PYTHONPATH": str(REPOSITORY)},
        cwd=REPOSITORY,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    assert process.stdout is not None
    try:
        line = await asyncio.wait_for(process.stdout.readline(), 120)
        service = ServeProcess(line.decode().strip(), process)
        async with aiohttp.ClientSession() as session, asyncio.timeout(120):
            while True:
                async with session.get(f"{service.url}/readyz") as response:
                    if response.status == 200:
                        break
                await asyncio.sleep(0.05)
        yield service
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
