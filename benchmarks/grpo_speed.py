"""How fast a GRPO step is against plain TRL `GRPOTrainer` with tools, on the same prompts, threads and process.

    python -m benchmarks.grpo_speed --model FOLDER [--steps 2] [--rounds 2] [--group-size 8] [--groups 2]

``--model`` is a model that calls the live shop's tools, such as one that a run trained: one that does not makes no
tool turns, and then this stops. Both sides answer the same questions of one session under one harness state whose
prompt has at least 450 tokens, with fp32 weights, bf16 autocast where the CPU has bf16 and no activation
checkpointing, and both learn from every group, also from those without variance. Plain TRL gets the tools as Python
functions and drives them with its own loop; its turns share ``max_completion_length`` with the tools' results, so it
gets four turns' worth. A step is sampling, scoring and one optimiser step, timed from its beginning to its end; the
first is not counted. The two take turns for ``--rounds`` rounds from the same weights; the ratio of the medians is
what to quote, from an idle machine.
"""

import argparse
import inspect
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hat.agent.calls import Call, render_call
from hat.agent.episode import Episode
from hat.agent.policy import answer_requests
from hat.augment.config import AugmentConfig
from hat.augment.plan import draw_states
from hat.augment.state import HarnessState
from hat.domains.base import Domain, Task, get_domain
from hat.harness.registry import Registry
from hat.harness.render import render_tools
from hat.models.precision import computes_in_bfloat16
from hat.models.tokens import ChatTokens
from hat.trajectories.present import opening_messages

REGISTRY = Path(__file__).parents[1] / "harness_registry"
LEAST_PROMPT_TOKENS = 450
LEAST_TOOL_TURNS = 2.0
TURN_TOKENS = 64
PYTHON_TYPES: dict[str, type] = {
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
}


def long_state(tokens: ChatTokens, task: Task) -> HarnessState:
    """The first augmented state whose prompt is as long as asked for."""
    harness = Registry(REGISTRY).load("live-shop", "1.0.0")
    config = AugmentConfig(original_share=0.0)
    for state in draw_states(harness, count=500, run_seed=0, split="train", config=config):
        messages = opening_messages(task, state)
        if len(tokens.opening(messages, render_tools(state.presented)).ids) >= LEAST_PROMPT_TOKENS:
            return state
    raise SystemExit(f"no state has a prompt of {LEAST_PROMPT_TOKENS} tokens")


def as_functions(state: HarnessState, task: Task, domain: Domain) -> list[Callable[..., str]]:
    """The state's tools as the Python functions that TRL takes, each with signature and docstring."""
    return [as_function(tool["function"], state, task, domain) for tool in render_tools(state.presented)]


def as_function(tool: dict[str, Any], state: HarnessState, task: Task, domain: Domain) -> Callable[..., str]:
    def call(**arguments: Any) -> str:
        episode = Episode(state, task, domain)
        answer_requests(episode, episode.submit(render_call(Call(tool["name"], arguments))), domain.execute)
        return str(episode.messages()[-1]["content"])

    schema = tool["parameters"]
    properties, required = schema.get("properties", {}), schema.get("required", [])
    types = {name: PYTHON_TYPES.get(about.get("type", ""), str) for name, about in properties.items()}
    call.__name__ = tool["name"]
    ordered = sorted(properties, key=lambda name: name not in required)
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD,
            annotation=types[name],
            default=inspect.Parameter.empty if name in required else None,
        )
        for name in ordered
    ]
    call.__signature__ = inspect.Signature(parameters, return_annotation=str)  # type: ignore[attr-defined]
    call.__annotations__ = {**types, "return": str}
    told = [f"    {name}: {properties[name].get('description') or name}" for name in ordered]
    call.__doc__ = "\n".join([tool["description"], "", *(["Args:", *told] if told else [])])
    return call


class StepTimes:
    """A callback that keeps how long each step took."""

    def __init__(self) -> None:
        from transformers import TrainerCallback

        times = self.seconds = list[float]()

        class Clock(TrainerCallback):
            def on_step_begin(self, *_: Any, **__: Any) -> None:
                self.started = time.perf_counter()

            def on_step_end(self, *_: Any, **__: Any) -> None:
                times.append(time.perf_counter() - self.started)

        self.callback = Clock()


