"""Makes the evidence folders beside this file: one sound one, and each known fault applied to it.

Run `python -m tests.data.evidence.make_evidence` after a change; a test holds the folders to what this makes.
Everything is synthetic.
"""

import copy
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.evidence_documents import (
    BASE,
    CANDIDATE,
    ITEMS,
    PRODUCTION,
    Documents,
    digest,
    evaluation,
    item,
    latency,
    sound,
    summarise,
)

__all__ = ["BASE", "documents_of", "evaluation", "item", "latency", "sound", "summarise", "write"]


def first_three_slow(documents: Documents) -> None:
    """The first three requests take twenty times as long."""
    for request in documents["latency.json"]["requests"][:3]:
        request["finished"] = round(
            request["scheduled"] + 20 * (request["finished"] - request["scheduled"]), 4
        )


def no_production(documents: Documents) -> None:
    """Nothing is in production yet."""
    documents["subject.json"]["models"]["production"] = None
    documents["subject.json"]["ledger_head"] = 0
    del documents[PRODUCTION]


def screening(documents: Documents) -> None:
    """The production model itself, under a new harness."""
    documents["subject.json"]["models"]["candidate"] = documents["subject.json"]["models"]["production"]
    documents["latency.json"]["model_digest"] = digest("production")
    documents[CANDIDATE] = documents.pop(PRODUCTION)


def reordered(documents: Documents) -> None:
    """The same results written in another order."""
    documents[CANDIDATE]["suites"]["live_stream_qa"]["items"].reverse()


def swapped_order(documents: Documents) -> None:
    """Compared by position the models are equal; compared by id, one intent collapses."""
    production = evaluation("production", {3, 15, *range(5)})
    candidate = evaluation("candidate", {ITEMS - 1 - number for number in {3, 15, *range(5)}})
    candidate["suites"]["live_stream_qa"]["items"].reverse()
    documents[PRODUCTION], documents[CANDIDATE] = production, candidate


def items_missing(documents: Documents) -> None:
    """Three items are missing from the candidate's side."""
    del documents[CANDIDATE]["suites"]["live_stream_qa"]["items"][5:8]
    summarise(documents[CANDIDATE])


def slice_collapse(documents: Documents) -> None:
    """Better by two points on average; one intent loses a third."""
    documents[PRODUCTION] = evaluation("production", {3, 15, 16, 27, 28, 39, 40, 41})
    documents[CANDIDATE] = evaluation("candidate", {3, 15, 39, 50, 51, 52, 53})


def nan_score(documents: Documents) -> None:
    """One item's score is NaN."""
    documents[CANDIDATE]["suites"]["live_stream_qa"]["items"][9]["correct"] = float("nan")


def empty_metrics(documents: Documents) -> None:
    """A suite without items."""
    documents[CANDIDATE]["suites"]["live_stream_qa"]["items"] = []
    summarise(documents[CANDIDATE])


def forty_requests(documents: Documents) -> None:
    """A P95 from forty requests, after warm-up."""
    documents["latency.json"] = latency(count=43)


def stalled_server(documents: Documents) -> None:
    """The server stalls once for 1.5 s; each request still takes at most 0.2 s once it has started."""
    documents["latency.json"] = latency(stall=(4.0, 1.5))


def worse_tail(documents: Documents) -> None:
    """Twice as fast on average, with one request in ten above the limit."""
    for number, request in enumerate(documents["latency.json"]["requests"]):
        seconds = 0.45 if number % 10 == 5 else (request["finished"] - request["scheduled"]) / 4
        request["finished"] = round(request["scheduled"] + seconds, 4)
        request["first_token"] = round(request["scheduled"] + seconds / 4, 4)


def harness_mismatch(documents: Documents) -> None:
    """Production was measured under the previous harness version."""
    documents[PRODUCTION] |= {"version": "1.0.0", "harness_digest": digest("previous harness")}


def leaked_items(documents: Documents) -> None:
    """Two evaluated items were trained on."""
    leaked = [
        documents[CANDIDATE]["suites"]["live_stream_qa"]["items"][number]["task_digest"] for number in (4, 44)
    ]
    documents["training_items.json"]["task_digests"] = sorted(
        [*documents["training_items.json"]["task_digests"], *leaked]
    )


def forty_items(documents: Documents) -> None:
    """Forty items where the policy asks for sixty; all of the candidate's are right."""
    for name in (CANDIDATE, PRODUCTION):
        suite = documents[name]["suites"]["live_stream_qa"]
        suite["items"] = suite["items"][::3] + suite["items"][1::3]
    for one in documents[CANDIDATE]["suites"]["live_stream_qa"]["items"]:
        one["correct"] = 1
    for name in (CANDIDATE, PRODUCTION):
        summarise(documents[name])


def skill_collapse(documents: Documents) -> None:
    """As good on average and in every intent; one skill loses a third."""
    documents[PRODUCTION] = evaluation("production", {0, 12, 25, 37, 50, 3, 28})
    documents[CANDIDATE] = evaluation("candidate", {4, 19, 34, 39, 54, 3, 28})


def slow_first_token(documents: Documents) -> None:
    """Replies as fast as before, but nothing is shown until shortly before their end."""
    for request in documents["latency.json"]["requests"]:
        request["first_token"] = round(request["finished"] - 0.005, 4)


def refusals_lost(documents: Documents) -> None:
    """More answers are right, and half of what must be declined is answered."""
    for one in documents[CANDIDATE]["suites"]["live_stream_qa"]["items"]:
        if not one["answerable"]:
            one["refused"] = one["correct"] = int(int(one["id"][1:]) % 2 == 0)
        else:
            one["correct"] = 1
    summarise(documents[CANDIDATE])


