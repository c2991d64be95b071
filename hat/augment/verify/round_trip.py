"""G5: φ⁻¹(φ(a)) = a on arguments generated from the schema, and φ(a) satisfies the presented schema where a its own."""

import json
import random
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from hat.agent.calls import Call, parse_assistant, render_call
from hat.agent.checks import argument_problem
from hat.augment.arguments import sample_arguments
from hat.augment.codec import UnknownName
from hat.augment.verify.finding import Finding
from hat.augment.verify.gold import Subject
from hat.files import canonical_json, sha256_text

PROBES = 8
"""Arguments generated once for each schema; every state is tried on some of them."""
PROBES_PER_STATE = 1


def check_round_trip(subject: Subject) -> Iterator[Finding]:
    """G5, through the text that a model would write."""
    state = subject.state
    rng = random.Random(state.seed)
    skills = [skill.name for skill in state.canonical.skills]
    shown_schemas = {tool.name: tool.input_schema_json for tool in state.presented.tools}
    for tool in state.canonical.tools:
        skill_argument = state.skill_argument_of.get(tool.name)
        for arguments, valid in rng.sample(probes(tool.input_schema_json), PROBES_PER_STATE):
            if skill_argument is not None and skills:
                arguments = {**arguments, skill_argument: rng.choice(skills)}
            call = Call(tool.name, arguments)
            presented = state.encode(call)
            (read,) = parse_assistant(render_call(presented)).calls
            try:
                back = state.decode(read)
            except UnknownName as error:
                yield Finding(error.name, f"{call} is presented with the {error}", "codec.arguments")
                continue
            # As JSON text, since 1, 1.0 and True are equal in Python.
            if back.name != call.name or canonical_json(dict(back.arguments)) != canonical_json(arguments):
                yield Finding(tool.name, f"{call} comes back as {back}", "codec.arguments")
            elif valid and presented.name in shown_schemas:
                text = json.dumps(dict(presented.arguments), ensure_ascii=False)
                problem = argument_problem(shown_schemas[presented.name], text)
                if problem is not None:
                    why = f"{call} is valid, and is not as presented: {problem}"
                    yield Finding(tool.name, why, "codec.arguments")


@lru_cache(maxsize=2048)
def probes(schema_json: str) -> tuple[tuple[dict[str, Any], bool], ...]:
    """Generated arguments, each with whether it satisfies the schema (some constraints are not generated for)."""
    schema = json.loads(schema_json)
    rng = random.Random(sha256_text(schema_json))
    drawn = [sample_arguments(schema, rng) for _ in range(PROBES)]
    return tuple((a, argument_problem(schema_json, json.dumps(a, ensure_ascii=False)) is None) for a in drawn)
