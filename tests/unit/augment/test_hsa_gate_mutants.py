"""Mutation testing of the gates: every transform is broken on purpose, and a gate must catch each mutant.

A broken transform replaces the sound one where states are sampled, so that sampling again gives the same broken state
and G1 cannot catch it by its digest alone. Breaks of what transforms rely on (renderer, codec) are patched in as well.
"""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import hat.augment.codec
import hat.augment.sampler
import hat.augment.state
import hat.harness.render
from hat.augment.config import AugmentConfig
from hat.augment.plan import expert_gold
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.augment.transforms import TRANSFORMS, Draw, Transform
from hat.augment.verify import GateFailure, Gold, verify_state
from hat.domains.base import get_domain
from hat.harness.model import Binding, Block, Document, Harness, Skill
from hat.harness.registry import Registry

HARNESS = Registry(Path(__file__).resolve().parents[3] / "harness_registry").load("live-shop", "1.0.0")
Change = Callable[[HarnessState], HarnessState]


@pytest.fixture(scope="module")
def gold() -> Gold:
    return expert_gold(HARNESS, get_domain("live_shop"), "dev", count=13)


def only(*families: str) -> AugmentConfig:
    return AugmentConfig(original_share=0, probability=1, opaque_share=0, families=families)


def failures_of(
    config: AugmentConfig, gold: Gold, seeds: range = range(4), split: str = "dev"
) -> list[GateFailure]:
    return [
        failure
        for seed in seeds
        for failure in verify_state(
            sample_state(HARNESS, seed=seed, split=split, config=config), HARNESS, config, gold
        )
    ]


def then(transform: Transform, change: Change) -> Transform:
    """The transform with a mistake added; its own check of its invariant stays."""

    class Broken(type(transform)):  # type: ignore[misc]
        def apply(self, state: HarnessState, draw: Draw) -> HarnessState:
            return change(super().apply(state, draw))

    return Broken()


def harness(state: HarnessState, **changes: object) -> HarnessState:
    return replace(state, canonical=replace(state.canonical, **changes))


def codec(state: HarnessState, **changes: object) -> HarnessState:
    return replace(state, codec=replace(state.codec, **changes))


def renamed(kind: str, old: object, new: str) -> Change:
    return lambda state: codec(state, **{kind: {**getattr(state.codec, kind), old: new}})


def schema_of(tool: str, change: Callable[[dict], None]) -> Change:
    def apply(state: HarnessState) -> HarnessState:
        def changed(schema: dict) -> str:
            schema = json.loads(json.dumps(schema))
            change(schema)
            return json.dumps(schema)

        return harness(
            state,
            tools=tuple(
                replace(t, input_schema_json=changed(t.input_schema)) if t.name == tool else t
                for t in state.canonical.tools
            ),
        )

    return apply


def texts(change: Callable[[str], str]) -> Change:
    """Every item of prompt blocks and skills changed."""

    def document(value: Document) -> Document:
        return Document(value.title, tuple(map(change, value.items)))

    def apply(state: HarnessState) -> HarnessState:
        blocks = tuple(replace(b, document=document(b.document)) for b in state.canonical.blocks)
        skills = tuple(replace(s, body=document(s.body)) for s in state.canonical.skills)
        return harness(state, blocks=blocks, skills=skills)

    return apply


def hooks(change: Callable[[str], str]) -> Change:
    return lambda state: harness(
        state, hooks=tuple(replace(hook, message=change(hook.message)) for hook in state.canonical.hooks)
    )


def without_skill(name: str) -> Change:
    return lambda state: harness(state, skills=tuple(s for s in state.canonical.skills if s.name != name))


def with_skill(skill: Skill) -> Change:
    return lambda state: harness(state, skills=(*state.canonical.skills, skill))


def without_tool(name: str) -> Change:
    return lambda state: harness(state, tools=tuple(t for t in state.canonical.tools if t.name != name))


def a_second_way(state: HarnessState) -> HarnessState:
    """A tool that does what another one does: solving the task without reading becomes possible."""
    twin = replace(state.canonical.tool("get_product_info"), name="peek_product")
    return harness(
        state,
        tools=(*state.canonical.tools, twin),
        bindings=(
            *state.canonical.bindings,
            ("peek_product", Binding("product_info", (("link_id", "link_id"),))),
        ),
    )


def block_items(change: Callable[[tuple[str, ...]], tuple[str, ...]]) -> Change:
    def changed(block: Block) -> Block:
        return replace(block, document=Document(block.document.title, change(block.document.items)))

    return lambda state: harness(state, blocks=tuple(map(changed, state.canonical.blocks)))


