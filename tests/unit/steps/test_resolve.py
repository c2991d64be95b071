"""`resolve` fixes what a run is about, and refuses what cannot work before anything costly starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry
from hat.models import ModelStore
from hat.promotion.ledger import Proposal, promote
from hat.runs.config import RunConfig
from hat.runs.harness_archive import publish_harness, published_version
from hat.runs.places import open_run_store
from hat.steps import resolve
from hat.steps.subject import Subject
from tests.support.model_folder import write_model_folder
from tests.unit.training.conftest import make_model, make_tokenizer

REGISTRY = Registry(Path(__file__).resolve().parents[3] / "harness_registry")


class Resolver:
    """Calls the step in a folder of its own, for a harness published to a store of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.model = write_model_folder(root / "model")
        self.store = open_run_store()
        self.harness = publish_harness(self.store, REGISTRY, "live-shop", "1.0.0")

    def __call__(
        self, *, version: str = "1.0.0", mode: str = "auto", profile: str = "tiny", **settings: Any
    ) -> str:
        overrides = {"base_model": str(self.model), **settings}
        return resolve.run(
            harness="live-shop",
            version=version,
            harness_digest="",
            mode=mode,
            overrides=json.dumps(overrides),
            code_version="c1",
            profile=json.dumps({"profile": profile}),
            config_out=str(self.root / "config"),
            subject_out=str(self.root / "subject"),
        )

    @property
    def config(self) -> RunConfig:
        return RunConfig.read(self.root / "config")

    @property
    def subject(self) -> Subject:
        return Subject.read(self.root / "subject")

    def put_in_production(self, version: str, environment: str = "tiny") -> None:
        proposal = Proposal(
            environment=environment,
            harness="live-shop",
            version=version,
            harness_digest=self.harness.digest,
            model={"schema_version": 1, "kind": "model", "digest": "ab" * 32, "base": "b", "notes": ""},
            run="earlier",
            verdict_digest="v",
            evidence_digest="e",
            who="someone",
            when="2026-01-01T00:00:00+00:00",
        )
        promote(self.store, proposal, expected_head=0)


@pytest.fixture
def resolved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Resolver:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    return Resolver(tmp_path)


def test_without_a_model_in_production_the_plan_is_to_train(resolved: Resolver) -> None:
    assert resolved() == "train"
    assert (resolved.subject.production, resolved.subject.ledger_head) == (None, 0)
    assert resolved.subject.harness_digest == resolved.harness.digest
    assert resolved.config.domain == resolved.harness.domain


def test_with_a_model_in_production_it_is_screened_first(resolved: Resolver) -> None:
    resolved.put_in_production("1.0.0")
    assert resolved() == "screen"
    assert resolved.subject.production is not None
    assert resolved.subject.production["digest"] == "ab" * 32
    assert (resolved.subject.production_run, resolved.subject.ledger_head) == ("earlier", 1)


def test_mode_train_trains_whatever_is_in_production(resolved: Resolver) -> None:
    resolved.put_in_production("1.0.0")
    assert resolved(mode="train") == "train"


def test_what_another_environment_has_in_production_does_not_count(resolved: Resolver) -> None:
    resolved.put_in_production("1.0.0", environment="laptop")
    assert resolved() == "train"


