"""Writes and checks the model folder that engines load: bfloat16 weights, tokenizer, template with tools."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.files import as_environment_failure, read_json, write_json_atomic, write_text_atomic
from hat.models.folder import check_model_folder, model_files
from hat.models.tokens import ChatTokens
from hat.serving.engines import CHAT_TEMPLATE

Tools = Sequence[Mapping[str, Any]]

PROBE_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "probe_tool",
        "description": "Looks a link up.",
        "parameters": {
            "type": "object",
            "properties": {"link_id": {"type": "integer"}},
            "required": ["link_id"],
        },
    },
}
"""Stands for a harness's tools where a model is exported without a harness."""


def write_serving_model(source: Path, target: Path, *, max_model_len: int, tools: Tools) -> None:
    """Write the model of ``source`` to ``target`` as engines load it, and check the result.

    Raises:
        BadInput: ``source`` is not a whole chat model, has weights that are not finite, or cannot serve
            ``tools`` in ``max_model_len`` tokens.
        EnvironmentFailure: the disk is full or ``target`` cannot be written.
    """
    from hat.serving.weights import round_weights

    check_model_folder(source)
    config = read_json(source / "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and positions < max_model_len:
        raise BadInput(
            f"the model reads at most {positions} tokens, asked to serve {max_model_len}",
            where="export.max_model_len",
            mend=f"Give at most {positions}.",
        )
    try:
        target.mkdir(parents=True, exist_ok=True)
        for name in model_files(source):
            if ".safetensors" not in name:
                shutil.copyfile(source / name, target / name)
        round_weights(source, target)
    except OSError as error:
        raise as_environment_failure(error, target) from error
    config.pop("torch_dtype", None)  # its name before transformers 5
    write_json_atomic(target / "config.json", {**config, "dtype": "bfloat16"})
    tokenizer = _tokenizer(source)
    write_text_atomic(target / CHAT_TEMPLATE, tokenizer.get_chat_template(tools=list(tools)))
    write_json_atomic(target / "generation_config.json", _generation(source, tokenizer))
    check_serving_model(target, source, tools)


def check_serving_model(folder: Path, source: Path, tools: Tools) -> None:
    """Check that a written folder loads and renders what its source renders.

    Raises:
        BadInput: files are missing or damaged, tensors differ from the source's in name or shape, or the
            template does not render the tools, or not as the source does, or rewrites earlier turns.
    """
    check_model_folder(folder)
    if _shapes(folder) != _shapes(source):
        raise BadInput("the written tensors are not the model's", where=str(folder), mend="Export again.")
    mine, theirs = ChatTokens(_tokenizer(folder)), ChatTokens(_tokenizer(source))
    probe = _probe(tools)
    if mine.conversation(probe, tools) != theirs.conversation(probe, tools):
        raise BadInput(
            "the exported tokenizer or chat template renders other tokens than the trained one",
            where=str(folder),
        )
    opening = mine.text(probe[:2], tools, generation=True)
    unseen = [tool["function"]["name"] for tool in tools if tool["function"]["name"] not in opening]
    if unseen:
        raise BadInput(
            f"the chat template does not show the tool {unseen[0]!r} to the model",
            where=str(folder / CHAT_TEMPLATE),
            mend="Give the base model a chat template that renders `tools`.",
        )
    mine.continuation(probe[:4], tools, 3, stopped=True)


def _probe(tools: Tools) -> list[dict[str, Any]]:
    """A conversation with a call, a result and a reply, some of it not ASCII."""
    call = {"name": tools[0]["function"]["name"], "arguments": {"text": '直播间 "特价" 3 {}'}}
    return [
        {"role": "system", "content": "Room rules"},
        {"role": "user", "content": "多少钱?"},
        {"role": "assistant", "content": "", "tool_calls": [{"type": "function", "function": call}]},
        {"role": "tool", "content": '{"price": 59.9}'},
        {"role": "assistant", "content": "It costs 59.9 yuan."},
    ]


def _generation(source: Path, tokenizer: Any) -> dict[str, Any]:
    """Greedy decoding, as evaluated, ending where the evaluated model ends."""
    path = source / "generation_config.json"
    given = read_json(path) if path.is_file() else {}
    ends = given.get("eos_token_id", [])
    ends = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
    ids = {
        "bos_token_id": given.get("bos_token_id", tokenizer.bos_token_id),
        "eos_token_id": sorted(ends) if len(ends) > 1 else tokenizer.eos_token_id,
        "pad_token_id": given.get("pad_token_id", tokenizer.pad_token_id),
    }
    return {"do_sample": False, **{key: value for key, value in ids.items() if value is not None}}


def _shapes(folder: Path) -> dict[str, list[int]]:
    from safetensors import safe_open

    shapes: dict[str, list[int]] = {}
    for shard in folder.glob("*.safetensors"):
        with safe_open(shard, framework="pt") as opened:
            names = opened.keys()
            shapes |= {name: list(opened.get_slice(name).get_shape()) for name in names}
    return shapes


def _tokenizer(folder: Path) -> Any:
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except (OSError, ValueError) as error:
        raise BadInput(f"the tokenizer cannot be loaded: {error}", where=str(folder)) from error
