"""The table of a reproduction as Markdown and as one self-contained HTML page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hat.evaluation.crossed_bootstrap import Estimate
from hat.reporting.charts import Tick, nice_ticks
from hat.reporting.markdown import plain
from hat.reporting.render import environment
from hat.reproduce.arms import ARMS
from hat.reproduce.metrics import METRICS
from hat.reproduce.table import Table
from hat.reproduce.targets import points

NOTES = (
    "Accuracies in percent, differences in points, with 95% intervals: seeds and clusters of items (by task and state) "
    "are resampled together, and each end is the more cautious of that bootstrap's and a score interval's.",
    "All data are synthetic. The default base model's weights are dequantised from a 4-bit file.",
)
OUTCOME_TONES = {"met": "pass", "missed": "fail", "not measured": "none"}
SIGNS = {"met": "✓", "missed": "✕", "not measured": "·"}


@dataclass(frozen=True)
class Section:
    """One table of texts; a column after the first is a number."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Mark:
    """One row of a plot: places in percent of its width."""

    name: str
    text: str
    place: float
    low: float
    high: float
    seeds: tuple[float, ...]


@dataclass(frozen=True)
class Plot:
    """Estimates with their intervals on one axis."""

    title: str
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    zero: float | None
    """Where no difference lies; None for scores."""


def sections(table: Table) -> list[Section]:
    """All tables in their order; those without a row are left out."""
    titles = [METRICS[name].title for name in table.metrics]
    found = [
        Section("Scores", ("arm", *titles), tuple(_score_rows(table))),
        Section(
            "Differences",
            ("arms", *(METRICS[name].title for name in _compared(table))),
            tuple(_difference_rows(table)),
        ),
        Section("Targets", ("what", "bar", "measured", "outcome"), tuple(_target_rows(table))),
        Section(
            "Behaviour",
            (
                "arm",
                "turns that parse",
                "skill loaded",
                "unsolvable declined",
                "solvable declined",
            ),
            tuple(_behaviour_rows(table)),
        ),
        Section(
            "Kept of the base",
            ("arm", "reverse KL, nats a token", "prompts that the base passes, still passed"),
            tuple(_kept_rows(table)),
        ),
        Section("Later versions", ("arm", *_versions(table)), tuple(_version_rows(table))),
        Section(
            "Time and memory, one seed",
            ("arm", "seeds", "training, min", "CPU, min", "evaluation, min", "CPU, min ", "SFT tokens", "GB"),
            tuple(_cost_rows(table)),
        ),
    ]
    return [each for each in found if each.rows]


def render_markdown(table: Table) -> str:
    """The whole table, for a repository or a pull request."""
    lines = [f"# {title(table)}", "", summary(table), ""]
    for each in sections(table):
        lines += [f"## {each.title}", "", _line(each.heads), "|---|" + "---|" * (len(each.heads) - 1)]
        lines += [*map(_line, each.rows), ""]
    if table.missing:
        lines += ["## Missing", "", *(f"- {plain(unit)}: {plain(why)}" for unit, why in table.missing), ""]
    lines += ["## How", "", *(f"- {plain(each)}" for each in (*NOTES, *table.remarks, *table.sources))]
    lines += [f"- `{command.replace('`', '')}`" for command in table.commands]
    return "\n".join(lines) + "\n"


def render_page(table: Table) -> str:
    """The whole page: no script, no network, every text escaped."""
    return (
        environment()
        .get_template("reproduction.html.jinja")
        .render(
            title=title(table),
            summary=summary(table),
            plots=score_plots(table),
            difference_plots=difference_plots(table),
            sections=sections(table),
            table=table,
            tones=OUTCOME_TONES,
            signs=SIGNS,
            notes=NOTES,
        )
    )


def title(table: Table) -> str:
    """What the table is."""
    return f"Reproduction, suite {table.suite}, {table.split} split, {table.harness}"


def summary(table: Table) -> str:
    """How far it is."""
    count = {word: sum(each.outcome == word for each in table.targets) for word in OUTCOME_TONES}
    missing = f"; {len(table.missing)} units are missing" if table.missing else ""
    return (
        f"Targets: {count['met']} met, {count['missed']} missed, "
        f"{count['not measured']} not measured{missing}."
    )


