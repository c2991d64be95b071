"""Settings are checked before any work, and a wrong one names the right one."""

import pytest

from hat.errors import BadInput
from hat.runs.config import apply_overrides, known_keys, parse_config, parse_overrides


def test_an_override_replaces_one_setting_and_leaves_the_rest() -> None:
    merged = apply_overrides(
        {"sft": {"learning_rate": 0.001}}, parse_overrides(["sft.control=fixed", "seed=3"])
    )
    config = parse_config(merged, where="test")
    assert (config.sft.control, config.sft.learning_rate, config.seed) == ("fixed", 0.001, 3)


def test_values_are_json_where_they_parse_and_text_where_not() -> None:
    settings = ["a=1", "b=true", 'c=["x"]', "d=it's", "e=x=y", 'f="1"']
    assert parse_overrides(settings) == {"a": 1, "b": True, "c": ["x"], "d": "it's", "e": "x=y", "f": "1"}


@pytest.mark.parametrize("setting", ["sft.control", "=1", "base_model={{$.inputs}}"])
def test_malformed_overrides_are_refused(setting: str) -> None:
    with pytest.raises(BadInput):
        parse_overrides([setting])


@pytest.mark.parametrize(
    ("key", "nearest"), [("sft.contrl", "sft.control"), ("sfft.control", "sft.control"), ("sed", "seed")]
)
def test_an_unknown_setting_names_the_nearest(key: str, nearest: str) -> None:
    with pytest.raises(BadInput, match=f"Did you mean '{nearest}'"):
        apply_overrides({}, {key: 1})


def test_a_wrong_value_names_its_setting() -> None:
    with pytest.raises(BadInput, match=r"sft\.control"):
        parse_config(apply_overrides({}, {"sft.control": "fied"}), where="test")


def test_every_wrong_setting_is_told_at_once() -> None:
    with pytest.raises(BadInput) as told:
        parse_config({"sft": {"control": "x", "learning_rate": -1}}, where="test")
    assert "sft.control" in str(told.value)
    assert "sft.learning_rate" in str(told.value)


def test_a_run_sets_its_own_identity() -> None:
    assert {"code_version", "profile", "schema_version"}.isdisjoint(known_keys())
