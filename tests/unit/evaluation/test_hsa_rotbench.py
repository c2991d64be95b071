"""RoTBench's noisy tool lists as items of Tool/Prompt Robustness: played, scored and summed up by level."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hat.agent.episode import Episode
from hat.agent.policy import Executor
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.evaluation.config import EvaluateConfig, RobustnessConfig
from hat.evaluation.rotbench import LEVELS, rotbench_suite
from hat.evaluation.run import evaluate_policy
from hat.harness.registry import Registry

ROOT = Path(__file__).resolve().parents[3]
ROTBENCH = ROOT.parent / "shared" / "data" / "rotbench"
HARNESS = Registry(ROOT / "harness_registry").load("live-shop", "1.0.0")
DOMAIN = get_domain("live_shop")
NOTHING_ELSE = {
    "live_stream_qa": 0,
    "harness_variant_qa": 0,
    "tool_prompt_robustness": 0,
    "instruction_following": 0,
}


def config(folder: Path, records: int = 210) -> EvaluateConfig:
    robustness = RobustnessConfig(rotbench=str(folder), rotbench_records=records)
    return EvaluateConfig.model_validate({**NOTHING_ELSE, "robustness": robustness})


@pytest.mark.skipif(not ROTBENCH.is_dir(), reason="../shared/data/rotbench is absent")
def test_every_level_has_its_result_beside_that_of_a_policy_that_knows_the_clean_lists_by_heart() -> None:
    _, tool_choice = rotbench_suite(ROTBENCH, 210)
    document = evaluate_policy(tool_choice.expert(), HARNESS, DOMAIN, config(ROTBENCH))
    suite = document["suites"]["tool_prompt_robustness"]
    assert suite["n"] == 105 + 3 * 210 + 105 - 2
    assert suite["accuracy"] == 1
    by_kind = suite["sub_suites"]
    assert set(by_kind) == {f"rotbench_{level}{ending}" for level in LEVELS for ending in ("", "_same_names")}
    assert by_kind["rotbench_slight_same_names"]["n"] == 5
    floors = {level: by_kind[f"rotbench_{level}"]["baseline_accuracy"] for level in LEVELS}
    assert floors["clean"] == 1
    assert max(floor for level, floor in floors.items() if level != "clean") < 0.2


class OnlyTheShop:
    """The shop's expert; under any other harness it says that it is done and calls nothing."""

    name = "only-the-shop"

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        if episodes[0].state.canonical.domain == DOMAIN.name:
            DOMAIN.expert().play(episodes, execute, on_done)
            return
        for episode in episodes:
            episode.submit("Done.")


@pytest.mark.skipif(not ROTBENCH.is_dir(), reason="../shared/data/rotbench is absent")
def test_fewer_records_are_the_first_of_more_and_stand_beside_other_items() -> None:
    few, _ = rotbench_suite(ROTBENCH, 3)
    more, _ = rotbench_suite(ROTBENCH, 5)
    assert len(few) == 3 * len(LEVELS)
    assert {item.id for item in few} < {item.id for item in more}
    asked = config(ROTBENCH, 3).model_copy(update={"tool_prompt_robustness": 3})
    document = evaluate_policy(OnlyTheShop(), HARNESS, DOMAIN, asked)
    by_kind = document["suites"]["tool_prompt_robustness"]["sub_suites"]
    assert by_kind["faults"]["accuracy"] == 1
    assert by_kind["rotbench_union"] == {**by_kind["rotbench_union"], "n": 3, "accuracy": 0}


def test_a_folder_without_its_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        evaluate_policy(DOMAIN.expert(), HARNESS, DOMAIN, config(tmp_path))


def test_a_smaller_evaluation_takes_fewer_and_one_of_other_suites_none() -> None:
    asked = config(Path("x"))
    assert asked.limited(7).robustness.rotbench_records == 7
    assert asked.limited(0).robustness.rotbench is None
    assert asked.only(("live_stream_qa",)).robustness.rotbench is None