def limits(**changes: int) -> Change:
    return lambda state: harness(state, limits=replace(state.canonical.limits, **changes))


STOCK_SKILL = Skill(
    "stock-too", "Stock left or sold out", "reply", ("stock",), Document("Stock", ("Guess.",))
)
TWICE = Skill("availability", "Lucky draws", "strategy", (), Document("Draws", ("Draw once.",)))

BREAKS: dict[str, tuple[str, Change, str]] = {
    # T1
    "two tools share a name": ("T1", renamed("tools", "find_coupon", "same"), "G2"),
    "a tool's name has a space": ("T1", renamed("tools", "find_coupon", "my tool"), "G2"),
    "a tool's name is too long": ("T1", renamed("tools", "find_coupon", "x" * 65), "G2"),
    "a tool takes another's old name": ("T1", renamed("tools", "find_coupon", "check_stock"), "G2"),
    "a tool is named like a skill": ("T1", renamed("tools", "find_coupon", "item-qa"), "G2"),
    "a tool is lost": ("T1", without_tool("find_coupon"), "G1"),
    "renaming tools changes a limit": ("T1", limits(max_turns=9), "G1"),
    "renaming tools renames skills": ("T1", renamed("skills", "deals", "bargains"), "G1"),
    # T2
    "two arguments share a name": (
        "T2",
        lambda s: codec(
            s,
            arguments={
                **s.codec.arguments,
                ("get_shipping", "region"): s.codec.argument("get_shipping", "link_id"),
            },
        ),
        "G5",
    ),
    "an argument's name is illegal": ("T2", renamed("arguments", ("get_shipping", "region"), "地区"), "G2"),
    "an argument is named like a tool": (
        "T2",
        renamed("arguments", ("get_shipping", "region"), "check_stock"),
        "G2",
    ),
    # T4
    "a required argument is dropped": ("T4", schema_of("get_shipping", lambda s: s["required"].pop()), "G1"),
    "an argument is dropped": (
        "T4",
        schema_of("get_shipping", lambda s: s["properties"].pop("region")),
        "G3",
    ),
    "an argument changes its type": (
        "T4",
        schema_of("check_stock", lambda s: s["properties"].update(link_id={"type": "string"})),
        "G3",
    ),
    "a tool is added that solves the task otherwise": ("T4", a_second_way, "G4"),
    # S1
    "two skills share a name": ("S1", renamed("skills", "deals", "same"), "G2"),
    "a skill takes another's old name": ("S1", renamed("skills", "deals", "delivery"), "G2"),
    # S3
    "a distractor answers an intent": ("S3", with_skill(STOCK_SKILL), "G1"),
    "a distractor is named like a skill": ("S3", with_skill(TWICE), "G2"),
    # S4
    "a needed skill is dropped": ("S4", without_skill("after-sales"), "G1"),
    "a skill that another names is dropped": ("S4", without_skill("item-qa"), "G6"),
    "the strategy is dropped": ("S4", without_skill("compare-items"), "G3"),
    "a literal of a rule changes": ("S4", texts(lambda item: item.replace("30 days", "31 days")), "G1"),
    "a skill's text loses its rule": (
        "S4",
        texts(lambda item: item.replace("as clothing: 7 days, ", "")),
        "G6",
    ),
    # P1
    "an item is lost": ("P1", block_items(lambda items: items[1:]), "G1"),
    "an item is there twice": ("P1", block_items(lambda items: (*items, *items[:1])), "G1"),
    "a reference in a rule changes": (
        "P1",
        texts(lambda item: item.replace("`load_skill`", "the tool")),
        "G1",
    ),
    "a session value is lost": ("P1", block_items(lambda i: tuple(x for x in i if "showing" not in x)), "G6"),
    # P3
    "the layout changes the rules": ("P3", texts(lambda item: item.replace("never", "always")), "G1"),
    # K1
    "a message loses its reference": ("K1", hooks(lambda m: m.replace("`load_skill`", "a tool")), "G1"),
    "a message loses its placeholder": ("K1", hooks(lambda m: m.replace("{limit}", "some")), "G1"),
    "a check is dropped": ("K1", lambda s: harness(s, hooks=s.canonical.hooks[1:]), "G1"),
    "the gold no longer fits": ("K1", limits(max_turns=2), "G3"),
    "the gold's reply no longer fits": ("K1", limits(max_reply_characters=20), "G6"),
}


@pytest.mark.parametrize("family", [transform.family for transform in TRANSFORMS])
def test_a_sound_transform_passes_every_gate(family: str, gold: Gold) -> None:
    # The test split: some families are legal nowhere else.
    assert failures_of(only(family), gold, range(8), "test") == []


