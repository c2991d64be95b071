"""A complete Hugging Face folder of a few bytes: for what concerns files, not what a model answers."""

import json
import struct
from pathlib import Path


def write_model_folder(folder: Path, weights: bytes = b"\0" * 8) -> Path:
    """Write a folder that passes `check_model_folder`: one tensor of ``weights``, tokenizer and template."""
    folder.mkdir(parents=True)
    header = {"w": {"dtype": "U8", "shape": [len(weights)], "data_offsets": [0, len(weights)]}}
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + weights)
    (folder / "config.json").write_text('{"model_type": "llama"}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    return folder
