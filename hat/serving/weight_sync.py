"""vLLM whose weights follow a model in training, so that rollouts are sampled from the policy that is improved.

Uses vLLM's endpoints for online reinforcement learning (`VLLM_SERVER_DEV_MODE`), on this machine's own address only:
weights go by way of the disk, then the prefix cache is dropped, and the version is noted in the server, where `check`
finds it.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from hat.errors import EnvironmentFailure
from hat.files import as_environment_failure
from hat.harness.model import Harness
from hat.serving.config import EngineConfig, ExportConfig
from hat.serving.export import staging
from hat.serving.vllm_server import Served, engines_folder, served_model

_SECONDS = 600.0
ROLLOUT_ARGUMENTS: dict[str, Any] = {"logprobs-mode": "processed_logprobs"}
"""Log-probabilities under the distribution that is sampled from, temperature included."""


class SyncedServer:
    """The server and the policy version it holds: the optimiser steps made so far; -1 before `sync`."""

    def __init__(self, served: Served, folder: Path) -> None:
        self.served = served
        self.version = -1
        self._folder = folder

    def sync(self, model: Any, version: int) -> None:
        """Give the server the weights of ``model``, which is at ``version``, if it does not have them yet.

        Raises:
            EnvironmentFailure: the disk is full, or the server does not take them.
        """
        if version == self.version:
            return
        target = self._folder / f"weights-{version}"
        try:
            _write(model, target)
            self._post(
                "collective_rpc", {"method": "reload_weights", "kwargs": {"weights_path": str(target)}}
            )
        except OSError as error:
            raise as_environment_failure(error, target) from error
        finally:
            shutil.rmtree(target, ignore_errors=True)  # the server has read them
        if not self._post("reset_prefix_cache", {}).get("success"):
            raise EnvironmentFailure(
                "the server still holds prefixes that other weights computed", where=self.served.url
            )
        self._post("update_weight_version", {"new_version": str(version)})
        self.version = version

    def check(self, model: Any, version: int) -> None:
        """Raises `EnvironmentFailure` when the server does not have ``version``: rollouts would be stale."""
        try:
            answer = httpx.get(f"{self.served.url}/weight_info", timeout=_SECONDS)
            held = str(answer.raise_for_status().json()["weight_version"])
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise EnvironmentFailure(
                f"the server does not tell its weights' version: {error}", where=self.served.url
            ) from error
        if held != str(version) or version != self.version:
            raise EnvironmentFailure(
                f"the server's weights are of policy version {held}, the model's of {version}",
                where="rollouts",
                mend="It must be synced after every optimiser step; a server that was started again has none.",
            )

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        try:
            answer = httpx.post(f"{self.served.url}/{path}", json=body, timeout=_SECONDS).raise_for_status()
            return dict(answer.json()) if answer.content else {}
        except (httpx.HTTPError, ValueError, TypeError) as error:
            raise EnvironmentFailure(
                f"the weights were not taken: {path}: {error}", where=self.served.url
            ) from error


@contextmanager
def synced_server(
    model: Path,
    harness: Harness,
    digest: str,
    export: ExportConfig,
    engine: EngineConfig,
    arguments: dict[str, Any],
) -> Iterator[SyncedServer]:
    """A server that begins with the model folder's weights.

    Args:
        arguments: of `vllm serve`, beside the export's, the engine's and what rollouts need.

    Raises:
        BadInput: vLLM is not there, or the model cannot be served.
        EnvironmentFailure: the server does not come up, or the disk is full.
    """
    changed = engine.model_copy(
        update={
            "variables": {**engine.variables, "VLLM_SERVER_DEV_MODE": "1"},
            "arguments": {**engine.arguments, **ROLLOUT_ARGUMENTS, **arguments},
        }
    )
    with (
        staging(engines_folder()) as folder,
        served_model(model, harness, digest, export, changed) as served,
    ):
        yield SyncedServer(served, folder)


def _write(model: Any, target: Path) -> None:
    """The model's weights, rounded to bfloat16 as it is served."""
    import torch

    state = {name: tensor.detach().to("cpu", torch.bfloat16) for name, tensor in model.state_dict().items()}
    model.save_pretrained(target, state_dict=state)
