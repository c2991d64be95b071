"""The process that `pipelines.compile` compiles in: its hash seed is fixed."""

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from kfp import compiler
from kfp.compiler.compiler_utils import KubernetesManifestOptions

from pipelines.compile import version_name
from pipelines.graph import build_pipeline
from pipelines.profile import load_profile
from pipelines.version import code_version

SYNC_WAVE = "argocd.argoproj.io/sync-wave"
"""Kubeflow's webhook refuses a PipelineVersion whose Pipeline is not there yet."""


def main(order: dict[str, Any], folder: Path) -> None:
    """Write ``pipeline.yaml`` and ``manifests.yaml`` to ``folder``; see `pipelines.compile.compile_profile`."""
    profile = load_profile(order["profile"])
    pipeline = build_pipeline(profile, order["images"], code_version())
    package = folder / "pipeline.yaml"
    compiler.Compiler().compile(pipeline, str(package))
    name = f"hat-{profile.name}"
    version = version_name(name, order["commit"], package.read_bytes())
    options = KubernetesManifestOptions(
        # Kubeflow finds a pipeline by its display name, and we by its name.
        pipeline_name=name,
        pipeline_display_name=name,
        pipeline_version_name=version,
        pipeline_version_display_name=version,
        namespace=order["namespace"],
        include_pipeline_manifest=True,
    )
    manifests = folder / "manifests.yaml"
    compiler.Compiler().compile(
        pipeline, str(manifests), kubernetes_manifest_format=True, kubernetes_manifest_options=options
    )
    documents = list(yaml.safe_load_all(manifests.read_text(encoding="utf-8")))
    for document in documents:
        annotations = document["metadata"].setdefault("annotations", {})
        annotations[SYNC_WAVE] = "0" if document["kind"] == "Pipeline" else "1"
        annotations["hat-pipelines/commit"] = order["commit"] or "unknown"
        annotations["hat-pipelines/code-version"] = code_version()
    text = yaml.safe_dump_all(documents, sort_keys=True, allow_unicode=True)
    manifests.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), Path(sys.argv[2]))
