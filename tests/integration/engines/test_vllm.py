"""The exported folder on a real vLLM server: the same tokens as in training, parsed calls, cached prefixes."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policies.chat_wire import read_response, wire_messages
from hat.harness.model import Harness
from hat.harness.render import render_tools
from hat.models.tokens import ChatTokens
from hat.serving.service.source import fixed_source
from hat.training.packing import SegmentWeights, build_pack
from tests.support.engines import Server
from tests.support.serving import SESSION, serving

pytestmark = [pytest.mark.engines, pytest.mark.timeout(900)]


@pytest.fixture
def server(vllm: Server) -> Server:
    return vllm


@pytest.fixture(scope="module")
def trained_tokens(base_model: Path) -> ChatTokens:
    """As training loads the tokenizer: from the model that was exported, not from the export."""
    from transformers import AutoTokenizer

    return ChatTokens(AutoTokenizer.from_pretrained(base_model, local_files_only=True))


def served_ids(server: Server, messages: Any, tools: Any, generation: bool) -> list[int]:
    body = {
        "model": "live-shop",
        "messages": messages,
        "tools": tools,
        "add_generation_prompt": generation,
        "add_special_tokens": False,
    }
    response = httpx.post(f"{server.url}/tokenize", json=body, timeout=60)
    assert response.status_code == 200, response.text
    return list(response.json()["tokens"])


def test_every_prefix_of_a_conversation_has_the_same_ids_in_vllm_training_and_episode(
    server: Server, episodes: list[Episode], trained_tokens: ChatTokens
) -> None:
    compared = 0
    for episode in episodes:
        messages, tools = episode.messages(), episode.tools
        # As an episode's rollout puts its ids together: an opening, then turn after turn.
        grown = list(trained_tokens.opening(messages[:2], tools).ids)
        for end in range(2, len(messages) + 1):
            before_reply = end < len(messages) and messages[end]["role"] == "assistant"
            trained = trained_tokens.conversation(messages[:end], tools, generation=before_reply)
            assert served_ids(server, wire_messages(messages[:end]), tools, before_reply) == trained
            if before_reply:
                assert grown == trained
                answered = end + 1
                turn = trained_tokens.text(messages[:answered], tools, generation=False)
                turn = turn[len(trained_tokens.text(messages[:end], tools, generation=True)) :]
                grown += trained_tokens.ids(turn.rstrip("\n"))
                following = next(
                    (n for n in range(answered, len(messages)) if messages[n]["role"] == "assistant"), None
                )
                if following is not None:
                    grown += trained_tokens.continuation(messages[:following], tools, answered, stopped=True)
            compared += 1
        whole = served_ids(server, wire_messages(messages), tools, False)
        assert whole[: len(grown)] == grown
        pack = build_pack([episode.trajectory()], episode.state, trained_tokens.tokenizer, SegmentWeights())
        learnt = [*pack.prefix, *pack.branches[0].token_ids]
        assert whole[: len(learnt)] == learnt
    assert compared > 60


def test_a_prefix_of_a_conversation_is_a_prefix_of_its_continuation(
    server: Server, episodes: list[Episode]
) -> None:
    for episode in episodes[:4] + episodes[-1:]:
        messages = wire_messages(episode.messages())
        before: list[int] = []
        for end in range(1, len(messages) + 1):
            ids = served_ids(server, messages[:end], episode.tools, False)
            assert ids[: len(before)] == before
            before = ids


def test_arguments_as_text_and_as_object_render_the_same(
    server: Server, episodes: list[Episode], trained_tokens: ChatTokens
) -> None:
    episode = next(episode for episode in episodes if episode.task.id == "zh")
    messages, tools = episode.messages(), episode.tools
    as_text = served_ids(server, wire_messages(messages), tools, False)
    as_object = [dict(message) for message in messages]
    assert as_text == trained_tokens.conversation(as_object, tools)
    texts = wire_messages(messages)
    assert trained_tokens.conversation(texts, tools) == as_text


@pytest.mark.parametrize(
    "call",
    [
        Call("get_product_info", {"link_id": 3}),
        Call("get_shipping", {"link_id": 3, "region": "上海 “浦东”"}),
    ],
)
def test_a_call_that_the_model_writes_is_parsed_with_the_exported_parser(
    server: Server, harness: Harness, call: Call
) -> None:
    """A grammar makes the model write the call, so that what is parsed is real output of the server."""
    body = {
        "model": "live-shop",
        "messages": [{"role": "user", "content": "How much is link 3?"}],
        "tools": render_tools(harness),
        "max_tokens": 120,
        "structured_outputs": {"choice": [render_call(call)]},
    }
    raw = httpx.post(
        f"{server.url}/v1/chat/completions", json={**body, "tool_choice": "none"}, timeout=300
    ).json()
    assert raw["choices"][0]["message"]["content"] == render_call(call)
    parsed = httpx.post(f"{server.url}/v1/chat/completions", json=body, timeout=300).json()
    (found,) = parsed["choices"][0]["message"]["tool_calls"]
    assert found["function"]["name"] == call.name
    assert json.loads(found["function"]["arguments"]) == call.arguments
    turn = read_response(parsed)
    assert not isinstance(turn, str)
    assert turn.calls == (call,)


def test_the_service_answers_through_it_streams_and_reuses_the_prompts_prefix(
    server: Server, harness: Harness, exports: dict[str, Any]
) -> None:
    questions = ["How much is link 3?", "Is link 4 in stock?", "3号链接多少钱？"]

    async def scenario() -> None:
        source = fixed_source("laptop", harness, exports["digest"])
        limits = {"deadline_seconds": 300, "longest_deadline_seconds": 300, "max_new_tokens": 24}
        async with serving(source, server.url, ready=False, **limits) as client:
            async with asyncio.timeout(120):
                await client.until_ready()
            answers = await asyncio.gather(*(client.ask(question=each) for each in questions))
            for status, answer in answers:
                assert status == 200, answer
                assert answer["end"] != "engine_error"
                assert answer["output_tokens"] > 0
                assert len(answer["turn_first_tokens"]) == answer["turns"]
            body = {"question": questions[0], "session": SESSION, "stream": True}
            async with client.session.post(f"{client.service.url}/v1/questions", json=body) as response:
                text = await response.text()
            assert "event: answer" in text
            status, body = await client.ask(deadline_ms=1)
            assert (status, body["error"]["code"]) == (504, "deadline")

    asyncio.run(scenario())
    metrics = httpx.get(f"{server.url}/metrics", timeout=10).text
    counters = {
        line.split("{")[0]: float(line.rsplit(" ", 1)[1])
        for line in metrics.splitlines()
        if line.startswith("vllm:prefix_cache")
    }
    assert counters["vllm:prefix_cache_hits_total"] > 0.5 * counters["vllm:prefix_cache_queries_total"]


def test_the_service_does_not_take_another_models_export_for_its_own(
    server: Server, harness: Harness
) -> None:
    async def scenario() -> None:
        async with serving(fixed_source("laptop", harness, "e" * 64), server.url, ready=False) as client:
            async with asyncio.timeout(120):
                await client.until_not_ready("does not serve model eeeeeeeeeeee")

    asyncio.run(scenario())
