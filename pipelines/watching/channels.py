"""`channels.yaml` of each harness, written from the ledger: what GitOps serving follows."""

from typing import Any

from hat.errors import EnvironmentFailure
from hat.harness.registry import Registry
from hat.promotion.channels import render_channels
from hat.promotion.ledger import production
from hat.storage import Store
from pipelines.watching.repository import Repository

FILE = "channels.yaml"


def changed_channels(store: Store, registry: Registry, environment: str, channel: str) -> dict[str, str]:
    """Harness -> text of its `channels.yaml`, for the harnesses whose file does not say what the ledger says.

    Raises:
        BadInput: a file that nobody but a watcher should have written is malformed.
        EnvironmentFailure: the store fails or a ledger is damaged.
    """
    changed = {}
    for name in registry.names():
        path = registry.root / name / FILE
        text = path.read_text(encoding="utf-8") if path.is_file() else ""
        wanted = render_channels(text, channel, production(store, environment, name), where=f"{name}/{FILE}")
        if wanted != text:
            changed[name] = wanted
    return changed


def push_channels(
    repository: Repository, branch: str, folder: str, store: Store, registry_at: Any, order: tuple[str, str]
) -> str:
    """Commit what changed on top of the branch of `origin` and push it; the commit, or an empty string.

    Args:
        folder: the registry's path in the repository.
        registry_at: a function from a commit to the `Registry` at that commit, in a context.
        order: environment and channel.

    Raises:
        EnvironmentFailure: the branch moved again and again, or `origin` refuses.
    """
    for _ in range(3):
        repository.fetch()
        parent = repository.commit(f"refs/remotes/origin/{branch}")
        with registry_at(parent) as registry:
            changed = changed_channels(store, registry, *order)
        if not changed:
            return ""
        files = {f"{folder}/{name}/{FILE}": text for name, text in changed.items()}
        environment, channel = order
        message = f"Channel {channel} of {', '.join(sorted(changed))}: what the ledger of {environment} says"
        commit = repository.commit_files(parent, files, message)
        if repository.push(commit, branch):
            return commit
    raise EnvironmentFailure(
        f"the branch {branch} moves faster than {FILE} can be pushed", where=str(repository.folder)
    )
