"""Strict parsing of an assistant's text: cases from real trouble, and round trips."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hat.agent.calls import OPEN_TAG, Call, MalformedCall, parse_assistant, render_call

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda children: st.lists(children, max_size=3) | st.dictionaries(st.text(), children, max_size=3),
    max_leaves=8,
)


def call_text(name: str, arguments: str) -> str:
    return f'<tool_call>{{"name": "{name}", "arguments": {arguments}}}</tool_call>'


def test_braces_inside_a_string_stay_in_the_string() -> None:
    turn = parse_assistant(
        '<tool_call>{"name":"make_note","arguments":{"text":"sizes {S,{M,L}"}}</tool_call>'
    )
    assert turn.calls == (Call("make_note", {"text": "sizes {S,{M,L}"}),)


def test_closing_tag_inside_a_string_stays_in_the_string() -> None:
    turn = parse_assistant(call_text("make_note", '{"text": "a</tool_call>b<tool_call>"}'))
    assert turn.calls[0].arguments == {"text": "a</tool_call>b<tool_call>"}


@pytest.mark.parametrize("between", ["", "\n", " "])
def test_two_calls_in_one_tag_are_refused(between: str) -> None:
    one = '{"name": "a", "arguments": {}}'
    with pytest.raises(MalformedCall, match="two calls in one tag") as caught:
        parse_assistant(f"<tool_call>{one}{between}{one}</tool_call>")
    assert caught.value.code == "two_calls_in_tag"


def test_two_tags_are_two_calls_in_order() -> None:
    turn = parse_assistant(call_text("a", "{}") + "\n" + call_text("b", '{"n": 1}'))
    assert turn.calls == (Call("a", {}), Call("b", {"n": 1}))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (call_text("a", '"{\\"n\\": 1}"'), "arguments_not_object"),
        (call_text("a", "[1]"), "arguments_not_object"),
        ('<tool_call>{"name": "a"}</tool_call>', "not_a_call"),
        ('<tool_call>{"name": "a", "arguments": {}, "id": 1}</tool_call>', "not_a_call"),
        ("<tool_call>[]</tool_call>", "not_a_call"),
        ("<tool_call>get_price(3)</tool_call>", "not_json"),
        ('<tool_call>{"name": "a", "arguments": {}} ok</tool_call>', "not_json"),
        ("<tool_call>" + "[" * 100_000 + "</tool_call>", "not_json"),
        ('<tool_call>{"name": "a", "arguments": {}}', "unclosed_tag"),
        ('{"name": "a", "arguments": {}}</tool_call>', "stray_closing_tag"),
        ("<think>which one", "unclosed_thinking"),
        ("so be it</think>Yes.", "unclosed_thinking"),
    ],
)
def test_departures_from_the_format_are_errors_with_a_code(text: str, code: str) -> None:
    with pytest.raises(MalformedCall) as caught:
        parse_assistant(text)
    assert caught.value.code == code


def test_arguments_as_text_are_named_in_the_error() -> None:
    with pytest.raises(MalformedCall, match="JSON text"):
        parse_assistant(call_text("a", '"{}"'))


def test_text_around_a_call_is_kept_apart() -> None:
    turn = parse_assistant("Let me see. " + call_text("a", "{}") + " Done.")
    assert (turn.content, turn.calls) == ("Let me see.  Done.", (Call("a", {}),))


def test_thinking_is_never_reply_nor_call() -> None:
    turn = parse_assistant(f"<think>maybe {call_text('a', '{}')}</think>It costs 3 yuan.")
    assert (turn.content, turn.calls) == ("It costs 3 yuan.", ())
    assert "maybe" in turn.thinking


def test_an_integer_stays_an_integer() -> None:
    (call,) = parse_assistant(call_text("get_price", '{"link_id": 3}')).calls
    assert call.arguments["link_id"] == 3
    assert isinstance(call.arguments["link_id"], int)


def test_escapes_and_chinese_round_trip_exactly_once() -> None:
    call = Call("make_note", {"text": '直播间\\n"特价"'})
    text = render_call(call)
    assert "直播间" in text
    assert parse_assistant(text).calls == (call,)


@given(name=st.text(min_size=1), arguments=st.dictionaries(st.text(), JSON_VALUES, max_size=4))
def test_any_rendered_call_is_read_back(name: str, arguments: dict[str, object]) -> None:
    assert parse_assistant(render_call(Call(name, arguments))).calls == (Call(name, arguments),)


@given(st.text())
def test_any_text_is_read_or_refused_as_malformed(text: str) -> None:
    with contextlib.suppress(MalformedCall):
        assert OPEN_TAG not in parse_assistant(text).content
