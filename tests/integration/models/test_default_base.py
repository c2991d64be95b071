"""The real default base model: converted faithfully, and it talks."""

from pathlib import Path

import pytest

from hat.models import smollm2
from hat.models.folder import check_model_folder


@pytest.fixture(scope="module")
def tokenizer(base_model: Path):  # type: ignore[no-untyped-def]
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(base_model)


def test_the_folder_is_complete(base_model: Path) -> None:
    check_model_folder(base_model)


def test_special_tokens_and_context_are_the_models_own(tokenizer) -> None:  # type: ignore[no-untyped-def]
    assert len(tokenizer) == 49152
    assert tokenizer.eos_token == tokenizer.pad_token == "<|im_end|>"
    assert tokenizer.model_max_length == smollm2.CONTEXT_TOKENS
    assert tokenizer.chat_template == smollm2.chat_template()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # As the pre-tokenizer named in the GGUF (`smollm`) splits: digits first, white space kept whole.
        ("\n  5", ["ĊĠĠ", "5"]),
        ("\n\n12", ["ĊĊ", "1", "2"]),
        ("price 59.9", ["price", "Ġ", "5", "9", ".", "9"]),
    ],
)
def test_digits_are_split_off_first(tokenizer, text: str, tokens: list[str]) -> None:  # type: ignore[no-untyped-def]
    assert tokenizer.tokenize(text) == tokens


def test_chinese_text_survives_the_tokenizer(tokenizer) -> None:  # type: ignore[no-untyped-def]
    text = '直播间 "特价" 59.90 元\n  - don\'t'
    assert tokenizer.decode(tokenizer(text)["input_ids"]) == text


def test_the_converted_model_knows_the_capital_of_france(base_model: Path, tokenizer) -> None:  # type: ignore[no-untyped-def]
    import torch
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(base_model, dtype=torch.bfloat16)
    prompt = tokenizer.apply_chat_template(
        [{"role": "user", "content": "What is the capital of France?"}],
        add_generation_prompt=True,
        return_tensors="pt",
        return_dict=True,
    )
    output = model.generate(**prompt, max_new_tokens=16, do_sample=False)
    assert "Paris" in tokenizer.decode(output[0, prompt["input_ids"].shape[1] :])
