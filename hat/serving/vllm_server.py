"""vLLM's server as a child of a step: a pod of a pipeline has no room for a sidecar."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import yaml

from hat.errors import BadInput, EnvironmentFailure
from hat.files import as_environment_failure, write_text_atomic
from hat.harness.model import Harness
from hat.home import hat_home
from hat.serving.config import EngineConfig, ExportConfig
from hat.serving.engines import VLLM_SETTINGS, model_name, vllm_arguments
from hat.serving.export import staging, tools_of
from hat.serving.model_folder import write_serving_model

_POLL_SECONDS = 0.5
_GRACE_SECONDS = 30.0
_TOLD_CHARACTERS = 300
_ABANDONED_SECONDS = 48 * 3600.0
"""Several times what any step may take."""


@dataclass(frozen=True)
class Served:
    """A model that this machine serves now."""

    url: str
    """The server's address, without `/v1`."""
    model: str
    """The model's name there; it has the digest in it."""


def find_vllm(engine: EngineConfig) -> str:
    """The path of vLLM's executable.

    Raises:
        BadInput: there is none.
    """
    found = shutil.which(engine.command)
    if found is None:
        raise BadInput(
            f"no executable {engine.command!r}",
            where="engine.command",
            mend="Install vLLM into an environment of its own and give the path of its `vllm`.",
        )
    return str(Path(found).absolute())


@contextmanager
def served_model(
    model: Path, harness: Harness, digest: str, export: ExportConfig, engine: EngineConfig
) -> Iterator[Served]:
    """Serve a model folder as its export for the harness would be served, while the context lasts.

    Args:
        digest: the model's, as the ledger names it.

    Raises:
        BadInput: vLLM is not there, or the model cannot be served.
        EnvironmentFailure: the server does not come up, or the disk is full.
    """
    find_vllm(engine)
    with staging(engines_folder()) as place:
        folder = place / "served"
        write_serving_model(model, folder, max_model_len=export.max_model_len, tools=tools_of(harness))
        settings = {**vllm_arguments(harness.name, digest, export), **engine.arguments}
        write_text_atomic(folder / VLLM_SETTINGS, yaml.safe_dump(settings, sort_keys=False))
        with vllm_server(folder, engine, place / "log") as url:
            yield Served(url, model_name(harness.name, digest))


def engines_folder() -> Path:
    """Where models lie while they are served. What a killed step left there is removed once no step can be using it."""
    folder = hat_home() / "cache" / "engines"
    if folder.is_dir():
        for left in folder.iterdir():
            with suppress(OSError):  # another step may be removing it
                if time.time() - left.stat().st_mtime > _ABANDONED_SECONDS:
                    shutil.rmtree(left, ignore_errors=True)
    return folder


@contextmanager
def vllm_server(folder: Path, engine: EngineConfig, log: Path) -> Iterator[str]:
    """The address of vLLM's server on an exported folder, which ends with the context or with this process.

    Raises:
        BadInput: vLLM is not there.
        EnvironmentFailure: it ends, or does not answer in `engine.start_seconds`; the end of its log says why.
    """
    port = _free_port()
    command = [sys.executable, "-m", "hat.serving.guarded", str(os.getpid()), find_vllm(engine), "serve"]
    command += ["--config", VLLM_SETTINGS, "--host", "127.0.0.1", "--port", str(port)]
    paths = os.pathsep.join(part for part in (_root(), os.environ.get("PYTHONPATH", "")) if part)
    environment = {**os.environ, **engine.variables, "PYTHONPATH": paths}
    try:
        with open(log, "wb") as handle:
            process = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=handle, stderr=handle
            )
    except OSError as error:
        raise as_environment_failure(error, log) from error
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(process, url, engine.start_seconds, log)
        yield url
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_SECONDS)
        process.kill()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", url: str, seconds: float, log: Path) -> None:
    deadline = time.monotonic() + seconds
    while True:
        with suppress(httpx.HTTPError):
            if httpx.get(f"{url}/health", timeout=5).status_code == 200:
                return
        ended = process.poll() is not None
        if ended or time.monotonic() > deadline:
            what = "ended before it served" if ended else f"did not serve within {seconds:g} s"
            raise EnvironmentFailure(f"vLLM {what}: {_last_words(log)}", where="engine=vllm")
        time.sleep(_POLL_SECONDS)


def _last_words(log: Path) -> str:
    """The last error that the log tells, else its last line."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if "Error" in line]
    return (errors or lines or ["it said nothing"])[-1][-_TOLD_CHARACTERS:]


def _root() -> str:
    """Where this package is, for the child that watches over the server."""
    return str(Path(__file__).resolve().parents[2])


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
