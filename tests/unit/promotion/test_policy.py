"""`gate.yaml`: read strictly, and the one that ships means what it says."""

from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.promotion.policy import every_key, load_policies, parse_policies
from hat.promotion.reasons import ReasonCode

SHIPPED = Path(__file__).parents[3] / "harness_registry" / "live-shop" / "gate.yaml"

BARE = "{suite: live_stream_qa, metric: accuracy, by: skill, minimum_n: 5"
SLICE = f"{BARE}, against: base, margin: 5"
SEEDS = "{suite: live_stream_qa, metric: accuracy, at_least: 50, minimum_seeds: 1"
SMALLEST = """\
schema_version: 1
environments:
  laptop:
    description: d
    engines: [transformers]
    hardware: [cpu]
    absolute:
      - {suite: live_stream_qa, metric: accuracy, at_least: 75, minimum_n: 150}
    relative:
      - {suite: live_stream_qa, metric: accuracy, against: base, margin: 10, rule: proof, minimum_n: 150}
    latency:
      arrival: closed-loop
      concurrency: 1
      limits:
        - {percentile: 90, milliseconds: 20000}
"""


def refused(text):
    with pytest.raises(BadInput) as caught:
        parse_policies(text, where="gate.yaml")
    assert str(caught.value).startswith("gate.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("at_least: 75", "at_leest: 75", "absolute.0.at_leest: unknown key (did you mean 'at_least'?)"),
        ("schema_version: 1", "schema_version: 1\nstrict: true", "gate.yaml:2: strict: unknown key"),
        ("at_least: 75", "at_least: .nan", "gate.yaml:8: infinite and NaN numbers are not accepted"),
        ("at_least: 75", "at_least: 100", "environments.laptop.absolute.0.at_least"),
        ("metric: accuracy, at_least", "metric: acuracy, at_least", "environments.laptop.absolute.0.metric"),
        ("at_least: 75", "at_least: yes", "environments.laptop.absolute.0.at_least"),
        ("at_least: 75", "at_least: '75'", "environments.laptop.absolute.0.at_least"),
        ("minimum_n: 150", "minimum_n: true", "environments.laptop.absolute.0.minimum_n"),
        ("at_least: 75", "at_most: 75", "accuracy needs `at_least` and no `at_most`"),
        ("accuracy, at_least: 75", "over_refusal_rate, at_least: 75", "needs `at_most` and no `at_least`"),
        ("at_least: 75", "at_least: 75, severity: weak", "absolute.0.severity"),
        ("at_least: 75", "at_least: 75, power: 1", "absolute.0.power"),
        ("    latency:", f"    slices:\n      - {SLICE}, at_least: 50}}\n    latency:", "either `at_least`, or"),
        ("    latency:", f"    slices:\n      - {BARE}}}\n    latency:", "either `at_least`, or `against`"),
        ("    latency:", f"    seeds:\n      - {SEEDS}}}\n    latency:", "seeds.0.minimum_seeds"),
        ("percentile: 90", "measure: middle, percentile: 90", "latency.limits.0.measure"),
        ("75, minimum_n: 150", "75, minimum_n: 5", "absolute.0: 75 cannot be proven with 5 items, all right: needs 9"),
        ("margin: 10, rule: proof, minimum_n: 150", "margin: 10, rule: proof, minimum_n: 20", "needs 25"),
        ("margin: 10", "margin: 0", "no number of items proves a margin of 0"),
        ("concurrency: 1", "rate: 1", "closed-loop needs `concurrency`"),
        ("arrival: closed-loop", "arrival: poisson", "poisson needs `rate`"),
        ("percentile: 90", "percentile: 100", "environments.laptop.latency.limits.0.percentile"),
        ("schema_version: 1", "schema_version: 2", "schema_version: must be 1"),
        ("schema_version: 1", "schema_version: yes", "schema_version: must be the whole number 1"),
        ("  laptop:", "  lap/top:", "environments.lap/top: must match pattern"),
        ("75, minimum_n: 150", "75, minimum_n: 1.5", "minimum_n: must be a whole number"),
        ("engines: [transformers]", "engines: transformers", "engines: must be a list"),
        ("description: d", "description: d\n    description: e", "gate.yaml:5: the key 'description' occurs twice"),
        ("description: d", "description: !!python/name:os.system d", "gate.yaml:4: the tag"),
        ("engines: [transformers]", "engines: &a [cpu]\n    reported: *a", "gate.yaml:5: YAML anchors and aliases"),
        ("engines: [transformers]", "engines: []", "environments.laptop.engines"),
    ],
)  # fmt: skip
def test_a_wrong_policy_is_refused_with_file_and_key(old, new, message):
    parse_policies(SMALLEST, where="gate.yaml")
    assert old in SMALLEST
    assert message in refused(SMALLEST.replace(old, new, 1))


