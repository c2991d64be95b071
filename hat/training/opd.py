"""On-policy distillation: the student answers prompts and moves towards the teacher.

Reverse KL at temperature 1 on the student's own samples (arXiv 2306.13649), with TRL's `DistillationTrainer`. In
general distillation prompts are general and the teacher is the model that fine-tuning began with: what fine-tuning on
one task lost comes back. In the labelled arm harness-OPD prompts are turns of episodes under augmented harness states
and the teacher is an HSA model. What differs from plain TRL: answers are sampled from a copy, the vocabulary is
projected only where there is a token, and some steps may replay supervised packs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    PreTrainedTokenizerBase,
    PrinterCallback,
    TrainerCallback,
)
from trl import DistillationConfig, DistillationTrainer

from hat.files import sha256_text
from hat.models.generation import Sample, Sampling, converse
from hat.models.tokens import ChatTokens, Prompt
from hat.training.arguments import common_arguments
from hat.training.checkpoints import SettingsInCheckpoints
from hat.training.collator import PackCollator, step_loss
from hat.training.config import OPDConfig
from hat.training.decode_copy import DecodeCopy
from hat.training.metrics import StepLog
from hat.training.preflight import check_generation_markers, check_same_vocabulary, check_size
from hat.training.replay import Replay, replay_of
from hat.training.safety import StopOnBrokenNumbers


class GeneralDistillation(DistillationTrainer):
    """`DistillationTrainer` that samples through our decoder and scores only sampled tokens."""

    def __init__(self, model: Any, *arguments: Any, replay: Replay | None = None, **keywords: Any) -> None:
        self.decoder = DecodeCopy(model)
        self._replay = replay
        super().__init__(model, *arguments, **keywords)

    def _tokenize_prompts(self, prompts: list[Any]) -> Any:
        """TRL's; of rendered conversations the ids as they are, to which it would add a special token."""
        if not isinstance(prompts[0], str):
            return super()._tokenize_prompts(prompts)
        tokens = ChatTokens(self.processing_class)
        return [tokens.ids(prompt) for prompt in prompts], None, {}

    def _prepare_inputs(self, generation_batch: Any) -> dict[str, Any]:
        """TRL's; in a step of replay a supervised pack, and nothing is sampled."""
        step = self.state.global_step
        if self._replay is None or not self._replay.is_due(step):
            return super()._prepare_inputs(generation_batch)
        return {"replay": self._replay.inputs(step // self._replay.every, self.accelerator.device)}

    def _generate_single_turn(self, prompt_ids: list[list[int]], *_: Any, **__: Any) -> list[list[int]]:
        version = self.state.global_step
        self.decoder.sync(self.model, version)
        self.decoder.check(self.model, version)
        answers: list[list[int]] = [[] for _ in prompt_ids]

        def take(index: int, sample: Sample) -> None:
            answers[index] = list(sample.ids)

        converse(
            self.decoder.model,
            [Prompt(tuple(ids)) for ids in prompt_ids],
            take,
            stop_ids=self.eos_token_ids,
            sampling=Sampling(self.max_completion_length, 1.0, self.args.seed * 1_000_003 + version),
        )
        return answers

    def compute_loss(self, model: Any, inputs: dict[str, Any], *arguments: Any, **keywords: Any) -> Any:
        # The loss calls the decoder below `model.forward`, which is all that accelerate autocasts.
        with self.accelerator.autocast():
            if "replay" in inputs:
                loss = step_loss(self.accelerator.unwrap_model(model), inputs["replay"])
                self._metrics["train"]["replay_loss"].append(loss.item())
                return loss
            return super().compute_loss(model, inputs, *arguments, **keywords)

    def _compute_loss(
        self, student: Any, inputs: dict[str, Any], num_items_in_batch: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """TRL's loss over the same tokens: (loss, sum of the student's entropies, number of tokens)."""
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
        mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
        scored = inputs["completion_mask"].bool()
        kept = scored.shape[1]
        with torch.no_grad():
            teacher = self._get_last_hidden_state(self.teacher_model, ids, mask, kept)[scored]
            teacher_logits = self.teacher_model.get_output_embeddings()(teacher)
        hidden = self._get_last_hidden_state(student, ids, mask, kept)[scored]
        divergence, entropy = reverse_kl(student.get_output_embeddings()(hidden), teacher_logits)
        self._metrics["train"]["kl"].append(divergence.detach().mean().item())
        tokens = scored.sum()
        return (
            divergence.sum() / (tokens if num_items_in_batch is None else num_items_in_batch),
            entropy,
            tokens,
        )


def reverse_kl(
    student_logits: torch.Tensor, teacher_logits: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """KL(student || teacher) over the whole vocabulary by position, and the sum of the student's entropies.

    Args:
        student_logits, teacher_logits: (N, vocabulary).

    Returns:
        The divergences (N,), and a scalar without gradient.
    """
    student = torch.log_softmax(student_logits.float(), dim=-1)
    teacher = torch.log_softmax(teacher_logits.float(), dim=-1)
    probabilities = student.exp()
    entropy = -(probabilities * student).sum()
    return (probabilities * (student - teacher)).sum(-1), entropy.detach()


def train_opd(
    student: Path,
    teacher: Path,
    prompts: Sequence[str],
    config: OPDConfig,
    *,
    work: Path,
    log: Path,
    seed: int,
    callbacks: Sequence[TrainerCallback] = (),
    resume_from: Path | None = None,
    replayed: PackCollator | None = None,
) -> tuple[Any, PreTrainedTokenizerBase]:
    """Distil the model in ``teacher`` into that in ``student``, ``config.samples_per_step`` prompts a step.

    ``prompts`` are what a user says or, for harness-OPD, rendered conversations. ``work`` receives the Trainer's
    checkpoints; ``log`` one JSON line a step, ``kl`` the mean over its tokens. ``replayed`` has the supervised packs
    of ``config.replay_every``.

    Raises:
        BadInput: too few prompts, the two models do not have the same vocabulary, packs to replay are not given or
            have no generation markers, or a checkpoint of other settings.
        BrokenNumbers: a loss, KL or gradient is not finite, or a loss is exactly 0.
    """
    check_size(len(prompts), config.samples_per_step, f"{config.prompts} prompts")
    check_same_vocabulary(student, teacher)
    tokenizer = AutoTokenizer.from_pretrained(student)
    replay = replay_of(config.replay_every, replayed, seed)
    if replay:
        check_generation_markers(tokenizer)
    general = config.prompts == "general"
    written = SettingsInCheckpoints(
        stage="opd", config=config.model_dump(mode="json"), seed=seed, prompts=sha256_text("\n".join(prompts))
    )
    written.check(resume_from)
    rows = [{"prompt": [{"role": "user", "content": prompt}] if general else prompt} for prompt in prompts]
    trainer = GeneralDistillation(
        AutoModelForCausalLM.from_pretrained(student, dtype=torch.float32),
        # fp32 as the student, so that under autocast both round alike: else rounding alone is a divergence.
        AutoModelForCausalLM.from_pretrained(teacher, dtype=torch.float32),
        args=_arguments(config, work, seed),
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        callbacks=[
            StepLog("opd", log, extra=dict if general else lambda: {"arm": "harness-opd"}),
            StopOnBrokenNumbers("opd", zero_loss_stops=True),
            written,
            *callbacks,
        ],
        replay=replay,
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=str(resume_from) if resume_from else None)
    return trainer.model, tokenizer


def _arguments(config: OPDConfig, work: Path, seed: int) -> DistillationConfig:
    return DistillationConfig(
        max_steps=config.steps,
        per_device_train_batch_size=config.samples_per_step,
        max_completion_length=config.max_new_tokens,
        temperature=1.0,
        beta=1.0,  # reverse KL
        shuffle_dataset=False,  # the prompts come in a random order already
        learning_rate=config.learning_rate,
        lr_scheduler_type="constant",
        **common_arguments(work, seed, config.checkpoint_steps),
    )
