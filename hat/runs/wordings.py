"""Wordings travel by reference: put in the store once, named by their digest, and taken from there by `resolve`."""

import json

from pydantic import ValidationError

from hat.augment.wordings.document import Wordings
from hat.errors import BadInput
from hat.files import canonical_json
from hat.runs.config import RunConfig
from hat.storage import NotFound, Store


def publish_wordings(store: Store, wordings: Wordings) -> str:
    """Put wordings in the store; returns their digest.

    Raises:
        EnvironmentFailure: the store fails.
    """
    key = _key(wordings.digest)
    if not store.exists(key):
        store.put(key, canonical_json(wordings.model_dump(mode="json")).encode())
    return wordings.digest


def with_wordings(config: RunConfig, store: Store) -> RunConfig:
    """The settings with the wordings that they name; themselves where they name none.

    Raises:
        BadInput: the store has none of that digest, or others under its name.
        EnvironmentFailure: the store fails.
    """
    digest = config.augment.wordings_digest
    if not digest or config.augment.wordings is not None:
        return config
    where = f"augment.wordings_digest={digest}"
    try:
        wordings = Wordings.model_validate(json.loads(store.get(_key(digest))))
        if wordings.digest != digest:
            raise ValueError
    except NotFound as error:
        mend = "`--set augment.wordings=FILE` puts a file of `hat reword` there."
        raise BadInput("the store has no such wordings", where=where, mend=mend) from error
    except (ValidationError, ValueError) as error:
        raise BadInput("what the store has under that name are no wordings", where=where) from error
    augment = config.augment.model_copy(update={"wordings": wordings})
    return config.model_copy(update={"augment": augment})


def _key(digest: str) -> str:
    return f"wordings/{digest}.json"
