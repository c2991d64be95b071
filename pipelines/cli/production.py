"""`hat production`, `hat promote` and `hat rollback`: the ledger of what is in production."""

from datetime import UTC, datetime
from typing import Annotated, Any

import typer

from pipelines.cli.known import refuse_unknown_harness
from pipelines.cli.options import DEFAULT_ENVIRONMENT, EnvironmentOption, RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("production")(production)
    app.command("promote")(promote)
    app.command("rollback")(rollback)


def production(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Harness; default: all.")] = None,
    environment: EnvironmentOption = DEFAULT_ENVIRONMENT,
    show_history: Annotated[bool, typer.Option("--history", help="Every entry, oldest first.")] = False,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Show the pair (harness version, model) in production. A NAME must be in the registry or in a ledger."""
    from hat.promotion import ledger
    from hat.runs.places import open_run_store

    store = open_run_store()
    if name:
        refuse_unknown_harness(store, name, registry_folder(registry))
    names = [name] if name else ledger.harnesses(store, environment)
    if show_history:
        documents = [entry.to_json() for each in names for entry in ledger.history(store, environment, each)]
    else:
        heads = [(each, ledger.production(store, environment, each)) for each in names]
        documents = [ledger.production_document(environment, each, head) for each, head in heads]
    if json_output:
        print_json(documents[0] if name and not show_history else documents)
        return
    if not documents:
        of = f"{name}: " if name else ""
        out().print(f"{of}nothing is in production in {environment}", markup=False, soft_wrap=True)
    for document in documents:
        (_show_entry if show_history else _show)(document)
    if all(document.get("version") is None for document in documents):
        others = [each for each in ledger.environments(store) if each != environment]
        if others:
            out().print(f"environments with a ledger: {', '.join(others)}", markup=False, soft_wrap=True)


def promote(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run whose verdict is PASS.")],
    reason: Annotated[str, typer.Option(help="Why; kept in the ledger.")] = "",
    json_output: JsonFlag = False,
) -> None:
    """Put the pair that a run proved into production, if what it was compared with still is there."""
    from hat.runs.promotion import promote_run

    entry = promote_run(run, reason=reason)
    if json_output:
        print_json(entry)
    else:
        _show(entry)


def rollback(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Harness.")],
    reason: Annotated[str, typer.Option(help="Why; kept in the ledger.")],
    environment: EnvironmentOption = DEFAULT_ENVIRONMENT,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Put the pair before the current one back into production."""
    from hat.models.reference import prefix_of
    from hat.promotion import ledger
    from hat.runs.places import open_run_store, user_name

    when = datetime.now(UTC).isoformat(timespec="seconds")
    store = open_run_store()
    refuse_unknown_harness(store, name, registry_folder(registry))
    entry = ledger.rollback(store, environment, name, reason=reason, who=user_name(), when=when).to_json()
    if store.tree(prefix_of(entry["model_digest"])) is None:
        # Said and not refused: an engine may serve the model still, and whoever goes back is in a hurry.
        missing = f"warning: the model {entry['model_digest'][:12]} is not in the store {store.url}"
        err().print(missing, markup=False, soft_wrap=True)
    if json_output:
        print_json(entry)
    else:
        _show(entry)


def _show(document: dict[str, Any]) -> None:
    console = out()
    if document.get("version") is None:
        console.print(f"{document['harness']}: nothing is in production in {document['environment']}")
        return
    model = str(document["model_digest"])[:12]
    console.print(
        f"{document['harness']}@{document['version']} with model {model} in {document['environment']}"
        f" (run {document['run'] or 'none'})",
        markup=False,
        soft_wrap=True,
    )


def _show_entry(document: dict[str, Any]) -> None:
    """One line of history: what, and below it when, who, why, and the digest of the evidence."""
    model = str(document["model_digest"])[:12]
    console = out()
    for line in (
        f"{document['sequence']:4} {document['kind']:8} {document['harness']}@{document['version']} with model "
        f"{model} in {document['environment']}",
        f"     {document['when']} by {document['who']}, run {document['run'] or 'none'}",
        f"     why: {document['reason'] or 'not said'}",
        f"     evidence {document['evidence_digest']}",
    ):
        console.print(line, markup=False, soft_wrap=True)
