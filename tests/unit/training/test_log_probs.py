import torch
from transformers import LlamaForCausalLM

from hat.training.log_probs import Batch, scored_log_probs

PROMPTS = [[5, 6, 7, 8], [9, 10, 11]]


def batch(model: LlamaForCausalLM) -> Batch:
    pad = model.config.pad_token_id
    prompts = [PROMPTS[0], PROMPTS[1], PROMPTS[0], PROMPTS[0]]
    completions = [[20, 21, 22, 23, 24], [30, 31], [40, 41, 42], [50]]
    prompt_ids = torch.tensor([[pad] * (4 - len(p)) + p for p in prompts])
    prompt_mask = torch.tensor([[0] * (4 - len(p)) + [1] * len(p) for p in prompts])
    completion_ids = torch.tensor([c + [pad] * (5 - len(c)) for c in completions])
    completion_mask = torch.tensor([[1] * len(c) + [0] * (5 - len(c)) for c in completions])
    return Batch(prompt_ids, prompt_mask, completion_ids, completion_mask)


def one_by_one(model: LlamaForCausalLM, parts: Batch, temperature: float) -> torch.Tensor:
    expected = torch.zeros(parts.completion_ids.shape)
    for i in range(len(parts.prompt_ids)):
        prompt = parts.prompt_ids[i][parts.prompt_mask[i].bool()]
        completion = parts.completion_ids[i][parts.completion_mask[i].bool()]
        logits = model(torch.cat([prompt, completion])[None]).logits[0, len(prompt) - 1 : -1] / temperature
        expected[i, : len(completion)] = torch.log_softmax(logits, -1).gather(-1, completion[:, None])[:, 0]
    return expected


def test_the_shared_prompt_changes_neither_log_probabilities_nor_gradients(
    tiny_model: LlamaForCausalLM,
) -> None:
    parts = batch(tiny_model)
    scored = parts.completion_mask.bool()
    scored[0, 2] = False
    found = scored_log_probs(tiny_model, parts, scored, 1.3).log_probs
    expected = one_by_one(tiny_model, parts, 1.3) * scored
    assert torch.allclose(found, expected, atol=1e-5)
    weights = torch.rand(found.shape)
    (found * weights).sum().backward()
    mine = [p.grad.clone() for p in tiny_model.parameters() if p.grad is not None]
    tiny_model.zero_grad()
    (expected * weights).sum().backward()
    theirs = [p.grad for p in tiny_model.parameters() if p.grad is not None]
    assert len(mine) == len(theirs) > 10
    for one, other in zip(mine, theirs, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


def test_tokens_that_are_not_scored_stay_zero_and_entropy_is_that_of_the_distribution(
    tiny_model: LlamaForCausalLM,
) -> None:
    parts = batch(tiny_model)
    scored = torch.zeros_like(parts.completion_mask, dtype=torch.bool)
    scored[1, 0] = True
    found = scored_log_probs(tiny_model, parts, scored, 1.0)
    assert found.log_probs.nonzero().tolist() == [[1, 0]]
    logits = tiny_model(torch.tensor([PROMPTS[1]])).logits[0, -1]
    expected = torch.distributions.Categorical(logits=logits).entropy()
    assert torch.allclose(found.entropies[1, 0], expected, atol=1e-5)
