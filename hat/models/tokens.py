"""Conversations as token ids: the opening and what each turn appends, exactly as the chat template has it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hat.errors import BadInput

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Messages = Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Prompt:
    """The token ids a conversation begins with."""

    ids: tuple[int, ...]
    shared: int = 0
    """How many of the first ids are worth computing once for all prompts that begin with them."""


class ChatTokens:
    """A tokenizer's chat template, in token ids.

    The template must be prefix-preserving: the rendering of a conversation cut after a message begins the
    rendering of the whole. Texts meet at the stop token, which is special, so ids of parts add up to ids of
    the whole.

    Raises:
        BadInput: the tokenizer has no chat template or no end token.
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerBase") -> None:
        if not tokenizer.chat_template:
            raise BadInput("the tokenizer has no chat template", where=str(tokenizer.name_or_path))
        if tokenizer.eos_token_id is None:
            raise BadInput("the tokenizer has no end token", where=str(tokenizer.name_or_path))
        self.tokenizer = tokenizer
        self.stop_id: int = tokenizer.eos_token_id
        self._stop_text = str(tokenizer.eos_token)

    def text(self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None, *, generation: bool) -> str:
        """The rendered conversation; with ``generation``, up to where the assistant's next turn begins."""
        return str(
            self.tokenizer.apply_chat_template(
                [dict(message) for message in messages],
                tools=[dict(tool) for tool in tools] if tools else None,
                tokenize=False,
                add_generation_prompt=generation,
            )
        )

    def ids(self, text: str) -> list[int]:
        """The ids of rendered text: special tokens in it are recognised and none is added."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def conversation(
        self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None, *, generation: bool = False
    ) -> list[int]:
        """The ids of a whole conversation."""
        return self.ids(self.text(messages, tools, generation=generation))

    def opening(self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None) -> Prompt:
        """The prompt of a conversation that ends where the assistant speaks.

        The system prompt with the tools is its shared part, where there is one.
        """
        whole = self.text(messages, tools, generation=True)
        if messages and messages[0]["role"] == "system" and len(messages) > 1:
            first = self.text(messages[:1], tools, generation=False)
            if whole.startswith(first):
                shared = self.ids(first)
                return Prompt((*shared, *self.ids(whole[len(first) :])), len(shared))
        return Prompt(tuple(self.ids(whole)))

    def continuation(
        self, messages: Messages, tools: Sequence[Mapping[str, Any]] | None, answered: int, *, stopped: bool
    ) -> list[int]:
        """The ids between the end of an assistant's turn and the beginning of the next.

        Args:
            messages: the conversation up to the next turn of the assistant.
            answered: how many of the messages there are up to and with the assistant's turn.
            stopped: whether the assistant's ids already end with the stop token; if not, it is put first.

        Raises:
            BadInput: the template is not prefix-preserving.
        """
        whole = self.text(messages, tools, generation=True)
        before = self.text(messages[:answered], tools, generation=False)
        if not whole.startswith(before) or self._stop_text not in before:
            raise BadInput(
                "the chat template is not prefix-preserving, so turns cannot be appended",
                where=str(self.tokenizer.name_or_path),
                mend="Use a template that renders earlier turns the same way whatever follows.",
            )
        end = before.rindex(self._stop_text) + len(self._stop_text)
        ids = self.ids(whole[end:])
        return ids if stopped else [self.stop_id, *ids]

    def decode(self, ids: Sequence[int]) -> str:
        """The assistant's text of sampled ids: the stop token left out, any other special token visible."""
        kept = ids[:-1] if ids and ids[-1] == self.stop_id else ids
        return str(
            self.tokenizer.decode(list(kept), skip_special_tokens=False, clean_up_tokenization_spaces=False)
        )
