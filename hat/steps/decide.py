"""The `decide` step: apply the harness's gate policy to the evidence of this run."""

from pathlib import Path

from hat.files import write_json_atomic
from hat.promotion.archive import archive_evidence
from hat.promotion.evidence import load_evidence
from hat.promotion.policy import parse_policies
from hat.promotion.verdict import Word, decide
from hat.runs.config import RunConfig
from hat.runs.places import open_run_store
from hat.steps.subject import Subject


def run(*, config: str, subject: str, evidence_dir: str, verdict_out: str) -> str:
    """Judge an evidence folder and return the verdict's word.

    Evidence that passes is kept in the store: it is what a promotion refers to.

    Args:
        config: `config.json`.
        subject: `subject.json` of the run, which carries the text of the gate policy.
        evidence_dir: the evidence folder.
        verdict_out: where the verdict is written, as `hat gate --json` prints it.

    Raises:
        BadInput: the gate policy is wrong or has none for the environment, or there is no evidence folder.
        EnvironmentFailure: the store fails.
    """
    RunConfig.read(config)
    about = Subject.read(subject)
    where = f"gate.yaml of {about.harness}"
    policy = parse_policies(about.gate_policy, where=where).policy(about.environment, where=where)
    evidence = load_evidence(Path(evidence_dir))
    verdict = decide(policy, evidence, environment=about.environment)
    if verdict.word is Word.PASS:
        archive_evidence(open_run_store(), Path(evidence_dir), evidence)
    write_json_atomic(Path(verdict_out), verdict.to_json())
    return verdict.word.value
