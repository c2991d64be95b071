"""What the service counts, in Prometheus's format."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from hat.serving.service.answer import Effort
from hat.serving.service.pair import ServedPair
from hat.trajectories.record import Trajectory

_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2, 3.4, 5, 8.1, 12, 20, 30, 60, 120)
"""With the limits of the HAT report (P50 3.4 s, P95 8.1 s) among them."""


class ServiceMetrics:
    """The metrics of one service. Labels are canonical names of the harness only, so their number is bounded."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        registry = self.registry
        self.questions = Counter(
            "hat_questions", "Questions accepted and finished, by how they ended", ["end"], registry=registry
        )
        self.refused = Counter(
            "hat_refused", "Questions not accepted, by reason", ["reason"], registry=registry
        )
        self.seconds = Histogram(
            "hat_question_seconds",
            "From a question's arrival to its complete answer",
            buckets=_SECONDS,
            registry=registry,
        )
        self.queue_seconds = Histogram(
            "hat_queue_seconds", "Time that questions waited", buckets=_SECONDS, registry=registry
        )
        self.first_token_seconds = Histogram(
            "hat_first_token_seconds",
            "From a question's arrival to its first token",
            buckets=_SECONDS,
            registry=registry,
        )
        self.output_tokens = Counter("hat_output_tokens", "Tokens sampled", registry=registry)
        self.tool_calls = Counter(
            "hat_tool_calls", "Calls by canonical tool and outcome", ["tool", "outcome"], registry=registry
        )
        self.hook_blocks = Counter(
            "hat_hook_blocks", "Calls and replies blocked, by check", ["check"], registry=registry
        )
        self.skill_loads = Counter(
            "hat_skill_loads", "Skills loaded, by canonical name", ["skill"], registry=registry
        )
        self.engine_faults = Counter(
            "hat_engine_faults",
            "Requests that the engine failed, retried or not",
            ["code"],
            registry=registry,
        )
        self.ledger_failures = Counter(
            "hat_ledger_failures", "Looks at the ledger that failed", registry=registry
        )
        self.accepted = Gauge("hat_accepted", "Questions waiting or worked on", registry=registry)
        self.waiting = Gauge("hat_waiting", "Questions waiting", registry=registry)
        self.ready = Gauge("hat_ready", "1 while the service is ready", registry=registry)
        self.behind = Gauge(
            "hat_behind_ledger",
            "1 while the ledger names a pair that cannot be served yet",
            registry=registry,
        )
        self.pair = Gauge(
            "hat_pair_info",
            "The pair that is served",
            ["harness", "version", "model", "sequence"],
            registry=registry,
        )

    def show_pair(self, pair: ServedPair) -> None:
        """Name the pair that is served now."""
        harness = pair.state.canonical
        self.pair.clear()
        self.pair.labels(harness.name, harness.version, pair.model_digest[:12], str(pair.sequence)).set(1)

    def count(self, trajectory: Trajectory, effort: Effort, known_tools: frozenset[str]) -> None:
        """Count what happened in one episode, finished or not."""
        for turn in trajectory.turns:
            if turn.verdict is not None:
                self.hook_blocks.labels(turn.verdict.check).inc()
            for call, observation in zip(turn.calls, turn.observations, strict=True):
                tool = call.name if call.name in known_tools else "unknown"
                self.tool_calls.labels(tool, observation.kind).inc()
                if observation.kind == "skill":
                    self.skill_loads.labels(observation.value).inc()
                if observation.verdict is not None:
                    self.hook_blocks.labels(observation.verdict.check).inc()
        self.output_tokens.inc(effort.output_tokens)
        for code in effort.faults:
            self.engine_faults.labels(code).inc()

    def text(self) -> bytes:
        """The exposition format."""
        return generate_latest(self.registry)
