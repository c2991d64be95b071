"""Batched decoding of many conversations: one key-value cache across turns, shared prompts computed once.

Decoding reads all weights for each step, so a step costs nearly the same for 1 row as for 64; what pays is to
keep the batch full. Conversations therefore move independently: those whose turn has ended wait until enough
others do, are extended together by one forward pass, and go on; freed slots take the next conversations.
"""

import random
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import torch

from hat.errors import BadInput
from hat.models.prefix_attention import ATTENTION, PrefixBank, RowLayout
from hat.models.row_cache import CachePass, RowCache
from hat.models.tokens import Prompt

_PREFILL_TOKENS = 4096
"""Upper bound of new tokens in one forward pass: bounds the activations' memory."""
_CROWDED = 0.7
"""Prefixes that no row needs any more are dropped when fewer than this share are needed."""
_WAITING_SHARE = 8
"""Ended turns are extended when they fill an eighth of the slots: fewer waste weight reads, more sit idle."""


@dataclass(frozen=True)
class Sampling:
    """How tokens are chosen."""

    max_new_tokens: int = 96
    """Bound of one turn."""
    temperature: float = 0.0
    """0 is greedy."""
    seed: int = 0
    """Each conversation draws from its own stream, so that its neighbours in the batch do not change it."""
    log_probs: bool = False
    """Also give each token's log-probability under the distribution it was drawn from (greedy: unscaled)."""


@dataclass(frozen=True)
class Sample:
    """One turn as it was sampled."""

    ids: tuple[int, ...]
    """With the stop token where there is one."""
    stopped: bool
    """False when the turn was cut at the bound."""
    log_probs: tuple[float, ...] = ()


Answer = Callable[[int, Sample], Sequence[int] | None]
"""(conversation, its sampled turn) -> the ids to append before its next turn; None ends the conversation."""


@dataclass
class _Row:
    index: int
    prefix: tuple[int, ...]
    """The shared first part, whose keys are in the bank of prefixes."""
    length: int
    """Further tokens whose keys are in the cache."""
    pending: list[int]
    stream: random.Random
    ids: list[int] = field(default_factory=list)
    log_probs: list[float] = field(default_factory=list)


def converse(
    model: Any,
    prompts: Sequence[Prompt],
    answer: Answer,
    *,
    stop_ids: Sequence[int],
    sampling: Sampling,
    slots: int = 64,
    bank: PrefixBank | None = None,
    on_turn_begun: Callable[[int], None] | None = None,
) -> None:
    """Decode every conversation to its end, ``slots`` at a time and in the given order.

    Prompts that share a first part should be neighbours: it is kept only while a prompt in a slot needs it.

    Args:
        bank: shared first parts computed before; all that this call computes stays there, for the next.
        on_turn_begun: called with a conversation's index when the first token of a turn of it is there.

    Raises:
        BadInput: the model's attention is not plain full attention.
    """
    if prompts:
        with torch.inference_mode(), _attention_of(model):
            _Conversations(
                model,
                prompts,
                answer,
                frozenset(stop_ids),
                sampling,
                min(slots, len(prompts)),
                bank,
                on_turn_begun,
            ).run()


@contextmanager
def _attention_of(model: Any) -> Iterator[None]:
    """The model attends by `hat.models.prefix_attention` for as long as this lasts."""
    before = model.config._attn_implementation
    model.set_attn_implementation(ATTENTION)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def check_supported(config: Any) -> None:
    """Raises `BadInput` for models whose attention or output layer this decoder does not reproduce."""
    where = str(getattr(config, "name_or_path", "") or config.model_type)
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    special = getattr(config, "final_logit_softcapping", None) or getattr(config, "logits_scaling", None)
    if kinds != {"full_attention"} or special:
        raise BadInput(
            f"{config.model_type} models cannot be decoded in-process",
            where=where,
            mend="Serve the model with an engine and use the endpoint policy.",
        )


