"""The exported Triton repository on a real tritonserver, asked through tritonclient and by the service.

The backend called `vllm` there is `tests/support/triton_vllm`: real vLLM behind the interface of Triton's own.
"""

import asyncio
import json
import queue
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from hat.agent.episode import Episode
from hat.harness.model import Harness
from hat.models.tokens import ChatTokens
from hat.serving.service.command import template_in
from hat.serving.service.source import fixed_source
from tests.support.engines import Server, triton_server
from tests.support.serving import serving

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]
SAMPLING = json.dumps({"temperature": 0, "max_tokens": 12, "skip_special_tokens": False})
TEXT = "3号链接多少钱？🙂"


@pytest.fixture(scope="module")
def server(exports: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("triton")
    with triton_server(exports["triton"], folder / "backends", folder / "log") as running:
        yield running


def inputs(module: Any, text: str, stream: bool) -> list[Any]:
    values: list[tuple[str, str, Any]] = [
        ("text_input", "BYTES", np.array([text.encode()], dtype=object)),
        ("stream", "BOOL", np.array([stream])),
        ("exclude_input_in_output", "BOOL", np.array([True])),
        ("sampling_parameters", "BYTES", np.array([SAMPLING.encode()], dtype=object)),
        ("return_finish_reason", "BOOL", np.array([True])),
    ]
    made = []
    for name, kind, value in values:
        one = module.InferInput(name, [1], kind)
        one.set_data_from_numpy(value)
        made.append(one)
    return made


def streamed(server: Server, text: str, stream: bool) -> list[tuple[str, str]]:
    """(text, finish reason) of each response over gRPC; the backend's transactions are decoupled."""
    import tritonclient.grpc as grpc

    results: queue.Queue[Any] = queue.Queue()
    pieces = []
    with grpc.InferenceServerClient(server.grpc) as client:
        client.start_stream(callback=lambda result, error: results.put((result, error)))
        client.async_stream_infer("live-shop", inputs(grpc, text, stream), enable_empty_final_response=True)
        while True:
            result, error = results.get(timeout=300)
            assert error is None, error
            response = result.get_response()
            if result.as_numpy("text_output") is not None:
                reason = result.as_numpy("finish_reason")[0].decode()
                pieces.append((result.as_numpy("text_output")[0].decode(), reason))
            if response.parameters["triton_final_response"].bool_param:
                break
        client.stop_stream()
    return pieces


def test_the_repository_is_loaded_as_exported_and_names_its_model(
    server: Server, exports: dict[str, Any]
) -> None:
    import tritonclient.grpc as grpc
    import tritonclient.http as http

    client = http.InferenceServerClient(server.url.removeprefix("http://"))
    assert client.is_model_ready("live-shop")
    config = client.get_model_config("live-shop")
    assert config["backend"] == "vllm"
    assert config["parameters"]["source_model"]["string_value"] == exports["digest"]
    with grpc.InferenceServerClient(server.grpc) as other:
        metadata = other.get_model_metadata("live-shop")
    assert {one.name for one in metadata.inputs} >= {"text_input", "stream", "sampling_parameters"}


def test_text_that_is_not_ascii_is_generated_alike_over_http_grpc_and_streaming(server: Server) -> None:
    whole = streamed(server, TEXT, stream=False)
    pieces = streamed(server, TEXT, stream=True)
    assert len(whole) == 1
    assert len(pieces) > 1
    assert "".join(text for text, _ in pieces) == whole[0][0] != ""
    assert pieces[-1][1] in ("stop", "length")
    body = {
        "text_input": TEXT,
        "stream": False,
        "exclude_input_in_output": True,
        "sampling_parameters": SAMPLING,
    }
    answer = httpx.post(f"{server.url}/v2/models/live-shop/generate", json=body, timeout=300).json()
    assert answer["text_output"] == whole[0][0]
    with_input = httpx.post(
        f"{server.url}/v2/models/live-shop/generate",
        json={**body, "exclude_input_in_output": False},
        timeout=300,
    ).json()
    assert with_input["text_output"] == TEXT + whole[0][0]


def test_rendered_text_has_the_ids_of_training(
    exports: dict[str, Any], episodes: list[Episode], base_model: Path
) -> None:
    from transformers import AutoTokenizer

    trained = ChatTokens(AutoTokenizer.from_pretrained(base_model, local_files_only=True))
    exported = AutoTokenizer.from_pretrained(exports["triton"] / "model", local_files_only=True)
    render = template_in(exports["triton"] / "model")
    for episode in episodes:
        for end, message in enumerate(episode.messages()):
            if message["role"] == "assistant":
                text = render(episode.messages()[:end], episode.tools)
                wanted = trained.conversation(episode.messages()[:end], episode.tools, generation=True)
                # As the backend's vLLM does it: special tokens added where the tokenizer adds any.
                assert exported(text)["input_ids"] == wanted


def test_the_service_answers_through_it(server: Server, harness: Harness, exports: dict[str, Any]) -> None:
    async def scenario() -> None:
        source = fixed_source("laptop", harness, exports["digest"])
        settings = {"engine": "triton-vllm", "deadline_seconds": 300, "longest_deadline_seconds": 300}
        async with serving(
            source,
            server.url,
            ready=False,
            load_template=lambda digest: template_in(exports["triton"] / "model"),
            max_new_tokens=24,
            **settings,
        ) as client:
            async with asyncio.timeout(120):
                await client.until_ready()
            answers = await asyncio.gather(
                *(client.ask(question=text) for text in (TEXT, "Is link 3 in stock?"))
            )
            for status, answer in answers:
                assert status == 200, answer
                assert answer["output_tokens"] > 0
                assert answer["pair"]["model_digest"] == exports["digest"]

    asyncio.run(scenario())
