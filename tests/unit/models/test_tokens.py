import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer

from hat.agent.calls import Call, parse_assistant, render_call
from hat.errors import BadInput
from hat.models.tokens import ChatTokens

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "get_price",
            "description": "Price of a link",
            "parameters": {
                "type": "object",
                "properties": {"link_id": {"type": "integer"}},
                "required": ["link_id"],
            },
        },
    },
    {
        "type": "function",
        "function": {"name": "load_skill", "description": "", "parameters": {"type": "object"}},
    },
]


@pytest.fixture(scope="module")
def tokens(base_model) -> ChatTokens:
    return ChatTokens(AutoTokenizer.from_pretrained(base_model))


def conversation(text: str, call: Call) -> list[dict]:
    tool_call = {"type": "function", "function": {"name": call.name, "arguments": dict(call.arguments)}}
    return [
        {"role": "system", "content": f"# Role\n- {text}"},
        {"role": "user", "content": text},
        {"role": "assistant", "content": "", "tool_calls": [tool_call, tool_call]},
        {"role": "tool", "content": '{"price": 59.9}'},
        {"role": "tool", "content": text},
        {"role": "assistant", "content": text},
        {"role": "user", "content": "That reply was blocked."},
        {"role": "assistant", "content": "Link 3 costs 59.9 yuan."},
    ]


# Text that a shop, a viewer or a model may write: spaces and newlines at the ends, Chinese, quotes, braces.
texts = st.text(st.sampled_from(list("ab 1\n'\"\\{}<>，直播间é😀")), max_size=30)


@settings(max_examples=60, deadline=None)
@given(text=texts)
def test_a_conversation_cut_after_each_message_is_a_prefix_of_the_whole_in_ids(
    tokens: ChatTokens, text: str
) -> None:
    messages = conversation(text, Call("get_price", {"link_id": 3, "note": text}))
    whole = tokens.conversation(messages, TOOLS)
    for cut in range(1, len(messages)):
        part = tokens.conversation(messages[:cut], TOOLS)
        assert whole[: len(part)] == part
        if messages[cut]["role"] == "assistant":
            with_prompt = tokens.text(messages[:cut], TOOLS, generation=True)
            assert tokens.text(messages, TOOLS, generation=False).startswith(with_prompt)


@settings(max_examples=60, deadline=None)
@given(text=texts)
def test_opening_turns_and_continuations_add_up_to_the_whole_conversation(
    tokens: ChatTokens, text: str
) -> None:
    messages = conversation(text, Call("get_price", {"link_id": 3, "note": text}))
    ids = list(tokens.opening(messages[:2], TOOLS).ids)
    ends = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    for position, end in enumerate(ends):
        calls = "".join(
            render_call(Call(call["function"]["name"], call["function"]["arguments"]))
            for call in messages[end].get("tool_calls", [])
        )
        ids += [*tokens.ids(messages[end]["content"] + calls), tokens.stop_id]
        if position + 1 < len(ends):
            ids += tokens.continuation(messages[: ends[position + 1]], TOOLS, end + 1, stopped=True)
    assert tokens.tokenizer.decode(ids) + "\n" == tokens.text(messages, TOOLS, generation=False)
    if not text.startswith((" ", "\n")):
        # Text that begins with white space may merge with the newline before it: then the sampled ids stay.
        assert [*ids, *tokens.ids("\n")] == tokens.conversation(messages, TOOLS)


def test_the_shared_part_is_the_system_prompt_with_the_tools(tokens: ChatTokens) -> None:
    one, other = (tokens.opening(conversation("same", Call("a", {}))[:2], TOOLS) for _ in range(2))
    other_question = tokens.opening(
        [conversation("same", Call("a", {}))[0], {"role": "user", "content": "another"}], TOOLS
    )
    assert one == other
    assert one.ids[: one.shared] == other_question.ids[: other_question.shared]
    shared = tokens.tokenizer.decode(one.ids[: one.shared])
    assert "get_price(link_id: integer): Price of a link" in shared
    assert shared.endswith("<|im_end|>\n")
    assert tokens.tokenizer.decode(one.ids).endswith("<|im_start|>assistant\n")


def test_a_cut_turn_gets_its_stop_token_before_what_follows(tokens: ChatTokens) -> None:
    messages = conversation("q", Call("get_price", {"link_id": 3}))
    stopped = tokens.continuation(messages[:5], TOOLS, 3, stopped=True)
    cut = tokens.continuation(messages[:5], TOOLS, 3, stopped=False)
    assert cut == [tokens.stop_id, *stopped]
    assert stopped[0] == tokens.ids("\n")[0]


def test_pad_equal_to_the_stop_token_leaves_the_stop_token_in_the_conversation(tokens: ChatTokens) -> None:
    assert tokens.tokenizer.pad_token_id == tokens.stop_id
    ids = tokens.conversation(conversation("q", Call("a", {})), TOOLS)
    assert ids.count(tokens.stop_id) == len(conversation("q", Call("a", {})))


def test_decoded_calls_are_what_was_written(tokens: ChatTokens) -> None:
    call = Call("make_note", {"text": '直播间\\n"特价" {S,{M,L}'})
    ids = [*tokens.ids(render_call(call)), tokens.stop_id]
    assert parse_assistant(tokens.decode(ids)).calls == (call,)


def test_a_template_that_rewrites_earlier_turns_is_refused(base_model) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base_model)
    tokenizer.chat_template = (
        "{{ messages | length }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"
    )
    messages = conversation("q", Call("a", {}))
    with pytest.raises(BadInput, match="not prefix-preserving"):
        ChatTokens(tokenizer).continuation(messages[:5], TOOLS, 3, stopped=True)


def test_a_tokenizer_without_a_template_is_refused(base_model) -> None:
    tokenizer = AutoTokenizer.from_pretrained(base_model)
    tokenizer.chat_template = None
    with pytest.raises(BadInput, match="no chat template"):
        ChatTokens(tokenizer)