@pytest.mark.parametrize("text", ["", "[]", "environments: {}", "a: [", "- 1"])
def test_what_is_no_policy_is_refused(text):
    assert refused(text).startswith("gate.yaml")


def test_every_problem_is_named_at_once():
    message = refused(SMALLEST.replace("at_least", "least").replace("margin", "slack"))
    assert message.startswith("gate.yaml: 4 problems: ")
    assert "gate.yaml:8: environments.laptop.absolute.0.least: unknown key" in message
    assert "gate.yaml:10: environments.laptop.relative.0.slack: unknown key" in message


def test_every_problem_of_syntax_is_named_at_once():
    message = refused(SMALLEST.replace("description: d", "description: d\n    description: e\n    1: x"))
    assert "gate.yaml:5: the key 'description' occurs twice" in message
    assert "gate.yaml:6: a key must be text" in message


def test_an_absent_file_is_bad_input(tmp_path):
    with pytest.raises(BadInput, match="cannot be read"):
        load_policies(tmp_path / "gate.yaml")


def test_an_unknown_environment_names_those_there_are():
    with pytest.raises(BadInput, match="It has policies for: h20, laptop, tiny"):
        load_policies(SHIPPED).policy("moon")


def test_the_digest_covers_every_limit_and_the_environment():
    policy = parse_policies(SMALLEST, where="").policy("laptop")
    changed = parse_policies(SMALLEST.replace("at_least: 75", "at_least: 74"), where="").policy("laptop")
    spaced = parse_policies(SMALLEST.replace("\n", "\n\n"), where="").policy("laptop")
    assert len({policy.digest("laptop"), changed.digest("laptop"), policy.digest("tiny")}) == 3
    assert spaced.digest("laptop") == policy.digest("laptop")


def test_the_shipped_laptop_policy_holds_the_agreed_bars():
    policy = load_policies(SHIPPED).policy("laptop")
    bars = {(one.suite, one.metric): (one.at_least, one.confidence, one.minimum_n) for one in policy.absolute}
    assert bars["live_stream_qa", "accuracy"] == (75, 0.95, 150)
    assert bars["harness_variant_qa", "accuracy"] == (58, 0.95, 150)
    assert policy.latency is not None
    replies = [limit for limit in policy.latency.limits if limit.measure == "reply"]
    assert [(limit.percentile, limit.confidence) for limit in replies] == [(50, 0.95), (90, 0.95)]
    assert policy.latency.requests_needed == policy.latency.warmup_requests + 29


def test_what_the_laptop_policy_asks_besides_its_agreed_criteria_never_decides():
    policy = load_policies(SHIPPED).policy("laptop")
    hard = {
        (one.suite, one.metric)
        for one in (*policy.absolute, *policy.relative, *policy.slices)
        if one.severity == "hard"
    }
    assert hard == {
        ("live_stream_qa", "accuracy"),
        ("harness_variant_qa", "accuracy"),
        ("live_stream_qa", "parse_rate"),
        ("live_stream_qa", "skill_load_rate"),
        (("ifeval", "instruction_following"), "accuracy"),
    }
    assert [one.by for one in policy.slices if one.severity == "hard"] == ["intent"]
    assert policy.latency is not None
    assert [limit.percentile for limit in policy.latency.limits if limit.severity == "hard"] == [50, 90]
    assert not policy.seeds


def test_only_small_environments_accept_transformers_on_a_cpu():
    environments = load_policies(SHIPPED).environments
    accepting = {name for name, policy in environments.items() if "transformers" in policy.engines}
    assert accepting == {name for name, policy in environments.items() if "cpu" in policy.hardware}
    assert accepting == {"laptop", "tiny"}


def test_the_shipped_tail_limit_for_h20_needs_the_ninety_queries_of_mlperf():
    policy = load_policies(SHIPPED).policy("h20")
    assert policy.latency is not None
    assert {limit.minimum_n for limit in policy.latency.limits if limit.percentile == 95} == {90}


def test_the_guide_explains_every_key_and_reason():
    documents = Path(__file__).parents[3] / "docs"
    guide = (documents / "how-to" / "gate-policy.md").read_text(encoding="utf-8")
    keys = {key for key in every_key() if f"`{key}`" not in guide}
    assert not keys
    concept = (documents / "concepts" / "promotion.md").read_text(encoding="utf-8")
    assert not {code.value for code in ReasonCode if code.value not in concept}
