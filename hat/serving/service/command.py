"""What `hat serve` does: finds the pair's source and runs the service."""

import asyncio
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from hat.errors import BadInput
from hat.harness.registry import Registry, parse_reference
from hat.models.reference import ModelRef
from hat.runs.places import open_run_store
from hat.serving.service.config import ServiceConfig
from hat.serving.service.source import PairSource, fixed_source, ledger_source
from hat.serving.service.triton import Render
from hat.storage import Store


def serve_command(
    config: ServiceConfig,
    reference: str,
    *,
    environment: str,
    registry: Path,
    model: str = "",
    on_listening: Callable[[str], None],
) -> None:
    """Serve the pair in production of a harness, or with ``model`` (a digest or its beginning) a fixed pair.

    Raises:
        BadInput: an unknown harness or model, or a version together with the ledger's pair.
        EnvironmentFailure: the address cannot be listened on.
    """
    from hat.serving.service.run import serve

    store = open_run_store()
    source = _source(store, reference, environment, registry, model)
    asyncio.run(serve(config, source, lambda digest: _template(store, digest), on_listening=on_listening))


def _source(store: Store, reference: str, environment: str, registry: Path, model: str) -> PairSource:
    name, version = parse_reference(reference)
    if model:
        harness = Registry(registry).load(name, version)
        return fixed_source(environment, harness, _whole_digest(store, model))
    if version is not None:
        raise BadInput(
            "which version is served is what the ledger says",
            where=reference,
            mend=f"Give {name} alone, or a candidate's --model, too.",
        )
    return ledger_source(store, environment, name)


def _whole_digest(store: Store, beginning: str) -> str:
    found = sorted(
        {key.split("/")[1] for key in store.list("models") if key.split("/")[1].startswith(beginning)}
    )
    if len(found) != 1:
        known = "no model" if not found else f"{len(found)} models"
        raise BadInput(f"the store has {known} with a digest that begins with {beginning!r}", where=store.url)
    return found[0]


def _template(store: Store, digest: str) -> Render:
    """The model's chat template, from the store; its weights stay there."""
    prefix = ModelRef(digest=digest, base="").prefix
    with tempfile.TemporaryDirectory(prefix="hat-template-") as folder:
        for key in store.list(prefix):
            name = key.removeprefix(f"{prefix}/")
            if "/" not in name and not name.endswith((".safetensors", ".safetensors.index.json")):
                store.get_file(key, Path(folder) / name)
        return template_in(Path(folder))


def template_in(folder: Path) -> Render:
    """The renderer of a model folder, of which tokenizer, template and configuration are enough."""
    from transformers import AutoTokenizer

    from hat.models.tokens import ChatTokens

    tokens = ChatTokens(AutoTokenizer.from_pretrained(folder, local_files_only=True))

    def render(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> str:
        return tokens.text(messages, tools, generation=True)

    return render
