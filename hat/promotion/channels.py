"""`channels.yaml`: which pair serves each channel, rendered from the ledger for GitOps serving to follow.

Only `hat watch` writes the file. Rendering is pure and idempotent: the same ledger gives the same bytes.
"""

from typing import Any

import yaml

from hat.errors import BadInput
from hat.promotion.ledger import LedgerEntry
from hat.promotion.reading import parse_lined

HEAD = "# Which pair serves each channel. Written from the ledger by `hat watch` alone: do not edit it by hand.\n"


def render_channels(text: str, channel: str, entry: LedgerEntry | None, *, where: str) -> str:
    """The file's text with one channel as the ledger has it; other channels stay as they are.

    Args:
        text: the file as it is; empty where there is none.
        entry: what the channel's ledger has in production; None takes the channel out.
        where: the file's name, for messages.

    Raises:
        BadInput: the text is no file of channels.
    """
    document = parse_lined(text, where=where).value if text.strip() else {"schema_version": 1, "channels": {}}
    if (
        not isinstance(document, dict)
        or document.get("schema_version") != 1
        or not isinstance(document.get("channels"), dict)
    ):
        raise BadInput("not a file of channels", where=where, mend="Restore it: only `hat watch` writes it.")
    channels: dict[str, Any] = {key: value for key, value in document["channels"].items() if key != channel}
    if entry is not None:
        channels[channel] = {
            "environment": entry.environment,
            "version": entry.version,
            "harness_digest": entry.harness_digest,
            "model_digest": entry.model_digest,
            "run": entry.run,
            "sequence": entry.sequence,
        }
    new = {"schema_version": 1, "channels": dict(sorted(channels.items()))}
    return text if text and new == document else HEAD + yaml.safe_dump(new, sort_keys=False)
