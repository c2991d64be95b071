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

    known = {parts[2] for key in store.list("ledger") if len(parts := key.split("/")) == 4}
    root = Registry(registry)
    # Where a pair is served or rolled back there may be no registry: the ledger says enough.
    known.update(root.names() if registry.is_dir() else ())
    if name not in known:
        # Where there is no registry, only a store can have it, and the address of that may be the mistake.
        absent = "" if registry.is_dir() else f"There is no such folder, nor a ledger in {store.url}. "
        raise BadInput(
            f"no harness named {name!r}",
            where=str(registry),
            mend=absent + known_names(name, sorted(known)),
        )
