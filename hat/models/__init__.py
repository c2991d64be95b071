"""Models by reference: weights live once in the store and are materialised to a local cache."""

from hat.models.base import default_base, resolve_base
from hat.models.reference import ModelRef
from hat.models.store import ModelStore

__all__ = ["ModelRef", "ModelStore", "default_base", "resolve_base"]
