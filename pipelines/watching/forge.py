"""Commit statuses on the forge, through the API that GitHub, Gitea and Forgejo share."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import httpx

from hat.errors import BadInput, EnvironmentFailure
from hat.storage import Store

State = Literal["pending", "success", "failure", "error"]
_LONGEST = 140
"""Characters of a description that GitHub takes."""


@dataclass(frozen=True)
class Status:
    """What a commit's page shows of one harness version."""

    commit: str
    context: str
    state: State
    description: str
    target: str = ""


@dataclass(frozen=True)
class Forge:
    """A repository on a forge, e.g. ``https://api.github.com/repos/OWNER/NAME`` or ``.../api/v1/repos/OWNER/NAME``."""

    url: str
    token_file: Path | None = None

    def post(self, status: Status) -> None:
        """Set a commit's status.

        Raises:
            EnvironmentFailure: the forge cannot be reached or refuses.
        """
        headers = {"Accept": "application/json"}
        if self.token_file is not None:
            try:
                headers["Authorization"] = f"Bearer {self.token_file.read_text(encoding='utf-8').strip()}"
            except OSError as error:
                raise BadInput(
                    f"cannot be read: {error.strerror}", where=f"--forge-token-file {self.token_file}"
                ) from error
        body = {
            "state": status.state,
            "context": status.context,
            "description": status.description[:_LONGEST],
            "target_url": status.target,
        }
        address = f"{self.url.rstrip('/')}/statuses/{status.commit}"
        try:
            answer = httpx.post(address, json=body, headers=headers, timeout=30)
            answer.raise_for_status()
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise EnvironmentFailure(f"the commit status was not taken: {error}", where=address) from error


def report(store: Store, profile: str, forge: Forge, status: Status) -> bool:
    """Post a status unless it is what was posted last for this commit and context; whether it was posted."""
    key = f"statuses/{profile}/{status.commit}/{status.context.replace('/', '_')}.json"
    text = json.dumps({"schema_version": 1, "state": status.state, "description": status.description})
    data = text.encode("utf-8")
    if store.exists(key) and store.get(key) == data:
        return False
    forge.post(status)
    store.put(key, data)
    return True
