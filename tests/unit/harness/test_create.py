"""New versions: a faithful copy with its numbers changed, or nothing at all."""

import pytest

from hat.errors import BadInput, EnvironmentFailure
from hat.harness.create import new_version
from hat.harness.lint import lint_path


def test_a_new_version_is_its_parent_with_other_numbers(shop):
    folder = new_version(shop.registry, "shop", "1.1.0", "1.0.0")
    harness = shop.registry.load("shop", "1.1.0")
    parent = shop.registry.load("shop", "1.0.0")
    assert folder == shop.folder.parent / "1.1.0"
    assert (harness.version, harness.parent) == ("1.1.0", "1.0.0")
    assert (harness.tools, harness.skills, harness.blocks) == (parent.tools, parent.skills, parent.blocks)


def test_the_linter_asks_for_what_changed(shop):
    folder = new_version(shop.registry, "shop", "1.1.0", "1.0.0")
    assert {problem.rule for problem in lint_path(folder)} == {"change-untold", "unlocked"}


def test_comments_stay_and_a_long_text_of_changes_goes_altogether(shop):
    shop.edit("harness.yaml", "changed: Text of 1.0.0.", "changed: >-\n  First\n\n  part.\n# kept\n")
    text = (new_version(shop.registry, "shop", "1.1.0", "1.0.0") / "harness.yaml").read_text()
    assert "# kept" in text
    assert "First" not in text
    assert "part." not in text


@pytest.mark.parametrize("version", ["1.0.0", "0.9.0", "1.1", "v2.0.0", "../2.0.0", "2.0.0/x", ""])
def test_a_number_that_does_not_fit_is_refused_and_nothing_is_written(shop, version):
    before = sorted(shop.root.rglob("*"))
    with pytest.raises(BadInput):
        new_version(shop.registry, "shop", version, "1.0.0")
    assert sorted(shop.root.rglob("*")) == before


def test_a_broken_or_absent_parent_is_refused_and_nothing_is_written(shop):
    with pytest.raises(BadInput):
        new_version(shop.registry, "shop", "3.0.0", "2.0.0")
    shop.write("tools/stock.json", "{")
    before = sorted(shop.root.rglob("*"))
    with pytest.raises(BadInput):
        new_version(shop.registry, "shop", "1.1.0", "1.0.0")
    assert sorted(shop.root.rglob("*")) == before


def test_a_copy_that_fails_leaves_no_half_version(shop, monkeypatch):
    import errno
    import shutil

    copied = []

    def full_disk(source, target, **_):
        if len(copied) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")
        copied.append(target)
        return real(source, target)

    real = shutil.copyfile
    monkeypatch.setattr("hat.harness.create.shutil.copyfile", full_disk)
    before = sorted(shop.root.rglob("*"))
    with pytest.raises(EnvironmentFailure, match="disk is full"):
        new_version(shop.registry, "shop", "1.1.0", "1.0.0")
    assert sorted(shop.root.rglob("*")) == before
