"""`hat schedule apply`: the cluster's recurring runs become what the file says."""

from pathlib import Path

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.storage import Store
from pipelines import kubeflow, scheduling
from pipelines.compile import Compiled
from pipelines.kubeflow import Address, Connection
from pipelines.scheduling import MARK, Schedule, ScheduleFile, apply_schedules, read_schedules
from tests.integration.triggers.conftest import IMAGES, REPOSITORY
from tests.support.kubeflow_server import Fault, KubeflowServer

NIGHTLY = Schedule(name="nightly", harness="live-shop", profile="tiny", cron="0 0 3 * * *")
WEEKLY = NIGHTLY.model_copy(update={"name": "weekly", "cron": "0 0 4 * * 0"})


@pytest.fixture(autouse=True)
def _compiled_once(compiled: Compiled, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compiling takes seconds and gives the same each time; everything after it is real."""
    monkeypatch.setattr(scheduling, "compile_profile", lambda *_: compiled)


def apply(server: KubeflowServer, *schedules: Schedule) -> dict[str, str]:
    actions = apply_schedules(ScheduleFile(schedules=schedules), Address(server.url), IMAGES)
    return {action.name: action.kind for action in actions}


def present(server: KubeflowServer) -> dict[str, str]:
    names = [each["display_name"] for each in server.recurring.values()]
    assert len(names) == len(set(names))
    return {each["display_name"]: each["status"] for each in server.recurring.values()}


def test_a_schedule_is_created_once_and_takes_the_newest_pipeline_version(
    server: KubeflowServer, store: Store
) -> None:
    assert apply(server, NIGHTLY) == {"nightly": "created"}
    (made,) = server.recurring.values()
    assert set(made["pipeline_version_reference"]) == {"pipeline_id"}
    assert made["runtime_config"]["parameters"] == {
        "harness": "live-shop",
        "version": "latest",
        "mode": "train",
        "overrides": "{}",
    }
    assert made["no_catchup"] is True
    assert apply(server, NIGHTLY) == {"nightly": "unchanged"}
    assert present(server) == {"nightly": "ENABLED"}


def test_a_change_replaces_it(server: KubeflowServer, store: Store) -> None:
    apply(server, NIGHTLY)
    changed = NIGHTLY.model_copy(update={"cron": "0 30 3 * * *", "settings": {"rl.steps": 0}})
    assert apply(server, changed) == {"nightly": "changed"}
    (made,) = server.recurring.values()
    assert made["trigger"]["cron_schedule"]["cron"] == "0 30 3 * * *"
    assert made["runtime_config"]["parameters"]["overrides"] == '{"rl.steps": 0}'


def test_enabled_is_switched_in_place(server: KubeflowServer, store: Store) -> None:
    apply(server, NIGHTLY)
    before = set(server.recurring)
    off = NIGHTLY.model_copy(update={"enabled": False})
    assert apply(server, off) == {"nightly": "disabled"}
    assert present(server) == {"nightly": "DISABLED"}
    assert apply(server, off) == {"nightly": "unchanged"}
    assert apply(server, NIGHTLY) == {"nightly": "enabled"}
    assert set(server.recurring) == before


def test_a_schedule_that_starts_disabled_is_created_so(server: KubeflowServer, store: Store) -> None:
    apply(server, NIGHTLY.model_copy(update={"enabled": False}))
    assert present(server) == {"nightly": "DISABLED"}


def test_what_is_no_longer_declared_is_deleted_and_what_others_made_stays(
    server: KubeflowServer, store: Store
) -> None:
    apply(server, NIGHTLY, WEEKLY)
    other = dict(next(iter(server.recurring.values())))
    other |= {"recurring_run_id": "other", "display_name": "by hand", "description": "mine"}
    server.recurring["other"] = other
    assert apply(server, WEEKLY) == {"nightly": "deleted", "weekly": "unchanged"}
    assert set(present(server)) == {"weekly", "by hand"}
    assert apply(server) == {"weekly": "deleted"}
    assert set(present(server)) == {"by hand"}


def test_duplicates_are_removed(server: KubeflowServer, store: Store) -> None:
    apply(server, NIGHTLY)
    twin = dict(next(iter(server.recurring.values())))
    server.recurring["twin"] = {**twin, "recurring_run_id": "twin", "created_at": "2999-01-01T00:00:00Z"}
    stale = {**twin, "recurring_run_id": "stale", "description": f"{MARK}old"}
    server.recurring["stale"] = stale
    assert apply(server, NIGHTLY) == {"nightly": "changed"}
    assert set(server.recurring) == {twin["recurring_run_id"]}


def test_an_apply_that_breaks_in_the_middle_is_completed_by_the_next(
    server: KubeflowServer, store: Store
) -> None:
    apply(server, NIGHTLY)
    changed = NIGHTLY.model_copy(update={"max_concurrency": 2})
    server.faults = [Fault(503, "POST", "/recurringruns$", times=1, after=True)]
    with pytest.raises(EnvironmentFailure):
        apply(server, changed, WEEKLY)
    apply(server, changed, WEEKLY)
    assert present(server) == {"nightly": "ENABLED", "weekly": "ENABLED"}
    assert {each["max_concurrency"] for each in server.recurring.values()} == {1, 2}


def test_the_pipelines_next_version_does_not_touch_the_schedule(
    server: KubeflowServer, store: Store, connection: Connection, compiled: Compiled
) -> None:
    from dataclasses import replace

    apply(server, NIGHTLY)
    before = set(server.recurring)
    kubeflow.publish_pipeline(connection, replace(compiled, version="hat-tiny-next"))
    assert apply(server, NIGHTLY) == {"nightly": "unchanged"}
    assert set(server.recurring) == before


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("schedules: [{name: a, harness: h, profile: tiny, cron: '0 3 * * *'}]", "six fields"),
        ("schedules: [{name: a, harness: h, profile: tiny, corn: '0 0 3 * * *'}]", "schedules"),
        ("schedules: [", "not YAML"),
        (
            "schedules:\n"
            "- {name: a, harness: h, profile: tiny, cron: '0 0 3 * * *'}\n"
            "- {name: a, harness: h, profile: tiny, cron: '0 0 4 * * *'}\n",
            "'a' is there twice",
        ),
    ],
)
def test_a_wrong_file_is_one_clear_message(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "schedules.yaml"
    path.write_text(text)
    with pytest.raises(BadInput, match=told):
        read_schedules(path)


def test_a_wrong_setting_is_found_before_anything_is_asked(server: KubeflowServer, store: Store) -> None:
    wrong = NIGHTLY.model_copy(update={"settings": {"rl.stepss": 0}})
    with pytest.raises(BadInput, match=r"rl\.steps"):
        apply(server, wrong)
    assert not server.requests


def test_the_file_that_ships_is_valid() -> None:
    assert read_schedules(REPOSITORY / "pipelines" / "schedules.yaml").schedules
