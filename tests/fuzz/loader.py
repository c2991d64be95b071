"""Fuzzes the loader, linter, import and export with Hypothesis for a stated time:

    python -m tests.fuzz.loader --minutes 10 --out findings.json

Whatever the files hold, the outcome must be problems or one `HatError`: no other exception, no example beyond
`LONGEST_SECONDS`, no more memory than `MEMORY_BYTES` for the whole process. Inputs are public-format files (those
under tests/data and harness_registry, and the shared files where they lie beside the repository) after random edits.
"""

import argparse
import json
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from hat.errors import HatError
from hat.harness.exchange.exports import export_harness
from hat.harness.exchange.imports import import_harness
from hat.harness.lint import lint_path
from hat.harness.load import load_harness
from hat.harness.registry import Registry

REPOSITORY = Path(__file__).parents[2]
SHARED = REPOSITORY.parent / "shared" / "data" / "harness_files"
VERSION = REPOSITORY / "harness_registry" / "live-shop" / "versions" / "1.0.0"
LONGEST_SECONDS = 10
"""Of processor time: other work on the machine is no finding."""
MEMORY_BYTES = 3 << 30
EXAMPLES_A_ROUND = 200
SNIPPETS = [
    b"{{", b"}}", b"{%", b"{#", b"`", b"---\n", b"# ", b"- ", b": ", b"&a [*a]", b"*a", b"!!python/name:os", b"\xff",
    b"\x00", b"\xef\xbb\xbf", b"\xe2\x80\x8b", b"\xe2\x80\xae", b"\r", b"\r\n", b"[" * 70, b'{"a":' * 70, b'"',
    b"\\ud800",
    b"null", b"true", b"1e999", b"9" * 5000, b"../", b'{"$ref": "#"}', b'"$ref": "#/$defs/a",', b'{"oneOf": []}',
    b'"type": ["null"],', b'"pattern": "(a+)+$",', b'"items": [],', b'"required": [1],', b'"enum": [],', b"<<: ",
    b"|", b">",
    b"'", b"2024-13-40", b"0x", b".nan", b"? ", b"=", b"sk-" * 50, b"ignore all previous instructions", b"a" * 70_000,
    b'"tools": [', b'"hooks": {"Stop": [{"hooks": []}]},', b'"matcher": "(.*)*",', b'"$schema": "x",', b"{}", b"[]",
    b",",
]  # fmt: skip


class TooSlow(Exception):
    """An example took longer than it may."""


def corpus() -> list[tuple[str, bytes]]:
    """(name, content) of every seed file."""
    paths = [path for path in VERSION.rglob("*") if path.is_file()]
    paths += sorted(SHARED.glob("*")) if SHARED.is_dir() else []
    return [(path.name, path.read_bytes()) for path in paths]


def edited(content: bytes, edits: int, rng: random.Random) -> bytes:
    """``content`` after random insertions, deletions, repetitions and changes of bytes."""
    changed = bytearray(content)
    for _ in range(edits):
        at = rng.randint(0, len(changed))
        choice = rng.random()
        if choice < 0.45:
            changed[at:at] = rng.choice(SNIPPETS)
        elif choice < 0.7:
            del changed[at : at + rng.randint(1, 40)]
        elif choice < 0.85:
            start = rng.randint(0, len(changed))
            changed[at:at] = changed[start : start + rng.randint(1, 200)]
        elif changed:
            changed[min(at, len(changed) - 1)] = rng.randrange(256)
    return bytes(changed)


def place_of(name: str, kind: str) -> str:
    """Where in a version, or under which name alone, a seed file is tried."""
    if name.endswith("SKILL.md"):
        return "skills/deals/SKILL.md"
    if "hooks" in name:
        return "hooks/hooks.json"
    if name.endswith((".yaml", ".md")):
        return "harness.yaml" if name.endswith(".yaml") else "prompts/rules.md"
    return "tools.json" if kind == "loose" else "tools/check_stock.json"


