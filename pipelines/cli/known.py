"""Whether a harness that a command names exists, where the command itself needs only the ledger."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hat.storage import Store


def refuse_unknown_harness(store: "Store", name: str, registry: Path) -> None:
    """Nothing where the registry or any environment's ledger has the harness.

    Raises:
        BadInput: neither has it; the message names those that there are.
    """
    from hat.errors import BadInput
    from hat.harness.registry import Registry
    from hat.nearest import known_names

    known = {key.split("/")[2] for key in store.list("ledger")}
    root = Registry(registry)
    # Where a pair is served or rolled back there may be no registry: the ledger says enough.
    known.update(root.names() if registry.is_dir() else ())
    if name not in known:
        raise BadInput(
            f"no harness named {name!r}", where=str(registry), mend=known_names(name, sorted(known))
        )