class _Conversations:
    """Slots in three runs: rows that decode, rows that wait for their pending tokens, and free slots."""

    def __init__(
        self,
        model: Any,
        prompts: Sequence[Prompt],
        answer: Answer,
        stop_ids: frozenset[int],
        sampling: Sampling,
        slots: int,
        bank: PrefixBank | None,
        on_turn_begun: Callable[[int], None] | None,
    ) -> None:
        check_supported(model.config)
        self._decoder = model.base_model
        self._head = model.get_output_embeddings()
        self._dtype = next(model.parameters()).dtype
        self._config = model.config
        self._answer = answer
        self._stop_ids = stop_ids
        self._sampling = sampling
        self._slots = slots
        self._queue = deque(enumerate(prompts))
        self._keep_prefixes = bank is not None
        self._bank = PrefixBank() if bank is None else bank
        self._on_turn_begun = on_turn_begun
        heads = model.config.num_attention_heads
        self._repeats = heads // (getattr(model.config, "num_key_value_heads", None) or heads)
        longest = max(len(prompt.ids) - prompt.shared for prompt in prompts)
        self._cache = RowCache(model.config, slots, longest + 3 * sampling.max_new_tokens, self._dtype)
        self._rows: list[_Row] = []
        self._active = 0

    def run(self) -> None:
        while self._rows or self._queue:
            if len(self._rows) < self._slots and self._queue:
                self._admit()
            waiting = len(self._rows) - self._active
            if waiting and (self._active == 0 or waiting >= max(1, self._slots // _WAITING_SHARE)):
                self._extend()
            else:
                self._step()

    def _admit(self) -> None:
        """Give free slots to the next conversations, their shared first part already in the cache."""
        free = self._slots - len(self._rows)
        # A few at a time would compute few prefixes at a time; wait for a batch worth it.
        if self._active and free < max(1, self._slots // _WAITING_SHARE) and len(self._queue) > free:
            return
        taken = [self._queue.popleft() for _ in range(min(free, len(self._queue)))]
        for index, prompt in taken:
            stream = random.Random(f"{self._sampling.seed}/{index}")
            prefix, own = prompt.ids[: prompt.shared], list(prompt.ids[prompt.shared :])
            self._rows.append(_Row(index, prefix, 0, own, stream))
        self._provide_prefixes()

    def _provide_prefixes(self) -> None:
        """Have the rows' prefixes in the bank: those that are missing are computed, a batch in each pass."""
        needed = list(dict.fromkeys(row.prefix for row in self._rows if row.prefix))
        missing = sorted((prefix for prefix in needed if prefix not in self._bank), key=len)
        crowded = len(needed) > _CROWDED * len(self._bank) or self._keep_prefixes
        if not missing and crowded:
            return
        added: list[tuple[tuple[int, ...], RowCache, int]] = []
        while missing:
            count = max(1, min(len(missing), _PREFILL_TOKENS // len(missing[-1])))
            batch, missing = missing[-count:], missing[:-count]
            together = RowCache(self._config, len(batch), max(map(len, batch)), self._dtype)
            self._forward(together, slice(0, len(batch)), [()] * len(batch), [0] * len(batch), batch)
            added.extend((prefix, together, row) for row, prefix in enumerate(batch))
        self._bank.change(drop_all_but=None if self._keep_prefixes else needed, add=added)

    def _extend(self) -> None:
        """Append the pending tokens of all waiting rows; the token that follows begins their next turn."""
        while self._active < len(self._rows):
            waiting = self._rows[self._active :]
            within = list(accumulate(len(row.pending) for row in waiting))
            count = max(1, bisect_right(within, _PREFILL_TOKENS))
            rows = self._rows[self._active : self._active + count]
            place = slice(self._active, self._active + count)
            hidden = self._forward_rows(place, [row.pending for row in rows])
            for row in rows:
                row.length += len(row.pending)
                row.pending = []
            self._active += count
            self._take(list(range(place.start, place.stop)), hidden)

    def _step(self) -> None:
        """One more token for each decoding row."""
        rows = self._rows[: self._active]
        tokens = [[row.ids[-1]] for row in rows]
        hidden = self._forward_rows(slice(0, self._active), tokens)
        for row in rows:
            row.length += 1
        self._take(list(range(self._active)), hidden)

    def _take(self, slots: list[int], hidden: torch.Tensor) -> None:
        """Choose a token for each of the slots; end the turns that it ends."""
        rows = [self._rows[slot] for slot in slots]
        tokens, log_probs = self._choose(_vocabulary_scores(self._head, hidden), [row.stream for row in rows])
        for position, row in enumerate(rows):
            row.ids.append(tokens[position])
            if log_probs:
                row.log_probs.append(log_probs[position])
            if self._on_turn_begun is not None and len(row.ids) == 1:
                self._on_turn_begun(row.index)
        # From the last slot down, so that moving a row away leaves the slots still to look at in place.
        for slot in reversed(slots):
            row = self._rows[slot]
            stopped = row.ids[-1] in self._stop_ids
            if stopped or len(row.ids) >= self._sampling.max_new_tokens:
                self._end_turn(slot, Sample(tuple(row.ids), stopped, tuple(row.log_probs)))

    def _end_turn(self, slot: int, sample: Sample) -> None:
        row = self._rows[slot]
        appended = self._answer(row.index, sample)
        self._active -= 1
        self._swap(slot, self._active)
        if appended is None:
            self._swap(self._active, len(self._rows) - 1)
            self._rows.pop()
            if not self._queue:
                self._provide_prefixes()
            return
        # The last sampled token was never fed to the model: its keys are still to be computed.
        row.pending = [row.ids[-1], *appended]
        row.ids, row.log_probs = [], []

    def _swap(self, first: int, second: int) -> None:
        if first == second:
            return
        rows = self._rows
        self._cache.swap(first, second, max(rows[first].length, rows[second].length))
        rows[first], rows[second] = rows[second], rows[first]

    def _forward_rows(self, slots: slice, tokens: Sequence[Sequence[int]]) -> torch.Tensor:
        """`_forward` for rows of the conversations' own cache."""
        rows = self._rows[slots]
        return self._forward(
            self._cache, slots, [row.prefix for row in rows], [row.length for row in rows], tokens
        )

    def _forward(
        self,
        cache: RowCache,
        slots: slice,
        prefixes: Sequence[tuple[int, ...]],
        lengths: Sequence[int],
        tokens: Sequence[Sequence[int]],
    ) -> torch.Tensor:
        """The last hidden state of each row's last new token: (rows, hidden size)."""
        counts = [len(new) for new in tokens]
        rows = torch.arange(len(tokens)).repeat_interleave(torch.tensor(counts))
        columns = torch.cat([torch.arange(at, at + count) for at, count in zip(lengths, counts, strict=True)])
        before = torch.tensor([len(prefix) for prefix in prefixes])
        visible = int(columns.max()) + 1
        cache.reserve(visible)
        cache.aim(CachePass(slots, visible, rows + slots.start, columns))
        output = self._decoder(
            input_ids=torch.tensor([[token for new in tokens for token in new]]),
            position_ids=(columns + before[rows])[None],
            attention_mask=self._mask(lengths, max(counts), visible),
            cache=cache,
            use_cache=True,
            layout=RowLayout.of(counts),
            prefix_pass=self._bank.for_rows(prefixes),
        ).last_hidden_state
        return output[0, torch.tensor(counts).cumsum(0) - 1]

    def _mask(self, lengths: Sequence[int], most: int, visible: int) -> torch.Tensor:
        """Hides from each row's new tokens what comes after them: (rows, 1, heads per key head * most, visible)."""
        columns = torch.tensor(lengths)[:, None] + torch.arange(most)
        later = torch.arange(visible) > columns[:, None, :, None]
        mask = torch.zeros(later.shape, dtype=self._dtype).masked_fill_(later, float("-inf"))
        return mask.repeat(1, 1, self._repeats, 1)

    def _choose(
        self, logits: torch.Tensor, streams: Sequence[random.Random]
    ) -> tuple[list[int], list[float]]:
        """A token for each row of logits (rows, vocabulary), and its log-probability when asked for."""
        temperature = self._sampling.temperature
        if temperature == 0 and not self._sampling.log_probs:
            return _greatest(logits).tolist(), []
        log_probs = torch.log_softmax(logits.float() / (temperature or 1.0), dim=-1)
        if temperature == 0:
            chosen = _greatest(logits)
        else:
            draws = torch.tensor([[stream.random()] for stream in streams], dtype=torch.float64)
            cumulative = log_probs.double().exp().cumsum(-1)
            chosen = torch.searchsorted(cumulative, draws * cumulative[:, -1:]).squeeze(-1)
            chosen = chosen.clamp_(max=logits.shape[-1] - 1)
        if not self._sampling.log_probs:
            return chosen.tolist(), []
        return chosen.tolist(), log_probs.gather(-1, chosen[:, None]).squeeze(-1).tolist()


def _vocabulary_scores(head: torch.nn.Module, hidden: torch.Tensor) -> torch.Tensor:
    """``head(hidden)``: on CPU by oneDNN, which for few rows and a large vocabulary takes half the time of MKL."""
    weight, bias = head.weight, head.bias
    if (
        weight.device.type != "cpu"
        or weight.dtype != torch.float32
        or not torch.backends.mkldnn.is_available()
    ):
        return head(hidden)
    # `linear` itself always takes MKL for float32; `torch` is pinned exactly.
    return torch.ops.mkldnn._linear_pointwise(hidden, weight, bias, "none", [], "")


def _greatest(logits: torch.Tensor) -> torch.Tensor:
    """The first greatest of each row. On CPU, PyTorch's argmax of bfloat16 takes longer than of a float32 copy."""
    return logits.float().argmax(-1)
