"""Writes a trained model as a complete Hugging Face folder."""

import shutil
from pathlib import Path
from typing import Any

from hat.errors import EnvironmentFailure
from hat.files import as_environment_failure
from hat.models.folder import model_files


def write_model_folder(model: Any, source: Path, folder: Path) -> None:
    """Write ``model``'s weights to ``folder``, and everything else as it is in ``source``, its origin.

    Weights stay in the precision they were trained in. Between stages that must be fp32: a step at a
    learning rate of 1e-5 or less is smaller than half a bf16 unit of most weights, so rounding would undo
    it exactly.

    Raises:
        EnvironmentFailure: the disk is full or the folder cannot be written.
    """
    try:
        model.save_pretrained(folder)
        for name in model_files(source):
            if ".safetensors" not in name:
                shutil.copyfile(source / name, folder / name)
    except OSError as error:
        raise as_environment_failure(error, folder) from error
    except RuntimeError as error:  # how safetensors reports a failed write
        raise EnvironmentFailure(f"the model cannot be written: {error}", where=str(folder)) from error