@pytest.mark.parametrize("name", BREAKS)
def test_a_broken_transform_is_caught(name: str, gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    family, change, gate = BREAKS[name]
    if name.endswith("share a name") and "argument" not in name:
        kind = "tools" if family == "T1" else "skills"
        other = "check_stock" if family == "T1" else "delivery"
        first = change
        change = lambda state: renamed(kind, other, "same")(first(state))  # noqa: E731
    broken = tuple(then(t, change) if t.family == family else t for t in TRANSFORMS)
    monkeypatch.setattr(hat.augment.sampler, "TRANSFORMS", broken)
    failures = failures_of(only(family), gold)
    assert gate in {failure.gate for failure in failures}, failures[:5]
    for failure in failures:
        assert failure.families == (family,)
        assert failure.transform == family
        assert failure.symbol
        assert failure.message
        assert len(failure.digest) == 64


def every_state_fails(gold: Gold, *gates: str) -> None:
    """With all families together, at least one of ``gates`` fails on some state."""
    config = AugmentConfig(original_share=0, probability=1, opaque_share=0, layouts=("json", "plain"))
    found = {failure.gate for failure in failures_of(config, gold, range(12))}
    assert found & set(gates), found


def test_every_broken_renderer_of_names_is_caught(gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = hat.augment.state._apply_names

    def breaking(change: Callable[[Harness, Harness], Harness]) -> None:
        monkeypatch.setattr(
            hat.augment.state,
            "_apply_names",
            lambda canonical, codec: change(sound(canonical, codec), canonical),
        )

    def old_required(shown: Harness, canonical: Harness) -> Harness:
        tools = []
        for tool, old in zip(shown.tools, canonical.tools, strict=True):
            schema = {**tool.input_schema, "required": old.input_schema["required"]}
            tools.append(replace(tool, input_schema_json=json.dumps(schema)))
        return replace(shown, tools=tuple(tools))

    # An old name stays in a hook message, in a skill's text, in the prompt, in `required`, in a binding.
    for change in (
        lambda shown, old: replace(shown, hooks=old.hooks),
        lambda shown, old: replace(
            shown,
            skills=tuple(replace(s, body=o.body) for s, o in zip(shown.skills, old.skills, strict=True)),
        ),
        lambda shown, old: replace(shown, blocks=old.blocks),
        lambda shown, old: replace(shown, bindings=old.bindings),
        old_required,
    ):
        breaking(change)
        every_state_fails(gold, "G2")
    # One tool is not renamed although the codec renames it.
    breaking(lambda shown, old: replace(shown, tools=(*shown.tools[:-1], old.tools[-1])))
    every_state_fails(gold, "G2")


def test_a_layout_that_loses_an_item_is_caught(gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    layouts = {
        **hat.harness.render._LAYOUTS,
        "plain": lambda document: "\n".join([document.title, *document.items[:-1]]),
    }
    monkeypatch.setattr(hat.harness.render, "_LAYOUTS", layouts)
    config = AugmentConfig(original_share=0, probability=1, families=("P3",), layouts=("plain",))
    assert "G6" in {failure.gate for failure in failures_of(config, gold)}


def test_a_codec_that_still_takes_old_names_is_caught(gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        hat.augment.codec, "_back", lambda kind, presented, back, forward: back.get(presented, presented)
    )
    found = failures_of(only("T1", "S1"), gold, range(6))
    assert {failure.gate for failure in found} == {"G4"}
    assert {failure.transform for failure in found} <= {"T1", "S1"}


def test_a_codec_that_changes_a_value_is_caught(gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    sound = hat.augment.codec.Codec.decode

    def decode(self, call, skill_argument_of):
        back = sound(self, call, skill_argument_of)
        # 3 and 3.0 are equal in Python and are not the same JSON.
        floats = {n: float(v) if isinstance(v, int) else v for n, v in back.arguments.items()}
        return replace(back, arguments=floats)

    monkeypatch.setattr(hat.augment.codec.Codec, "decode", decode)
    assert "G5" in {failure.gate for failure in failures_of(only("T2"), gold)}


def test_sampling_that_is_not_repeatable_is_caught(gold: Gold, monkeypatch: pytest.MonkeyPatch) -> None:
    from itertools import count

    counter = count()
    unstable = tuple(
        then(t, lambda state: codec(state, tools={**state.codec.tools, "find_coupon": f"t_{next(counter)}"}))
        if t.family == "T1"
        else t
        for t in TRANSFORMS
    )
    monkeypatch.setattr(hat.augment.sampler, "TRANSFORMS", unstable)
    assert "G1" in {failure.gate for failure in failures_of(only("T1"), gold)}
