"""Settings of the training stages; the defaults are the vetted ones of the laptop profile."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

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
    token_budget: Annotated[int, Field(ge=0)] = 0
    """Tokens to train on (prompts counted once a pack, no padding), by which controls are matched; 0: all packs."""
    rare_share: Annotated[float, Field(gt=0, le=1)] = 1.0
    """Largest share, each, of trajectories with failing tools, of refusals and of twins; 1: as many as there are.

    Small before reinforcement learning, which otherwise finds nothing left to teach.
    """
    stop_accuracy: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Accuracy on hard tasks, which are not trained on, at which training ends early; 0: never."""
    stop_every: Positive = 16
    """Optimiser steps between two looks at that accuracy."""
    stop_tasks: Positive = 40
    """Tasks of one look, each under an augmented harness state of the train split."""
    stop_intents: tuple[str, ...] = ()
    """Intents of the domain that these tasks are drawn from: the hard ones; empty: all."""


class OPDConfig(BaseModel):
    """On-policy distillation: general, from the base model, or the labelled arm on harness prompts."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompts: Literal["general", "harness"] = "general"
    """`general`: general prompts, the teacher is the base model. `harness` (the arm harness-OPD, never part of HAT):
    turns of training episodes under augmented harness states, the teacher is the HSA model `teacher`."""
    teacher: Annotated[str, Field(pattern="^([0-9a-f]{64})?$")] = ""
    """Digest of the HSA model that harness-OPD distils from, which the store must hold."""
    bank: Literal["short", "long"] = "short"
    """The general prompts to draw from: `long` has all of `short`, and as many again."""
    replay_every: Annotated[int, Field(ge=0)] = 0
    """Every so many steps one learns from a supervised pack in place of a batch; 0: none."""

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

    @field_validator("replay_every")
    @classmethod
    def _some_steps_are_its_own(cls, every: int) -> int:
        return _replay(every)

    @model_validator(mode="after")
    def _teacher_fits(self) -> "OPDConfig":
        if (self.prompts == "harness") != bool(self.teacher):
            raise ValueError(
                "prompts=harness needs a teacher, and prompts=general has the base model as its own"
            )
        return self

    @property
    def own_steps(self) -> int:
        """Steps that are not replay."""
        return _own_steps(self.steps, self.replay_every)


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

    method: Literal["grpo", "rejection_sft"] = "grpo"
    """`rejection_sft` is the compute-matched arm: the same rollouts, but those that are right in every respect are
    learnt from as supervised data, and the others are not learnt from."""
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
    twin_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of groups that are members of twin pairs, both of a pair in one step."""
    unsolvable_share: Annotated[float, Field(ge=0, le=1)] = 0.0
    """Share of groups whose task must be declined. With this, twins or screening, the other tasks are answerable."""
    screen_tasks: Annotated[int, Field(ge=0)] = 0
    """Tasks tried before the first step, of which those solved sometimes but not always are used; 0: no screening."""
    screen_rollouts: Annotated[int, Field(ge=2)] = 4
    """Times that each of them is tried."""
    screen_temperature: Annotated[float, Field(gt=0, le=2)] = 1.2
    """Sampling temperature of the trials."""
    replay_every: Annotated[int, Field(ge=0)] = 0
    """Every so many steps one learns from supervised packs in place of rollouts; 0: none."""
    intents: tuple[str, ...] = ()
    """Intents of the domain that tasks are drawn from; empty: all."""
    temperature: Annotated[float, Field(gt=0, le=2)] = 1.0
    """Sampling temperature; the policy that is improved is the one at this temperature."""
    max_new_tokens: Positive = 96
    """Length at which one turn of a rollout is cut."""
    rollouts: Literal["local", "vllm"] = "local"
    """`local`: a copy in the trainer's process. `vllm`: `engine`'s server in the trainer's pod, given the new
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

    @field_validator("replay_every")
    @classmethod
    def _some_steps_are_its_own(cls, every: int) -> int:
        return _replay(every)

    @model_validator(mode="after")
    def _fits_together(self) -> "RLConfig":
        if self.mixed and self.candidates > 1:
            raise ValueError(
                "candidates must be 1 with twins, unsolvable tasks or screening: each step is composed"
            )
        if self.twin_share and self.groups_per_step < 2:
            raise ValueError("groups_per_step must be at least 2 for both members of a twin pair")
        if self.twin_share + self.unsolvable_share + self.fault_share > 1 and self.mixed:
            raise ValueError("twin_share, unsolvable_share and fault_share are more than 1 together")
        if self.checkpoint_steps % self.updates_per_rollout:
            raise ValueError(
                "checkpoint_steps must be a multiple of updates_per_rollout: rollouts are not kept"
            )
        return self

    @property
    def mixed(self) -> bool:
        """Whether the groups of a step are composed by `hat.training.mixture`."""
        return bool(self.twin_share or self.unsolvable_share or self.screen_tasks)

    @property
    def own_rounds(self) -> int:
        """Times that rollouts are made: steps, or passes over the same rollouts, that are not replay."""
        return _own_steps(-(-self.steps // self.updates_per_rollout), self.replay_every)

    @property
    def candidate_groups(self) -> int:
        """Groups rolled out in one step."""
        return self.groups_per_step * self.candidates


def _replay(every: int) -> int:
    if every == 1:
        raise ValueError("replay in every step leaves none of its own; 0 turns it off")
    return every


def _own_steps(steps: int, every: int) -> int:
    return steps - steps // every if every else steps
