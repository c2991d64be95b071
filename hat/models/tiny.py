"""A tiny model with random weights whose tokens are bytes: it tries machinery in seconds and knows nothing."""

from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

NAME = "random-tiny"
NOTES = "random weights: its scores say nothing"


def byte_tokenizer() -> "PreTrainedTokenizerFast":
    """Every byte is a token; ``<|im_end|>`` ends a turn and pads, as in SmolLM2, whose chat template it has."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    core = Tokenizer(models.BPE(vocab={letter: i for i, letter in enumerate(alphabet)}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=core, bos_token="<|im_start|>", eos_token="<|im_end|>", pad_token="<|im_end|>"
    )
    template = files("hat.models") / "chat_templates" / "smollm2_tools.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    return tokenizer


def write_tiny_model(folder: Path, seed: int = 0) -> Path:
    """Write a Hugging Face folder, in fp32, and return it. The same seed gives the same weights."""
    import torch
    from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

    tokenizer = byte_tokenizer()
    ids = {
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=16384,
        tie_word_embeddings=True,
        **ids,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    model.generation_config = GenerationConfig(**ids)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
