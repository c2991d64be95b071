"""Running a `TrainJob`: created, followed and always removed, however it ends."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hat.errors import EnvironmentFailure
from hat.training.distributed.trainjob import GROUP, PLURAL, VERSION, outcome

_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_PATIENCE_SECONDS = 300.0
"""How long the Kubernetes API may stay away before the step gives up."""
_TIMEOUT = (5, 30)


class _AskedToEnd(BaseException):
    """Raised by the signal wherever the process is: no `Exception`, since those of the API are waited out."""


class TrainJobs:
    """The `TrainJob` resources of a namespace."""

    def __init__(self, api: Any, namespace: str) -> None:
        self._api = api
        self.namespace = namespace
        self._where = {"group": GROUP, "version": VERSION, "namespace": namespace, "plural": PLURAL}

    def served(self) -> bool:
        """Whether the cluster has the resource.

        Raises:
            EnvironmentFailure: the API refuses us or does not answer.
        """
        from kubernetes.client import ApiException

        try:
            self._api.list_namespaced_custom_object(**self._where, limit=1, _request_timeout=_TIMEOUT)
        except ApiException as error:
            if error.status == 404:
                return False
            raise self._failure("be listed", error) from error
        except Exception as error:
            raise self._failure("be listed", error) from error
        return True

    def create(self, job: dict[str, Any]) -> None:
        """Create the job, or take over one of the same name that an earlier attempt left running.

        Raises:
            EnvironmentFailure: the API refuses it.
        """
        from kubernetes.client import ApiException

        name = job["metadata"]["name"]
        left = self.get(name)
        if left is not None and (outcome(left)[0] == "failed" or "deletionTimestamp" in left["metadata"]):
            self.delete(name)
            left = None
        if left is not None:
            return
        try:
            self._api.create_namespaced_custom_object(**self._where, body=job, _request_timeout=_TIMEOUT)
        except ApiException as error:
            if error.status != 409:
                raise self._failure("be created", error) from error

    def get(self, name: str) -> dict[str, Any] | None:
        """The job now, or None."""
        from kubernetes.client import ApiException

        try:
            found: dict[str, Any] = self._api.get_namespaced_custom_object(
                **self._where, name=name, _request_timeout=_TIMEOUT
            )
        except ApiException as error:
            if error.status == 404:
                return None
            raise self._failure("be read", error) from error
        return found

    def delete(self, name: str) -> None:
        """Remove the job and its pods, and wait until it is gone; nothing happens where there is none."""
        from kubernetes.client import ApiException

        try:
            self._api.delete_namespaced_custom_object(
                **self._where, name=name, propagation_policy="Foreground", _request_timeout=_TIMEOUT
            )
        except ApiException as error:
            if error.status == 404:
                return
            raise self._failure("be removed", error) from error
        deadline = time.monotonic() + 60
        while self.get(name) is not None and time.monotonic() < deadline:
            time.sleep(0.2)

    def follow(self, name: str, poll_seconds: float, on_look: Callable[[], None]) -> None:
        """Wait until the job is complete, calling ``on_look`` at each look.

        Raises:
            EnvironmentFailure: the job failed or was removed, or the API stays away.
        """
        heard = time.monotonic()
        while True:
            try:
                job = self.get(name)
                heard = time.monotonic()
            except Exception as error:
                if time.monotonic() - heard > _PATIENCE_SECONDS:
                    raise self._failure("be followed", error) from error
                time.sleep(poll_seconds)
                continue
            if job is None:
                raise EnvironmentFailure("the TrainJob was removed by someone", where=self._name(name))
            on_look()
            word, message = outcome(job)
            if word == "complete":
                return
            if word == "failed":
                raise EnvironmentFailure(f"the TrainJob failed: {message}", where=self._name(name))
            time.sleep(poll_seconds)

    def _name(self, name: str) -> str:
        return f"{self.namespace}/{name}"

    def _failure(self, what: str, error: Exception) -> EnvironmentFailure:
        status = getattr(error, "status", None)
        said = f"{status} {getattr(error, 'reason', '')}" if status else str(error) or type(error).__name__
        mend = (
            "Give the step's service account the verbs create, get, list and delete on it."
            if status == 403
            else ""
        )
        return EnvironmentFailure(
            f"trainjobs.{GROUP} cannot {what}: {said.splitlines()[0]}", where=self.namespace, mend=mend
        )


@contextmanager
def removed_afterwards(jobs: TrainJobs, name: str) -> Iterator[None]:
    """Remove the job at the end of the block: after success, after failure, and when SIGTERM or Ctrl-C ends it.

    Raises:
        EnvironmentFailure: the process was asked to end.
    """

    def stop(*_: Any) -> None:
        raise _AskedToEnd

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except _AskedToEnd:
        raise EnvironmentFailure("the run was cancelled", where="sft") from None
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second one must not keep the job alive
        try:
            jobs.delete(name)
        finally:
            signal.signal(signal.SIGTERM, before)


def connect() -> TrainJobs | None:
    """The namespace's jobs as this pod, or as KUBECONFIG says; None outside of any cluster."""
    from kubernetes import client, config

    try:
        config.load_incluster_config()
        namespace = _NAMESPACE.read_text(encoding="utf-8").strip()
    except config.ConfigException:
        try:
            config.load_kube_config()
            _, context = config.list_kube_config_contexts()
            namespace = context["context"].get("namespace", "default")
        except (config.ConfigException, OSError):
            return None
    return TrainJobs(client.CustomObjectsApi(), namespace)