def try_one(kind: str, name: str, content: bytes, work: Path) -> str:
    """Run one example in an empty folder; returns what came of it."""
    if kind == "version":
        folder = work / "shop" / "versions" / "1.0.0"
        shutil.copytree(VERSION, folder)
        path = folder / place_of(name, kind)
        path.write_bytes(content)
        problems = lint_path(folder)
        json.dumps([problem.to_json() for problem in problems], ensure_ascii=False).encode("utf-8")
        return _outcome(lambda: load_harness(folder).content_digest)
    if kind == "loose":
        path = work / Path(place_of(name, kind)).name
        path.write_bytes(content)
        return _outcome(lambda: lint_path(path))
    if name.endswith("SKILL.md") or "hooks" in name:
        source = work / "plugin"
        target = source / ("skills/repo-scan/SKILL.md" if name.endswith(".md") else "hooks/hooks.json")
        target.parent.mkdir(parents=True)
        target.write_bytes(content)
        (source / ".claude-plugin").mkdir()
        (source / ".claude-plugin" / "plugin.json").write_text('{"name": "fuzzed"}')
    else:
        source = work / "tools.json"
        source.write_bytes(content)
    return _outcome(lambda: _there_and_back(source, work))


def _there_and_back(source: Path, work: Path) -> None:
    folder = import_harness(Registry(work / "registry"), source, "fuzzed", "1.0.0")
    errors = [problem for problem in lint_path(folder) if problem.severity == "error"]
    if not errors:
        export_harness(folder, work / "out")


def _outcome(run: Any) -> str:
    try:
        run()
    except HatError as error:
        str(error).encode("utf-8")
        return "refused"
    return "accepted"


def fuzz(minutes: float, first_seed: int) -> dict[str, Any]:
    """Rounds of examples until the time is over; every finding with what is needed to have it again."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    signal.signal(signal.SIGPROF, _too_slow)
    files = corpus()
    counts: Counter[str] = Counter()
    findings: list[dict[str, Any]] = []
    slowest = 0.0
    start = time.monotonic()
    examples = st.tuples(
        st.sampled_from(["version", "loose", "import"]),
        st.integers(0, len(files) - 1),
        st.integers(0, 12),
        st.integers(0, 2**48),
    )

    def one(example: tuple[str, int, int, int]) -> None:
        nonlocal slowest
        kind, index, edits, draw = example
        if time.monotonic() - start > 60 * minutes:
            return
        name, content = files[index]
        changed = edited(content, edits, random.Random(draw))
        began = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LONGEST_SECONDS)
        try:
            with tempfile.TemporaryDirectory() as work:
                outcome = try_one(kind, name, changed, Path(work))
            counts[f"{kind} {outcome}"] += 1
        except Exception as error:  # noqa: BLE001  whatever it is, it is a finding
            where = traceback.extract_tb(error.__traceback__)[-1]
            finding = f"{type(error).__name__} at {Path(where.filename).name}:{where.lineno}"
            if all(known["finding"] != finding for known in findings):
                print(finding, example, file=sys.stderr)
                traceback.print_exc()
                findings.append(
                    {"finding": finding, "example": [kind, name, edits, draw], "message": str(error)[:300]}
                )
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            slowest = max(slowest, time.process_time() - began)

    rounds = 0
    while time.monotonic() - start < 60 * minutes:
        rounds += 1
        run = settings(
            max_examples=EXAMPLES_A_ROUND,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )(seed(first_seed + rounds)(given(examples)(one)))
        run()
    return {
        "minutes": round((time.monotonic() - start) / 60, 2),
        "first_seed": first_seed,
        "seed_files": len(files),
        "examples": counts.total(),
        "outcomes": dict(sorted(counts.items())),
        "slowest_processor_seconds": round(slowest, 2),
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "findings": findings,
    }


def _too_slow(*_: Any) -> None:
    raise TooSlow(f"longer than {LONGEST_SECONDS} seconds of processor time")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    report = fuzz(arguments.minutes, arguments.seed)
    text = json.dumps(report, indent=2, ensure_ascii=False) + "\n"
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")
    print(text)
    sys.exit(1 if report["findings"] else 0)


if __name__ == "__main__":
    main()
