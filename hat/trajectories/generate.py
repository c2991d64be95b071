"""Makes trajectories: training tasks played by a policy, each kept on disk as soon as it is finished."""

from collections.abc import Callable, Sequence

from hat.agent.episode import Episode
from hat.agent.policies.config import EndpointConfig
from hat.agent.policy import Executor, Policy
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task
from hat.errors import BadInput
from hat.trajectories.config import GenerateConfig
from hat.trajectories.journal import EpisodeJournal
from hat.trajectories.record import Trajectory


def play_tasks(
    policy: Policy,
    tasks: Sequence[Task],
    state: HarnessState,
    domain: Domain,
    journal: EpisodeJournal,
    progress: Callable[[int, int], None] = lambda done, total: None,
    execute: Executor | None = None,
) -> list[Trajectory]:
    """One episode of each task under one state, in the order of the tasks.

    ``execute`` runs the operations: the domain's own executor by default.

    Episodes that the journal holds are not played again; one that the engine did not answer is.

    Raises:
        BadInput: there are no tasks, or two share an id.
        EnvironmentFailure: the policy's endpoint fails; what is finished stays in the journal.
    """
    if not tasks:
        raise BadInput("there are no tasks to play", where="generate", mend="Ask for at least one task.")
    episodes = [Episode(state, task, domain) for task in tasks]
    ids = [episode.id for episode in episodes]
    if len(set(ids)) != len(ids):
        raise BadInput("two tasks have the same id", where="generate")
    finished = {
        id: trajectory for id, trajectory in journal.read().items() if trajectory.end != "engine_error"
    }
    missing = [episode for episode in episodes if episode.id not in finished]

    def keep(index: int) -> None:
        trajectory = missing[index].trajectory(policy.name)
        journal.append(trajectory)
        finished[trajectory.id] = trajectory
        progress(len(finished), len(episodes))

    if missing:
        policy.play(missing, execute or domain.execute, keep)
    return [finished[id] for id in ids]


def choose_policy(config: GenerateConfig, domain: Domain, seed: int) -> Policy:
    """The policy that the settings name.

    Raises:
        BadInput: an endpoint without URL or model, or the settings of one that is not used.
    """
    if config.policy == "expert":
        if config.endpoint != EndpointConfig():
            raise BadInput(
                "an endpoint is set, and the expert is asked to play",
                where="generate.policy",
                mend="Set generate.policy=endpoint, or remove generate.endpoint.",
            )
        return domain.expert()
    # Imported late: the expert needs no network library.
    from hat.agent.policies.endpoint import EndpointPolicy

    return EndpointPolicy(config.endpoint, seed=seed)
