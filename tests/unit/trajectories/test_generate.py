import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policies.config import EndpointConfig
from hat.agent.policy import Executor, answer_requests
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry
from hat.trajectories.config import GenerateConfig
from hat.trajectories.faulty import faulty_executor
from hat.trajectories.generate import choose_policy, play_tasks
from hat.trajectories.journal import EpisodeJournal
from hat.trajectories.record import Trajectory
from hat.trajectories.selection import select

DOMAIN = get_domain("live_shop")
HARNESS = Registry(Path(__file__).parents[3] / "harness_registry").load("live-shop", "1.0.0")
STATE = HarnessState.original(HARNESS)
TASKS = DOMAIN.sample_tasks("train", 12, 3, intents=["price", "stock", "coupon"])


class Crash(Exception):
    """Stands for a process that is killed."""


class CountingExpert:
    """The expert, which counts what it plays and can die in the middle."""

    name = "scripted-expert"

    def __init__(self, dies_after: int | None = None) -> None:
        self.played: list[str] = []
        self.dies_after = dies_after

    def play(self, episodes: Sequence[Episode], execute: Executor, on_done: Callable[[int], None]) -> None:
        for index, episode in enumerate(episodes):
            if self.dies_after == len(self.played):
                raise Crash
            DOMAIN.expert().play([episode], execute, lambda _: None)
            self.played.append(episode.task.id)
            on_done(index)


def played(*texts_before: str, reply: str | None = None, extra: Sequence[str] = ()) -> Trajectory:
    """An episode of a price question: texts, then the lookup, extra texts, the skill and the reply."""
    (task,) = DOMAIN.sample_tasks("train", 1, 8, intents=["price"])
    link = task.slots["link"]
    price = next(fact.value for fact in task.facts)
    episode = Episode(STATE, task, DOMAIN)
    for text in (
        *texts_before,
        render_call(Call("get_product_info", {"link_id": link})),
        *extra,
        render_call(Call("load_skill", {"name": "item-qa"})),
        reply or f"Link {link} costs {price} yuan.",
    ):
        answer_requests(episode, episode.submit(text), DOMAIN.execute)
        if episode.done:
            break
    return episode.trajectory("test")


def chosen(*trajectories: Trajectory, share: float = 0.0):
    return select(trajectories, DOMAIN, HARNESS, whole_retry_share=share, seed=0)


def test_a_crash_loses_only_the_open_episode(tmp_path):
    journal = EpisodeJournal(tmp_path / "journal.jsonl")
    with pytest.raises(Crash):
        play_tasks(CountingExpert(dies_after=5), TASKS, STATE, DOMAIN, journal)
    assert len(journal.read()) == 5
    second = CountingExpert()
    resumed = play_tasks(second, TASKS, STATE, DOMAIN, journal)
    assert second.played == [task.id for task in TASKS[5:]]
    whole = play_tasks(CountingExpert(), TASKS, STATE, DOMAIN, EpisodeJournal(tmp_path / "other.jsonl"))
    assert resumed == whole
    third = CountingExpert()
    assert play_tasks(third, TASKS, STATE, DOMAIN, journal) == whole
    assert third.played == []


def test_a_half_written_line_is_dropped_and_its_episode_played_again(tmp_path):
    journal = EpisodeJournal(tmp_path / "journal.jsonl")
    whole = play_tasks(CountingExpert(), TASKS[:3], STATE, DOMAIN, journal)
    journal.path.write_bytes(journal.path.read_bytes()[:-20])
    again = CountingExpert()
    assert play_tasks(again, TASKS[:3], STATE, DOMAIN, journal) == whole
    assert again.played == [TASKS[2].id]
    assert len(journal.path.read_text(encoding="utf-8").splitlines()) == 3


def test_an_episode_that_the_engine_left_unanswered_is_played_again(tmp_path):
    journal = EpisodeJournal(tmp_path / "journal.jsonl")
    (whole,) = play_tasks(CountingExpert(), TASKS[:1], STATE, DOMAIN, EpisodeJournal(tmp_path / "other"))
    journal.append(replace(whole, turns=(), end="engine_error", reply=""))
    assert play_tasks(CountingExpert(), TASKS[:1], STATE, DOMAIN, journal) == [whole]


def test_a_damaged_journal_is_named_with_its_line(tmp_path):
    path = tmp_path / "journal.jsonl"
    path.write_text('{"schema_version": 1}\n', encoding="utf-8")
    with pytest.raises(BadInput, match=r"journal.jsonl:1"):
        EpisodeJournal(path).read()


def test_no_tasks_is_an_error(tmp_path):
    with pytest.raises(BadInput, match="no tasks"):
        play_tasks(CountingExpert(), [], STATE, DOMAIN, EpisodeJournal(tmp_path / "journal"))


