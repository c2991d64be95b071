"""Settings of making trajectories and of checking them before training."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from hat.agent.policies.config import EndpointConfig


class ValidateConfig(BaseModel):
    """What the trajectories must be before anything is trained on them."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    minimum_trajectories: int = Field(default=50, ge=1)
    """Fewer than this stop the run: a data set that shrank to nothing must not pass unseen."""
    largest_question_characters: int = Field(default=400, ge=1)
    """Longest question; the harness itself limits replies, turns and calls."""
    held_out_tasks: int = Field(default=200, ge=1)
    """Tasks drawn for each of a few seeds of the dev and the test split, none of which may be trained on."""


class GenerateConfig(BaseModel):
    """How trajectories are made and which of them are kept."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tasks: int = Field(default=1456, ge=1)
    """Training tasks, each played once under the unchanged harness; states are a matter of presentation."""
    intent_weights: dict[str, Annotated[int, Field(ge=1)]] = {}
    """How many times as many tasks are drawn of an intent as of one not named: more of what is hard."""
    policy: Literal["expert", "endpoint"] = "expert"
    """`expert`: the domain's scripted expert. `endpoint`: a strong model behind `endpoint`."""
    endpoint: EndpointConfig = EndpointConfig()
    """The strong model."""
    mined_questions: str = ""
    """File of mined questions (`hat.trajectories.mined`): a key of the store, or the address of a file in another."""
    mined_digest: str = ""
    """SHA-256 of that file's questions, set by `resolve`: with newer questions the step runs again."""
    mined_limit: int = Field(default=200, ge=0)
    """Mined questions asked at most."""
    judge: EndpointConfig = EndpointConfig()
    """Strong model that accepts or refuses each episode of a mined question, which has no gold to score it by."""
    whole_retry_share: float = Field(default=0.1, ge=0, le=1)
    """Share of episodes with a corrected mistake that keep it; the others lose their blocked turns."""
    fault_share: float = Field(default=0.0, ge=0, le=1)
    """Share of the tasks whose tools fail at the first attempt, so that the model learns to call again."""
    twin_pairs: int = Field(default=0, ge=0)
    """Pairs of twins to learn from beside the tasks, each played under both of its harness states."""