def test_settings_reach_the_config_with_the_code_version(resolved: Resolver) -> None:
    resolved(**{"sft.control": "fixed", "seed": 7})
    config = resolved.config
    assert (config.sft.control, config.seed, config.code_version) == ("fixed", 7, "c1")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"mode": "sometimes"}, "no mode 'sometimes'"),
        ({"mode": "screen"}, "there is no model to screen"),
        ({"version": "9.9.9"}, "live-shop@9.9.9 is not in the store"),
        ({"profile": "elsewhere"}, "no policy for environment 'elsewhere'"),
        ({"base_model": "/no/such/folder"}, "no such base model"),
        ({"sft.contrl": "fixed"}, "sft.control"),
    ],
)
def test_what_cannot_work_is_bad_input(resolved: Resolver, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(BadInput, match=told):
        resolved(**arguments)
    assert not (resolved.root / "config").exists()


def test_a_strong_model_that_does_not_answer_stops_the_run_here(resolved: Resolver) -> None:
    endpoint = {
        "generate.policy": "endpoint",
        "generate.endpoint.url": "http://127.0.0.1:9/v1",
        "generate.endpoint.model": "m",
    }
    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:9"):
        resolved(**endpoint)


def test_a_nearly_full_disk_stops_the_run_here(resolved: Resolver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "FREE_BYTES", 1 << 60)
    with pytest.raises(EnvironmentFailure, match="MB free"):
        resolved()


def test_a_harness_changed_in_the_registry_does_not_change_a_published_one(
    resolved: Resolver, tmp_path: Path
) -> None:
    resolved()
    assert resolved.subject.load_harness(resolved.store) == resolved.harness


def test_a_damaged_harness_archive_is_noticed(resolved: Resolver) -> None:
    resolved()
    key = f"harnesses/live-shop/1.0.0/{resolved.harness.digest}.tar"
    other = publish_harness(resolved.store, REGISTRY, "live-shop", "1.1.0")
    resolved.store.put(key, resolved.store.get(f"harnesses/live-shop/1.1.0/{other.digest}.tar"))
    with pytest.raises(EnvironmentFailure, match="another digest"):
        resolved.subject.load_harness(resolved.store)


def test_latest_is_the_newest_release_in_the_store(resolved: Resolver) -> None:
    publish_harness(resolved.store, REGISTRY, "live-shop", "1.1.0")
    assert resolved(version="latest") == "train"
    assert resolved.subject.version == "1.1.0"


def test_latest_of_a_harness_that_was_never_published_is_bad_input(resolved: Resolver) -> None:
    with pytest.raises(BadInput, match="no version of other is in the store"):
        published_version(resolved.store, "other", "latest")


@pytest.mark.parametrize(
    ("there", "newest"),
    [
        (["1.9.0", "1.10.0"], "1.10.0"),
        (["1.0.0", "2.0.0-rc.1"], "1.0.0"),
        (["2.0.0-rc.1", "2.0.0-rc.2"], "2.0.0-rc.2"),
    ],
)
def test_the_newest_version_goes_by_semantic_versioning_and_releases_come_first(
    resolved: Resolver, there: list[str], newest: str
) -> None:
    for version in there:
        resolved.store.put(f"harnesses/shop/{version}/published.json", b"{}")
    assert published_version(resolved.store, "shop", "latest") == newest


def test_mined_questions_need_their_file_and_a_judge_before_anything_costly(resolved: Resolver) -> None:
    with pytest.raises(BadInput, match=r"generate\.judge\.url"):
        resolved(**{"generate.mined_questions": "mined.jsonl"})
    judge = {"generate.judge.url": "http://127.0.0.1:9/v1", "generate.judge.model": "m"}
    with pytest.raises(EnvironmentFailure, match=r"127\.0\.0\.1:9/v1"):
        resolved(**{"generate.mined_questions": "mined.jsonl", **judge})


def test_a_teacher_that_is_absent_or_has_another_tokenizer_is_refused_before_anything_is_trained(
    resolved: Resolver, tmp_path: Path
) -> None:
    harness_opd = {"opd.prompts": "harness"}
    with pytest.raises(BadInput, match="the store has no model ffffffffffff") as absent:
        resolved(**harness_opd, **{"opd.teacher": "f" * 64})
    assert absent.value.where == "opd.teacher"
    models = ModelStore(resolved.store)
    tokenizer = make_tokenizer()
    make_model(tokenizer).save_pretrained(tmp_path / "base")
    tokenizer.save_pretrained(tmp_path / "base")
    base = models.publish(tmp_path / "base", base="tiny")
    other = make_tokenizer(("zebra",))
    make_model(other).save_pretrained(tmp_path / "other")
    other.save_pretrained(tmp_path / "other")
    teacher = models.publish(tmp_path / "other", base="tiny")
    given = {**harness_opd, "base_model": str(tmp_path / "base")}
    with pytest.raises(BadInput, match="the teacher has 259 embeddings and the student 258"):
        resolved(**given, **{"opd.teacher": teacher.digest})
    assert resolved(**given, **{"opd.teacher": base.digest}) == "train"
