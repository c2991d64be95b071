"""Step `opd`: on-policy distillation into the fine-tuned model: general from the base, or the arm harness-OPD."""

from pathlib import Path
from typing import TYPE_CHECKING

from hat.harness.model import Harness
from hat.models import ModelRef
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps.subject import Subject

if TYPE_CHECKING:
    from hat.models.tokens import ChatTokens


def run(
    *, config: str, subject: str, model_in: str, trajectories_dir: str, model_out: str, metrics_out: str
) -> None:
    """Distil, store the result once and write its reference and the training log.

    ``trajectories_dir`` is read where supervised packs are replayed, and for the prompts of harness-OPD.

    Raises:
        BadInput: the student's vocabulary is not the teacher's, or the store has no such teacher.
        BrokenNumbers: a loss, KL or gradient is not finite, or a loss is exactly 0.
    """
    settings, about = RunConfig.read(config), Subject.read(subject)
    student = ModelRef.read(Path(model_in))
    teacher = ModelRef.model_validate(about.base)
    if settings.opd.teacher:
        teacher = ModelRef(digest=settings.opd.teacher, base=teacher.base)
    if settings.opd.steps == 0:
        return _pass_through(student, model_out, metrics_out, "opd.steps is 0")
    if student.digest == teacher.digest:
        whose = "the teacher" if settings.opd.teacher else "the base model"
        return _pass_through(student, model_out, metrics_out, f"the student is {whose} itself")

    from hat.models.tokens import ChatTokens
    from hat.steps.training import open_models, publish, replayed_packs, tokenizer_of, workplace
    from hat.training.opd import train_opd

    models = open_models()
    source = models.materialise(student)
    harness = about.load_harness(open_run_store()) if settings.opd.prompts == "harness" else None
    with workplace("opd", settings.opd.checkpoint_steps) as place:
        model, _ = train_opd(
            source,
            models.materialise(teacher),
            _prompts(settings, harness, trajectories_dir, ChatTokens(tokenizer_of(source))),
            settings.opd,
            work=place.folder,
            log=place.log,
            seed=settings.seed,
            callbacks=place.callbacks,
            resume_from=place.resume_from,
            replayed=replayed_packs(settings.opd.replay_every, settings, about, trajectories_dir, source),
        )
        note = f"harness-OPD from {settings.opd.teacher[:12]}" if settings.opd.teacher else ""
        publish(model, student, source, place.folder, model_out, metrics_out, note)
    return None


def _prompts(
    settings: RunConfig, harness: Harness | None, trajectories_dir: str, tokens: "ChatTokens"
) -> list[str]:
    """As many as the steps take; those of replay take theirs and use none."""
    count = settings.opd.steps * settings.opd.samples_per_step
    if harness is None:
        from hat.training.general_prompts import draw_prompts

        return draw_prompts(count, settings.seed, settings.opd.bank)
    from hat.training.harness_prompts import draw_harness_prompts
    from hat.training.preflight import check_harness
    from hat.trajectories.storage import read_trajectories
    from hat.trajectories.validate_rows import TRAJECTORIES_FILE

    trajectories = read_trajectories(Path(trajectories_dir) / TRAJECTORIES_FILE)
    check_harness(trajectories, harness.digest)
    return draw_harness_prompts(trajectories, harness, settings.augment, tokens, count, settings.seed)


def _pass_through(model: ModelRef, model_out: str, metrics_out: str, reason: str) -> None:
    from hat.training.metrics import write_passed_through

    model.write(Path(model_out))
    write_passed_through("opd", Path(metrics_out), reason)