def score_plots(table: Table) -> list[Plot]:
    """One plot a metric, one mark an arm."""
    plots = []
    for name in table.metrics:
        marks = tuple(
            Mark(
                ARMS[arm].title,
                points(cells[name].estimate.mean),
                100 * cells[name].estimate.mean,
                100 * cells[name].estimate.low,
                100 * cells[name].estimate.high,
                tuple(100 * mean for mean in cells[name].seeds.values()),
            )
            for arm, cells in table.cells.items()
            if name in cells
        )
        ticks = tuple(Tick(place, f"{place}") for place in (0, 25, 50, 75, 100))
        plots.append(Plot(METRICS[name].title, marks, ticks, None))
    return plots


def difference_plots(table: Table) -> list[Plot]:
    """One plot a metric, one mark a pair of arms."""
    plots = []
    for name in table.metrics:
        found = [(pair, each[name]) for pair, each in table.differences.items() if name in each]
        if not found:
            continue
        low = min(100 * min(estimate.low, 0) for _, estimate in found)
        high = max(100 * max(estimate.high, 0) for _, estimate in found)
        marks = nice_ticks(low, high)
        first, span = marks[0], marks[-1] - marks[0]

        def place(share: float, first: float = first, span: float = span) -> float:
            return round(100 * (100 * share - first) / span, 3)

        plots.append(
            Plot(
                METRICS[name].title,
                tuple(
                    Mark(
                        _pair(pair),
                        _signed(estimate.mean),
                        place(estimate.mean),
                        place(estimate.low),
                        place(estimate.high),
                        (),
                    )
                    for pair, estimate in found
                ),
                tuple(Tick(place(mark / 100), f"{mark:g}") for mark in marks),
                place(0.0),
            )
        )
    return plots


def _score_rows(table: Table) -> Iterator[tuple[str, ...]]:
    for arm, cells in table.cells.items():
        yield (
            ARMS[arm].title,
            *(_score(cells[name].estimate) if name in cells else "–" for name in table.metrics),
        )
    if table.baselines:
        baselines = (
            points(table.baselines[name]) if name in table.baselines else "–" for name in table.metrics
        )
        yield "regex baseline", *baselines


def _compared(table: Table) -> list[str]:
    return [name for name in table.metrics if any(name in found for found in table.differences.values())]


def _difference_rows(table: Table) -> Iterator[tuple[str, ...]]:
    for pair, found in table.differences.items():
        cells = (
            f"{_signed(found[name].mean)} ({_signed(found[name].low)} to {_signed(found[name].high)})"
            if name in found
            else "–"
            for name in _compared(table)
        )
        yield _pair(pair), *cells


def _target_rows(table: Table) -> Iterator[tuple[str, ...]]:
    for each in table.targets:
        yield each.what, each.bar, each.measured, each.outcome


def _behaviour_rows(table: Table) -> Iterator[tuple[str, ...]]:
    for arm, seen in table.behaviour.items():
        rates = (seen.parsed, seen.skill_loaded, seen.refused_unsolvable, seen.over_refused)
        yield ARMS[arm].title, *("–" if rate is None else points(rate) for rate in rates)


def _kept_rows(table: Table) -> Iterator[tuple[str, ...]]:
    for arm in table.cells:
        distance, kept = table.divergence.get(arm), table.retained.get(arm)
        if distance or kept:
            yield (
                ARMS[arm].title,
                f"{distance.mean:.3f} ({distance.low:.3f} to {distance.high:.3f})" if distance else "–",
                _score(kept) if kept else "–",
            )


def _versions(table: Table) -> list[str]:
    return list(dict.fromkeys(version for found in table.versions.values() for version in found))


def _version_rows(table: Table) -> Iterator[tuple[str, ...]]:
    for arm, found in table.versions.items():
        yield (
            ARMS[arm].title,
            *(points(found[version]) if version in found else "–" for version in _versions(table)),
        )


def _cost_rows(table: Table) -> Iterator[tuple[str, ...]]:
    for cost in table.costs:
        least = "" if cost.complete else "≥ "
        times = (
            cost.training_wall,
            cost.training_cpu,
            cost.evaluation_wall,
            cost.evaluation_cpu,
        )
        yield (
            ARMS[cost.arm].title,
            str(cost.seeds),
            *(f"{least}{seconds / 60:.1f}" for seconds in times),
            f"{cost.tokens:,}" if cost.tokens else "–",
            f"{cost.peak_memory_bytes / 1e9:.1f}",
        )


def _score(found: Estimate) -> str:
    seeds = f"{found.seeds} x " if found.seeds > 1 else ""
    return f"{points(found.mean)} ({points(found.low)} to {points(found.high)}), n={seeds}{found.n}"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}"


def _pair(pair: tuple[str, str]) -> str:
    return f"{ARMS[pair[0]].title} − {ARMS[pair[1]].title}"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(plain, cells)) + " |"
