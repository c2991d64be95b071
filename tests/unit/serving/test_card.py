"""What a model card says, and that it says nothing that was not given."""

import yaml

from hat.models import ModelRef, smollm2
from hat.serving.card import CardFacts, model_card
from hat.serving.document import ExportedHarness

SOURCE = ModelRef(digest="a" * 64, base=smollm2.NAME, notes=smollm2.NOTES)
HARNESS = ExportedHarness(name="live-shop", version="1.1.0", digest="b" * 64)
STAGES = ("Supervised fine-tuning", "Reinforcement learning")
EVALUATION = {
    "harness": "live-shop",
    "version": "1.1.0",
    "suites": {
        "live_stream_qa": {
            "n": 150,
            "accuracy": 0.8267,
            "accuracy_ci": [0.7583, 0.8788],
            "baseline_accuracy": 0.88,
        },
        "ifeval": {"n": 30, "accuracy": 0.2, "accuracy_ci": [0.095, 0.373]},
    },
}


def front_matter(card: str) -> dict[str, object]:
    return yaml.safe_load(card.split("---\n")[1])


def test_a_card_says_what_the_model_is_made_of() -> None:
    card = model_card(CardFacts("live-shop", SOURCE, HARNESS, STAGES))
    front = front_matter(card)
    assert front["license"] == "apache-2.0"
    assert front["base_model"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
    for told in (smollm2.NOTES, "live-shop 1.1.0", HARNESS.digest, SOURCE.digest, *STAGES, "synthetic"):
        assert told in card


def test_a_card_has_numbers_only_where_evidence_was_given() -> None:
    without = model_card(CardFacts("live-shop", SOURCE, HARNESS, STAGES))
    assert "No evaluation was given" in without
    assert "accuracy" not in without
    card = model_card(CardFacts("live-shop", SOURCE, HARNESS, STAGES, evaluation=EVALUATION))
    assert "| live_stream_qa | 150 | 82.7% | 75.8% to 87.9% | 88.0% |" in card
    assert "| ifeval | 30 | 20.0% | 9.5% to 37.3% |  |" in card


def test_a_licence_that_nobody_recorded_is_not_invented() -> None:
    other = ModelRef(digest="a" * 64, base="owner/model")
    assert front_matter(model_card(CardFacts("x", other)))["license"] == "other"
    assert front_matter(model_card(CardFacts("x", other, license="mit")))["license"] == "mit"


def test_a_model_without_known_training_claims_none() -> None:
    card = model_card(CardFacts("agent", ModelRef(digest="a" * 64, base="")))
    assert "The stages are not recorded" in card
    assert "Base model: not recorded" in card
    assert "base_model" not in front_matter(card)
    assert "synthetic" not in card
