"""Settings of the training stages; the defaults are the vetted ones of the laptop profile."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

Positive = Annotated[int, Field(ge=1)]
LearningRate = Annotated[float, Field(gt=0, le=0.1)]


class SFTConfig(BaseModel):
    """HSA-SFT."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    control: Literal["hsa", "fixed"] = "hsa"
    """`hsa` trains on sampled harness states; `fixed` sees the same trajectories under the unchanged harness only."""
    learning_rate: LearningRate = 3e-4
    """Peak learning rate of AdamW."""
    warmup_share: Annotated[float, Field(ge=0, lt=1)] = 0.06
    """Share of steps in which the learning rate rises."""
    final_learning_rate_share: Annotated[float, Field(ge=0, le=1)] = 0.1
    """Where the cosine ends, as a share of the peak."""
    openings_per_state: Annotated[int, Field(ge=0)] = 8
    """Trajectories of which only the first turn is learnt from, beside the `augment.tasks_per_state` whole ones."""
    packs_per_step: Positive = 1
    """Packs, and so harness states, whose gradients make one optimiser step."""
    call_weight: Annotated[float, Field(ge=0)] = 1.0
    """Loss weight of a token of a tool-call turn."""
    reply_weight: Annotated[float, Field(ge=0)] = 1.0
    """Loss weight of a token of a reply."""
    checkpoint_steps: Positive = 32
    """Optimiser steps between checkpoints: what a killed run can lose."""


class OPDConfig(BaseModel):
    """General on-policy distillation from the base model."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: Annotated[int, Field(ge=0)] = 4
    """Optimiser steps; 0 turns the stage off."""
    samples_per_step: Positive = 8
    """General prompts answered by the student, and so answers learnt from, in one step."""
    max_new_tokens: Positive = 40
    """Length at which an answer is cut."""
    learning_rate: LearningRate = 1e-5
    """Constant learning rate of AdamW."""
    checkpoint_steps: Annotated[int, Field(ge=0)] = 0
    """Optimiser steps between checkpoints; 0 where the whole stage costs less than saving one."""


class RewardWeights(BaseModel):
    """Weights of the reward components, each normalised within its group before."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    accuracy: Annotated[float, Field(ge=0)] = 1.0
    """The reply asserts exactly the gold facts. Credits calls and reply."""
    effectiveness: Annotated[float, Field(ge=0)] = 1.0
    """How far the reply helps. Credits the reply."""
    tool_rationality: Annotated[float, Field(ge=0)] = 1.0
    """The calls made against those needed. Credits the calls."""
    skill_selection: Annotated[float, Field(ge=0)] = 1.0
    """The right reply skill was loaded. Credits the calls."""
    length: Annotated[float, Field(ge=0)] = 0.1
    """Shortness of a right reply; small, because normalising makes a full deviation of little."""


class RLConfig(BaseModel):
    """HSA-RL: GRPO whose rollouts are episodes, one harness state and one task for each group."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    steps: Annotated[int, Field(ge=0)] = 3
    """Optimiser steps; 0 turns the stage off."""
    groups_per_step: Positive = 2
    """Groups, and so (harness state, task) pairs, that one step learns from."""
    candidates: Positive = 2
    """Groups rolled out for each that is learnt from: the one whose rollouts differ most; others only cost sampling.

    After a good SFT most groups are solved by all their rollouts and teach nothing.
    """
    group_size: Annotated[int, Field(ge=2)] = 4
    """Rollouts of one group, compared with each other."""
    augmented_share: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Share of groups under an augmented harness; the others run under the original one."""
    fault_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of groups whose tools fail at the first attempt: all rollouts of a group meet the same faults."""
    intents: tuple[str, ...] = ()
    """Intents of the domain that tasks are drawn from; empty: all."""
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    """Sampling temperature; the policy that is improved is the one at this temperature."""
    max_new_tokens: Positive = 96
    """Length at which one turn of a rollout is cut."""
    rollouts: Literal["local", "vllm"] = "local"
    """`local`: a bf16 copy in the trainer's process. `vllm`: `engine`'s server in the trainer's pod, given the new
    weights after each step."""
    engine_arguments: dict[str, str | int | float | bool] = {}
    """With `vllm`: arguments of that server beside `engine.arguments`, e.g. the share of memory that it may take."""
    learning_rate: LearningRate = 2e-6
    """Constant learning rate of AdamW."""
    updates_per_rollout: Positive = 1
    """Optimiser passes over the same rollouts; with 1, every importance ratio is 1."""
    clip_low: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """How far below 1 an importance ratio counts."""
    clip_high: Annotated[float, Field(gt=0)] = 0.28
    """How far above 1 an importance ratio counts."""
    weights: RewardWeights = RewardWeights()
    """Weights of the reward components."""
    checkpoint_steps: Annotated[int, Field(ge=0)] = 0
    """Optimiser steps between checkpoints; 0 where the whole stage costs less than saving one."""

    @property
    def candidate_groups(self) -> int:
        """Groups rolled out in one step."""
        return self.groups_per_step * self.candidates
