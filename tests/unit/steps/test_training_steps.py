"""Steps `opd` and `rl`: a model reference in, a model reference out, and the training log."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

import hat.steps.generate as generate_step
import hat.steps.opd as opd_step
import hat.steps.rl as rl_step
import hat.steps.sft as sft_step
import hat.steps.training as shared
from hat.augment.config import AugmentConfig
from hat.errors import BadInput
from hat.files import read_json
from hat.harness.registry import Registry
from hat.models import ModelRef, ModelStore
from hat.runs.config import RunConfig
from hat.runs.harness_archive import publish_harness
from hat.runs.places import open_run_store
from hat.steps.subject import Subject
from hat.training.checkpoints import stored_checkpoints
from hat.training.config import OPDConfig, RLConfig, SFTConfig
from hat.training.metrics import read_step_log
from hat.trajectories.config import GenerateConfig
from tests.unit.training.conftest import make_model, make_tokenizer

REGISTRY = Path(__file__).parents[3] / "harness_registry"
OPD = OPDConfig(steps=2, samples_per_step=2, max_new_tokens=4)
RL = RLConfig(steps=1, groups_per_step=1, candidates=1, group_size=2, max_new_tokens=4, intents=("host",))


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The inputs of a step; the student differs from the base by its seed."""
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("HAT_STORE", raising=False)
    harness = publish_harness(open_run_store(), Registry(REGISTRY), "live-shop", "1.0.0")
    base = publish_model(tmp_path / "base", seed=0)
    Subject(
        harness="live-shop",
        version="1.0.0",
        harness_digest=harness.digest,
        environment="tiny",
        mode="auto",
        plan="train",
        gate_policy="",
        base=base.model_dump(),
    ).write(tmp_path / "subject.json")
    publish_model(tmp_path / "student", seed=1).write(tmp_path / "model_in.json")
    names = {"config": "config.json", "subject": "subject.json", "model_in": "model_in.json"}
    outputs = {"model_out": "model_out.json", "metrics_out": "metrics.jsonl", "trajectories_dir": "none"}
    configure(tmp_path)
    return {name: str(tmp_path / file) for name, file in {**names, **outputs}.items()}


def configure(folder: Path, opd: OPDConfig = OPD, rl: RLConfig = RL) -> None:
    RunConfig(domain="live_shop", opd=opd, rl=rl, seed=4).write(folder / "config.json")


def publish_model(folder: Path, seed: int, extra: tuple[str, ...] = ()) -> ModelRef:
    tokenizer = make_tokenizer(extra)
    make_model(tokenizer, seed).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return ModelStore(open_run_store()).publish(folder, base="tiny", notes="random weights")


def result(given: dict[str, str]) -> tuple[ModelRef, Path]:
    reference = ModelRef.read(Path(given["model_out"]))
    return reference, ModelStore(open_run_store()).materialise(reference)


def test_distillation_stores_a_whole_model_once(given: dict[str, str], tmp_path: Path) -> None:
    opd_step.run(**given)
    reference, folder = result(given)
    assert reference.digest != ModelRef.read(Path(given["model_in"])).digest
    assert (reference.base, reference.notes) == ("tiny", "random weights")
    assert [line["step"] for line in read_step_log(Path(given["metrics_out"]))] == [1, 2]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    assert tokenizer.chat_template == make_tokenizer().chat_template
    for name in ("generation_config.json", "config.json", "tokenizer.json"):
        assert (folder / name).read_bytes() == (tmp_path / "student" / name).read_bytes()
    opd_step.run(**given)
    assert result(given)[0].digest == reference.digest


def test_weights_between_stages_keep_the_precision_of_training(given: dict[str, str], tmp_path: Path) -> None:
    configure(tmp_path, OPD.model_copy(update={"learning_rate": 1e-6}))
    opd_step.run(**given)
    after = AutoModelForCausalLM.from_pretrained(result(given)[1], dtype="auto")
    before = AutoModelForCausalLM.from_pretrained(tmp_path / "student", dtype="auto")
    assert after.dtype == torch.float32
    pairs = list(zip(before.parameters(), after.parameters(), strict=True))
    moved = sum(int((old != new).sum()) for old, new in pairs)
    survived = sum(int((old.bfloat16() != new.bfloat16()).sum()) for old, new in pairs)
    assert moved > 10 * survived  # what storing bf16 would have thrown away


def test_zero_steps_turn_a_stage_off_and_the_log_says_so(given: dict[str, str], tmp_path: Path) -> None:
    configure(tmp_path, OPDConfig(steps=0), RLConfig(steps=0))
    tasks = {"tasks_out": str(tmp_path / "tasks.json")}
    for step, outputs, reason in ((opd_step, {}, "opd.steps is 0"), (rl_step, tasks, "rl.steps is 0")):
        step.run(**given, **outputs)
        assert result(given)[0] == ModelRef.read(Path(given["model_in"]))
        (line,) = read_step_log(Path(given["metrics_out"]))
        assert line["skipped"] == reason


def test_the_base_itself_is_not_distilled_into_itself(given: dict[str, str]) -> None:
    base = ModelRef.model_validate(Subject.read(given["subject"]).base)
    base.write(Path(given["model_in"]))
    opd_step.run(**given)
    assert result(given)[0] == base
    assert "base model itself" in read_step_log(Path(given["metrics_out"]))[0]["skipped"]


