"""`hat serve` and `hat loadtest`: the agent service, and evidence of how long it takes to answer."""

import logging
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from pipelines.cli.known import refuse_unknown_harness
from pipelines.cli.options import DEFAULT_ENVIRONMENT, EnvironmentOption, RegistryOption, registry_folder
from pipelines.cli.output import JsonFlag, err, out, print_json


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("serve")(serve)
    app.command("loadtest")(loadtest)


def serve(
    harness: Annotated[
        str,
        typer.Argument(
            metavar="NAME[@VERSION]", help="Harness; a version only together with a candidate's --model."
        ),
    ],
    engine: Annotated[
        list[str],
        typer.Option("--engine", metavar="URL", help="Engine's base URL; again for one more."),
    ],
    channel: Annotated[
        str, typer.Option(help="production (what the ledger says) or candidate (with --model).")
    ] = "production",
    engine_kind: Annotated[str, typer.Option(help="vllm or triton-vllm.")] = "vllm",
    hardware: Annotated[
        str, typer.Option(help="What the engine runs on, as gate policies name it, e.g. cpu.")
    ] = "unknown",
    environment: EnvironmentOption = DEFAULT_ENVIRONMENT,
    model: Annotated[
        str, typer.Option(help="A candidate's model: its digest in the store, or the beginning of it.")
    ] = "",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0: any free one.")] = 8080,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. queue=64."),
    ] = None,
    registry: RegistryOption = None,
) -> None:
    """Answer viewers' questions over HTTP with the pair in production; SIGTERM drains and ends it."""
    from pydantic import ValidationError

    from hat.errors import BadInput
    from hat.runs.config import parse_overrides
    from hat.runs.places import open_run_store
    from hat.serving.service.command import serve_command
    from hat.serving.service.config import ServiceConfig
    from hat.validation import first_problem

    if channel not in ("production", "candidate") or (channel == "candidate") != bool(model):
        raise BadInput(
            f"--channel {channel} does not go with {'--model' if model else 'no --model'}",
            mend="Give --channel candidate and --model together, or neither.",
        )
    values: dict[str, Any] = {
        **parse_overrides(settings or []),
        "engines": tuple(engine),
        "engine": engine_kind,
        "hardware": hardware,
        "host": host,
        "port": port,
    }
    try:
        config = ServiceConfig.model_validate(values)
    except ValidationError as error:
        raise BadInput(first_problem(error), where="hat serve") from error
    folder = registry_folder(registry)
    if folder.is_dir() and not model:
        # A pod without a registry may wait for the first promotion of what it names; a slip of the pen would for ever.
        refuse_unknown_harness(open_run_store(), harness.partition("@")[0], folder)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    serve_command(
        config,
        harness,
        environment=environment,
        registry=folder,
        model=model,
        on_listening=lambda url: print(url, flush=True),
    )


def loadtest(
    url: Annotated[str, typer.Argument(metavar="URL", help="A running agent service.")],
    policy: Annotated[Path, typer.Option("--policy", help="A gate.yaml: it says the load and the limits.")],
    environment: Annotated[
        str, typer.Option(help="Which of the file's policies; default: the service's own.")
    ] = "",
    folder: Annotated[
        Path | None, typer.Option("--out", help="Evidence folder; latency.json is written there.")
    ] = None,
    exclusive: Annotated[
        bool, typer.Option("--exclusive", help="You state that nothing else used the engine's device.")
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. requests=300."),
    ] = None,
    registry: RegistryOption = None,
    json_output: JsonFlag = False,
) -> None:
    """Put the policy's load on an agent service and write the times as evidence for the gate."""
    from hat.errors import BadInput, EnvironmentFailure
    from hat.promotion.evidence import LATENCY
    from hat.runs.config import apply_overrides, parse_config, parse_overrides
    from hat.serving.loadtest import load_test

    blocking = [] if folder is None else [each for each in (folder, *folder.parents) if each.is_file()]
    if blocking:
        raise BadInput("not a folder", where=f"--out {blocking[0]}", mend="Name a folder; it may be new.")
    if folder is not None and (folder / LATENCY).exists():
        mend = "Give another folder, or remove the file: evidence is not replaced."
        raise BadInput("there are times of an earlier load test", where=str(folder / LATENCY), mend=mend)
    overrides = {f"latency.{key}": value for key, value in parse_overrides(settings or []).items()}
    config = parse_config(apply_overrides({}, overrides), where="--set").latency
    with err().status("asking") as status:
        document = load_test(
            url,
            policy,
            environment=environment,
            registry=registry_folder(registry),
            config=config,
            exclusive=exclusive,
            out=None if folder is None else folder / LATENCY,
            progress=lambda done, total: status.update(f"answered: {done} of {total}"),
        )
    if json_output:
        print_json(document)
    else:
        _show(document)
    counted = document["requests"][document["warmup_requests"] :]
    if all(request["status"] != "ok" for request in counted):
        kept = "" if folder is None else f" What was measured is in {folder / LATENCY}."
        raise EnvironmentFailure(
            f"no question was answered; the first: {counted[0]['problem'] or counted[0]['status']}",
            where=url,
            mend=f"Look at the service's log.{kept}",
        )


def _show(document: dict[str, Any]) -> None:
    from hat.evaluation.statistics import percentile

    requests = document["requests"][document["warmup_requests"] :]
    seconds = [
        request["finished"] - request["scheduled"] if request["status"] == "ok" else float("inf")
        for request in requests
    ]
    failed = sum(request["status"] != "ok" for request in requests)
    out().print(f"{len(requests)} questions after warm-up, {failed} without an answer")
    for share in (50, 90, 95, 99):
        out().print(f"P{share}: {percentile(seconds, share / 100):.3f} s from the scheduled send")
