"""The model card of an export: a README.md that says what the model is, from what, and what is known of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import yaml

from hat.evaluation.config import EvaluateConfig
from hat.models import smollm2
from hat.models.reference import ModelRef
from hat.serving.document import ExportedHarness
from hat.serving.engines import TRITON_WEIGHTS, triton_command, vllm_command

_LICENSES = {smollm2.NAME: "apache-2.0"}
_BASE_PLACES = {smollm2.NAME: "HuggingFaceTB/SmolLM2-135M-Instruct"}


@dataclass(frozen=True)
class CardFacts:
    """What a card is written from."""

    name: str
    source: ModelRef
    harness: ExportedHarness | None = None
    stages: Sequence[str] = ()
    """The training stages behind the model, in words; empty: not known here."""
    license: str = ""
    evaluation: Mapping[str, Any] | None = None
    """The candidate's document of an evidence folder: its numbers go into the card. None: it has none."""


def model_card(facts: CardFacts) -> str:
    """The card as Markdown with the Hub's front matter."""
    license = facts.license or _LICENSES.get(facts.source.base, "other")
    base = _BASE_PLACES.get(facts.source.base, facts.source.base)
    front = {
        "license": license,
        **({"base_model": base} if base else {}),
        "library_name": "transformers",
        "pipeline_tag": "text-generation",
        "tags": ["harness-aware-training", "tool-use"],
    }
    sections = (
        [f"# {facts.name}", _introduction(facts)],
        ["## Where it comes from", *_origin(facts, license)],
        ["## Training", *_training(facts)],
        ["## Evaluation", *_evaluation(facts)],
        ["## Serving", _SERVING],
    )
    text = yaml.safe_dump(front, sort_keys=False, allow_unicode=True)
    return f"---\n{text}---\n\n" + "\n\n".join("\n\n".join(section) for section in sections) + "\n"


def _introduction(facts: CardFacts) -> str:
    if facts.harness is None:
        return "A chat model that calls tools. It was exported without naming the harness it is for."
    return (
        f"A chat model exported for the agent harness `{facts.harness.name}` {facts.harness.version}: to load "
        "the harness's skills, call its tools and reply within its rules. It is not a general assistant."
    )


def _origin(facts: CardFacts, license: str) -> list[str]:
    lines = [f"- Base model: {facts.source.base or 'not recorded'}"]
    if facts.source.notes:
        lines.append(f"- About the base: {facts.source.notes}")
    lines.append(f"- Licence: {license}" + (" (the base model's)" if license != "other" else ""))
    if license == "other":
        lines[-1] += ": the base model's terms apply; they were not recorded"
    if facts.harness is not None:
        lines.append(
            f"- Harness: {facts.harness.name} {facts.harness.version}, digest `{facts.harness.digest}`"
        )
    lines.append(f"- Trained model: `{facts.source.digest}`, rounded from its stored precision to bfloat16")
    return ["\n".join(lines)]


def _training(facts: CardFacts) -> list[str]:
    told = (
        "\n".join(f"{number}. {stage}" for number, stage in enumerate(facts.stages, 1))
        if facts.stages
        else "The stages are not recorded with this export."
    )
    return [told, _SYNTHETIC] if facts.stages else [told]


def _evaluation(facts: CardFacts) -> list[str]:
    if facts.evaluation is None:
        return [
            "No evaluation was given with this export. The run's report has the numbers, if there was a run."
        ]
    document = facts.evaluation
    rows = ["| suite | n | accuracy | 95% interval | regex baseline |", "|---|---|---|---|---|"]
    for suite, result in document["suites"].items():
        interval, baseline = result.get("accuracy_ci"), result.get("baseline_accuracy")
        rows.append(
            f"| {suite} | {result['n']} | {_percent(result.get('accuracy'))} | "
            f"{' to '.join(map(_percent, interval)) if interval else ''} | "
            f"{_percent(baseline) if baseline is not None else ''} |"
        )
    under = f"{document['harness']} {document['version']}"
    return [f"Under {under}, with greedy decoding on simulated viewers' questions:", "\n".join(rows)]


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f}%"


_TURN_TOKENS = EvaluateConfig().max_new_tokens
_SYNTHETIC = (
    "All training data are synthetic: questions, rooms, products and tool results are simulated, and the "
    "demonstrations come from a policy that plays in the simulation. Nothing is known about real viewers."
)
_SERVING = f"""Run the commands in this folder. The chat template (`chat_template.jinja`) renders the tools.

- vLLM, OpenAI-compatible, tool calls parsed: `{vllm_command()}`
- Triton with its vLLM backend: `{triton_command()}` where the folder holds a `model_repository` (the
  weights are then in `{TRITON_WEIGHTS}/`). This backend takes finished text: render the conversation with the
  template, and ask for greedy decoding
  (`"sampling_parameters": "{{\\"temperature\\": 0, \\"max_tokens\\": {_TURN_TOKENS}}}"`).

The suites decode greedily, bound a turn to {_TURN_TOKENS} tokens, and parse tool calls strictly:
serve it the same way."""
