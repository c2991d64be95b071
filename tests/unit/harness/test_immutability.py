"""The pull-request check: a version locked at the base revision cannot be changed, unlocked or removed."""

import shutil
import subprocess

import pytest

from hat.errors import BadInput
from hat.harness.immutability import check_against
from hat.harness.lock import lock_versions


def git(folder, *arguments):
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", "-C", str(folder), *identity, *arguments], check=True, capture_output=True)


@pytest.fixture
def merged(shop, tmp_path):
    """``shop@1.0.0`` locked and committed."""
    lock_versions(shop.registry, "shop")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "base")
    return shop


def rules(shop, revision="main"):
    return [problem.rule for problem in check_against(shop.registry, revision)]


def test_an_untouched_registry_passes(merged):
    assert rules(merged) == []


def test_a_new_version_must_be_locked(merged):
    shutil.copytree(merged.folder, merged.folder.parent / "1.1.0")
    assert rules(merged) == ["not-locked"]


def test_a_changed_version_does_not_pass_by_changing_its_lock_line_too(merged):
    merged.edit("prompts/role.md", "viewers", "viewer")
    (merged.root / "shop" / "versions.lock").unlink()
    lock_versions(merged.registry, "shop")
    assert rules(merged) == ["locked-digest"]


def test_a_locked_version_cannot_lose_its_line(merged):
    (merged.root / "shop" / "versions.lock").unlink()
    assert "locked-digest" in rules(merged)


def test_a_locked_harness_cannot_be_removed(merged):
    shutil.rmtree(merged.root / "shop")
    assert rules(merged) == ["locked-digest"]


@pytest.mark.parametrize("revision", ["nowhere", "--help", "", "main --"])
def test_an_unknown_revision_is_bad_input(merged, revision):
    with pytest.raises(BadInput, match="git says"):
        check_against(merged.registry, revision)


def test_a_registry_outside_of_git_is_bad_input(shop):
    with pytest.raises(BadInput, match="git says"):
        check_against(shop.registry, "main")
