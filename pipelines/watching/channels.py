"""`channels.yaml` of each harness, written from the ledger: what GitOps serving follows."""

from typing import Any

import yaml

from hat.errors import BadInput, EnvironmentFailure
from hat.harness.registry import Registry
from hat.promotion.ledger import LedgerEntry, production
from hat.storage import Store
from pipelines.watching.repository import Repository

FILE = "channels.yaml"
HEAD = "# Which pair serves each channel. Written from the ledger by `hat watch` alone: do not edit it by hand.\n"


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


def render_channels(text: str, channel: str, entry: LedgerEntry | None, *, where: str) -> str:
    """The file's text with one channel as the ledger has it; other channels stay. Raises `BadInput`."""
    document = yaml.safe_load(text) if text else {"schema_version": 1, "channels": {}}
    if not isinstance(document, dict) or not isinstance(document.get("channels"), dict):
        raise BadInput("not a file of channels", where=where, mend="Restore it: only `hat watch` writes it.")
    channels: dict[str, Any] = {key: value for key, value in document["channels"].items() if key != channel}
    if entry is not None:
        channels[channel] = {
            "environment": entry.environment,
            "version": entry.version,
            "harness_digest": entry.harness_digest,
            "model_digest": entry.model_digest,
            "run": entry.run,
            "sequence": entry.sequence,
        }
    new = {"schema_version": 1, "channels": dict(sorted(channels.items()))}
    if text and new == document:
        return text
    return HEAD + yaml.safe_dump(new, sort_keys=False)


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
