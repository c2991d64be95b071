"""Settings of making trajectories and of checking them before training."""

from pydantic import BaseModel, ConfigDict, Field


class ValidateConfig(BaseModel):
    """What the trajectories must be before anything is trained on them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    minimum_trajectories: int = Field(default=50, ge=1)
    """Fewer than this stop the run: a data set that shrank to nothing must not pass unseen."""
    largest_question_characters: int = Field(default=400, ge=1)
    """Longest question; the harness itself limits replies, turns and calls."""
    held_out_tasks: int = Field(default=200, ge=1)
    """Tasks drawn for each of a few seeds of the dev and the test split, none of which may be trained on."""
