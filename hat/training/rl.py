"""HSA-RL: GRPO on episodes, several reward components, one harness state and one task for each group.

TRL's `GRPOTrainer` with a `rollout_func` that drives `hat.agent.episode.Episode`. What differs from it:
advantages apart for tool-call and reply segments with an importance ratio for each segment
(`hat.training.segments`), exact zeros for groups without a difference, a group's prompt computed once, the
vocabulary projected at sampled tokens only.
"""

import copy
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from accelerate.utils import gather_object
from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
    PrinterCallback,
    TrainerCallback,
)
from trl import GRPOConfig, GRPOTrainer
from trl.models.utils import _ForwardRedirection
from trl.trainer.utils import split_tensor_dict

from hat.agent.policies.local import LocalPolicy
from hat.agent.policies.served import ServedPolicy
from hat.domains.base import Domain
from hat.files import canonical_json, sha256_text
from hat.serving.weight_sync import SyncedServer
from hat.training.arguments import common_arguments
from hat.training.checkpoints import SettingsInCheckpoints
from hat.training.collator import PackCollator, step_loss
from hat.training.config import RLConfig
from hat.training.decode_copy import DecodeCopy
from hat.training.log_probs import Batch, scored_log_probs
from hat.training.metrics import StepLog
from hat.training.preflight import check_generation_markers, check_size
from hat.training.replay import Replay, replay_of
from hat.training.rewards import COMPONENTS, group_differences, segment_advantages
from hat.training.rollouts import CALLS, REPLY, Group, RolloutPolicy, ScoredRollout, play_groups
from hat.training.safety import StopOnBrokenNumbers
from hat.training.segments import policy_loss, supervised_loss


@dataclass(frozen=True)
class RolloutEngine:
    """A server that plays the rollouts."""

    server: SyncedServer
    concurrency: int
    """Episodes played at once."""
    answer_seconds: float
    """Patience with one turn."""


