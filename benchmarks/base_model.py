"""The model that benchmarks use unless they are given one."""

from pathlib import Path

from hat.home import hat_home
from hat.models import ModelStore, default_base
from hat.storage import open_store


def base_model() -> Path:
    """The folder of the default base model; converted on a machine's first use."""
    models = ModelStore(open_store(str(hat_home() / "store")), hat_home())
    return models.materialise(default_base(models, hat_home()))
