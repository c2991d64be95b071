"""`hat watch`: the GitOps trigger."""

import json
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pipelines.cli.cluster_options import (
    EndpointOption,
    ExperimentOption,
    ImageOption,
    NamespaceOption,
    TokenFileOption,
    parse_images,
)
from pipelines.cli.options import run_settings
from pipelines.cli.output import JsonFlag, err, out, print_json

if TYPE_CHECKING:
    from pipelines.watching.order import Outcome

REFUSED = 2


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("watch")(watch)


def watch(
    endpoint: EndpointOption,
    once: Annotated[bool, typer.Option("--once", help="One pass, then end.")] = False,
    interval: Annotated[float | None, typer.Option(help="Seconds between passes.", min=1)] = None,
    profile: Annotated[str, typer.Option(help="Name of a profile, or a YAML file.")] = "h20",
    image: ImageOption = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="As for `hat run`.")
    ] = None,
    repository: Annotated[
        str, typer.Option(help="Git repository: a folder, or an address that is cloned below HAT_HOME.")
    ] = ".",
    revision: Annotated[
        str | None, typer.Option(help="What to compare. Default: HEAD; of an address, origin/main.")
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Ask the remotes for news first.")] = False,
    registry: Annotated[
        str, typer.Option(help="The registry's path in the repository.")
    ] = "harness_registry",
    namespace: NamespaceOption = None,
    experiment: ExperimentOption = None,
    token_file: TokenFileOption = None,
    attempts: Annotated[
        int, typer.Option(help="Runs of a version at most, when they end without a verdict.", min=1)
    ] = 1,
    forge_url: Annotated[
        str | None,
        typer.Option(help="The repository on the forge, e.g. https://api.github.com/repos/OWNER/NAME."),
    ] = None,
    forge_token_file: Annotated[Path | None, typer.Option(help="File with the forge's token.")] = None,
    push: Annotated[
        str | None, typer.Option(metavar="BRANCH", help="Push channels.yaml to this branch of origin.")
    ] = None,
    channel: Annotated[str, typer.Option(help="The channel that production is.")] = "production",
    json_output: JsonFlag = False,
) -> None:
    """Submit the harness versions at a Git revision that have no run yet, and follow the runs they have."""
    from hat.errors import BadInput, HatError
    from hat.steps.resolve import read_settings
    from pipelines.kubeflow import Address
    from pipelines.profile import load_profile
    from pipelines.watching.forge import Forge
    from pipelines.watching.order import WatchOrder
    from pipelines.watching.repository import open_repository
    from pipelines.watching.watch import Reports, Source, watch_once

    if once == (interval is not None):
        raise BadInput("give either --once or --interval", where="hat watch")
    is_address = "://" in repository or repository.startswith("git@")
    source = Source(
        open_repository(repository),
        revision or ("origin/main" if is_address else "HEAD"),
        registry.strip("/"),
        fetch or is_address,
    )
    overrides = run_settings(settings)
    known = load_profile(profile).settings_json()
    environment = read_settings(known, json.dumps(overrides), code_version="").environment
    order = WatchOrder(profile, parse_images(image), overrides, experiment, attempts, environment)
    forge = Forge(forge_url, forge_token_file) if forge_url else None
    address = Address(endpoint, namespace, token_file)

    def one_pass() -> int:
        outcomes = watch_once(order, source, address, Reports(forge, push, channel), _say)
        _show(outcomes, json_output)
        return REFUSED if any(outcome.kind == "refused" for outcome in outcomes) else 0

    if interval is None:
        raise typer.Exit(one_pass())

    def guarded() -> None:
        try:
            one_pass()
        except HatError as error:  # the next pass catches up
            _say(str(error))

    _repeat(guarded, interval)


def _repeat(one_pass: Callable[[], None], interval: float) -> None:
    """Pass after pass until the process is asked to end; a pass that is under way is finished."""
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    while not stop.is_set():
        one_pass()
        stop.wait(interval)


def _say(text: str) -> None:
    err().print(text, markup=False, soft_wrap=True)


def _show(outcomes: "list[Outcome]", json_output: bool) -> None:
    if json_output:
        print_json([outcome.to_json() for outcome in outcomes])
        return
    for outcome in outcomes:
        text = f"{outcome.harness}@{outcome.version}: {outcome.kind}"
        out().print(f"{text} ({outcome.note})" if outcome.note else text, markup=False, soft_wrap=True)
    if not outcomes:
        out().print("no harness is in the registry at this revision")
