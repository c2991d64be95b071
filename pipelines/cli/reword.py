"""`hat reword`: wordings of a harness's descriptions and hook messages by a strong model, checked and kept."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli.options import RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reword")(reword)


def reword(
    harness: Annotated[str, typer.Argument(metavar="NAME[@VERSION]", help="Whose texts are reworded.")],
    url: Annotated[str, typer.Option(help="An OpenAI-compatible endpoint, up to and with /v1.")],
    model: Annotated[str, typer.Option(help="The model's name there.")],
    out_file: Annotated[Path, typer.Option("--out", metavar="FILE", help="Where the wordings are written.")],
    count: Annotated[int, typer.Option(min=1, max=20, help="Wordings asked for each text.")] = 6,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Ask a strong model for other words, and keep those that pass the checks and the gates.

    Its key is read from HAT_ENDPOINT_KEY. Answers are kept in HAT_HOME: the same question is asked once.
    """
    from pydantic import ValidationError

    from hat.agent.policies.config import EndpointConfig
    from hat.agent.policies.endpoint import EndpointPolicy
    from hat.augment.plan import expert_gold
    from hat.augment.wordings.make import as_document, make_wordings
    from hat.domains.base import domain_of
    from hat.errors import BadInput
    from hat.files import write_json_atomic
    from hat.harness.registry import Registry
    from hat.home import hat_home

    known = Registry(registry_folder(registry))
    loaded = known.load(*known.parse(harness))
    try:
        policy = EndpointPolicy(EndpointConfig(url=url, model=model))
    except ValidationError as error:
        mend = "Write it as http://host:port/v1."
        raise BadInput("the endpoint's url is not an http address", where="--url", mend=mend) from error
    _check_free(out_file, f"{loaded.name}@{loaded.version}")
    gold = expert_gold(loaded, domain_of(loaded), "train")
    with err().status("asking for wordings") as status:
        made = make_wordings(
            loaded,
            gold,
            count=count,
            model=model,
            ask_model=policy.reply_to,
            cache=hat_home() / "wordings",
            progress=lambda done, total: status.update(f"checking wordings: {done} of {total} texts"),
        )
    document = as_document(made, loaded, model)
    write_json_atomic(out_file, document)
    if json_output:
        print_json(document)
    else:
        _show(document, out_file)


def _check_free(file: Path, harness: str) -> None:
    """Raise `BadInput` where something else than wordings of the harness would be replaced."""
    from hat.errors import BadInput
    from hat.files import read_json

    if not file.exists():
        return
    there = read_json(file)
    if not (isinstance(there, dict) and "banks" in there and there.get("harness") == harness):
        mend = "Give another file, or remove this one."
        raise BadInput(f"the file is there and holds no wordings of {harness}", where=str(file), mend=mend)


def _show(document: dict[str, Any], file: Path) -> None:
    for bank, by_key in document["banks"].items():
        kept = sum(len(words) for by_split in by_key.values() for words in by_split.values())
        refused = sum(entry["bank"] == bank for entry in document["refused"])
        out().print(f"{bank}: {kept} kept, {refused} refused")
    out().print(f"written to {file}", soft_wrap=True)
