"""The report of a run: complete for a finished run, honest for a broken one, and safe with any text."""

import json
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from hat.errors import EnvironmentFailure
from hat.reporting import collect_run, render_report, render_verdict, write_report
from hat.reporting.model import Failure, RunReport
from hat.runs.record import RunError, RunRecord, StepRecord, write_record
from hat.steps.entries import StepEntry, write_entry

RUN = "20261130-200000-live-shop-1.0.0-ab12"
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails on tags that are not closed in order."""

    def __init__(self, html):
        super().__init__()
        self.tags, self.attributes, self.words, self._open = [], [], [], []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def report(sample_store):
    return collect_run(sample_store, RUN)


def test_every_part_of_a_finished_run_is_shown(report):
    page = Page(render_report(report))
    for title in ("Why", "Quality", "Slices", "Training", "Latency", "Examples of failures", "Pipeline"):
        assert title in page.text
    for digest in ("b" * 64, "c" * 64, "d" * 64):
        assert digest in page.text
    assert "live_shop is simulated" in page.text
    assert report.missing == ()


def test_the_verdict_and_its_reasons_come_first(report):
    text = Page(render_report(report)).text
    places = [text.index(part) for part in (report.summary, "Why", "Quality", "Training", "Provenance")]
    assert places == sorted(places)


def test_the_four_suites_hold_all_models_with_intervals_and_references(report):
    assert [suite.name for suite in report.suites] == [
        "live_stream_qa", "harness_variant_qa", "tool_prompt_robustness", "instruction_following"
    ]  # fmt: skip
    for suite in report.suites:
        assert set(suite.scores) == {"base", "production", "candidate"}
        assert suite.reference is not None
        for score in suite.scores.values():
            assert 0 <= score.low <= score.accuracy <= score.high <= 1
    assert report.suites[0].bar == 0.75
    html = render_report(report)
    score = report.suites[0].scores["candidate"]
    assert f"{100 * score.accuracy:.1f}" in html
    assert f"{100 * score.low:.1f}–{100 * score.high:.1f}" in html


def test_numbers_agree_with_the_documents(report, sample_store):
    document = json.loads(
        sample_store.get("cache/evaluate/evaluateevaluate/evidence_out_dir/evaluation/candidate.json")
    )
    suite = document["suites"]["live_stream_qa"]
    assert report.suites[0].scores["candidate"].accuracy == suite["accuracy"]
    wrong = [item["id"] for item in suite["items"] if item["correct"] == 0]
    assert report.failures_total.get("live_stream_qa", 0) == len(wrong)
    intents = {
        part.value: part.counts["candidate"]
        for part in report.slices
        if (part.suite, part.key) == ("live_stream_qa", "intent")
    }
    assert sum(right for right, _ in intents.values()) == suite["n"] - len(wrong)
    assert sum(of for _, of in intents.values()) == suite["n"]


def test_failures_show_question_calls_reply_and_gold(report):
    failure = report.failures[0]
    text = Page(render_report(report)).text
    for part in (failure.question, *failure.expected, *failure.calls):
        assert " ".join(part.split()) in text


def test_latency_marks_what_was_warm_up(report):
    assert len(report.latency.warmup) == 3
    assert len(report.latency.counted) == 37
    assert "warm-up, not counted (3)" in render_report(report)
    assert [each.name for each in report.latency.percentiles] == ["P50", "P90"]
    assert all(each.estimate <= each.upper <= each.limit for each in report.latency.percentiles)


def test_training_curves_are_the_logged_numbers(report):
    sft, opd, rl = report.training
    assert (sft.steps, opd.steps, rl.steps) == (120, 12, 8)
    assert [curve.name for curve in rl.curves] == ["total", "accuracy", "format", "skill"]
    assert opd.curves[0].points[0] == (1, pytest.approx(0.31 * 0.9))


def test_the_page_is_self_contained(report):
    html = render_report(report)
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "embed", "form", "base"} & set(page.tags)
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href", "action"):
            assert value.startswith("#")
    assert not re.search(r"url\(|@import|https?://", html)
    assert "default-src 'none'" in html


HOSTILE = (
    '<script>alert(1)</script><img src=x onerror=alert(1)>" onmouseover="x\' '
    "{{ 7*7 }} </style> \u202ereversed\x00"
)


def hostile(value):
    """Every text of a report replaced by a hostile one, where no choice or lookup depends on it."""
    failure = Failure(
        "live_stream_qa", HOSTILE, HOSTILE, HOSTILE, HOSTILE, (HOSTILE,), HOSTILE, HOSTILE, (HOSTILE,)
    )
    return replace(
        value,
        run=HOSTILE,
        harness=HOSTILE,
        version=HOSTILE,
        summary=HOSTILE,
        error=HOSTILE,
        status=HOSTILE,
        reasons=tuple(replace(one, code=HOSTILE, metric=HOSTILE, message=HOSTILE) for one in value.reasons),
        facts=tuple(replace(one, name=HOSTILE, value=HOSTILE, title=HOSTILE) for one in value.facts),
        suites=tuple(
            replace(
                one,
                title=HOSTILE,
                explanation=HOSTILE,
                reference_name=HOSTILE,
                notes=(HOSTILE,),
                origin=HOSTILE,
            )
            for one in value.suites
        ),
        slices=tuple(replace(one, value=HOSTILE) for one in value.slices),
        training=tuple(
            replace(
                one,
                title=HOSTILE,
                axis=HOSTILE,
                curves=tuple(replace(curve, name=HOSTILE) for curve in one.curves),
            )
            for one in value.training
        ),
        failures=(failure,),
        failures_total={"live_stream_qa": 1},
        steps=tuple(replace(one, name=HOSTILE, status=HOSTILE, reason=HOSTILE) for one in value.steps),
        digests=tuple(replace(one, name=HOSTILE, value=HOSTILE, title=HOSTILE) for one in value.digests),
        synthetic=(HOSTILE,),
        missing=(HOSTILE,),
    )


def test_no_text_becomes_markup(report):
    html = render_report(hostile(report))
    page = Page(html)
    assert not {"script", "img"} & set(page.tags)
    assert all(not name.startswith("on") for name, _ in page.attributes)
    assert html.count("</style>") == 1
    assert "{{ 7*7 }}" in page.text
    assert "49" not in Page(render_report(hostile(RunReport(RUN, "", "", None, "", "", "")))).text


def test_characters_that_reorder_or_hide_text_are_made_visible(report):
    html = render_report(replace(report, error="a\u202eb\x00c"))
    assert "a\ufffdb\ufffdc" in html


def test_a_very_long_reply_is_cut_and_says_so(report):
    long = replace(report.failures[0], reply="x" * 50_000)
    html = render_report(replace(report, failures=(long,)))
    assert "x" * 1300 not in html
    assert "48800 more characters" in html


def test_an_empty_report_still_renders():
    page = Page(render_report(RunReport(RUN, "live-shop", "1.0.0", None, "", "", "")))
    assert "No verdict" in page.text


def put_record(store, **changes):
    record = RunRecord(
        run=RUN,
        harness="live-shop",
        version="1.0.0",
        code_version="e" * 64,
        profile="laptop",
        mode="auto",
        started="2026-11-30T20:00:00+00:00",
    )
    write_record(store, record.model_copy(update=changes))


def test_a_run_that_failed_in_training_shows_what_there_is(store):
    message = "step sft: the loss is not finite at step 3. Lower the learning rate."
    put_record(
        store,
        status="failed",
        error=RunError(step="sft", message=message, exit_status=4),
        steps=(
            StepRecord(name="generate", status="ran", seconds=3),
            StepRecord(name="sft", status="failed", seconds=9),
        ),
    )
    place = "cache/generate/key"
    store.put(f"{place}/trajectories_out_dir/summary.json", b'{"tasks": 640, "rejected": {"wrong facts": 8}}')
    write_entry(store, RUN, StepEntry("generate", "key", "ran", 3.0, place))
    report = collect_run(store, RUN)
    text = Page(render_report(report)).text
    assert message in text
    assert "failed in step sft" in text
    assert render_verdict(report).startswith("# Failed: live-shop@1.0.0")
    assert "640" in text
    assert "There is no verdict of this run." in report.missing


def test_a_run_without_any_document_is_reported_as_such(store, tmp_path):
    write_report(store, RUN, tmp_path / "report.html")
    text = Page((tmp_path / "report.html").read_text(encoding="utf-8")).text
    assert "There is no record of this run." in text
    assert (tmp_path / "report.md").read_text(encoding="utf-8").startswith("# No verdict")


@pytest.mark.parametrize(
    "document",
    [
        b"not json",
        b"[]",
        b"\xff\xfe",
        b'{"suites": 3}',
        b'{"suites": {"live_stream_qa": []}}',
        b'{"suites": {"live_stream_qa": {"n": -1, "accuracy": 2, "items": [1, {"correct": "yes"}, null]}}}',
        b'{"suites": {"live_stream_qa": {"n": 2, "accuracy": NaN, "accuracy_ci": ["a", null], "items": {}}}}',
        b'{"suites": {"live_stream_qa": {"n": 2, "accuracy": 0.5, "accuracy_ci": [0.9]}}}',
        b'{"suites": {"live_stream_qa": {"n": 2, "accuracy": 0.5, "items": [{"correct": 0, "facts": 3}]}}}',
        b'{"suites": {"live_stream_qa": {"n": 1e99, "accuracy": 0.5}}}',
        b'{"suites": {"harness_variant_qa": {"n": 2, "accuracy": 1, "items": [{"state": {"families": 3}}]}}}',
        b'{"requests": [{"scheduled": null}, 3], "warmup": 4}',
        b'{"verdict": "MAYBE", "reasons": [{"numbers": 3, "outcome": []}, 1]}',
    ],
)
def test_broken_documents_shorten_the_report_and_break_nothing(store, document):
    put_record(store, status="succeeded")
    place = "cache/x/key"
    for step, name in (
        ("evaluate", "evidence_out_dir/evaluation/candidate.json"),
        ("latency", "evidence_out_dir/latency.json"),
        ("decide", "verdict_out"),
        ("sft", "metrics_out"),
        ("generate", "trajectories_out_dir/summary.json"),
        ("resolve", "subject_out"),
    ):
        store.put(f"{place}/{step}/{name}", document)
        write_entry(store, RUN, StepEntry(step, "key", "ran", 1.0, f"{place}/{step}"))
    page = render_report(collect_run(store, RUN))
    Page(page)
    assert RUN in page
    assert RUN in render_verdict(collect_run(store, RUN))


def test_numbers_that_were_not_finite_break_the_curve_and_nothing_else(store):
    lines = [
        {"step": 1, "loss": 2.0},
        {"step": 2, "loss": None, "not_finite": ["loss"]},
        {"step": 3, "loss": 1.0},
    ]
    put_record(store)
    store.put("cache/sft/key/metrics_out", "".join(json.dumps(line) + "\n" for line in lines).encode())
    write_entry(store, RUN, StepEntry("sft", "key", "ran", 1.0, "cache/sft/key"))
    report = collect_run(store, RUN)
    assert report.training[0].curves[0].points == ((1, 2.0), (2, None), (3, 1.0))
    assert render_report(report).count("<polyline") == 2


def test_a_stage_that_was_off_says_why(store):
    put_record(store)
    store.put("cache/rl/key/metrics_out", b'{"stage": "rl", "step": 0, "skipped": "rl.steps is 0"}\n')
    write_entry(store, RUN, StepEntry("rl", "key", "ran", 1.0, "cache/rl/key"))
    assert "Did not train: rl.steps is 0" in Page(render_report(collect_run(store, RUN))).text


def test_the_evidence_of_training_replaces_that_of_the_screen(store):
    put_record(store)
    for step, word in (("screen", "FAIL"), ("decide", "PASS")):
        store.put(f"cache/{step}/key/verdict_out", json.dumps({"verdict": word, "reasons": []}).encode())
        write_entry(store, RUN, StepEntry(step, "key", "ran", 1.0, f"cache/{step}/key"))
    assert collect_run(store, RUN).verdict == "PASS"


def test_the_markdown_verdict_is_short_and_escaped(report):
    text = render_verdict(report)
    assert text.startswith(f"# {report.verdict}: live-shop@1.0.0")
    assert "| Live-Stream QA |" in text
    assert len(text.splitlines()) < 60
    hostile_text = render_verdict(hostile(report))
    assert "<script>" not in hostile_text
    assert not re.search(r"(?<!\\)<", hostile_text)


def test_a_full_disk_is_a_failure_of_the_surroundings(report, sample_store):
    with pytest.raises(EnvironmentFailure):
        write_report(sample_store, RUN, "/proc/nowhere/report.html")
