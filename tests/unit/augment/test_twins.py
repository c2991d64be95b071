"""Twins: one question, two states that differ in one rule, gold read from each harness and proven."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from hat.augment.banks import bank
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.augment.twins.base import KINDS, Skipped, TwinPair, twins_of
from hat.augment.twins.edit import with_rule, wording
from hat.augment.twins.make import make_twins, twin_rules
from hat.augment.twins.reading import forbidden_tools, tools_after_skill, tools_before_skill
from hat.augment.twins.splits import of_split, pairs_of
from hat.augment.twins.verify import is_exact, play, say_again, verify_pair
from hat.domains.base import Fact, get_domain
from hat.domains.live_shop.return_rules import read_return_rules, write_return_rules
from hat.domains.live_shop.withholding import SUBJECTS, disclosure_rules, withheld
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.harness.render import render_system_prompt

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")
HARNESS = REGISTRY.load("live-shop", "1.0.0")
ORIGINAL = HarnessState.original(HARNESS)
DOMAIN = get_domain("live_shop")
SPLITS = ("train", "dev", "test")
MEMBERS = ("plain", "twin")


def pairs(split: str = "dev", count: int = 24, seed: int = 1, **options: object) -> tuple[TwinPair, ...]:
    return make_twins(ORIGINAL, DOMAIN, split=split, count=count, seed=seed, **options).pairs


def one(kind: str, split: str = "dev", name: str = "") -> TwinPair:
    return next(pair for pair in pairs(split, 8, kinds=(kind,)) if name in pair.name)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("version", ["1.0.0", "1.1.0"])
def test_all_checks_hold_for_every_rule_of_every_kind(version: str, split: str) -> None:
    harness = REGISTRY.load("live-shop", version)
    made = make_twins(HarnessState.original(harness), DOMAIN, split=split, count=16, seed=4)
    assert made.skipped == ()
    assert Counter(pair.kind for pair in made.pairs) == dict.fromkeys(KINDS, 4)
    rules = {(rule.kind, rule.name) for rule in twin_rules(HarnessState.original(harness), DOMAIN, split)}
    assert {(pair.kind, pair.name) for pair in made.pairs} == rules
    failures = [failure for pair in made.pairs for failure in verify_pair(pair, harness, DOMAIN)]
    assert failures == []


@pytest.mark.parametrize("seed", range(4))
def test_all_checks_hold_on_top_of_an_augmented_state(seed: int) -> None:
    state = sample_state(HARNESS, seed=seed, split="dev", config=AugmentConfig(original_share=0))
    made = make_twins(state, DOMAIN, split="dev", count=12, seed=2)
    assert [failure for pair in made.pairs for failure in verify_pair(pair, HARNESS, DOMAIN)] == []
    assert all(member.state.families[:-1] == state.families for p in made.pairs for _, member in p.members)


def test_the_same_inputs_give_the_same_pairs_and_fewer_are_the_first_of_more() -> None:
    def content(made: tuple[TwinPair, ...]) -> list[tuple[object, ...]]:
        return [
            (pair.id, *((m.task.id, repr(m.task), m.state.digest) for _, m in pair.members)) for pair in made
        ]

    assert content(pairs()) == content(pairs())
    assert content(pairs(count=9)) == content(pairs())[:9]
    assert not set(content(pairs())) & set(content(pairs(seed=2)))
    ids = [member.task.id for pair in pairs(count=32) for _, member in pair.members]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("kind", KINDS)
def test_rules_tool_pairs_and_orders_of_the_splits_are_disjoint(kind: str) -> None:
    names = {split: {rule.name for rule in twin_rules(ORIGINAL, DOMAIN, split, (kind,))} for split in SPLITS}
    assert all(names.values())
    assert not names["train"] & names["dev"]
    assert not names["train"] & names["test"]
    assert not names["dev"] & names["test"]


def test_a_version_that_lacks_a_tool_moves_no_rule_to_another_split() -> None:
    tools = tuple(tool for tool in HARNESS.tools if tool.name != "check_stock")
    bindings = tuple(entry for entry in HARNESS.bindings if entry[0] != "check_stock")
    smaller = HarnessState.original(replace(HARNESS, tools=tools, bindings=bindings))
    for split in SPLITS:
        rules = twin_rules(smaller, DOMAIN, split)
        kept = {(rule.kind, rule.name) for rule in rules if not isinstance(rule, Skipped)}
        whole = {(rule.kind, rule.name) for rule in twin_rules(ORIGINAL, DOMAIN, split)}
        assert kept < whole
        skipped = [rule for rule in rules if isinstance(rule, Skipped)]
        assert skipped
        assert all("check_stock" in rule.name and "check_stock" in rule.reason for rule in skipped)


def test_names_are_dealt_whole_and_do_not_depend_on_their_order() -> None:
    names = ["+".join(pair) for pair in pairs_of(("d", "b", "c", "a"))]
    assert names == ["a+b", "a+c", "a+d", "b+c", "b+d", "c+d"]
    dealt = [name for split in SPLITS for name in of_split(names, split, salt="x")]
    assert sorted(dealt) == names
    assert set(of_split(names[::-1], "dev", salt="x")) == set(of_split(names, "dev", salt="x"))


def test_c1_swaps_the_names_of_two_tools_wherever_they_stand() -> None:
    pair = one("C1", name="check_stock+shipping_quote")
    shown = {tool.description: tool.name for tool in pair.twin.state.presented.tools}
    assert shown["Stock left of a link, or sold out"] == "get_shipping"
    assert shown["Delivery days and shipping fee to a region"] == "check_stock"
    assert pair.twin.state.presented.skill("availability").body.items[0] == "Call `get_shipping`."
    assert pair.plain.task.facts == pair.twin.task.facts


def test_c2_gives_the_opposite_of_one_rule_and_keeps_the_others() -> None:
    pair = one("C2", name="returns:clothing")
    assert [fact.kind for fact in pair.plain.task.facts] == ["return_days"]
    assert [fact.kind for fact in pair.twin.task.facts] == ["no_returns"]
    plain, twin = (
        read_return_rules(member.state.canonical.skill("after-sales").body.items)
        for _, member in pair.members
    )
    assert {name for name in plain if plain[name] != twin[name]} == {"clothing"}
    # Its rules written anew are the words of the harness itself.
    assert pair.plain.state.canonical.skills == HARNESS.skills


def test_c3_makes_declining_right_when_the_tool_or_its_permission_is_gone() -> None:
    absent, forbidden = one("C3", name="absent:find_coupon"), one("C3", name="forbidden:find_coupon")
    for pair in (absent, forbidden):
        assert pair.plain.task.answerable
        assert pair.twin.task.facts == (Fact("decline", ""),)
        assert pair.twin.task.operations == ()
    texts = [render_system_prompt(m.state.presented, m.task.session) for _, m in absent.members]
    assert "find_coupon" in {tool.name for tool in absent.plain.state.presented.tools}
    assert "find_coupon" not in {tool.name for tool in absent.twin.state.presented.tools}
    assert texts[0] == texts[1], "only the tool and what tells to call it are gone"
    assert "`find_coupon`" not in str(absent.twin.state.presented.skills)
    assert "find_coupon" in {tool.name for tool in forbidden.twin.state.presented.tools}


def test_c3_a_forbidden_tool_is_blocked_by_a_hook_if_it_is_called_all_the_same() -> None:
    pair = one("C3", name="forbidden:find_coupon")
    said = say_again(play(DOMAIN.expert(), pair.plain, DOMAIN), pair.plain.state, pair.twin, DOMAIN)
    verdicts = [o.verdict.check for turn in said.turns for o in turn.observations if o.verdict]
    assert verdicts == ["tool_forbidden"]
    assert said.scores is not None
    assert said.scores.tool_rationality < 1


def test_c4_scores_a_right_answer_in_the_wrong_order_as_wrong() -> None:
    pair = one("C4")
    for (_, member), (_, other) in (pair.members, pair.members[::-1]):
        own = play(DOMAIN.expert(), member, DOMAIN)
        crossed = say_again(own, member.state, other, DOMAIN)
        assert own.scores is not None
        assert crossed.scores is not None
        assert own.scores.accuracy == 1
        assert crossed.reply == own.reply
        assert crossed.scores.accuracy == 0


def test_gold_under_a_harness_without_such_rules_is_the_tasks_own() -> None:
    for version in ("1.0.0", "1.1.0"):
        harness = REGISTRY.load("live-shop", version)
        for task in DOMAIN.sample_tasks("train", 200, 3):
            assert DOMAIN.twins.rederive(task, harness) == task


def test_a_policy_that_ignores_the_harness_gets_no_pair_exactly_right_and_the_original_always() -> None:
    blind = twins_of(DOMAIN).blind(HARNESS)
    for pair in pairs(count=20):
        exact = [is_exact(play(blind, member, DOMAIN).scores) for _, member in pair.members]
        assert exact == [True, False], pair.id


@pytest.mark.parametrize(
    ("spoil", "check"),
    [
        (lambda pair: replace(pair, twin=replace(pair.twin, state=pair.plain.state)), "one question"),
        (lambda pair: replace(pair, twin=replace(pair.twin, task=pair.plain.task)), "declared gold"),
        (lambda pair: replace(pair, twin=replace(pair.twin, task=pair.plain.task)), "expert"),
        (lambda pair: replace(pair, twin=pair.plain), "crossed"),
        (lambda pair: replace(pair, twin=pair.plain), "harness-blind"),
    ],
)
def test_a_spoiled_pair_is_caught(spoil, check: str) -> None:
    for kind, name in (("C2", ""), ("C3", "absent")):
        failures = verify_pair(spoil(one(kind, name=name)), HARNESS, DOMAIN)
        assert any(failure.check.startswith(check) for failure in failures), failures


def test_two_tools_under_one_name_are_caught() -> None:
    pair = one("C1")
    codec = pair.twin.state.codec
    spoiled = replace(codec, tools={**codec.tools, "load_skill": next(iter(codec.tools.values()))})
    twin = replace(pair.twin, state=replace(pair.twin.state, codec=spoiled))
    failures = verify_pair(replace(pair, twin=twin), HARNESS, DOMAIN)
    assert "legal names" in {failure.check for failure in failures}


def test_rules_about_tools_are_read_from_the_prompt() -> None:
    assert not forbidden_tools(HARNESS) | tools_before_skill(HARNESS) | tools_after_skill(HARNESS)
    assert forbidden_tools(with_rule(HARNESS, "You may not call `check_stock`.")) == {"check_stock"}
    assert not forbidden_tools(with_rule(HARNESS, "You may call `check_stock`."))
    assert not forbidden_tools(with_rule(HARNESS, "You may not call `no_such_tool` or shout."))
    before = with_rule(HARNESS, "Call `find_coupon` before `load_skill`.")
    inverted = with_rule(HARNESS, "Use `load_skill` only after `find_coupon`.")
    assert tools_before_skill(before) == tools_before_skill(inverted) == {"find_coupon"}
    assert tools_after_skill(with_rule(HARNESS, "`load_skill`, then `find_coupon`.")) == {"find_coupon"}


@pytest.mark.parametrize("split", SPLITS)
def test_every_wording_of_a_rule_is_read_as_it_is_meant(split: str) -> None:
    tool = "check_stock"
    for number in range(len(bank("twin_rules")["order"][split])):
        plain, twin = (with_rule(HARNESS, worded("order", member, split, number)) for member in MEMBERS)
        assert (tools_after_skill(plain), tools_before_skill(plain)) == ({tool}, frozenset())
        assert (tools_after_skill(twin), tools_before_skill(twin)) == (frozenset(), {tool})
        assert not forbidden_tools(plain) | forbidden_tools(twin)
    for number in range(len(bank("twin_rules")["forbidden"][split])):
        plain, twin = (with_rule(HARNESS, worded("forbidden", member, split, number)) for member in MEMBERS)
        assert (forbidden_tools(plain), forbidden_tools(twin)) == (frozenset(), {tool})


def test_no_sentence_of_a_rule_is_used_in_two_splits() -> None:
    for kind, by_split in bank("twin_rules").items():
        used = {
            split: {text for entry in by_split[split] for text in entry.values() if text} for split in SPLITS
        }
        assert not used["train"] & used["dev"], kind
        assert not used["train"] & used["test"], kind
        assert not used["dev"] & used["test"], kind


def worded(kind: str, member: str, split: str, number: int) -> str:
    return wording(kind, member, split, number, HARNESS, "check_stock")


def test_return_rules_written_anew_are_read_back_and_other_items_stay() -> None:
    items = ("First.", "Food: no returns. Home 30 days.", "Between.", "Clothing 7 days.", "Last.")
    rules = {"food": 3, "home": None, "clothing": None}
    written = write_return_rules(items, rules)
    assert read_return_rules(written) == rules
    assert [item for item in written if not read_return_rules([item])] == ["First.", "Between.", "Last."]
    assert read_return_rules(write_return_rules((), {"food": None})) == {"food": None}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("intent", SUBJECTS)
def test_a_disclosure_rule_and_its_opposite_are_told_apart(intent: str, split: str) -> None:
    told, not_told = disclosure_rules(intent, split)
    assert not withheld([told])
    assert withheld([not_told])
    assert not any(withheld(skill.body.items) for skill in HARNESS.skills)


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(BadInput, match="C9"):
        pairs(kinds=("C9",))
    with pytest.raises(BadInput, match=r"only \d+ twin pairs of 9000"):
        pairs(count=9000, kinds=("C4",))

    class Plain:
        name = "plain"

    with pytest.raises(BadInput, match="'plain' cannot re-derive gold"):
        make_twins(ORIGINAL, Plain(), split="dev", count=1, seed=0)