def test_what_the_scorers_accept_goes_on_with_its_scores():
    selection = chosen(played())
    (accepted,) = selection.accepted
    assert accepted.scores.accuracy == 1
    assert selection.rejected == {}


@pytest.mark.parametrize(
    ("trajectory", "reason"),
    [
        (played(reply="Sorry, I cannot answer that here."), "inaccurate"),
        (played(extra=[render_call(Call("check_stock", {"link_id": 1}))]), "tool_rationality"),
        (played(extra=[render_call(Call("load_skill", {"name": "deals"}))]), "skill_selection"),
        (played("<tool_call>{", "<tool_call>{", "<tool_call>{"), "retries_exhausted"),
        (replace(played(), end="engine_error"), "engine_error"),
    ],
)
def test_each_fault_is_rejected_under_its_name(trajectory, reason):
    selection = chosen(trajectory)
    assert selection.accepted == ()
    assert selection.rejected == {reason: 1}


def test_markup_around_a_right_answer_is_out_of_format():
    right = played().reply
    assert chosen(played(reply=f"**{right}**")).rejected == {"reply_out_of_format": 1}


def test_the_same_episode_twice_counts_once():
    selection = chosen(played(), played())
    assert len(selection.accepted) == 1
    assert selection.rejected == {"duplicate": 1}


def test_a_blocked_turn_is_dropped_and_the_rest_is_the_episode_without_it():
    too_early = "Link 1 costs 1 yuan."
    retried = played(too_early)
    assert retried.turns[0].verdict is not None
    selection = chosen(retried)
    assert selection.collapsed == 1
    assert selection.accepted[0].turns == chosen(played()).accepted[0].turns


def test_a_share_of_corrected_mistakes_is_kept_whole():
    selection = chosen(played("Link 1 costs 1 yuan."), share=1.0)
    assert selection.kept_whole == 1
    assert selection.accepted[0].turns[0].verdict is not None


def test_turns_that_the_parser_or_the_schema_refuses_are_never_kept_whole():
    unreadable = played("<tool_call>{")
    wrong = played(render_call(Call("get_product_info", {"link_id": "three"})))
    unknown = played(render_call(Call("look_it_up", {})))
    for trajectory in (unreadable, wrong, unknown):
        selection = chosen(trajectory, share=1.0)
        assert selection.collapsed == 1
        assert len(selection.accepted[0].turns) == 3


def test_a_refused_call_beside_a_good_one_rejects_the_episode():
    (task,) = DOMAIN.sample_tasks("train", 1, 8, intents=["price"])
    good = render_call(Call("get_product_info", {"link_id": task.slots["link"]}))
    episode = Episode(STATE, task, DOMAIN)
    for text in (
        good + render_call(Call("load_skill", {"name": "no-such-skill"})),
        render_call(Call("load_skill", {"name": "item-qa"})),
        played().reply,
    ):
        answer_requests(episode, episode.submit(text), DOMAIN.execute)
    assert episode.end == "replied"
    assert chosen(episode.trajectory()).rejected == {"refused_call": 1}


def test_the_settings_name_the_policy():
    assert choose_policy(GenerateConfig(), DOMAIN, 0).name == "scripted-expert"
    endpoint = EndpointConfig(url="http://127.0.0.1:9/v1", model="strong")
    assert (
        choose_policy(GenerateConfig(policy="endpoint", endpoint=endpoint), DOMAIN, 0).name
        == "endpoint:strong"
    )
    with pytest.raises(BadInput, match="the expert is asked"):
        choose_policy(GenerateConfig(endpoint=endpoint), DOMAIN, 0)
    with pytest.raises(BadInput, match="url"):
        choose_policy(GenerateConfig(policy="endpoint"), DOMAIN, 0)


def test_a_trajectory_survives_the_journal_with_every_character(tmp_path):
    journal = EpisodeJournal(tmp_path / "journal.jsonl")
    trajectory = replace(played(), reply='直播间\\n"特价"\u2028\u0085')
    journal.append(trajectory)
    assert journal.read() == {trajectory.id: trajectory}
    assert json.loads(journal.path.read_text(encoding="utf-8"))["reply"] == trajectory.reply


def test_a_share_of_tasks_meets_faults_and_ends_in_the_same_replies(tmp_path):
    plain = play_tasks(CountingExpert(), TASKS, STATE, DOMAIN, EpisodeJournal(tmp_path / "plain"))
    execute = faulty_executor(DOMAIN, TASKS, 0.5, seed=2)
    faulty = play_tasks(
        CountingExpert(), TASKS, STATE, DOMAIN, EpisodeJournal(tmp_path / "faulty"), execute=execute
    )
    longer = [len(after.turns) > len(before.turns) for before, after in zip(plain, faulty, strict=True)]
    assert 0 < sum(longer) < len(TASKS)
    assert [one.reply for one in plain] == [one.reply for one in faulty]
    selection = chosen(*faulty)
    assert selection.rejected == {}
    assert selection.collapsed == 0
