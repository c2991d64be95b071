"""A run's own wordings: read from a file, proven on the harness, chosen from by split, recorded with the settings."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from hat.augment.banks import bank
from hat.augment.config import AugmentConfig
from hat.augment.plan import expert_gold, prove_states, sample_states
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.augment.transforms.base import with_harness
from hat.augment.verify import Gold, verify_state
from hat.augment.wordings.document import LARGEST, Wordings, read_wordings
from hat.augment.wordings.prove import check_wordings
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.files import read_json, write_json_atomic
from hat.harness.model import Harness
from hat.harness.registry import Registry
from hat.runs.config import RunConfig, apply_overrides, parse_config
from hat.runs.places import open_run_store
from hat.runs.wordings import with_wordings
from pipelines.cli.main import app
from pipelines.cli.options import run_settings

REGISTRY = Path(__file__).resolve().parents[3] / "harness_registry"
HARNESS = Registry(REGISTRY).load("live-shop", "1.0.0")
STOCK = {
    "train": ["Whether a link is sold out, or its stock left"],
    "dev": ["Stock of a link"],
    "test": ["A link: sold out, or what is left"],
}
RETURNS = {
    "train": ["Refunds, returns, exchanges: which days"],
    "dev": ["Returns, refunds: days to send back"],
}
HOOK = {"train": ["First use `@load_skill` to load a reply skill."]}
BANKS = {
    "tool_descriptions": {"check_stock": STOCK},
    "skill_descriptions": {"reply returns": RETURNS},
    "hook_messages": {"reply_skill_loaded": HOOK},
}
WORDINGS = Wordings.of("live_shop", BANKS)
USED = AugmentConfig(
    original_share=0, probability=1, families=("S2", "T3", "K1", "T1"), opaque_share=0, wordings=WORDINGS
)
PLAIN = USED.model_copy(update={"wordings": None})


@pytest.fixture(scope="module")
def gold() -> Gold:
    return expert_gold(HARNESS, get_domain("live_shop"), "train", count=13)


def a_file(folder: Path, **changes: object) -> Path:
    """As `hat reword` writes it."""
    document = {"schema_version": 1, "domain": "live_shop", "model": "strong", "banks": BANKS, "refused": []}
    path = folder / "wordings.json"
    write_json_atomic(path, {**document, **changes})
    return path


def said(state: HarnessState) -> Iterator[str]:
    yield from (tool.description for tool in state.canonical.tools)
    yield from (skill.description for skill in state.canonical.skills)
    yield from (hook.message for hook in state.canonical.hooks)


def test_each_split_uses_its_own_wordings_beside_those_of_the_banks(gold: Gold) -> None:
    everything = {words for one in (STOCK, RETURNS, HOOK) for listed in one.values() for words in listed}
    for split in ("train", "dev", "test"):
        states = sample_states(HARNESS, count=60, run_seed=1, split=split, config=USED)
        own = {words.replace("@", "") for one in (STOCK, RETURNS, HOOK) for words in one.get(split, ())}
        seen = {words for state in states for words in said(state)}
        assert {words for words in seen if words in {w.replace("@", "") for w in everything}} == own
        assert seen & set(bank("tool_descriptions")["live_shop"]["check_stock"][split])


def test_states_with_wordings_pass_every_gate_and_no_gate_knows_the_wordings_of_another_run(
    gold: Gold,
) -> None:
    states = sample_states(HARNESS, count=12, run_seed=2, split="train", config=USED)
    assert prove_states(states, HARNESS, USED, gold).failures == ()
    told = next(state for state in states if STOCK["train"][0] in set(said(state)))
    failures = verify_state(told, HARNESS, PLAIN, gold, again=lambda: told)
    assert {(failure.gate, failure.transform) for failure in failures} >= {("G1", "T3")}


def test_a_variant_of_another_split_is_caught(gold: Gold) -> None:
    state = sample_state(HARNESS, seed=3, split="train", config=USED)
    leaked = [
        replace(t, description=STOCK["test"][0]) if t.name == "check_stock" else t
        for t in state.canonical.tools
    ]
    broken = with_harness(state, tools=tuple(leaked))
    (failure,) = verify_state(broken, HARNESS, USED, gold, again=lambda: broken)
    assert (failure.gate, failure.symbol) == ("G1", "check_stock")
    assert "none of the train variants" in failure.message


def test_the_digest_is_part_of_what_decides_a_state_and_none_changes_nothing() -> None:
    other = Wordings.of(
        "live_shop", {"hook_messages": {"reply_length": {"train": ["At most {limit} letters."]}}}
    )
    only_names = {"families": ("T1",)}
    first, again, second = (
        sample_state(
            HARNESS, seed=1, split="train", config=USED.model_copy(update={**only_names, "wordings": one})
        )
        for one in (WORDINGS, Wordings.of("live_shop", BANKS), other)
    )
    assert first.digest == again.digest != second.digest
    assert WORDINGS.digest != other.digest


def test_they_are_recorded_whole_with_their_digest_and_an_edit_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "store"))
    settings = run_settings([f"augment.wordings={a_file(tmp_path)}", "seed=3"])
    assert settings == {"augment.wordings_digest": WORDINGS.digest, "seed": 3}
    named = parse_config(apply_overrides({}, settings), where="test")
    with pytest.raises(BadInput, match="do not hold them"):
        sample_state(HARNESS, seed=0, split="train", config=named.augment)
    config = with_wordings(named, open_run_store())
    assert with_wordings(config, open_run_store()) is config
    config.write(tmp_path / "config.json")
    assert RunConfig.read(tmp_path / "config.json").augment.wordings == WORDINGS
    document = read_json(tmp_path / "config.json")
    assert document["augment"]["wordings"]["digest"] == WORDINGS.digest
    document["augment"]["wordings"]["banks"]["hook_messages"] = {}
    with pytest.raises(BadInput, match="digest is not that of the wordings"):
        parse_config(document, where="config.json")
    document["augment"]["wordings_digest"] = "0" * 64
    document["augment"]["wordings"] = WORDINGS.model_dump(mode="json")
    with pytest.raises(BadInput, match="not the digest of the wordings"):
        parse_config(document, where="config.json")
    with pytest.raises(BadInput, match="holds the wordings themselves"):
        parse_config({"augment": {"wordings": "wordings.json"}}, where="profile")


def test_wordings_that_the_store_lacks_or_broke_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "store"))
    store = open_run_store()
    named = parse_config({"augment": {"wordings_digest": WORDINGS.digest}}, where="test")
    with pytest.raises(BadInput, match="no such wordings"):
        with_wordings(named, store)
    other = Wordings.of("live_shop", {})
    for broken in (b"{", b"{}", other.model_dump_json().encode()):
        store.put(f"wordings/{WORDINGS.digest}.json", broken)
        with pytest.raises(BadInput, match="are no wordings"):
            with_wordings(named, store)
    with pytest.raises(BadInput, match="wordings_digest"):
        parse_config({"augment": {"wordings_digest": "wordings.json"}}, where="test")


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"schema_version": 2}, "schema version 1"),
        ({"domain": None}, "domain"),
        ({"banks": {"poems": {}}}, "poems"),
        ({"banks": {"hook_messages": {"x": {"holdout": ["y"]}}}}, "holdout"),
        ({"banks": {"hook_messages": {"x": {"train": ["y"], "dev": ["y"]}}}}, "there twice"),
        ({"banks": {"hook_messages": {"x": {"train": "y"}}}}, "must be a list"),
        ({"banks": {"hook_messages": {"x": {"train": ["y" * LARGEST]}}}}, "bytes of wordings"),
    ],
)
def test_a_file_that_holds_no_wordings_is_refused(changes: dict, problem: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=problem):
        read_wordings(a_file(tmp_path, **changes))


@pytest.mark.parametrize(
    ("banks", "problem"),
    [
        ({"tool_descriptions": {"check_stock": {"train": ["Price and details of a link left"]}}}, "nearer"),
        ({"tool_descriptions": {"check_stock": {"train": ["Whether a link is sold out"]}}}, "does not say"),
        (
            {"tool_descriptions": {"check_stock": {"dev": ["Stock of one link"]}}},
            "in the bank already, for train",
        ),
        ({"skill_descriptions": {"reply stock": {"train": ["Stock left, returns"]}}}, "also describe"),
        ({"hook_messages": {"reply_skill_loaded": {"train": ["Load a reply skill."]}}}, "code spans"),
    ],
)
def test_wordings_are_proven_on_the_harness_before_any_state(banks: dict, problem: str, gold: Gold) -> None:
    wrong = Wordings.of("live_shop", banks)
    config = USED.model_copy(update={"wordings": wrong})
    with pytest.raises(BadInput, match=problem):
        prove_states([], HARNESS, config, gold)


def test_wordings_of_another_domain_are_refused_and_of_a_text_that_is_gone_unused(gold: Gold) -> None:
    with pytest.raises(BadInput, match="domain elsewhere"):
        check_wordings(Wordings.of("elsewhere", BANKS), HARNESS, gold)
    gone = Wordings.of("live_shop", {"tool_descriptions": {"weigh_parcel": {"train": ["Weight"]}}})
    check_wordings(gone, HARNESS, gold)
    # A version that took a wording over as its own text has nothing to say otherwise.
    taken = tuple(
        replace(t, description=STOCK["train"][0]) if t.name == "check_stock" else t for t in HARNESS.tools
    )
    newer: Harness = replace(HARNESS, tools=taken)
    only = Wordings.of("live_shop", {"tool_descriptions": {"check_stock": {"train": STOCK["train"]}}})
    check_wordings(only, newer, gold)


def test_wordings_cannot_be_changed_and_must_fit_their_digest() -> None:
    with pytest.raises(ValidationError, match="digest is not that"):
        Wordings(domain="live_shop", banks={}, digest=WORDINGS.digest)


def test_hat_augment_uses_a_file_and_verifies_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    file, out = a_file(tmp_path), tmp_path / "states"
    words = ["--seed", "7", "--count", "8", "--family", "T3", "--family", "K1", "--registry", str(REGISTRY)]
    command = ["augment", "live-shop@1.0.0", *words, "--out", str(out)]
    done = CliRunner().invoke(app, [*command, "--wordings", str(file)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert read_json(out / "states.json")["config"]["wordings"]["digest"] == WORDINGS.digest
    file.unlink()
    again = CliRunner().invoke(
        app, ["augment", "verify", str(out), "--json", "--registry", str(REGISTRY)], catch_exceptions=False
    )
    assert json.loads(again.stdout)["passed"] == 8
    plain = CliRunner().invoke(app, [*command[:-1], str(tmp_path / "plain")], catch_exceptions=False)
    assert plain.exit_code == 0
    digests = [
        [s["digest"] for s in read_json(tmp_path / n / "states.json")["states"]] for n in ("states", "plain")
    ]
    assert digests[0] != digests[1]
