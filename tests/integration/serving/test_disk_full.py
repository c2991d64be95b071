"""A real disk that is full while a model is exported: one message, and nothing half-written."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from hat.errors import EnvironmentFailure
from hat.serving.command import export_model
from tests.support.promotions import REGISTRY


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of eight megabytes: the tokenizer fits, the weights of a model do not."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small file system can be mounted by root only")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@pytest.mark.parametrize("target", ["vllm", "triton"])
def test_an_export_that_fills_the_disk_leaves_nothing_behind(
    small_disk: Path, base_model: Path, target: str
) -> None:
    with pytest.raises(EnvironmentFailure) as failure:
        export_model(
            str(base_model), target, small_disk / "out", registry=REGISTRY, reference="live-shop@1.0.0"
        )
    assert failure.value.exit_status == 4
    assert "Free space" in str(failure.value)
    assert list(small_disk.iterdir()) == []
