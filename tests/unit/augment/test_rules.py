"""Rules: which sentences are rules, what they mean, and that other words keep the meaning."""

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hat.augment.banks import bank
from hat.augment.config import AugmentConfig
from hat.augment.rules.atoms import Rule
from hat.augment.rules.documents import atoms_of, documents, prose_of
from hat.augment.rules.syntax import forms_for, parse_rule, say
from hat.augment.sampler import apply_all
from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS, Draw
from hat.harness.registry import Registry

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")

RULES = {
    "Call `get_price`.": [("must", "", "call `get_price`", ("`get_price`",))],
    "Use `get_price`.": [("must", "", "call `get_price`", ("`get_price`",))],
    "Look facts up with tools; never guess a price.": [
        ("must", "", "look facts up with tools", ()),
        ("must not", "", "guess a price", ()),
    ],
    "Unknown link or other topic: say sorry.": [("must", "unknown link or other topic", "say sorry", ())],
    "For Fujian: say 2 days.": [("must", "Fujian", "say 2 days", ("2",))],
    "If a link is sold out, do not give its price.": [
        ("must not", "a link is sold out", "give its price", ())
    ],
    "Food and final sale: no returns.": [("must not", "food and final sale", "returns", ())],
    "By class: clothing 7 days, home 30 days.": [
        ("value", "class is clothing", "7 days", ("7",)),
        ("value", "class is home", "30 days", ("30",)),
    ],
    "Returns as clothing: 7 days, as home: 30 days.": [
        ("value", "returns as clothing", "7 days", ("7",)),
        ("value", "returns as home", "30 days", ("30",)),
    ],
    "No returns as food or as final sale.": [("must not", "as food or as final sale", "returns", ())],
    "As food or as final sale: no returns.": [("must not", "as food or as final sale", "returns", ())],
    "You may offer a coupon": [("may", "", "offer a coupon", ())],
    "You may not offer a coupon.": [("must not", "", "offer a coupon", ())],
    'Say "back soon. or not"; promise nothing.': [
        ("must", "", 'say "back soon. or not"', ('"back soon. or not"',)),
        ("must", "", "promise nothing", ()),
    ],
}
PROSE = (
    "The shop opens at nine.",
    "Now showing link {{ showing }}.",
    "Say how many are left; with 0 left say sold out.",
    "No returns.",
    "Call",
    "By class: clothing 7 days.",
    "Returns as clothing: 7 days.",
    "Returns as clothing: 7 days, as home: after a month.",
    "Returns as clothing: 7 days, 8 as home.",
    "No returns, as the law says.",
    "",
)


@pytest.mark.parametrize("item", RULES)
def test_a_rule_is_read_to_its_atoms(item: str) -> None:
    rule = parse_rule(item)
    assert rule is not None
    assert [(a.modality, a.condition, a.action, a.literals) for a in rule.atoms] == RULES[item]
    assert rule.text == item


@pytest.mark.parametrize("item", PROSE)
def test_free_prose_is_no_rule(item: str) -> None:
    assert parse_rule(item) is None


def test_the_return_rules_of_both_versions_of_the_shop_say_the_same_in_other_words() -> None:
    said = {}
    for version in ("1.0.0", "1.1.0"):
        skill = REGISTRY.load("live-shop", version).skill("after-sales")
        assert prose_of(skill.body) == []
        said[version] = {atom for atom in atoms_of(skill.body) if atom.modality in ("value", "must not")}
    assert said["1.0.0"] == said["1.1.0"]
    assert len(said["1.0.0"]) == 5


@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
@pytest.mark.parametrize("split", ["train", "dev"])
def test_no_family_of_rules_writes_the_return_rules_as_a_later_version_does(version: str, split: str) -> None:
    """They are kept for the chain of later versions; 1.1.0 itself may keep its own."""
    original = HarnessState.original(REGISTRY.load("live-shop", version))
    transforms = [transform for transform in TRANSFORMS if transform.family in ("S5", "S6", "S8")]
    later = 0
    for seed in range(40):
        draw = Draw(random.Random(seed), split, AugmentConfig.full(split))
        state, _ = apply_all(original, [(transform, draw) for transform in transforms])
        texts = [item for _, document in documents(state.canonical) for item in document.items]
        later += any(re.search(r"no returns \w* ?as ", text, re.I) for text in texts)
    assert (later > 0) == (version == "1.1.0")


def test_first_is_part_of_the_meaning() -> None:
    rule, other = parse_rule("First load `item-qa`."), parse_rule("Load `item-qa`.")
    assert rule is not None
    assert other is not None
    assert rule.atoms[0].first
    assert rule.atoms != other.atoms


@given(
    data=st.data(),
    split=st.sampled_from(["train", "dev", "test"]),
    verb=st.sampled_from(sorted(bank("rule_wordings")["verbs"])),
    rest=st.sampled_from(["the price", "`get_price` with 3", "it in 2.5 days", 'no "free" gifts']),
    lead=st.sampled_from(["", "Never ", "You may ", "First "]),
    condition=st.sampled_from(["", "If a link is gone, ", "Unknown link: "]),
)
@settings(max_examples=150, deadline=None)
def test_a_rule_in_any_other_words_of_the_bank_has_the_same_atoms(
    data: st.DataObject, split: str, verb: str, rest: str, lead: str, condition: str
) -> None:
    if condition and lead == "First ":
        condition = ""
    item = f"{condition}{lead or ''}{verb if lead or condition else verb.capitalize()} {rest}."
    rule = parse_rule(item)
    assert rule is not None
    (statement,) = rule.statements
    modalities, conditions, verbs = forms_for(statement, split)

    def maybe(forms: list[str]) -> str | None:
        return data.draw(st.sampled_from([None, *forms]))

    said = say(statement, modality=maybe(modalities), condition=maybe(conditions), verb=maybe(verbs))
    again = parse_rule(f"{said}.")
    assert again is not None
    assert again.atoms == rule.atoms


def test_a_verbs_forms_belong_to_it_alone_and_to_one_split() -> None:
    forms = [
        form
        for lemma, by_split in bank("rule_wordings")["verbs"].items()
        for form in [lemma, *(f for listed in by_split.values() for f in listed)]
    ]
    assert len(forms) == len(set(forms))
    for group in (*bank("rule_wordings")["modalities"].values(), bank("rule_wordings")["denials"]):
        listed = [form for forms_of_split in group.values() for form in forms_of_split]
        assert len(listed) == len(set(listed))


def test_split_and_merged_rules_say_the_same() -> None:
    rule = parse_rule("Say sorry, you cannot answer that. Promise nothing.")
    assert rule is not None
    parts = [Rule((statement,), rule.end).text for statement in rule.statements]
    assert parts == ["Say sorry, you cannot answer that.", "Promise nothing."]
    merged = parse_rule(rule.text)
    assert merged is not None
    assert merged.atoms == rule.atoms
