"""What vLLM and Triton are told."""

import json

import pytest
import yaml

from hat.models import ModelRef
from hat.serving.card import CardFacts
from hat.serving.config import ExportConfig
from hat.serving.engines import triton_model_config
from hat.serving.export import engine_files

FACTS = CardFacts(name="live-shop", source=ModelRef(digest="a" * 64, base="some base"))


def test_vllm_settings_render_tools_parse_calls_and_decode_greedily() -> None:
    files = engine_files("vllm", FACTS, ExportConfig(max_model_len=1024, enforce_eager=False))
    assert set(files) == {"README.md", "vllm.yaml"}
    settings = yaml.safe_load(files["vllm.yaml"])
    assert settings["model"] == "."
    assert settings["served-model-name"] == ["live-shop", "live-shop@aaaaaaaaaaaa"]
    assert settings["dtype"] == "bfloat16"
    assert settings["max-model-len"] == 1024
    assert settings["chat-template"] == "chat_template.jinja"
    assert settings["tool-call-parser"] == "hermes"
    assert settings["enable-auto-tool-choice"] is True
    assert settings["enforce-eager"] is False
    assert json.loads(settings["override-generation-config"]) == {"temperature": 0.0}


def test_the_triton_repository_has_one_vllm_model_that_finds_its_weights_beside_it() -> None:
    files = engine_files("triton", FACTS, ExportConfig(max_model_len=1024))
    assert set(files) == {
        "README.md",
        "model_repository/live-shop/config.pbtxt",
        "model_repository/live-shop/1/model.json",
    }
    arguments = json.loads(files["model_repository/live-shop/1/model.json"])
    assert arguments == {
        "model": "./model",
        "dtype": "bfloat16",
        "max_model_len": 1024,
        "enforce_eager": True,
        "enable_prefix_caching": True,
    }


def test_tritons_own_schema_reads_the_model_configuration() -> None:
    config = pytest.importorskip("tritonclient.grpc.model_config_pb2").ModelConfig()
    text_format = pytest.importorskip("google.protobuf.text_format")
    text_format.Parse(triton_model_config("live-shop", "a" * 64), config)
    assert (config.name, config.backend, config.max_batch_size) == ("live-shop", "vllm", 0)
    assert config.model_transaction_policy.decoupled
    assert config.parameters["source_model"].string_value == "a" * 64
    assert config.instance_group[0].Kind.Name(config.instance_group[0].kind) == "KIND_MODEL"


@pytest.mark.parametrize("name", ["../up", "a/b", 'quo"te', "-x", "直播", "a" * 65])
def test_a_name_that_no_engine_takes_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="name"):
        ExportConfig(name=name)
