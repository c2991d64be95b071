"""Starts real engines in the serving environment (`make serve-env`): vLLM's server and Triton's."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from hat.models.precision import computes_in_bfloat16

REPOSITORY = Path(__file__).parents[2]
ENVIRONMENT = Path(os.environ.get("HAT_SERVE_ENV", REPOSITORY / ".venv-serve"))
_START_SECONDS = 420


@dataclass
class Server:
    """A running engine."""

    url: str
    process: subprocess.Popen[bytes]
    log: Path
    grpc: str = ""


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def require_environment() -> Path:
    """The serving environment's folder. Tests without it are skipped, but fail where `HAT_SERVE_ENV` promises it."""
    if not (ENVIRONMENT / "installed").exists():
        if "HAT_SERVE_ENV" in os.environ:
            pytest.fail(f"HAT_SERVE_ENV={ENVIRONMENT} is no finished serving environment: make serve-env")
        pytest.skip("no serving environment: make serve-env")
    return ENVIRONMENT


def engine_variables() -> dict[str, str]:
    """The environment variables under which engines are started, as docs/how-to/serve-a-model.md has them."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
    return {
        **kept,
        "PATH": f"{ENVIRONMENT / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "VLLM_TARGET_DEVICE": "cpu",
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_NO_USAGE_STATS": "1",
    }


@contextmanager
def vllm_server(folder: Path, log: Path) -> Iterator[Server]:
    """`vllm serve --config vllm.yaml` in an exported folder, in the precision that docs/how-to/serve-a-model.md has."""
    require_environment()
    (port,) = free_ports(1)
    command = ["vllm", "serve", "--config", "vllm.yaml", "--host", "127.0.0.1", "--port", str(port)]
    if not computes_in_bfloat16():
        command += ["--dtype", "float32"]
    with _running(command, folder, engine_variables(), log) as process:
        server = Server(f"http://127.0.0.1:{port}", process, log)
        _wait(server, "/health")
        yield server


@contextmanager
def triton_server(folder: Path, backends: Path, log: Path) -> Iterator[Server]:
    """`tritonserver --model-repository=model_repository` in an exported folder, its vLLM backend being ours."""
    environment = require_environment()
    (site,) = (environment / "lib").glob("python*/site-packages")
    bundled = site / "pytriton" / "tritonserver"
    _lay_out_backends(bundled, backends, site.parent.name.removeprefix("python"))
    http, grpc, metrics = free_ports(3)
    command = [
        str(bundled / "bin" / "tritonserver"),
        "--model-repository=model_repository",
        f"--backend-directory={backends}",
        "--http-address=127.0.0.1",
        f"--http-port={http}",
        "--grpc-address=127.0.0.1",
        f"--grpc-port={grpc}",
        f"--metrics-port={metrics}",
        "--exit-timeout-secs=5",
    ]
    # The stub embeds Python: it must load the library of the very Python whose modules it then imports.
    libraries = {"LD_LIBRARY_PATH": f"{_python_libraries(environment)}:{site / 'nvidia_pytriton.libs'}"}
    with _running(command, folder, {**engine_variables(), **libraries}, log) as process:
        server = Server(f"http://127.0.0.1:{http}", process, log, grpc=f"127.0.0.1:{grpc}")
        _wait(server, "/v2/health/ready")
        yield server


def _python_libraries(environment: Path) -> str:
    """The folder of the environment's own libpython."""
    question = "import sysconfig; print(sysconfig.get_config_var('LIBDIR'))"
    python = str(environment / "bin" / "python")
    return subprocess.run([python, "-c", question], capture_output=True, text=True, check=True).stdout.strip()


def _lay_out_backends(bundled: Path, backends: Path, version: str) -> None:
    """The folder of backends: the bundled python backend with the stub of our Python, and ours as `vllm`."""
    shutil.copytree(bundled / "backends" / "python", backends / "python")
    stub = bundled / "python_backend_stubs" / version / "triton_python_backend_stub"
    shutil.copy2(stub, backends / "python" / "triton_python_backend_stub")
    shutil.copytree(Path(__file__).parent / "triton_vllm", backends / "vllm")


@contextmanager
def _running(
    command: Sequence[str], folder: Path, variables: Mapping[str, str], log: Path
) -> Iterator[subprocess.Popen[bytes]]:
    with open(log, "ab") as handle:
        process = subprocess.Popen(
            command, cwd=folder, env=dict(variables), stdout=handle, stderr=handle, start_new_session=True
        )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        _end_group(process.pid)
        process.wait()


def _end_group(group: int) -> None:
    """An engine's own children may outlive it."""
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def _wait(server: Server, path: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            if httpx.get(f"{server.url}{path}", timeout=5).status_code == 200:
                return
        except httpx.HTTPError:
            pass
        if server.process.poll() is not None or time.monotonic() > deadline:
            tail = server.log.read_text(errors="replace")[-4000:]
            raise RuntimeError(f"the engine did not come up:\n{tail}")
        time.sleep(0.5)
