"""Commands of hooks: what the exit status does, and what a command cannot reach, keep or use up."""

import os
import time
from dataclasses import replace
from pathlib import Path

import pytest

from hat.agent.calls import Call, render_call
from hat.agent.command_hooks import OUTPUT_BYTES, run_command
from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.harness.model import CommandHook
from hat.harness.registry import Registry

DOMAIN = get_domain("live_shop")
HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")


def run(command, seconds=5.0, **payload):
    return run_command(CommandHook("PreToolUse", "*", command, seconds), payload)


@pytest.mark.parametrize(
    ("command", "status"),
    [("exit 0", "passed"), ("echo no >&2; exit 2", "blocked"), ("exit 1", "error"), ("kill -9 $$", "error")],
)
def test_the_exit_status_decides(command, status):
    assert run(command).status == status


def test_a_blocking_command_says_why_on_stderr():
    assert run("echo out; echo 'not on Sundays' >&2; exit 2").message == "not on Sundays"


def test_the_payload_comes_on_stdin_and_need_not_be_read():
    assert "check_stock" in run("cat >&2; exit 2", tool_name="check_stock").message
    assert run("exit 0", big="x" * 1_000_000).status == "passed"


def test_a_command_sees_none_of_our_environment_files_or_descriptors(monkeypatch, tmp_path):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "do-not-leak")
    with open(tmp_path / "open", "w") as handle:
        os.set_inheritable(handle.fileno(), True)
        said = run("{ env; pwd; ls -A; ls /proc/self/fd; } >&2; exit 2", seconds=10).message
        assert f"\n{handle.fileno()}\n" not in f"\n{said}\n" or handle.fileno() < 4
    assert "do-not-leak" not in said
    assert {line.partition("=")[0] for line in said.splitlines() if "=" in line} <= {
        "PATH", "LANG", "HOME", "TMPDIR", "PWD", "OLDPWD", "SHLVL", "_",
    }  # fmt: skip
    assert str(Path.cwd()) not in said


def test_a_command_that_takes_too_long_is_stopped_with_its_children(tmp_path):
    mark = tmp_path / "alive"
    before = time.monotonic()
    outcome = run(f"(sleep 3; touch {mark}) & sleep 60", seconds=0.5)
    assert outcome.status == "error"
    assert "stopped" in outcome.message
    assert time.monotonic() - before < 30
    time.sleep(3.5)
    assert not mark.exists()


def test_a_child_that_outlives_the_command_is_stopped(tmp_path):
    mark = tmp_path / "alive"
    assert run(f"(sleep 1; touch {mark}) >/dev/null 2>&1 & exit 0").status == "passed"
    time.sleep(1.5)
    assert not mark.exists()


def test_output_memory_and_files_are_limited(tmp_path):
    assert str(OUTPUT_BYTES) in run("yes", seconds=20).message
    assert run("head -c 800000000 /dev/zero | tail", seconds=20).status == "error"
    assert run("head -c 3000000 /dev/zero > big; exit $?", seconds=20).status == "error"


def test_commands_are_off_until_a_profile_allows_them():
    hook = CommandHook("PreToolUse", "check_.*", "echo 'no stock today' >&2; exit 2", 5)
    off = replace(HARNESS, command_hooks=(hook,))
    task = DOMAIN.sample_tasks("dev", 1, seed=1, intents=["stock"])[0]
    call = render_call(Call("check_stock", {"link_id": 1}))
    episode = Episode(HarnessState.original(off), task, DOMAIN)
    assert episode.submit(call)
    episode = Episode(HarnessState.original(replace(off, commands_allowed=True)), task, DOMAIN)
    assert episode.submit(call) == ()
    assert episode.messages()[-1]["content"] == "no stock today"
    assert episode.submit(render_call(Call("get_product_info", {"link_id": 1})))


def test_a_harness_without_commands_keeps_its_digest_and_allowing_does_not_change_one():
    assert replace(HARNESS, commands_allowed=True).content_digest == HARNESS.content_digest
    hook = CommandHook("PreReply", "*", "exit 0", 5)
    assert replace(HARNESS, command_hooks=(hook,)).content_digest != HARNESS.content_digest
