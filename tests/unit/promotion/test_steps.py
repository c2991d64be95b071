"""The decide and promote steps on real files and a real local store."""

import json

import pytest

from hat.errors import BadInput
from hat.promotion import ledger
from hat.promotion.archive import evidence_place, trained_on
from hat.promotion.ledger import StaleBaseline
from hat.promotion.verdict import recompute
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps import decide, promote
from hat.steps.subject import Subject


class Run:
    """One run's files: what earlier steps would have left."""

    def __init__(self, folder, maker, policy_text, case):
        self.folder, self.maker = folder, maker
        documents = maker.documents_of(case)
        about = documents["subject.json"]
        self.evidence = maker.write(folder / "evidence", documents)
        production = about["models"]["production"]
        Subject(
            harness=about["harness"],
            version=about["version"],
            harness_digest=about["harness_digest"],
            environment="example",
            mode="auto",
            plan="train",
            gate_policy=policy_text,
            base={"digest": about["models"]["base"]},
            production=production and {"digest": production},
            ledger_head=about["ledger_head"],
        ).write(folder / "subject.json")
        RunConfig(profile="example").write(folder / "config.json")
        self.write_model(about["models"]["candidate"])

    def write_model(self, digest):
        model = {"schema_version": 1, "kind": "model", "digest": digest, "base": "b", "notes": ""}
        (self.folder / "model.json").write_text(json.dumps(model))

    def decide(self):
        return decide.run(
            config=str(self.folder / "config.json"),
            subject=str(self.folder / "subject.json"),
            evidence_dir=str(self.evidence),
            verdict_out=str(self.folder / "verdict.json"),
        )

    def promote(self):
        return promote.run(
            config=str(self.folder / "config.json"),
            subject=str(self.folder / "subject.json"),
            model_in=str(self.folder / "model.json"),
            verdict=str(self.folder / "verdict.json"),
            promotion_out=str(self.folder / "promotion.json"),
            who="tester",
        )

    def verdict(self):
        return json.loads((self.folder / "verdict.json").read_text())


@pytest.fixture
def make_run(tmp_path, maker, evidence_folders, monkeypatch):
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "store"))
    monkeypatch.delenv("HAT_RUN_ID", raising=False)
    policy_text = (evidence_folders / "gate.yaml").read_text()

    def make(case, name="run"):
        folder = tmp_path / name
        folder.mkdir()
        return Run(folder, maker, policy_text, case)

    return make


def test_what_decide_writes_is_what_hat_gate_recomputes(make_run, evidence_folders):
    run = make_run("slice-collapse")
    assert run.decide() == "FAIL"
    assert run.verdict() == recompute(evidence_folders / "gate.yaml", run.evidence).to_json()


def test_a_pass_promotes_the_pair_and_keeps_its_evidence(make_run):
    run = make_run("no-production")
    assert run.decide() == "PASS"
    assert run.promote() == 1
    store = open_run_store()
    entry = ledger.production(store, "example", "live-shop")
    assert json.loads((run.folder / "promotion.json").read_text()) == entry.to_json()
    assert entry.who == "tester"
    assert entry.evidence_digest == run.verdict()["evidence_digest"]
    assert trained_on(store, entry) == frozenset(
        run.maker.documents_of("no-production")["training_items.json"]["task_digests"]
    )


def test_archived_evidence_gives_the_same_verdict(make_run, evidence_folders, tmp_path):
    run = make_run("no-production")
    run.decide()
    (run.evidence / "notes.txt").write_text("not part of the evidence")
    place = evidence_place(run.verdict()["evidence_digest"])
    open_run_store().get_tree(place, tmp_path / "copy")
    assert recompute(evidence_folders / "gate.yaml", tmp_path / "copy").to_json() == run.verdict()


def test_promoting_again_after_a_crash_changes_nothing(make_run):
    run = make_run("no-production")
    run.decide()
    assert run.promote() == run.promote() == 1
    assert len(ledger.history(open_run_store(), "example", "live-shop")) == 1


def test_only_pass_promotes(make_run):
    for case in ("slice-collapse", "nan"):
        run = make_run(case, case)
        run.decide()
        with pytest.raises(BadInput, match="only PASS promotes"):
            run.promote()
    assert ledger.production(open_run_store(), "example", "live-shop") is None


def test_a_pass_of_a_version_older_than_production_promotes_nothing_and_says_why(make_run):
    run = make_run("no-production")
    run.decide()
    path = run.folder / "subject.json"
    Subject.read(path).model_copy(update={"production_version": "99.0.0"}).write(path)
    assert run.promote() == 0
    written = json.loads((run.folder / "promotion.json").read_text())
    assert written["promoted"] is False
    assert "99.0.0 is in production" in written["reason"]
    assert ledger.history(open_run_store(), "example", "live-shop") == []


def test_a_verdict_about_another_model_does_not_promote(make_run):
    run = make_run("no-production")
    run.decide()
    run.write_model("another")
    with pytest.raises(BadInput, match="the verdict is about model"):
        run.promote()


def test_the_later_of_two_runs_against_the_same_production_is_stale(make_run):
    first, second = make_run("no-production", "first"), make_run("no-production", "second")
    latency = json.loads((second.evidence / "latency.json").read_text())
    latency["requests"][50]["finished"] += 0.01
    (second.evidence / "latency.json").write_text(json.dumps(latency))
    for run in (first, second):
        assert run.decide() == "PASS"
    assert first.promote() == 1
    with pytest.raises(StaleBaseline):
        second.promote()
    assert not (second.folder / "promotion.json").exists()


def test_a_policy_without_this_environment_is_bad_input(make_run):
    run = make_run("sound")
    subject = json.loads((run.folder / "subject.json").read_text())
    (run.folder / "subject.json").write_text(json.dumps({**subject, "environment": "moon"}))
    with pytest.raises(BadInput, match="no policy for environment 'moon'"):
        run.decide()
