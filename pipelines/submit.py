"""Starts a run on a Kubeflow cluster through the real client."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry
from hat.home import store_url
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.steps.resolve import read_settings
from pipelines.compile import check_images, compile_profile
from pipelines.profile import load_profile
from pipelines.start import RunRequest
from pipelines.version import code_version

MAX_PARAMETER_CHARACTERS = 10_000
"""The cluster refuses longer parameters."""


def submit_run(
    request: RunRequest, registry: Registry, endpoint: str, images: Mapping[str, str], namespace: str | None
) -> dict[str, Any]:
    """Publish the harness, compile the profile and create a run; its name, id and address.

    Raises:
        BadInput: anything that can be known to be wrong here, unpinned images included.
        EnvironmentFailure: the API cannot be reached or refuses.
    """
    if not check_images(images):
        raise BadInput(
            "a cluster needs the images",
            where="--image",
            mend="Give --image cpu=NAME@sha256:... and train=...",
        )
    profile = load_profile(request.profile)
    overrides = json.dumps(request.overrides, ensure_ascii=False, sort_keys=True)
    read_settings(profile.settings_json(), overrides, code_version())
    if len(overrides) > MAX_PARAMETER_CHARACTERS:
        raise BadInput(f"more than {MAX_PARAMETER_CHARACTERS} characters of settings", where="--set")
    if "://" not in store_url():
        raise BadInput(
            "pods cannot read a folder of this machine",
            where=f"HAT_STORE={store_url()}",
            mend="Set it to an s3:// URL.",
        )
    harness = publish_harness(open_run_store(), registry, request.harness, request.version)
    arguments = {
        "harness": harness.name,
        "version": harness.version,
        "harness_digest": harness.digest,
        "mode": request.mode,
        "overrides": overrides,
        "code_version": code_version(),
    }
    run_name = f"{harness.name} {harness.version} {code_version()[:8]}"
    with tempfile.TemporaryDirectory(prefix="hat-submit-") as folder:
        package = compile_profile(request.profile, Path(folder), images)
        return _create(endpoint, package, arguments, run_name, namespace, harness.name)


def _create(
    endpoint: str,
    package: Path,
    arguments: dict[str, str],
    run_name: str,
    namespace: str | None,
    experiment: str,
) -> dict[str, Any]:
    check_reachable(endpoint)
    import kfp
    from kfp_server_api.exceptions import ApiException
    from urllib3.exceptions import HTTPError

    try:
        client = kfp.Client(host=endpoint, namespace=namespace or "kubeflow")
        created = client.create_run_from_pipeline_package(
            str(package),
            arguments=arguments,
            run_name=run_name,
            experiment_name=experiment,
            namespace=namespace,
            enable_caching=None,  # as compiled: resolve, latency, decide and promote never
        )
    except (ApiException, HTTPError, OSError, RuntimeError, ValueError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise EnvironmentFailure(
            f"Kubeflow Pipelines cannot start the run: {reason}", where=endpoint
        ) from error
    return {"run_id": created.run_id, "run_name": run_name, "endpoint": endpoint}


def check_reachable(endpoint: str) -> None:
    """Ask once whether anything answers at the address: kfp's client would try for minutes.

    Raises:
        EnvironmentFailure: nothing answers.
    """
    import httpx

    try:
        httpx.get(f"{endpoint.rstrip('/')}/apis/v2beta1/healthz", timeout=10)
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EnvironmentFailure(
            f"Kubeflow Pipelines cannot be reached: {error}",
            where=endpoint,
            mend="Check the address and the port-forward.",
        ) from error
