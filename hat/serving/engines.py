"""What vLLM and Triton need beside a Hugging Face folder: their settings and the commands that start them.

All paths are relative to the exported folder, so that it can be moved; engines are started in it.
"""

from typing import Any

from hat.serving.config import ExportConfig

VLLM_SETTINGS = "vllm.yaml"
CHAT_TEMPLATE = "chat_template.jinja"
TRITON_REPOSITORY = "model_repository"
TRITON_WEIGHTS = "model"
"""Folder with the weights, beside the repository: Triton takes every folder inside it for a model."""


TRITON_SOURCE_MODEL = "source_model"
"""Parameter of a Triton model's configuration: the digest of the model that the export was made from."""


def model_name(name: str, source_digest: str) -> str:
    """Under which name, beside its plain one, an engine serves the export of that very model.

    The plain name stays when the model changes; whoever must not mistake one model for another asks for this.
    """
    return f"{name}@{source_digest[:12]}"


def vllm_arguments(name: str, source_digest: str, config: ExportConfig) -> dict[str, Any]:
    """The arguments of ``vllm serve`` (docs.vllm.ai: Server Arguments), long names without dashes in front."""
    return {
        "model": ".",
        "served-model-name": [name, model_name(name, source_digest)],
        "dtype": "bfloat16",
        "max-model-len": config.max_model_len,
        "enforce-eager": config.enforce_eager,
        "enable-prefix-caching": True,
        "enable-auto-tool-choice": True,
        "tool-call-parser": config.tool_call_parser,
        "chat-template": CHAT_TEMPLATE,
        # Without it vLLM samples at temperature 1; the model was evaluated greedily.
        "override-generation-config": '{"temperature": 0.0}',
    }


def vllm_command() -> str:
    """The command that serves an exported folder, to be run in it."""
    return f"vllm serve --config {VLLM_SETTINGS}"


def triton_command() -> str:
    """The command that serves an exported Triton folder, to be run in it."""
    return f"tritonserver --model-repository={TRITON_REPOSITORY}"


def triton_engine_arguments(config: ExportConfig) -> dict[str, Any]:
    """`model.json` of Triton's vLLM backend: the fields of vLLM's ``AsyncEngineArgs``."""
    return {
        "model": f"./{TRITON_WEIGHTS}",
        "dtype": "bfloat16",
        "max_model_len": config.max_model_len,
        "enforce_eager": config.enforce_eager,
        "enable_prefix_caching": True,
    }


def triton_model_config(name: str, source_digest: str) -> str:
    """`config.pbtxt` of a model that vLLM runs.

    The backend adds the inputs and outputs itself. vLLM batches, so Triton must not; answers stream, so the
    transactions are decoupled; KIND_MODEL leaves the choice of the device to vLLM.
    """
    return (
        f'name: "{name}"\n'
        'backend: "vllm"\n'
        "max_batch_size: 0\n"
        "model_transaction_policy { decoupled: true }\n"
        f'parameters {{ key: "{TRITON_SOURCE_MODEL}" value {{ string_value: "{source_digest}" }} }}\n'
        "instance_group [\n"
        "  {\n"
        "    count: 1\n"
        "    kind: KIND_MODEL\n"
        "  }\n"
        "]\n"
    )
