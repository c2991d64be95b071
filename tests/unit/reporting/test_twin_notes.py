"""Twins in what people read: pair scores never stand without those of the policy that ignores the harness."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

import hat.evaluation.command as command
from hat.domains.base import get_domain
from hat.evaluation.config import EvaluateConfig, RobustnessConfig
from hat.evaluation.run import evaluate_policy
from hat.harness.registry import Registry
from hat.reporting.quality import read_suites
from pipelines.cli.main import app

REGISTRY = Path(__file__).parents[3] / "harness_registry"
CONFIG = EvaluateConfig(robustness=RobustnessConfig(twin_pairs=4, faults=3)).only(("tool_prompt_robustness",))


@pytest.fixture(scope="module")
def document():
    domain = get_domain("live_shop")
    few = CONFIG.model_copy(update={"tool_prompt_robustness": 3})
    return evaluate_policy(domain.expert(), Registry(REGISTRY).load("live-shop", "1.0.0"), domain, few)


def test_the_report_notes_each_kind_of_twins(document):
    (suite,) = read_suites({"candidate": document}, {})
    assert suite.notes == tuple(
        f"twin_{kind}: 100% of 1 pairs solved exactly, 0% by a policy that ignores the harness."
        for kind in ("C1", "C2", "C3", "C4")
    )


def test_broken_summaries_are_left_out(document):
    suite = document["suites"]["tool_prompt_robustness"]
    broken = {"twin_C1": None, "twin_C2": {"pairs": 3, "pair_exact": "x"}, "faults": {}}
    changed = {**document, "suites": {"tool_prompt_robustness": {**suite, "sub_suites": broken}}}
    (shown,) = read_suites({"candidate": changed}, {})
    assert shown.notes == ()


def test_the_table_of_hat_eval_shows_pairs_beside_the_blind_policy(document, monkeypatch):
    asked = {}

    def evaluated(model, harness, **options):
        asked.update(options)
        return document

    monkeypatch.setattr(command, "evaluate_model", evaluated)
    arguments = ["eval", "m", "--harness", "live-shop@1.0.0", "--set", "robustness.twin_pairs=4"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert asked["settings"].robustness.twin_pairs == 4
    (line,) = [line.strip() for line in done.output.splitlines() if "twin_C3" in line]
    assert line.split()[1:3] == ["2", "100.0%"]
    assert line.endswith("100.0% (blind 100.0%)  100.0% (blind 0.0%)")
