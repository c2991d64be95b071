"""Step `validate`: stops the run when the trajectories are not fit to train on, and shows why."""

from collections.abc import Mapping
from pathlib import Path

from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.evaluation.suites import held_out_digests
from hat.files import write_text_atomic
from hat.reporting.validation import render_validation
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store, run_id
from hat.steps.subject import Subject
from hat.trajectories.held_out import sampled_digests
from hat.trajectories.storage import read_trajectories
from hat.trajectories.twins import TWINS_FILE
from hat.trajectories.validate import validate_rows
from hat.trajectories.validate_rows import TRAJECTORIES_FILE, read_rows


def run(*, config: str, subject: str, trajectories_dir: str, report_out_html: str) -> None:
    """Validate ``trajectories_dir`` and write the report, also when the suite fails.

    Raises:
        BadInput: an expectation failed; the message names all that did, with an example of each.
    """
    settings, about = RunConfig.read(config), Subject.read(subject)
    store = open_run_store()
    harness = about.load_harness(store)
    path = Path(trajectories_dir) / TRAJECTORIES_FILE
    domain = get_domain(settings.domain or harness.domain)
    held_out = sampled_digests(domain, settings.validation.held_out_tasks)
    held_out |= held_out_digests(harness, domain, settings.evaluate)
    rows = read_rows(path, harness, held_out)
    _check_twins(Path(trajectories_dir) / TWINS_FILE, held_out)
    report = validate_rows(rows, harness, settings.validation)
    page = render_validation(report, title=f"Training data of {about.harness}@{about.version}")
    write_text_atomic(Path(report_out_html), page)
    try:
        report.require(TRAJECTORIES_FILE)
    except BadInput:
        # The outputs of a step that failed are not kept, and this one says why it failed.
        if run_id():
            store.put(f"runs/{run_id()}/validation.html", page.encode("utf-8"))
        raise


def _check_twins(path: Path, held_out: Mapping[str, str]) -> None:
    """Twins were accepted pair by pair; what is left to see is that none is an evaluation item."""
    if not path.is_file():
        return
    for trajectory in read_trajectories(path):
        task = trajectory.task
        if task.split != "train" or task.digest in held_out:
            used_for = held_out.get(task.digest, task.split)
            raise BadInput(f"twin {task.id} is an item of {used_for}", where=TWINS_FILE)
