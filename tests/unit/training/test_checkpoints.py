"""Checkpoints go to the store and belong to their settings."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hat.errors import BadInput
from hat.training.checkpoints import SETTINGS_NAME, SettingsInCheckpoints


def saved(folder: Path, **settings: Any) -> Path:
    (folder / "checkpoint-3").mkdir()
    arguments: Any = SimpleNamespace(output_dir=str(folder))
    state: Any = SimpleNamespace(global_step=3)
    control: Any = None
    SettingsInCheckpoints(**settings).on_save(arguments, state, control)
    return folder / "checkpoint-3"


def test_a_checkpoint_of_the_same_settings_is_accepted(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"seed": 1, "config": {"lr": 1e-5, "families": ["S1", "T1"], "weights": {}}}
    folder = saved(tmp_path, **settings)
    SettingsInCheckpoints(**settings).check(folder)
    SettingsInCheckpoints(**settings).check(None)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"seed": 2}, "seed is 1 in it and 2 now"),
        ({"config": {"lr": 3e-5}}, r"config\.lr is 1e-05 in it and 3e-05 now"),
        ({"more": True}, "more is None in it and True now"),
    ],
)
def test_one_of_other_settings_is_refused_naming_what_differs(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    folder = saved(tmp_path, seed=1, config={"lr": 1e-5})
    with pytest.raises(BadInput, match=told) as refused:
        SettingsInCheckpoints(**{"seed": 1, "config": {"lr": 1e-5}, **change}).check(folder)
    assert "delete it to start afresh" in refused.value.mend
    assert refused.value.where == str(folder)


def test_a_checkpoint_that_names_no_settings_is_refused(tmp_path: Path) -> None:
    folder = saved(tmp_path, seed=1)
    assert json.loads((folder / SETTINGS_NAME).read_text()) == {"schema_version": 1, "seed": 1}
    (folder / SETTINGS_NAME).unlink()
    with pytest.raises(BadInput, match="it names none"):
        SettingsInCheckpoints(seed=1).check(folder)
