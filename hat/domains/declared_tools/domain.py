"""A harness's own tools as a domain: seeded calls to make, simulated results, and replies that can be checked."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hat.domains.base import Fact, Scores, Split, Task, ToolOutcome
from hat.domains.declared_tools.values import CannotSample, sample_valid
from hat.errors import BadInput
from hat.files import canonical_json, sha256_text
from hat.harness.model import LOAD_SKILL

if TYPE_CHECKING:
    from hat.agent.checks import Check
    from hat.agent.policy import Policy
    from hat.harness.model import Harness
    from hat.trajectories.record import Trajectory

INTENT = "use_tool"
INVALID_ARGUMENTS = "invalid_arguments"
UNKNOWN_OPERATION = "unknown_operation"
_SENTENCE = re.compile(r"(?<=[.!?])\s|\n")
_VALUES = " Values: "
_RECEIPT = re.compile(r"\b[0-9a-f]{10}\b")
_PROCEDURE = re.compile(r"Procedure: (.*)\.\Z", re.DOTALL)


@dataclass(frozen=True)
class Operation:
    """What one tool does, in the operation's own argument names."""

    name: str
    purpose: str
    """What a question says instead of a name."""
    schema_json: str
    """The tool's input schema, under the tool's argument names."""
    renamed: Mapping[str, str]
    """The tool's argument to the operation's."""


@dataclass(frozen=True)
class Procedure:
    """A strategy skill, whose title only its body tells."""

    purpose: str
    skill: str
    title: str


class DeclaredTools:
    """The domain `declared_tools`. Nothing real is called: a right call earns a receipt, which the reply must give."""

    name = "declared_tools"
    intents: tuple[str, ...] = (INTENT,)
    always_answerable = True
    """No question must be declined: every task asks for a tool or a skill that the harness has."""

    def __init__(self, operations: Sequence[Operation] = (), procedures: Sequence[Procedure] = ()) -> None:
        self.checks: Mapping[str, Check] = {}
        self.known = {operation.name: operation for operation in operations}
        self.procedures = tuple(procedures)
        self.operations: Mapping[str, tuple[str, ...]] = {
            operation.name: tuple(operation.renamed.values()) for operation in operations
        }

    @classmethod
    def for_harness(cls, harness: Harness) -> DeclaredTools:
        """The domain that a harness's tools and strategy skills define."""
        operations: dict[str, Operation] = {}
        purposes: set[str] = set()
        for tool in harness.tools:
            binding = harness.binding(tool.name)
            if binding.operation == LOAD_SKILL or binding.operation in operations:
                continue
            properties = tool.input_schema.get("properties", {})
            renamed = {**{name: name for name in properties}, **dict(binding.arguments)}
            purpose = _unique(
                _first_sentence(tool.description or binding.operation), binding.operation, purposes
            )
            operations[binding.operation] = Operation(
                binding.operation, purpose, tool.input_schema_json, renamed
            )
        procedures = [
            Procedure(_unique(_first_sentence(s.description), s.name, purposes), s.name, s.body.title)
            for s in harness.skills
            if s.kind == "strategy"
        ]
        return cls(tuple(operations.values()), procedures)

    def sample_session(self, seed: int, split: Split) -> Mapping[str, str | int]:
        return {}

    def sample_tasks(
        self,
        split: Split,
        count: int,
        seed: int,
        intents: Sequence[str] | None = None,
        session: Mapping[str, str | int] | None = None,
    ) -> list[Task]:
        """``count`` different tasks, every tool and strategy skill in turn; the same for the same arguments.

        Raises:
            BadInput: there is no tool whose schema a value was found for, and no strategy skill.
        """
        rng = random.Random(sha256_text(f"{split}/{seed}"))
        subjects: list[Operation | Procedure] = [*self.known.values(), *self.procedures]
        if not subjects:
            raise BadInput(
                f"the domain {self.name} is made of a harness's tools and skills, and here are none",
                mend="Give the harness a tool or a strategy skill; runs need a domain of their own.",
            )
        tasks: list[Task] = []
        while len(tasks) < count:
            before = len(tasks)
            for subject in subjects[: count - len(tasks)]:
                try:
                    tasks.append(self._task(subject, rng, split, seed, len(tasks)))
                except CannotSample:
                    continue
            if len(tasks) == before:
                raise BadInput(
                    "no tool of this harness can be asked for: no arguments were found that its schema accepts",
                    mend="Give it a tool with a simpler inputSchema, or a skill.",
                )
        return tasks

    def _task(
        self, subject: Operation | Procedure, rng: random.Random, split: Split, seed: int, number: int
    ) -> Task:
        request = f"Request {rng.randrange(10**8):08}: "
        operations: tuple[tuple[str, Mapping[str, Any]], ...] = ()
        if isinstance(subject, Operation):
            schema = json.loads(subject.schema_json)
            given = sample_valid(schema, rng, split)
            arguments = {subject.renamed.get(name, name): value for name, value in given.items()}
            operations = ((subject.name, arguments),)
            question = f"{request}{subject.purpose}{_VALUES}{json.dumps(arguments, ensure_ascii=False)}"
            fact = Fact("receipt", receipt(subject.name, arguments))
        else:
            question = f"{request}{subject.purpose}"
            fact = Fact("procedure", subject.title)
        return Task(
            id=f"declared-{split}-{seed}-{number}",
            split=split,
            intent=INTENT,
            question=question,
            session={},
            slots={},
            operations=operations,
            facts=(fact,),
            answerable=True,
        )

    def understand(self, question: str) -> tuple[str, Mapping[str, Any]] | Procedure | None:
        """What a question asks for: an operation with its arguments, or a procedure; None for neither."""
        asked = question.partition(": ")[2]
        for procedure in self.procedures:
            if asked == procedure.purpose:
                return procedure
        # The values are JSON at the end; a purpose may hold anything.
        purpose, _, values = asked.rpartition(_VALUES)
        for operation in self.known.values():
            if purpose == operation.purpose:
                return operation.name, json.loads(values)
        for operation in self.known.values():
            if asked.startswith(operation.purpose + _VALUES):
                return operation.name, json.loads(asked[len(operation.purpose + _VALUES) :])
        return None

    def hand_written_tasks(self) -> list[Task]:
        return []

    def execute(
        self, task: Task, operation: str, arguments: Mapping[str, Any], attempt: int = 0
    ) -> ToolOutcome:
        """A receipt for arguments that the tool's schema accepts; never raises."""
        known = self.known.get(operation)
        if known is None:
            return ToolOutcome("error", f"no operation called {operation}", UNKNOWN_OPERATION)
        names = {to: name for name, to in known.renamed.items()}
        given = {names.get(name, name): value for name, value in arguments.items()}
        if not _accepts(known.schema_json, given):
            return ToolOutcome("error", "the arguments do not satisfy the schema", INVALID_ARGUMENTS)
        return ToolOutcome("ok", {"receipt": receipt(operation, arguments)})

    def score(self, task: Task, trajectory: Trajectory, harness: Harness) -> Scores:
        """Accuracy wants the reply to give exactly the gold's receipt or procedure."""
        asserted = asserted_facts(trajectory.reply) if trajectory.end == "replied" else frozenset()
        accurate = asserted == frozenset(task.facts)
        skills = {o.value for turn in trajectory.turns for o in turn.observations if o.kind == "skill"}
        reply_skills = {skill.name for skill in harness.skills if skill.kind == "reply"}
        right = harness.skill_for(task.intent)
        needed, made, useful = _calls(task, trajectory, harness)
        grounded = useful == needed if task.operations else self._followed(task, skills)
        loaded = skills & reply_skills
        return Scores(
            accuracy=int(accurate),
            effectiveness=1.0 if accurate and grounded else 0.5 if accurate or grounded else 0.0,
            tool_rationality=1.0 if needed == made == 0 else useful / max(needed, made),
            skill_selection=1.0 if loaded == {right} else 0.5 if right in loaded else 0.0,
            skill_loaded=bool(loaded),
            refused=False,
            parsed=all(turn.raw is None for turn in trajectory.turns),
        )

    def _followed(self, task: Task, skills: set[str]) -> bool:
        titles = {procedure.title for procedure in self.procedures if procedure.skill in skills}
        return {fact.value for fact in task.facts} <= titles

    def expert(self) -> Policy:
        from hat.domains.declared_tools.policies import DeclaredExpert

        return DeclaredExpert(self)

    def baseline(self) -> Policy:
        from hat.domains.declared_tools.policies import DeclaredBaseline

        return DeclaredBaseline(self)


