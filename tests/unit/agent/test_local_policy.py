from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM

from hat.agent.episode import Episode
from hat.agent.policies.local import LocalPolicy, load_for_decoding
from hat.augment.config import AugmentConfig
from hat.augment.sampler import sample_state
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.registry import Registry

REGISTRY = Path(__file__).parents[3] / "harness_registry"


@pytest.fixture(scope="module")
def model_and_tokenizer(base_model):
    """A small random model with the real tokenizer and chat template, in full precision."""
    torch.manual_seed(1)
    config = LlamaConfig(
        vocab_size=49152,
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
        eos_token_id=2,
    )
    return LlamaForCausalLM(config).float().eval(), AutoTokenizer.from_pretrained(base_model)


def episodes(count: int) -> list[Episode]:
    """Episodes of several harness states and sessions, some alike and some not."""
    domain = get_domain("live_shop")
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    config = AugmentConfig(original_share=0.0)
    states = [sample_state(harness, seed=seed, split="dev", config=config) for seed in range(2)]
    states.append(HarnessState.original(harness))
    tasks = domain.sample_tasks("dev", count, 5)
    return [Episode(states[index % 3], task, domain, str(index)) for index, task in enumerate(tasks)]


def test_playing_together_gives_each_episode_what_playing_alone_gives(model_and_tokenizer):
    together, alone = episodes(7), episodes(7)
    execute = get_domain("live_shop").execute
    policy = LocalPolicy(model_and_tokenizer, max_new_tokens=6, batch_size=4)
    finished: list[int] = []
    rollouts = policy.roll_out(together, execute, finished.append)
    assert sorted(finished) == list(range(7))
    for index, episode in enumerate(alone):
        (rollout,) = policy.roll_out([episode], execute)
        assert rollout == rollouts[index]
        assert episode.trajectory() == together[index].trajectory()


def test_a_rollout_holds_the_whole_conversation_in_ids(model_and_tokenizer):
    played = episodes(5)
    policy = LocalPolicy(model_and_tokenizer, max_new_tokens=6, temperature=1.0, seed=3, log_probs=True)
    rollouts = policy.roll_out(played, get_domain("live_shop").execute)
    tokens = policy.tokens
    for episode, rollout in zip(played, rollouts, strict=True):
        assert episode.done
        assert list(rollout.prompt_ids) == list(tokens.opening(episode.messages()[:2], episode.tools).ids)
        assert len(rollout.completion_ids) == len(rollout.sampled) == len(rollout.log_probs)
        assert len(rollout.turns) == len(episode.turns)
        assert sum(rollout.sampled) == sum(end - begin for begin, end in rollout.turns)
        for begin, end in rollout.turns:
            assert all(rollout.sampled[begin:end])
            assert all(log_prob < 0 for log_prob in rollout.log_probs[begin:end])
        appended = [
            token
            for token, sampled in zip(rollout.completion_ids, rollout.sampled, strict=True)
            if not sampled
        ]
        shown = tokens.tokenizer.decode(appended)
        for message in episode.messages()[2:]:
            if message["role"] != "assistant" and message is not episode.messages()[-1]:
                assert message["content"] in shown


def test_what_the_model_sees_is_the_rendered_conversation_when_its_text_is_canonical(base_model):
    """A turn written as the template renders it leaves the ids of the whole conversation unchanged."""
    domain = get_domain("live_shop")
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    tokenizer = AutoTokenizer.from_pretrained(base_model)
    policy = LocalPolicy((LlamaForCausalLM(LlamaConfig(vocab_size=8, hidden_size=8, intermediate_size=8,
        num_hidden_layers=1, num_attention_heads=1)), tokenizer))  # fmt: skip
    played = [
        Episode(HarnessState.original(harness), task, domain) for task in domain.sample_tasks("dev", 26, 2)
    ]
    domain.expert().play(played, domain.execute, lambda index: None)
    for episode in played:
        messages = episode.messages()
        ids = list(policy.tokens.opening(messages[:2], episode.tools).ids)
        assistant = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
        for position, index in enumerate(assistant):
            before = policy.tokens.text(messages[:index], episode.tools, generation=True)
            after = policy.tokens.text(messages[: index + 1], episode.tools, generation=False)
            ids += policy.tokens.ids(after[len(before) :].removesuffix("\n"))
            if position + 1 < len(assistant):
                nxt = assistant[position + 1]
                ids += policy.tokens.continuation(messages[:nxt], episode.tools, index + 1, stopped=True)
        whole = policy.tokens.conversation(messages, episode.tools)
        assert ids == whole[: len(ids)]
        assert tokenizer.decode(whole[len(ids) :]) == "\n"


def test_a_folder_that_is_no_chat_model_is_refused(tmp_path):
    with pytest.raises(BadInput):
        LocalPolicy(tmp_path)
    with pytest.raises(BadInput):
        LocalPolicy(tmp_path / "absent")


@pytest.fixture
def model_folder(model_and_tokenizer, tmp_path: Path) -> Path:
    for part in model_and_tokenizer:
        part.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


@pytest.mark.parametrize("compute", [torch.bfloat16, torch.float32])
def test_whatever_it_is_computed_in_the_weights_are_those_that_export_publishes(
    model_folder: Path, monkeypatch: pytest.MonkeyPatch, compute: torch.dtype
) -> None:
    monkeypatch.setattr("hat.models.precision.compute_dtype", lambda: compute)
    model, _ = load_for_decoding(model_folder)
    published = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.bfloat16).state_dict()
    for name, tensor in model.state_dict().items():
        assert tensor.dtype == compute
        assert torch.equal(tensor, published[name].to(compute)), name


def test_weights_can_be_had_as_stored(model_folder: Path) -> None:
    model, _ = load_for_decoding(model_folder, "float32")
    stored = AutoModelForCausalLM.from_pretrained(model_folder, dtype=torch.float32).state_dict()
    assert all(torch.equal(tensor, stored[name]) for name, tensor in model.state_dict().items())