class EpisodeTrainer(GRPOTrainer):
    """`GRPOTrainer` whose rollouts are episodes of ``groups``, the candidates of one step after those of another.

    The rows of TRL's data set only say how many rollouts a step has.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: PreTrainedTokenizerBase,
        groups: Sequence[Group],
        domain: Domain,
        config: RLConfig,
        arguments: GRPOConfig,
        callbacks: Sequence[TrainerCallback] = (),
        replay: Replay | None = None,
        engine: "RolloutEngine | None" = None,
    ) -> None:
        # Copied before TRL replaces the model's forward, which a copy would share with the original.
        self.decoder: Any = DecodeCopy(model) if engine is None else engine.server
        self._engine = engine
        # In the precision of training, so that rounding alone is no divergence.
        self._start = copy.deepcopy(model).eval().requires_grad_(False)
        self._groups = groups
        self._domain = domain
        self._config = config
        self._replay = replay
        self._replayed = False
        self._weights = config.weights.model_dump()
        self._forward_redirection = _ForwardRedirection()
        self.last_rollouts: list[ScoredRollout] = []
        self._tried: dict[str, int] = {}
        self._pieces: list[dict[str, Any]] = []
        with warnings.catch_warnings():
            # We know that it may move between minor versions: pyproject.toml pins them.
            warnings.filterwarnings("ignore", message="You are using 'rollout_func'")
            super().__init__(
                model=model,
                reward_funcs=[_reward_function(name) for name in COMPONENTS],
                args=arguments,
                train_dataset=Dataset.from_dict({"prompt": [""] * (config.steps * config.groups_per_step)}),
                processing_class=tokenizer,
                rollout_func=_roll_out,
                callbacks=list(callbacks),
            )

    def roll_out(self) -> list[ScoredRollout]:
        """The rollouts that this step learns from: of its candidate groups, those that differ most, in their order."""
        size, count = self._config.group_size, self._config.candidate_groups
        version = self.state.global_step
        self.decoder.sync(self.model, version)
        share = self.accelerator
        before = version // self.num_iterations
        own = before - (before // self._replay.every if self._replay else 0)
        turn = own * share.num_processes + share.process_index
        candidates = [(turn * count + offset) % len(self._groups) for offset in range(count)]
        indices = [index for index in candidates for _ in range(size)]
        policy = self._policy(len(indices), version)
        played = play_groups(policy, self._groups, indices, self._domain, self.decoder.version)
        differences = group_differences([rollout.rewards for rollout in played], self._weights, size)
        best = sorted(range(count), key=lambda group: -differences[group])[: self._config.groups_per_step]
        self.last_rollouts = [r for group in sorted(best) for r in played[group * size : (group + 1) * size]]
        self._tried = {"groups_tried": count, "groups_that_differ": sum(value > 0 for value in differences)}
        return self.last_rollouts

    def _policy(self, episodes: int, version: int) -> RolloutPolicy:
        """The policy at ``version``, for so many episodes at once."""
        sampling: dict[str, Any] = {
            "max_new_tokens": self._config.max_new_tokens,
            "temperature": self._config.temperature,
            "seed": self.args.seed * 1_000_003 + version,
            "name": f"rl:{version}",
        }
        if self._engine is None:
            loaded = (self.decoder.model, self.processing_class)
            return LocalPolicy(loaded, batch_size=episodes, log_probs=True, **sampling)
        served = self._engine.server.served
        return ServedPolicy(
            served.url,
            served.model,
            self.processing_class,
            concurrency=self._engine.concurrency,
            answer_seconds=self._engine.answer_seconds,
            **sampling,
        )

    def step_notes(self) -> dict[str, Any]:
        """What `hat.training.metrics.StepLog` adds to a step's line: what each group was and earned."""
        if self._replayed:
            return {"replayed": True}
        size = self._config.group_size
        notes = []
        for start in range(0, len(self.last_rollouts), size):
            members = self.last_rollouts[start : start + size]
            trajectory = members[0].trajectory
            notes.append(
                {
                    "task": trajectory.task.id,
                    "task_digest": trajectory.task.digest,
                    "state": trajectory.state.digest,
                    "families": list(trajectory.state.families),
                    "rewards": [member.rewards for member in members],
                    "ends": [member.trajectory.end for member in members],
                    "replies": [member.trajectory.reply for member in members],
                }
            )
        version = self.last_rollouts[0].policy_version
        return {"policy_version": version, **self._tried, **refusals(self.last_rollouts), "groups": notes}

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        """TRL's, without its shuffle: a group stays together, so that its prompt is computed once.

        In a step of replay a supervised pack for each group, and nothing is sampled.
        """
        pieces = self._config.groups_per_step
        now = self.state.global_step // self.num_iterations
        self._replayed = self._replay is not None and self._replay.is_due(now)
        if self._replay is not None and self._replayed:
            each = pieces * self.num_iterations
            number = now // self._replay.every * each + self._step % each
            return {"replay": self._replay.inputs(number, self.accelerator.device)}
        if self._step % (pieces * self.num_iterations) == 0 or not self._pieces:
            self._pieces = split_tensor_dict(self._generate_and_score_completions(generation_batch), pieces)
        return self._pieces[self._step % pieces]

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        """TRL's, with an advantage and a segment for each token."""
        output = super()._generate_and_score_completions(inputs)
        self.decoder.check(self.model, self.state.global_step)
        width = output["completion_ids"].shape[1]
        device = output["completion_ids"].device
        kinds = _padded([row["kinds"] for row in inputs], width, device)
        all_rewards = gather_object([row["components"] for row in inputs])
        for_calls, for_reply = segment_advantages(all_rewards, self._weights, self._config.group_size)
        first = self.accelerator.process_index * len(inputs)
        mine = slice(first, first + len(inputs))
        calls = for_calls[mine].to(device, torch.float32)[:, None]
        reply = for_reply[mine].to(device, torch.float32)[:, None]
        output["advantages"] = calls * (kinds == CALLS) + reply * (kinds == REPLY)
        output["segments"] = _padded([row["segments"] for row in inputs], width, device)
        output["learnt"] = _padded([row["learnt"] for row in inputs], width, device)
        return output

    def _compute_loss(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        unwrapped = self.accelerator.unwrap_model(model)
        if "replay" in inputs:
            return self._forward_redirection(model, unwrapped, self._replay_loss, unwrapped, inputs["replay"])
        # Through the wrapper's own forward, as DDP and DeepSpeed need it.
        return self._forward_redirection(model, unwrapped, self._loss_of, unwrapped, inputs)

    def _replay_loss(self, model: Any, pack: dict[str, Any]) -> torch.Tensor:
        with self.accelerator.autocast():
            loss = step_loss(model, pack)
        self._metrics["train"]["replay_loss"].append(loss.item())
        return loss / self.current_gradient_accumulation_steps

    def _loss_of(self, model: Any, inputs: dict[str, Any]) -> torch.Tensor:
        segments, advantages = inputs["segments"], inputs["advantages"]
        batch = Batch(
            inputs["prompt_ids"], inputs["prompt_mask"], inputs["completion_ids"], inputs["completion_mask"]
        )
        scored = segments > 0
        with self.accelerator.autocast():
            now = scored_log_probs(model, batch, scored, self.temperature)
            with torch.no_grad():
                start = scored_log_probs(self._start, batch, scored, self.temperature)
        old = inputs.get("old_per_token_logps")
        old = now.log_probs.detach() if old is None else old
        result = policy_loss(now.log_probs, old, advantages, segments, self.epsilon_low, self.epsilon_high)
        loss = result.loss
        if self._config.method == "rejection_sft":
            loss = supervised_loss(now.log_probs, inputs["learnt"])
        self._note(now.log_probs.detach(), start.log_probs, inputs, scored)
        metrics = self._metrics["train"]
        metrics["entropy"].append(now.entropies[scored].mean().item())
        metrics["clipped_share"].append(result.clipped_share)
        metrics["accepted_share"].append((inputs["learnt"].sum(-1) > 0).float().mean().item())
        return loss / self.current_gradient_accumulation_steps

    def _note(
        self, now: torch.Tensor, start: torch.Tensor, inputs: dict[str, Any], scored: torch.Tensor
    ) -> None:
        """Log how far the policy is from the one RL began with, and from the one that was sampled from."""
        gap = (start - now)[scored]
        # The estimator exp(x) - x - 1 of KL(now || start): never negative, low variance (Schulman, 2020).
        self._metrics["train"]["kl"].append((gap.exp() - gap - 1).mean().item())
        sampled = (inputs["sampling_per_token_logps"] - now)[scored].abs().mean()
        self._metrics["train"]["sampling_gap"].append(sampled.item())


def train_rl(
    start: Path,
    groups: Sequence[Group],
    domain: Domain,
    config: RLConfig,
    *,
    work: Path,
    log: Path,
    seed: int,
    callbacks: Sequence[TrainerCallback] = (),
    resume_from: Path | None = None,
    replayed: PackCollator | None = None,
    engine: "RolloutEngine | None" = None,
) -> tuple[Any, PreTrainedTokenizerBase]:
    """Improve the model in ``start`` on ``groups``, ``config.candidate_groups`` of them in each step.

    ``work`` receives the Trainer's checkpoints; ``log`` one JSON line a step. ``replayed`` has the supervised packs of
    ``config.replay_every``. ``engine`` plays the rollouts; None: a copy of the model in this process.

    Raises:
        BadInput: fewer groups than one step needs, packs to replay are not given or have no generation markers, a
            checkpoint of other settings, or scoring a rollout fails.
        BrokenNumbers: a reward, gradient, KL or loss is not finite.
    """
    check_size(len(groups), config.candidate_groups, "groups of rollouts")
    tokenizer = AutoTokenizer.from_pretrained(start)
    replay = replay_of(config.replay_every, replayed, seed)
    if replay:
        check_generation_markers(tokenizer)
    written = SettingsInCheckpoints(
        stage="rl",
        config=config.model_dump(mode="json"),
        seed=seed,
        groups=sha256_text(canonical_json([[group.task.id, group.state.digest] for group in groups])),
    )
    written.check(resume_from)
    model = AutoModelForCausalLM.from_pretrained(start, dtype=torch.float32)
    trainer = EpisodeTrainer(
        model,
        tokenizer,
        groups,
        domain,
        config,
        _arguments(config, work, seed),
        (written, *callbacks),
        replay,
        engine,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.add_callback(StepLog("rl", log, trainer.step_notes))
    trainer.add_callback(StopOnBrokenNumbers("rl", zero_loss_stops=False))
    trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
    return trainer.model, tokenizer


def _arguments(config: RLConfig, work: Path, seed: int) -> GRPOConfig:
    return GRPOConfig(
        max_steps=config.steps,
        per_device_train_batch_size=config.group_size,
        gradient_accumulation_steps=config.groups_per_step,
        steps_per_generation=config.groups_per_step,
        num_generations=config.group_size,
        num_iterations=config.updates_per_rollout,
        max_completion_length=config.max_new_tokens,
        temperature=config.temperature,
        shuffle_dataset=False,  # groups are planned in their order
        multi_objective_aggregation="normalize_then_sum",
        importance_sampling_level="sequence",
        loss_type="grpo",
        reward_weights=[getattr(config.weights, name) for name in COMPONENTS],
        epsilon=config.clip_low,
        epsilon_high=config.clip_high,
        beta=0.0,
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant",
        **common_arguments(work, seed, config.checkpoint_steps),
    )


def _roll_out(prompts: list[str], trainer: EpisodeTrainer) -> dict[str, list[Any]]:
    """TRL's ``rollout_func``: what is not one of its own keys reaches the reward functions."""
    rollouts = trainer.roll_out()
    return {
        "prompt_ids": [rollout.prompt_ids for rollout in rollouts],
        "completion_ids": [rollout.completion_ids for rollout in rollouts],
        "logprobs": [rollout.sampling_log_probs for rollout in rollouts],
        "env_mask": [[int(segment > 0) for segment in rollout.segments] for rollout in rollouts],
        "segments": [rollout.segments for rollout in rollouts],
        "kinds": [rollout.kinds for rollout in rollouts],
        "components": [rollout.rewards for rollout in rollouts],
        "learnt": [rollout.learnt for rollout in rollouts],
    }


def refusals(rollouts: Sequence[ScoredRollout]) -> dict[str, float | None]:
    """The share of rollouts that decline where that is right, and where it is not; None where there are none such."""

    def share(answerable: bool) -> float | None:
        scores = [r.trajectory.scores for r in rollouts if r.trajectory.task.answerable == answerable]
        known = [each.refused for each in scores if each is not None]
        return sum(known) / len(known) if known else None

    return {"refusal_rate": share(False), "over_refusal_rate": share(True)}


def _reward_function(name: str) -> Any:
    def reward(*, components: list[dict[str, float | None]], **_: Any) -> list[float | None]:
        return [component[name] for component in components]

    reward.__name__ = name
    return reward


def _padded(rows: list[list[int]], width: int, device: torch.device) -> torch.Tensor:
    return torch.tensor([row + [0] * (width - len(row)) for row in rows], device=device)