def test_a_student_of_another_vocabulary_is_refused_before_anything_is_written(
    given: dict[str, str], tmp_path: Path
) -> None:
    publish_model(tmp_path / "other", seed=1, extra=("zebra",)).write(Path(given["model_in"]))
    with pytest.raises(BadInput, match="258 embeddings and the student 259"):
        opd_step.run(**given)
    assert not Path(given["model_out"]).exists()
    assert not Path(given["metrics_out"]).exists()
    assert list((tmp_path / "home" / "training").iterdir()) == []


def test_reinforcement_learning_runs_under_the_published_harness_and_tells_its_tasks(
    given: dict[str, str], tmp_path: Path
) -> None:
    rl_step.run(**given, tasks_out=str(tmp_path / "tasks.json"))
    assert len(read_json(tmp_path / "tasks.json")["task_digests"]) == 1
    reference, folder = result(given)
    assert reference.base == "tiny"
    assert AutoTokenizer.from_pretrained(folder).chat_template
    (line,) = read_step_log(Path(given["metrics_out"]))
    assert set(line["rewards"]) == {
        "accuracy",
        "effectiveness",
        "tool_rationality",
        "skill_selection",
        "length",
    }
    assert line["groups"][0]["task_digest"]


def test_fine_tuning_learns_from_twins_beside_the_tasks(given: dict[str, str], tmp_path: Path) -> None:
    settings = RunConfig(
        domain="live_shop",
        generate=GenerateConfig(tasks=60, twin_pairs=3),
        augment=AugmentConfig(states=2, tasks_per_state=1),
        sft=SFTConfig(openings_per_state=0),
    )
    settings.write(Path(given["config"]))
    folder = tmp_path / "trajectories"
    shared = {"config": given["config"], "subject": given["subject"]}
    generate_step.run(**shared, states_dir="", trajectories_out_dir=str(folder))
    outputs = {"model_out": given["model_out"], "metrics_out": given["metrics_out"]}
    sft_step.run(**shared, trajectories_dir=str(folder), **outputs)
    assert result(given)[0].base == "tiny"
    assert len(read_step_log(Path(given["metrics_out"]))) == 2 + 3
    (folder / "twins.jsonl").unlink()
    with pytest.raises(BadInput, match=r"twins\.jsonl"):
        sft_step.run(**shared, trajectories_dir=str(folder), **outputs)


def test_a_stage_that_was_killed_goes_on_from_the_store_and_leaves_nothing_there(
    given: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(
        tmp_path,
        OPD.model_copy(update={"checkpoint_steps": 1}),
        RL.model_copy(update={"steps": 2, "checkpoint_steps": 1}),
    )
    monkeypatch.setattr(shared, "current_key", lambda: "key")
    write = shared.write_model_folder
    tasks = {"tasks_out": str(tmp_path / "tasks.json")}
    for step, outputs in ((opd_step, {}), (rl_step, tasks)):

        def killed(*_: object) -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(shared, "write_model_folder", killed)
        with pytest.raises(KeyboardInterrupt):
            step.run(**given, **outputs)
        assert list((tmp_path / "home" / "training").iterdir()) == []
        assert stored_checkpoints(open_run_store(), "checkpoints/key")[-1] == "checkpoint-2"
        monkeypatch.setattr(shared, "write_model_folder", write)
        seen: list[Path | None] = []
        fetch = shared.fetch_last_checkpoint
        monkeypatch.setattr(
            shared,
            "fetch_last_checkpoint",
            lambda *a, seen=seen, fetch=fetch: seen.append(fetch(*a)) or seen[-1],
        )
        step.run(**given, **outputs)
        monkeypatch.setattr(shared, "fetch_last_checkpoint", fetch)
        assert [path.name for path in seen if path] == ["checkpoint-2"]
        assert [line["step"] for line in read_step_log(Path(given["metrics_out"]))] == [1, 2]
        assert open_run_store().list("checkpoints") == []


def test_the_labelled_arms_say_so_in_the_model_they_store(given: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "trajectories"
    teacher = publish_model(tmp_path / "teacher", seed=2)
    opd = {"steps": 2, "samples_per_step": 2, "max_new_tokens": 4, "replay_every": 2}
    settings = RunConfig(
        domain="live_shop",
        generate=GenerateConfig(tasks=60),
        augment=AugmentConfig(states=2, tasks_per_state=1),
        sft=SFTConfig(openings_per_state=0),
        opd=OPDConfig(**opd, prompts="harness", teacher=teacher.digest),
        rl=RLConfig(
            **{**RL.model_dump(), "method": "rejection_sft", "steps": 2, "replay_every": 2, "screen_tasks": 4}
        ),
    )
    settings.write(Path(given["config"]))
    generate_step.run(
        config=given["config"], subject=given["subject"], states_dir="", trajectories_out_dir=str(folder)
    )
    given["trajectories_dir"] = str(folder)
    opd_step.run(**given)
    assert result(given)[0].notes == f"random weights; harness-OPD from {teacher.digest[:12]}"
    lines = read_step_log(Path(given["metrics_out"]))
    assert [line["arm"] for line in lines] == ["harness-opd"] * 2
    assert "replay_loss" in lines[1]
    with pytest.raises(BadInput, match="no task is left to learn from"):
        rl_step.run(**given, tasks_out=str(tmp_path / "tasks.json"))
    rl = settings.rl.model_copy(update={"screen_tasks": 0})
    settings.model_copy(update={"rl": rl}).write(Path(given["config"]))
    rl_step.run(**given, tasks_out=str(tmp_path / "tasks.json"))
    assert result(given)[0].notes == "random weights; rejection-sampled SFT in place of RL"
    assert [line.get("replayed") for line in read_step_log(Path(given["metrics_out"]))] == [None, True]
