"""Two real processes with DeepSpeed ZeRO-2 learn what one process learns, and go on after a kill."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry
from hat.models import ModelRef, ModelStore
from hat.runs.config import RunConfig, parse_config
from hat.runs.harness_archive import publish_harness
from hat.steps import sft
from hat.steps.subject import Subject
from hat.storage import Store, open_store
from hat.training.distributed.exchange import Exchange
from hat.training.distributed.run import store_inputs, train_elsewhere
from hat.training.metrics import read_step_log
from hat.training.preparation import prepare_sft
from hat.training.sft import train_sft
from tests.support.tiny_model import write_tiny_model

REPOSITORY = Path(__file__).resolve().parents[3]
SETTINGS = {
    "domain": "live_shop",
    "augment": {"states": 8, "tasks_per_state": 2},
    "sft": {"openings_per_state": 1, "packs_per_step": 2, "learning_rate": 5e-3, "checkpoint_steps": 2},
    "distributed": {"nodes": 1, "processes_per_node": 2, "launcher": "torchrun", "poll_seconds": 0.2},
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("HAT_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HAT_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("HAT_RUN_ID", raising=False)
    return open_store(str(tmp_path / "store"))


@pytest.fixture
def inputs(tmp_path: Path, store: Store, base_model: Path) -> Path:
    """`config.json`, `subject.json` and `trajectories.jsonl`, as the steps before SFT leave them."""
    harness = publish_harness(store, Registry(REPOSITORY / "harness_registry"), "live-shop", "1.0.0")
    domain = get_domain("live_shop")
    tasks = domain.sample_tasks("train", 24, 1, session=domain.sample_session(0, "train"))
    episodes = [Episode(HarnessState.original(harness), task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    base = ModelStore(store).publish(write_tiny_model(tmp_path / "base", base_model), base="tiny", notes="")
    folder = tmp_path / "inputs"
    folder.mkdir()
    parse_config(SETTINGS, where="test").write(folder / "config.json")
    Subject(
        harness=harness.name,
        version=harness.version,
        harness_digest=harness.digest,
        environment="tiny",
        mode="train",
        plan="train",
        gate_policy="",
        base=base.model_dump(),
    ).write(folder / "subject.json")
    lines = [json.dumps(each.trajectory("expert").to_json(), ensure_ascii=False) + "\n" for each in episodes]
    (folder / "trajectories.jsonl").write_text("".join(lines), encoding="utf-8")
    return folder


def exchange_of(store: Store, inputs: Path, key: str) -> Exchange:
    exchange = Exchange(store, key)
    store_inputs(exchange, str(inputs / "config.json"), str(inputs / "subject.json"), str(inputs))
    return exchange


def one_process(store: Store, inputs: Path, work: Path) -> tuple[torch.nn.Module, list[float], Path]:
    settings, about = RunConfig.read(inputs / "config.json"), Subject.read(inputs / "subject.json")
    harness = about.load_harness(store)
    base = ModelStore(store).materialise(ModelRef.model_validate(about.base))
    packs = prepare_sft(settings, harness, inputs, AutoTokenizer.from_pretrained(base))
    work.mkdir()
    log = work / "log.jsonl"
    model, _ = train_sft(
        base, packs, harness, settings.augment, settings.sft, work=work, log=log, seed=settings.seed
    )
    return model, [line["loss"] for line in read_step_log(log)], base


def losses_of(exchange: Exchange, work: Path) -> list[float]:
    log = work / f"{exchange.key}.jsonl"
    exchange.store.get_file(f"{exchange.prefix}/log.jsonl", log)
    return [line["loss"] for line in read_step_log(log)]


def flat(model: torch.nn.Module) -> torch.Tensor:
    return torch.cat([parameter.detach().float().cpu().flatten() for parameter in model.parameters()])


def test_two_processes_with_zero_2_learn_what_one_learns(store: Store, inputs: Path, tmp_path: Path) -> None:
    settings = RunConfig.read(inputs / "config.json")
    model, expected, base = one_process(store, inputs, tmp_path / "one")
    assert len(expected) >= 4

    exchange = exchange_of(store, inputs, "whole")
    reference = train_elsewhere(exchange, settings)
    assert losses_of(exchange, tmp_path) == pytest.approx(expected, rel=2e-3)
    assert exchange.progress() == (len(expected), len(expected))
    folder = ModelStore(store).materialise(ModelRef.model_validate(reference))
    trained = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    start = flat(AutoModelForCausalLM.from_pretrained(base, dtype=torch.float32))
    moved, difference = flat(model) - start, flat(trained) - flat(model)
    # Had each process learnt from its own half alone, this would be of the order of 1.
    assert float(difference.norm() / moved.norm()) < 0.05


def test_a_training_that_is_killed_goes_on_from_its_checkpoint_and_leaves_no_process(
    store: Store, inputs: Path, tmp_path: Path
) -> None:
    settings = RunConfig.read(inputs / "config.json")
    _, expected, _ = one_process(store, inputs, tmp_path / "one")
    killed = exchange_of(store, inputs, "killed")
    command = (
        "import sys; from hat.runs.config import RunConfig; from hat.runs.places import open_run_store\n"
    )
    command += "from hat.training.distributed.exchange import Exchange\n"
    command += "from hat.training.distributed.run import train_elsewhere\n"
    command += f"train_elsewhere(Exchange(open_run_store(), 'killed'), RunConfig.read({str(inputs / 'config.json')!r}))"
    process = subprocess.Popen([sys.executable, "-c", command], start_new_session=True)
    parts = [f"{killed.checkpoints}/checkpoint-2/{rank}-of-2" for rank in (0, 1)]
    deadline = time.monotonic() + 300
    while any(store.tree(part) is None for part in parts):
        assert process.poll() is None, "training ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    process.wait(60)
    if killed.result() is not None:
        pytest.skip("training was faster than the kill")
    # As if the kill had come when one process had stored its part of the next checkpoint and the other had not.
    torn = f"{killed.checkpoints}/checkpoint-4"
    leftover = tmp_path / "leftover"
    leftover.mkdir()
    (leftover / "rng_state_0.pth").write_bytes(b"of the killed training")
    store.delete_tree(f"{torn}/0-of-2")
    store.delete_tree(f"{torn}/1-of-2")
    store.put_tree(leftover, f"{torn}/0-of-2")
    train_elsewhere(killed, settings)
    assert losses_of(killed, tmp_path) == pytest.approx(expected, rel=2e-3)
    assert not _processes_with("killed")


def _processes_with(word: str) -> list[str]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                line = (folder / "cmdline").read_bytes().decode("utf-8", "replace")
            except OSError:
                continue
            if f"worker\0{word}" in line:
                found.append(line)
    return found


def test_a_failure_in_a_process_is_the_steps_message(store: Store, inputs: Path) -> None:
    lines = (inputs / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    other = json.loads(lines[0]) | {"base_digest": "0" * 64}
    (inputs / "trajectories.jsonl").write_text(json.dumps(other) + "\n", encoding="utf-8")
    exchange = exchange_of(store, inputs, "wrong")
    with pytest.raises(EnvironmentFailure, match="it ran under harness 000000000000"):
        train_elsewhere(exchange, RunConfig.read(inputs / "config.json"))


def test_packs_that_processes_cannot_share_are_refused_before_anything_starts(store: Store) -> None:
    settings = parse_config({**SETTINGS, "sft": {"packs_per_step": 3}}, where="test")
    with pytest.raises(BadInput, match="multiple of 2"):
        train_elsewhere(Exchange(store, "k"), settings)


def test_the_step_itself_trains_in_its_own_process_unless_told_otherwise(
    store: Store, inputs: Path, tmp_path: Path
) -> None:
    settings = parse_config({**SETTINGS, "distributed": {}}, where="test")
    settings.write(inputs / "config.json")
    sft.run(
        config=str(inputs / "config.json"),
        subject=str(inputs / "subject.json"),
        trajectories_dir=str(inputs),
        model_out=str(tmp_path / "model.json"),
        metrics_out=str(tmp_path / "log.jsonl"),
    )
    reference = ModelRef.read(tmp_path / "model.json")
    assert (ModelStore(store).materialise(reference) / "model.safetensors").is_file()
    assert [line["step"] for line in read_step_log(tmp_path / "log.jsonl")] == [1, 2, 3, 4]
    assert not store.list("distributed")