def receipt(operation: str, arguments: Mapping[str, Any]) -> str:
    """What only the right call gives: ten hexadecimal digits of the call's digest."""
    return sha256_text(f"{operation} {canonical_json(dict(arguments))}")[:10]


def asserted_facts(reply: str) -> frozenset[Fact]:
    """The receipts and the procedure that a reply gives."""
    procedure = _PROCEDURE.search(reply)
    if procedure:
        return frozenset({Fact("procedure", procedure.group(1))})
    return frozenset(Fact("receipt", found) for found in _RECEIPT.findall(reply))


def _calls(task: Task, trajectory: Trajectory, harness: Harness) -> tuple[int, int, int]:
    """How many domain calls were needed, were made, and were needed ones that gave a result."""
    wanted = {canonical_json([name, dict(arguments)]) for name, arguments in task.operations}
    made, useful = 0, set()
    for turn in trajectory.turns:
        for call, observation in zip(turn.calls, turn.observations, strict=True):
            if observation.kind not in ("result", "error"):
                continue
            made += 1
            binding = harness.binding(call.name)
            names = dict(binding.arguments)
            arguments = {names.get(name, name): value for name, value in call.arguments.items()}
            key = canonical_json([binding.operation, arguments])
            if key in wanted and observation.kind == "result":
                useful.add(key)
    return len(wanted), made, len(useful)


def _accepts(schema_json: str, arguments: Mapping[str, Any]) -> bool:
    from jsonschema.exceptions import ValidationError

    from hat.agent.checks import schema_validator

    try:
        schema_validator(schema_json).validate(dict(arguments))
    except (ValidationError, RecursionError):
        return False
    return True


def _first_sentence(text: str) -> str:
    """The first sentence that says something, without the backticks of references, which renames would leave behind."""
    sentences = [part.strip() for part in _SENTENCE.split(text) if part.strip()]
    return " ".join((sentences[0] if sentences else text).replace("`", "").split())[:300]


def _unique(purpose: str, name: str, taken: set[str]) -> str:
    """The purpose, with the name behind it where another part has the same one; noted in ``taken``."""
    unique = f"{purpose} ({name})" if purpose in taken else purpose
    taken.add(unique)
    return unique
