"""Step `opd`: general on-policy distillation, from the base model into the fine-tuned one."""

from pathlib import Path

from hat.models import ModelRef
from hat.runs.config import RunConfig
from hat.steps.subject import Subject


def run(
    *, config: str, subject: str, model_in: str, trajectories_dir: str, model_out: str, metrics_out: str
) -> None:
    """Distil, store the result once and write its reference and the training log.

    ``trajectories_dir`` is not read yet: the distillation uses general prompts alone.

    Raises:
        BadInput: the student's vocabulary is not the base model's.
        BrokenNumbers: a loss, KL or gradient is not finite, or a loss is exactly 0.
    """
    settings = RunConfig.read(config)
    student = ModelRef.read(Path(model_in))
    teacher = ModelRef.model_validate(Subject.read(subject).base)
    if settings.opd.steps == 0:
        return _pass_through(student, model_out, metrics_out, "opd.steps is 0")
    if student.digest == teacher.digest:
        return _pass_through(student, model_out, metrics_out, "the student is the base model itself")

    from hat.steps.training import open_models, publish, training_folder
    from hat.training.general_prompts import draw_prompts
    from hat.training.opd import train_opd

    models = open_models()
    source = models.materialise(student)
    prompts = draw_prompts(settings.opd.steps * settings.opd.samples_per_step, settings.seed)
    with training_folder("opd", settings.opd.checkpoint_steps) as (work, resume_from):
        model, _ = train_opd(
            source,
            models.materialise(teacher),
            prompts,
            settings.opd,
            work=work,
            log=work / "log.jsonl",
            seed=settings.seed,
            resume_from=resume_from,
        )
        publish(model, student, source, work, model_out, metrics_out)
    return None


def _pass_through(model: ModelRef, model_out: str, metrics_out: str, reason: str) -> None:
    from hat.training.metrics import write_passed_through

    model.write(Path(model_out))
    write_passed_through("opd", Path(metrics_out), reason)
