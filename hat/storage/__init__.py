"""One store interface for what outlives a run: a local folder or S3."""

from hat.storage.interface import Conflict, NotFound, Store, Stored
from hat.storage.opening import open_store
from hat.storage.tree import TreeManifest

__all__ = ["Conflict", "NotFound", "Store", "Stored", "TreeManifest", "open_store"]
