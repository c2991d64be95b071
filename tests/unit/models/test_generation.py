import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import LlamaConfig, LlamaForCausalLM

from hat.models.generation import Sample, Sampling, converse
from hat.models.tokens import Prompt

STOP = 1


@pytest.fixture(scope="module")
def model() -> LlamaForCausalLM:
    torch.manual_seed(3)
    config = LlamaConfig(
        vocab_size=97,
        hidden_size=48,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=6,
        num_key_value_heads=2,
        max_position_embeddings=512,
        initializer_range=0.4,
        eos_token_id=STOP,
        pad_token_id=STOP,
    )
    return LlamaForCausalLM(config).float().eval()


def one_by_one(
    model: LlamaForCausalLM, prompt: Prompt, appended: list[list[int]], limit: int
) -> list[list[int]]:
    """The same conversation with the whole text computed anew for every token."""
    ids, turns = list(prompt.ids), []
    for index in range(len(appended) + 1):
        turn: list[int] = []
        while len(turn) < limit and STOP not in turn:
            logits = model(torch.tensor([ids + turn]), use_cache=False).logits[0, -1]
            turn.append(int(logits.argmax()))
        turns.append(turn)
        ids += turn + (appended[index] if index < len(appended) else [])
    return turns


def batched(
    model: LlamaForCausalLM,
    prompts: list[Prompt],
    appended: list[list[list[int]]],
    limit: int,
    **options: object,
) -> list[list[Sample]]:
    turns: list[list[Sample]] = [[] for _ in prompts]

    def answer(index: int, sample: Sample) -> list[int] | None:
        turns[index].append(sample)
        done = len(turns[index])
        return appended[index][done - 1] if done <= len(appended[index]) else None

    sampling = Sampling(max_new_tokens=limit, **options)  # type: ignore[arg-type]
    converse(model, prompts, answer, stop_ids=[STOP], sampling=sampling, slots=4)
    return turns


def conversations(seed: int, count: int) -> tuple[list[Prompt], list[list[list[int]]]]:
    draw = random.Random(seed)

    def ids(low: int, high: int) -> list[int]:
        return [draw.randrange(2, 97) for _ in range(draw.randint(low, high))]

    prefixes = [ids(1, 20) for _ in range(3)]
    prompts, appended = [], []
    for _ in range(count):
        prefix = draw.choice([[], *prefixes])
        prompts.append(Prompt((*prefix, *ids(1, 9)), len(prefix)))
        appended.append([ids(1, 12) for _ in range(draw.randint(0, 3))])
    return prompts, appended


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10_000), count=st.integers(1, 11))
def test_batched_greedy_turns_equal_those_computed_one_by_one_without_a_cache(
    model: LlamaForCausalLM, seed: int, count: int
) -> None:
    prompts, appended = conversations(seed, count)
    turns = batched(model, prompts, appended, limit=7)
    for index, prompt in enumerate(prompts):
        assert [list(sample.ids) for sample in turns[index]] == one_by_one(
            model, prompt, appended[index], limit=7
        )


def test_some_turns_stop_by_themselves_and_some_are_cut(model: LlamaForCausalLM) -> None:
    prompts, appended = conversations(5, 40)
    samples = [sample for turns in batched(model, prompts, appended, limit=25) for sample in turns]
    assert {sample.stopped for sample in samples} == {True, False}
    for sample in samples:
        assert sample.stopped == (sample.ids[-1] == STOP)
        assert STOP not in sample.ids[:-1]
        assert len(sample.ids) <= 25


def test_log_probs_are_those_of_the_whole_sequence(model: LlamaForCausalLM) -> None:
    prompts, appended = conversations(11, 6)
    temperature = 0.7
    turns = batched(model, prompts, appended, limit=6, temperature=temperature, seed=4, log_probs=True)
    for index, prompt in enumerate(prompts):
        ids = list(prompt.ids)
        for position, sample in enumerate(turns[index]):
            whole = torch.tensor([ids + list(sample.ids)])
            expected = torch.log_softmax(model(whole).logits[0].detach().double() / temperature, -1)
            for offset, token in enumerate(sample.ids):
                assert sample.log_probs[offset] == pytest.approx(
                    float(expected[len(ids) + offset - 1, token]), abs=1e-4
                )
            ids += [*sample.ids, *(appended[index][position] if position < len(appended[index]) else [])]


def test_a_conversations_samples_do_not_depend_on_the_slots(model: LlamaForCausalLM) -> None:
    prompts, appended = conversations(2, 9)
    together = batched(model, prompts, appended, limit=8, temperature=1.0, seed=9)
    alone: list[list[Sample]] = [[] for _ in prompts]

    def answer(index: int, sample: Sample) -> list[int] | None:
        alone[index].append(sample)
        done = len(alone[index])
        return appended[index][done - 1] if done <= len(appended[index]) else None

    sampling = Sampling(max_new_tokens=8, temperature=1.0, seed=9)
    converse(model, prompts, answer, stop_ids=[STOP], sampling=sampling, slots=1)
    assert alone == together


def test_sampled_tokens_follow_the_models_distribution(model: LlamaForCausalLM) -> None:
    prompt = Prompt((5, 9, 44), 0)
    first: list[int] = []

    def answer(index: int, sample: Sample) -> None:
        first.append(sample.ids[0])

    count = 4000
    sampling = Sampling(max_new_tokens=1, temperature=1.5, seed=1)
    converse(model, [prompt] * count, answer, stop_ids=[STOP], sampling=sampling, slots=500)
    expected = torch.softmax(model(torch.tensor([prompt.ids])).logits[0, -1].detach() / 1.5, -1)
    for token in expected.topk(3).indices.tolist():
        rate = float(expected[token])
        assert first.count(token) / count == pytest.approx(rate, abs=4 * (rate * (1 - rate) / count) ** 0.5)