def skills_not_loaded(documents: Documents) -> None:
    """The replies are right, and one in four was given without loading a skill."""
    for one in documents[CANDIDATE]["suites"]["live_stream_qa"]["items"][::4]:
        one["skill_loaded"] = 0


def ifeval_lost(documents: Documents) -> None:
    """The agent is as good as before; every fourth general instruction that the base model follows is lost."""
    for one in documents[CANDIDATE]["suites"]["ifeval"]["items"][1::4]:
        one["correct"] = 0
    summarise(documents[CANDIDATE])


def other_model_timed(documents: Documents) -> None:
    """The times are those of the base model, which answers faster."""
    documents["latency.json"]["model_digest"] = digest("base")


def rate_not_kept(documents: Documents) -> None:
    """Ten requests a second are stated; they were scheduled at five."""
    for request in documents["latency.json"]["requests"]:
        for key in ("started", "first_token", "finished"):
            request[key] = round(request[key] + request["scheduled"], 4)
        request["scheduled"] = round(2 * request["scheduled"], 4)


def regular_arrivals(documents: Documents) -> None:
    """Requests one every 0.1 s, never two at once, stated as Poisson arrivals."""
    for number, request in enumerate(documents["latency.json"]["requests"]):
        shift = round(number * 0.1, 4) - request["scheduled"]
        for key in ("scheduled", "started", "first_token", "finished"):
            request[key] = round(request[key] + shift, 4)


def shared_device(documents: Documents) -> None:
    """Something else ran on the device meanwhile."""
    documents["latency.json"]["shared_device"] = True


def cpu_evidence(documents: Documents) -> None:
    """Measured with transformers on a CPU, for a policy that asks for vLLM on an H20."""
    documents["subject.json"] |= {"engine": "transformers", "hardware": "cpu"}
    documents["latency.json"] |= {"engine": "transformers", "hardware": "cpu"}


def one_lucky_seed(documents: Documents) -> None:
    """The candidate is the best of three trainings; the worst is far below the bar."""
    documents["subject.json"]["environment"] = "example-seeds"
    documents["evaluation/seeds/1.json"] = evaluation("seed 1", set(range(0, 60, 5)))
    documents["evaluation/seeds/2.json"] = evaluation("seed 2", set(range(0, 60, 2)))


def harness_moved_it(documents: Documents) -> None:
    """The candidate is better by seven points, of which the harness, not the model, brought nearly all."""
    documents["subject.json"]["previous_harness"] = {"version": "1.0.0", "digest": digest("previous harness")}
    worse = {3, 15, 16, 27, 28, 39, 40, 51, 52, 20, 33, 45}
    for name, model in (
        ("attribution/production.json", "production"),
        ("attribution/candidate.json", "candidate"),
    ):
        document = evaluation(model, worse if model == "production" else worse - {52})
        documents[name] = document | {"version": "1.0.0", "harness_digest": digest("previous harness")}


FAULTS: dict[str, Callable[[Documents], None] | None] = {
    "sound": None,
    "first-three-slow": first_three_slow,
    "no-production": no_production,
    "screening": screening,
    "reordered": reordered,
    "swapped-order": swapped_order,
    "items-missing": items_missing,
    "slice-collapse": slice_collapse,
    "nan": nan_score,
    "empty-metrics": empty_metrics,
    "forty-requests": forty_requests,
    "stalled-server": stalled_server,
    "worse-tail": worse_tail,
    "harness-mismatch": harness_mismatch,
    "leaked-items": leaked_items,
    "forty-items": forty_items,
    "skill-collapse": skill_collapse,
    "slow-first-token": slow_first_token,
    "refusals-lost": refusals_lost,
    "skills-not-loaded": skills_not_loaded,
    "ifeval-lost": ifeval_lost,
    "other-model-timed": other_model_timed,
    "rate-not-kept": rate_not_kept,
    "regular-arrivals": regular_arrivals,
    "shared-device": shared_device,
    "cpu-evidence": cpu_evidence,
    "one-lucky-seed": one_lucky_seed,
    "harness-moved-it": harness_moved_it,
}


def documents_of(case: str) -> Documents:
    """One case's documents."""
    documents = copy.deepcopy(sound())
    fault = FAULTS[case]
    if fault is not None:
        fault(documents)
    return documents


def text_of(value: Any, depth: int = 0) -> str:
    """JSON with one item or request a line."""
    short = json.dumps(value, ensure_ascii=False)
    if len(short) < 260 and depth:
        return short
    inner = "  " * (depth + 1)
    if isinstance(value, dict):
        parts = [f"{json.dumps(key)}: {text_of(part, depth + 1)}" for key, part in value.items()]
        return "{\n" + ",\n".join(inner + part for part in parts) + "\n" + "  " * depth + "}"
    if isinstance(value, list):
        return (
            "[\n" + ",\n".join(inner + text_of(part, depth + 1) for part in value) + "\n" + "  " * depth + "]"
        )
    return short


def write(folder: Path, documents: Documents) -> Path:
    """Write documents as an evidence folder."""
    for name, document in documents.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text_of(document) + "\n", encoding="utf-8")
    return folder


if __name__ == "__main__":
    here = Path(__file__).parent
    for case in FAULTS:
        shutil.rmtree(here / case, ignore_errors=True)
        write(here / case, documents_of(case))
