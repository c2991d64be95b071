"""`channels.yaml` as the ledger has it: idempotent, one channel at a time, other channels kept."""

from pathlib import Path

import pytest
import yaml

from hat.errors import BadInput
from hat.promotion import ledger
from hat.promotion.channels import HEAD, render_channels
from hat.promotion.ledger import Proposal
from hat.storage import open_store

SHIPPED = Path(__file__).parents[3] / "harness_registry" / "live-shop" / "channels.yaml"


@pytest.fixture
def entry(tmp_path):
    proposal = Proposal(
        environment="h20",
        harness="live-shop",
        version="1.1.0",
        harness_digest="h",
        model={"digest": "m"},
        run="run 7",
        verdict_digest="v",
        evidence_digest="e",
        who="tester",
        when="2026-01-01T00:00:00+00:00",
    )
    return ledger.promote(open_store(str(tmp_path)), proposal, expected_head=0)


def test_the_pair_in_production_is_written_with_where_it_comes_from(entry):
    text = render_channels("", "production", entry, where="channels.yaml")
    assert text.startswith(HEAD)
    assert yaml.safe_load(text) == {
        "schema_version": 1,
        "channels": {
            "production": {
                "environment": "h20",
                "version": "1.1.0",
                "harness_digest": "h",
                "model_digest": "m",
                "run": "run 7",
                "sequence": 1,
            }
        },
    }


def test_writing_again_changes_no_byte_and_other_channels_stay(entry):
    text = render_channels("", "production", entry, where="f")
    both = render_channels(text, "canary", entry, where="f")
    assert render_channels(both, "canary", entry, where="f") == both
    assert list(yaml.safe_load(both)["channels"]) == ["canary", "production"]
    spaced = both.replace("channels:", "# a remark\nchannels:")
    assert render_channels(spaced, "canary", entry, where="f") == spaced
    assert render_channels(both, "canary", None, where="f") == text


def test_the_shipped_file_is_one_and_says_that_nothing_is_served(entry):
    text = SHIPPED.read_text(encoding="utf-8")
    assert render_channels(text, "production", None, where="f") == text
    assert "1.1.0" in render_channels(text, "production", entry, where="f")


@pytest.mark.parametrize(
    "text", ["[]", "channels: {}", "schema_version: 1\nchannels: []", "a: [", "schema_version: 2"]
)
def test_a_file_that_is_not_of_channels_is_refused_and_not_overwritten(entry, text):
    with pytest.raises(BadInput, match=r"harness/channels\.yaml"):
        render_channels(text, "production", entry, where="harness/channels.yaml")
