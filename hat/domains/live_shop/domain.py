"""The simulated live-commerce room as a domain: one object with tasks, tools, scores, expert and baseline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hat.domains.base import Scores, Split, Task, ToolOutcome
from hat.domains.live_shop.catalogue import build_catalogue
from hat.domains.live_shop.gold import INTENTS
from hat.domains.live_shop.operations import SIGNATURES, execute_operation
from hat.domains.live_shop.sessions import sample_session
from hat.domains.live_shop.tasks import sample_tasks

if TYPE_CHECKING:
    from hat.agent.checks import Check
    from hat.agent.policy import Policy
    from hat.harness.model import Harness
    from hat.trajectories.record import Trajectory


class LiveShop:
    """The live room `live_shop`. Its catalogue, sessions and questions are synthetic and seeded."""

    name = "live_shop"
    operations: Mapping[str, tuple[str, ...]] = {
        operation: tuple(arguments) for operation, arguments in SIGNATURES.items()
    }
    intents = INTENTS

    def __init__(self) -> None:
        # Imported late: the agent's checks themselves import the domain's types.
        from hat.domains.live_shop.checks import price_claims_match_results
        from hat.domains.live_shop.twins import LiveShopTwins

        self.catalogue = build_catalogue()
        self.twins = LiveShopTwins(self.catalogue)
        self.checks: Mapping[str, Check] = {"price_claims_match_results": price_claims_match_results}

    def sample_session(self, seed: int, split: Split) -> Mapping[str, str | int]:
        return sample_session(self.catalogue, seed, split)

    def sample_tasks(
        self,
        split: Split,
        count: int,
        seed: int,
        intents: Sequence[str] | None = None,
        session: Mapping[str, str | int] | None = None,
    ) -> list[Task]:
        """See `hat.domains.live_shop.tasks.sample_tasks`."""
        return sample_tasks(self.catalogue, split, count, seed, intents, session)

    def hand_written_tasks(self) -> list[Task]:
        """The questions written by hand (test split only)."""
        from hat.domains.live_shop.hand_written import hand_written_tasks

        return hand_written_tasks(self.catalogue)

    def execute(
        self, task: Task, operation: str, arguments: Mapping[str, Any], attempt: int = 0
    ) -> ToolOutcome:
        """Run one operation; the same for every task and attempt: faults are injected around it."""
        return execute_operation(self.catalogue, operation, arguments)

    def score(self, task: Task, trajectory: Trajectory, harness: Harness) -> Scores:
        """See `hat.domains.live_shop.scoring.score`."""
        from hat.domains.live_shop.scoring import score

        return score(task, trajectory, harness, self.catalogue)

    def expert(self) -> Policy:
        from hat.domains.live_shop.expert import ScriptedExpert

        return ScriptedExpert()

    def baseline(self) -> Policy:
        from hat.domains.live_shop.baseline import RegexBaseline

        return RegexBaseline()
