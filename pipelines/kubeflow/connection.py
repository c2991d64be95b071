"""A connection to a Kubeflow Pipelines API: the real client, with time limits, retries and one message an error."""

import json
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from hat.errors import BadInput, EnvironmentFailure

TIMEOUT = (5.0, 60.0)
"""Seconds to connect, and to wait for an answer. The client's own calls have none."""
DELAYS = (0.5, 1.0, 2.0, 4.0)
"""Seconds before each further attempt."""
_BUSY = 429
_TRANSIENT = frozenset({0, _BUSY, 500, 502, 503, 504})
_PAGE = 100


@dataclass(frozen=True)
class Address:
    """Where the API is and as whom we come."""

    endpoint: str
    namespace: str | None = None
    """Of a multi-user Kubeflow; None for a single-user one."""
    token_file: Path | None = None
    """Holds a bearer token and is read again for every request, so that a rotated token is picked up."""


class NotThere(BadInput):
    """The API has nothing under that id."""


class Connection:
    """The generated APIs of the real client, each call bounded and explained.

    Nothing is asked before the first call.
    """

    def __init__(self, address: Address, delays: tuple[float, ...] = DELAYS) -> None:
        self.address = address
        self._delays = delays

    def check(self) -> None:
        """Ask whether the API answers.

        Raises:
            EnvironmentFailure: it does not.
        """
        self.call(self.client._healthz_api.healthz_service_get_healthz)

    @cached_property
    def client(self) -> Any:
        """kfp's client, whose constructor asks nothing of the server."""
        import kfp
        from kfp.client import ServiceAccountTokenVolumeCredentials
        from urllib3 import Retry

        if self.address.token_file is not None and not self.address.token_file.is_file():
            raise BadInput("no such file", where=f"--token-file {self.address.token_file}")
        token = self.address.token_file
        credentials = ServiceAccountTokenVolumeCredentials(str(token)) if token else None

        class QuietClient(kfp.Client):
            """kfp's constructor asks `healthz` up to five times, five seconds apart: `check` does it better."""

            def get_kfp_healthz(self, sleep_duration: int = 5) -> Any:
                from kfp_server_api import V2beta1GetHealthzResponse

                return V2beta1GetHealthzResponse(multi_user=False)

            def _load_config(self, *arguments: Any, **named: Any) -> Any:
                config = super()._load_config(*arguments, **named)
                # `call` repeats, and knows what may be repeated; urllib3 would do so again beneath it.
                config.retries = Retry(0)
                return config

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            return QuietClient(
                host=self.address.endpoint,
                namespace=self.address.namespace or "kubeflow",
                credentials=credentials,
            )

    def call(
        self, function: Callable[..., Any], *arguments: Any, repeatable: bool = True, **named: Any
    ) -> Any:
        """Call one generated API function.

        Args:
            repeatable: whether it may be sent again when it is unknown if it took effect. What certainly did
                not take effect (too many requests, an expired token) is sent again in any case.

        Raises:
            NotThere: the API answers 404.
            BadInput: the API refuses the request.
            EnvironmentFailure: it does not answer, lets nobody in or is broken, also after some attempts.
        """
        from kfp_server_api.exceptions import ApiException
        from urllib3.exceptions import HTTPError

        for delay in (*self._delays, None):
            try:
                return function(*arguments, _request_timeout=TIMEOUT, **named)
            except ApiException as error:
                status, failure = int(error.status or 0), self._explain(error)
            except (HTTPError, OSError) as error:
                status, failure = 0, self._unreachable(str(error) or type(error).__name__)
            again = status in _TRANSIENT if repeatable else status == _BUSY
            # A token that was rotated this moment is in the file by the next attempt.
            again = again or (status == 401 and self.address.token_file is not None)
            if delay is None or not again:
                raise failure
            time.sleep(delay)
        raise AssertionError("unreachable: the last attempt has no delay")

    def pages(self, function: Callable[..., Any], items: str, **named: Any) -> Iterator[Any]:
        """Every item of a listing, page by page."""
        token = ""
        while True:
            answer = self.call(function, page_token=token, page_size=_PAGE, **named)
            yield from getattr(answer, items) or ()
            token = answer.next_page_token
            if not token:
                return

    def _explain(self, error: Any) -> BadInput | EnvironmentFailure:
        status = int(error.status or 0)
        said = _message(error)
        if status == 0:
            return self._unreachable(said)
        where = self.address.endpoint
        if status in (401, 403):
            mend = "Give a valid one with --token-file, and the --namespace that it is for."
            if self.address.token_file is not None:
                mend = f"Renew the token in {self.address.token_file}, and check --namespace."
            return EnvironmentFailure(
                f"Kubeflow Pipelines lets nobody in: {status}, {said}", where=where, mend=mend
            )
        if status == 404:
            return NotThere(f"Kubeflow Pipelines: {said}", where=where)
        if status < 500 and status != _BUSY:
            return BadInput(f"Kubeflow Pipelines refuses it: {status}, {said}", where=where)
        return EnvironmentFailure(f"Kubeflow Pipelines cannot serve: {status}, {said}", where=where)

    def _unreachable(self, said: str) -> EnvironmentFailure:
        return EnvironmentFailure(
            f"Kubeflow Pipelines cannot be reached: {said.strip().splitlines()[0]}",
            where=self.address.endpoint,
            mend="Check the address and the port-forward.",
        )


def equals(key: str, value: str) -> str:
    """A filter for listings: ``key`` is ``value``."""
    return json.dumps({"predicates": [{"operation": "EQUALS", "key": key, "stringValue": value}]})


def _message(error: Any) -> str:
    try:
        told = json.loads(error.body)
        said = told.get("error") or told.get("message")
    except (TypeError, ValueError, AttributeError):
        said = None
    return str(said or error.reason or "no reason given").strip().splitlines()[0][:300]
