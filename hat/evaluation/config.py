"""Settings of the evaluation: which items of the four suites, and how answers are decoded."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

AGENT_SUITES = ("live_stream_qa", "harness_variant_qa", "tool_prompt_robustness")
"""Suites that play episodes."""
GENERAL_SUITE = "instruction_following"
"""The fourth: plain prompts, without any harness."""


class RobustnessConfig(BaseModel):
    """Further items of Tool/Prompt Robustness, by sub-suite; none by default."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    twin_pairs: int = Field(default=0, ge=0)
    """Pairs of twins, each kind in turn; a pair is two items, which are never kept apart."""
    faults: int = Field(default=0, ge=0)
    """Questions whose tools fail at the first attempt, in one of all ways, reported or not."""
    distractor_tools: int = Field(default=0, ge=0)
    """Questions with tools that answer nothing among those that do."""
    unsolvable: int = Field(default=0, ge=0)
    """Questions that must be declined."""
    rotbench: str | None = None
    """Folder of RoTBench's first-turn files: others' tool lists, clean and with noise in their names."""
    rotbench_records: int = Field(default=210, ge=1)
    """Records taken of each of its levels at most; no level has more than 210."""

    def limited(self, count: int) -> "RobustnessConfig":
        """At most ``count`` items of each sub-suite, pairs kept together."""
        most = {
            "twin_pairs": count // 2,
            **dict.fromkeys(("faults", "distractor_tools", "unsolvable"), count),
            **({} if self.rotbench is None else {"rotbench_records": max(count, 1)}),
        }
        fewer = {name: min(n, getattr(self, name)) for name, n in most.items()}
        return self.model_copy(update={**fewer, **({} if count else {"rotbench": None})})


class EvaluateConfig(BaseModel):
    """How a model is evaluated. The same settings give the same items for every model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    live_stream_qa: int = Field(default=150, ge=0)
    """Questions under the original harness; 0 leaves the suite out, here and below."""
    harness_variant_qa: int = Field(default=150, ge=0)
    """Questions under harness states that training never sees."""
    tasks_per_state: int = Field(default=3, ge=1, le=4)
    """Questions that share one state, one session and so one prompt prefix: 150 questions make 50 states."""
    tool_prompt_robustness: int = Field(default=40, ge=0)
    """Questions with distractor tools, without an answer, or with failing tools: a third each."""
    robustness: RobustnessConfig = RobustnessConfig()
    """Items of that suite beside these, by sub-suite, twins among them."""
    instruction_following: int = Field(default=30, ge=0)
    """General prompts with verifiable instructions."""
    instruction_prompts: str | None = None
    """IFEval's `input_data.jsonl`, or `hub`; otherwise our own prompts."""
    base_items: int = Field(default=14, ge=0)
    """Questions of each suite that the base model gets, some 40 in all: it answers none, at length. (Instruction
    following: all, since it is paired.)"""
    split: Literal["dev", "test"] = "dev"
    """Whose products, phrasings, names and layouts; `test` adds the hand-written questions."""
    max_new_tokens: int = Field(default=96, ge=1)
    """Bound of one turn; a turn cut there is judged as it is. Two calls with long names take about 70."""
    instruction_tokens: int = Field(default=96, ge=1)
    """Bound of one reply to a general prompt."""
    batch_size: int = Field(default=64, ge=1)
    """Episodes decoded at once."""
    seed: int = Field(default=0, ge=0)
    """Draws the items."""

    def for_base(self) -> "EvaluateConfig":
        """The smaller evaluation of the base model: the first items of each suite."""
        return self.limited(self.base_items)

    def limited(self, count: int) -> "EvaluateConfig":
        """At most ``count`` items of each suite that plays episodes."""
        fewer: dict[str, object] = {suite: min(count, getattr(self, suite)) for suite in AGENT_SUITES}
        return self.model_copy(update={**fewer, "robustness": self.robustness.limited(count)})

    def only(self, suites: tuple[str, ...]) -> "EvaluateConfig":
        """Only the named suites; ``ifeval`` stands for ``instruction_following``."""
        kept = {GENERAL_SUITE if suite == "ifeval" else suite for suite in suites}
        known = (*AGENT_SUITES, GENERAL_SUITE)
        left_out: dict[str, object] = {suite: 0 for suite in known if suite not in kept}
        if "tool_prompt_robustness" in left_out:
            left_out["robustness"] = RobustnessConfig()
        return self.model_copy(update=left_out)
