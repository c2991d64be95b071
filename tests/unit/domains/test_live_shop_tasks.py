"""Generated and hand-written questions: reproducible, balanced, within their split, gold that follows."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from hat.domains.base import Fact, Task, get_domain
from hat.domains.live_shop.gold import INTENTS, return_fact
from hat.domains.live_shop.vocabulary import SPLITS
from hat.errors import BadInput

SHOP = get_domain("live_shop")
CATALOGUE = SHOP.catalogue


def links_of(task: Task) -> list[int]:
    links = [task.slots[key] for key in ("link", "a", "b") if key in task.slots]
    if "name" in task.slots:
        links.append(CATALOGUE.find(task.slots["name"]).link_id)
    return links


def test_the_same_seed_gives_the_same_tasks_and_another_seed_others() -> None:
    assert SHOP.sample_tasks("train", 60, 1) == SHOP.sample_tasks("train", 60, 1)
    assert SHOP.sample_tasks("train", 60, 1) != SHOP.sample_tasks("train", 60, 2)


@pytest.mark.parametrize("split", SPLITS)
def test_tasks_use_only_their_splits_products_and_regions(split: str) -> None:
    for task in SHOP.sample_tasks(split, 400, 3):
        assert task.split == split
        assert task.session["showing"] in CATALOGUE.links[split]
        if task.intent == "missing_link":
            assert all(301 <= link <= 999 for link in links_of(task))
        else:
            assert all(link in CATALOGUE.links[split] for link in links_of(task))
        if "region" in task.slots:
            assert task.slots["region"] in CATALOGUE.regions[split]


def test_no_task_occurs_in_two_splits_or_twice_in_one() -> None:
    digests = {split: [t.digest for t in SHOP.sample_tasks(split, 500, 4)] for split in SPLITS}
    questions = {split: {t.question for t in SHOP.sample_tasks(split, 500, 4)} for split in SPLITS}
    for split in SPLITS:
        assert len(set(digests[split])) == 500
    for one, other in combinations(SPLITS, 2):
        assert not set(digests[one]) & set(digests[other])
        assert not questions[one] & questions[other]


def test_intents_are_even_and_can_be_chosen() -> None:
    counts = Counter(task.intent for task in SHOP.sample_tasks("dev", 150, 5))
    assert set(counts) == set(INTENTS)
    assert max(counts.values()) - min(counts.values()) <= 1
    assert {t.intent for t in SHOP.sample_tasks("dev", 20, 5, intents=["stock", "host"])} == {"stock", "host"}


def test_many_tasks_can_share_one_session() -> None:
    session = SHOP.sample_session(2, "train")
    tasks = SHOP.sample_tasks("train", 200, 6, session=session)
    assert all(task.session == session for task in tasks)
    assert len({task.question for task in tasks}) == 200


def test_asking_for_more_questions_than_there_are_is_refused() -> None:
    session = SHOP.sample_session(0, "test")
    with pytest.raises(BadInput, match="different tasks"):
        SHOP.sample_tasks("test", 500, 1, intents=["host"], session=session)


@pytest.mark.parametrize("arguments", [("spring", 3, 1), ("train", 3, 1, ["magic"]), ("train", 3, 1, [])])
def test_an_unknown_split_or_intent_is_refused(arguments: tuple[object, ...]) -> None:
    with pytest.raises(BadInput, match="Known:"):
        SHOP.sample_tasks(*arguments)


def test_a_question_says_all_that_its_gold_needs() -> None:
    for task in SHOP.sample_tasks("train", 400, 8):
        for link in (task.slots[key] for key in ("link", "a", "b") if key in task.slots):
            assert str(link) in task.question
        if "name" in task.slots:
            assert task.slots["name"] in task.question
        if task.intent == "shipping":
            assert task.slots["region"] in task.question


def test_every_needed_operation_can_be_executed() -> None:
    for task in SHOP.sample_tasks("dev", 200, 9):
        for operation, arguments in task.operations:
            outcome = SHOP.execute(task, operation, arguments)
            assert outcome.status == ("error" if task.intent == "missing_link" else "ok")


def test_declining_is_right_exactly_for_off_topic_and_missing_links() -> None:
    for task in SHOP.sample_tasks("dev", 200, 9):
        declined = task.intent in ("off_topic", "missing_link")
        assert (task.facts == (Fact("decline", ""),)) == declined
        assert task.answerable == (not declined)


def test_the_return_rule_decides_by_sale_and_category() -> None:
    rule = {"clothing": "7", "home": "30", "beauty": "14"}
    for product in CATALOGUE.products.values():
        fact = return_fact(product)
        if product.final_sale or product.category == "food":
            assert fact == Fact("no_returns", "", product.subject)
        else:
            assert fact == Fact("return_days", rule[product.category], product.subject)


def test_tasks_survive_json() -> None:
    for task in SHOP.sample_tasks("test", 30, 1):
        assert Task.from_json(task.to_json()) == task


def test_fifty_hand_written_questions_cover_every_intent_in_the_test_split() -> None:
    tasks = SHOP.hand_written_tasks()
    assert len(tasks) == 50
    assert {task.intent for task in tasks} == set(INTENTS)
    assert {task.split for task in tasks} == {"test"}
    assert {task.source for task in tasks} == {"hand-written"}
    assert len({task.question for task in tasks}) == 50
    assert sum(task.language == "mixed" for task in tasks) >= 2
    generated = {t.question for split in SPLITS for t in SHOP.sample_tasks(split, 500, 10)}
    assert not generated & {task.question for task in tasks}
