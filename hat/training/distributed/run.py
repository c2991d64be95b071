"""Trains a step's model in other processes and brings the result back."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hat.errors import BadInput, EnvironmentFailure
from hat.home import hat_home, store_url
from hat.runs import watch
from hat.runs.config import RunConfig
from hat.runs.places import run_id
from hat.runs.progress import report
from hat.training.distributed import cluster
from hat.training.distributed.config import DistributedConfig
from hat.training.distributed.exchange import Exchange
from hat.training.distributed.trainjob import WORKER, Placement, job_name, train_job

PLACEMENT = "HAT_PLACEMENT"
"""Variable with the placement as JSON. No input of the step: where it trains does not change what comes out."""
POD = ("HAT_POD_NAME", "HAT_POD_UID")
"""Variables with the step's own pod; a job that belongs to it goes when it goes."""
_GRACE_SECONDS = 20.0


def train_elsewhere(exchange: Exchange, settings: RunConfig) -> dict[str, Any]:
    """Train as `settings.distributed` says and return the model's reference.

    The inputs are in the store already. An attempt that was killed goes on from its last checkpoint.

    Raises:
        BadInput: the processes cannot share a step's packs, or no `TrainJob` can be made where one is asked for.
        EnvironmentFailure: training failed, or was cancelled.
    """
    config = settings.distributed
    check_shares(settings)
    # Outside of a pod a kubeconfig may lead to any cluster: only who asks for a job gets one there.
    wanted = config.launcher == "trainjob" or (config.launcher == "auto" and os.environ.get(POD[0]))
    jobs = cluster.connect() if wanted else None
    if jobs is not None and jobs.served():
        _run_job(jobs, exchange, config)
    elif config.launcher == "trainjob":
        raise EnvironmentFailure(
            "the cluster has no trainjobs.trainer.kubeflow.org",
            where="distributed.launcher=trainjob",
            mend="Install Kubeflow Trainer, or set distributed.launcher=auto.",
        )
    else:
        _run_torchrun(exchange, config)
    return exchange.require_result()


def check_shares(settings: RunConfig) -> None:
    """Raise `BadInput` when the processes cannot share an optimiser step's packs evenly."""
    config = settings.distributed
    for processes in {config.processes_per_node, max(config.nodes, 1) * config.processes_per_node}:
        if settings.sft.packs_per_step % processes:
            raise BadInput(
                f"{settings.sft.packs_per_step} packs in a step cannot be shared by {processes} processes",
                where="sft.packs_per_step",
                mend=f"Set it to a multiple of {processes}.",
            )


def _run_job(jobs: cluster.TrainJobs, exchange: Exchange, config: DistributedConfig) -> None:
    placement = _placement()
    if not placement.image:
        raise BadInput(
            "the pods' image is not known", where=PLACEMENT, mend="The pipeline's sft step sets it."
        )
    name = job_name(exchange.key)
    owner = {"name": os.environ.get(POD[0], ""), "uid": os.environ.get(POD[1], "")}
    job = train_job(
        exchange.key,
        config,
        placement,
        environment=_environment(),
        owner=owner if all(owner.values()) else None,
        run=run_id(),
    )
    with cluster.removed_afterwards(jobs, name):
        jobs.create(job)
        try:
            jobs.follow(name, config.poll_seconds, lambda: _report(exchange))
        except EnvironmentFailure as failure:
            told = exchange.error()
            raise (EnvironmentFailure(told, where=failure.where) if told else failure) from failure


def _run_torchrun(exchange: Exchange, config: DistributedConfig) -> None:
    """The same processes on this machine, as many as one node would have."""
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += [f"--nproc-per-node={config.processes_per_node}", "--module", WORKER, exchange.key]
    # The processes watch this one: a step that is killed leaves none behind.
    environment = {**os.environ, **_environment(), watch.RUNNER: str(os.getpid())}
    process = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        while True:
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = process.wait(config.poll_seconds)
                break
            _report(exchange)
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(_GRACE_SECONDS)
    _report(exchange)
    if status:
        what = exchange.error() or f"torchrun ended with status {status}; the step's log says more"
        raise EnvironmentFailure(what, where="sft")


def _report(exchange: Exchange) -> None:
    found = exchange.progress()
    if found is not None:
        report("sft", *found, "distributed")


def _environment() -> dict[str, str]:
    """What the training processes need to find the store, and nothing secret."""
    environment = {"HAT_STORE": store_url(), "HAT_HOME": str(hat_home())}
    names = ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "HF_HUB_OFFLINE", "OMP_NUM_THREADS")
    return environment | {name: os.environ[name] for name in names if name in os.environ}


def _placement() -> Placement:
    document: Mapping[str, Any] = json.loads(os.environ.get(PLACEMENT, "{}"))
    return Placement(
        image=str(document.get("image", "")),
        accelerator_type=str(document.get("accelerator_type", "nvidia.com/gpu")),
        accelerator_count=int(document.get("accelerator_count") or 0),
        node_selector=document.get("node_selector") or {},
        tolerations=document.get("tolerations") or (),
    )


def store_inputs(exchange: Exchange, config: str, subject: str, trajectories_dir: str) -> None:
    """Put what the processes read where they find it."""
    exchange.put_inputs(Path(config), Path(subject), Path(trajectories_dir))