def plain(model: Any, tokenizer: Any, tasks: Sequence[Task], state: HarnessState, options: Any) -> Any:
    """Steps of plain TRL; returns the seconds of each and the tool turns of a rollout."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    domain = get_domain("live_shop")
    turns: list[int] = []

    def reward(completions: list[list[dict[str, Any]]], **_: Any) -> list[float]:
        turns.extend(sum(bool(message.get("tool_calls")) for message in each) for each in completions)
        return [float(len(each)) for each in completions]

    clock = StepTimes()
    with tempfile.TemporaryDirectory() as folder:
        trainer = GRPOTrainer(
            model=model,
            reward_funcs=reward,
            args=GRPOConfig(
                output_dir=folder,
                max_steps=options.steps + 1,
                per_device_train_batch_size=options.group_size,
                gradient_accumulation_steps=options.groups,
                num_generations=options.group_size,
                max_completion_length=4 * TURN_TOKENS,
                max_tool_calling_iterations=3,
                learning_rate=1e-9,
                shuffle_dataset=False,
                bf16=computes_in_bfloat16(),
                use_cpu=True,
                gradient_checkpointing=False,
                dataloader_pin_memory=False,
                save_strategy="no",
                report_to=[],
                disable_tqdm=True,
            ),
            train_dataset=Dataset.from_list(
                [{"prompt": json.loads(json.dumps(opening_messages(task, state)))} for task in tasks]
            ),
            processing_class=tokenizer,
            tools=as_functions(state, tasks[0], domain),
            callbacks=[clock.callback],
        )
        trainer.train()
    return clock.seconds[1:], statistics.mean(turns)


def ours(model: Any, tokenizer: Any, tasks: Sequence[Task], state: HarnessState, options: Any) -> Any:
    """Steps of the product's trainer; returns the same."""
    from hat.training.config import RLConfig
    from hat.training.rl import EpisodeTrainer, _arguments
    from hat.training.rollouts import with_gold

    domain = get_domain("live_shop")
    groups = with_gold([Episode(state, task, domain) for task in tasks], [None] * len(tasks), domain)
    config = RLConfig(
        steps=options.steps + 1,
        groups_per_step=options.groups,
        candidates=1,
        group_size=options.group_size,
        max_new_tokens=TURN_TOKENS,
        learning_rate=1e-9,
    )
    clock = StepTimes()
    turns: list[int] = []
    with tempfile.TemporaryDirectory() as folder:
        trainer = EpisodeTrainer(
            model, tokenizer, groups, domain, config, _arguments(config, Path(folder), 0), [clock.callback]
        )
        roll_out = trainer.roll_out

        def counted() -> Any:
            rollouts = roll_out()
            turns.extend(sum(bool(turn.calls) for turn in r.trajectory.turns) for r in rollouts)
            return rollouts

        trainer.roll_out = counted  # type: ignore[method-assign]
        trainer.train()
    return clock.seconds[1:], statistics.mean(turns)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", type=Path, required=True, help="folder of a model that calls the tools")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--group-size", type=int, default=8)
    parser.add_argument("--groups", type=int, default=2)
    options = parser.parse_args()

    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl.chat_template_utils import qwen3_template

    tokenizer = AutoTokenizer.from_pretrained(options.model)
    tokenizer.response_template = qwen3_template  # plain TRL finds tool calls by it
    domain = get_domain("live_shop")
    session = domain.sample_session(0, "train")
    count = (options.steps + 1) * options.groups
    intents = ["price", "stock", "coupon"]
    tasks = domain.sample_tasks("train", count, 1, intents, session=session)
    state = long_state(ChatTokens(tokenizer), tasks[0])
    opening = ChatTokens(tokenizer).opening(opening_messages(tasks[0], state), render_tools(state.presented))
    seconds: dict[str, list[float]] = {"plain": [], "ours": []}
    tool_turns: dict[str, list[float]] = {"plain": [], "ours": []}
    for _ in range(options.rounds):
        for name, steps in (("plain", plain), ("ours", ours)):
            model = AutoModelForCausalLM.from_pretrained(options.model, dtype=torch.float32)
            times, turns = steps(model, tokenizer, tasks, state, options)
            seconds[name] += times
            tool_turns[name].append(turns)
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    report = {
        "schema_version": 1,
        "prompt_tokens": len(opening.ids),
        "group_size": options.group_size,
        "groups_per_step": options.groups,
        "threads": torch.get_num_threads(),
        "tool_turns_per_rollout": {name: statistics.mean(values) for name, values in tool_turns.items()},
        "seconds_per_step": seconds,
        "ratio": medians["plain"] / medians["ours"],
    }
    print(json.dumps(report, indent=2))
    if min(report["tool_turns_per_rollout"].values()) < LEAST_TOOL_TURNS:
        raise SystemExit(
            f"fewer than {LEAST_TOOL_TURNS:g} tool turns a rollout: give a model that calls the tools"
        )


if __name__ == "__main__":
    main()
