"""The folder that engines load: what was trained, in bfloat16, rendering what training rendered."""

import json
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

from hat.agent.episode import Episode
from hat.augment.state import HarnessState
from hat.domains.base import get_domain
from hat.errors import BadInput
from hat.harness.model import Harness
from hat.models.tokens import ChatTokens
from hat.serving.export import tools_of
from hat.serving.model_folder import PROBE_TOOL, check_serving_model, write_serving_model


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path, harness: Harness) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    write_serving_model(tiny_model, folder, max_model_len=2048, tools=tools_of(harness))
    return folder


@pytest.fixture
def copied(tmp_path: Path, tiny_model: Path) -> Path:
    return Path(shutil.copytree(tiny_model, tmp_path / "source"))


def write(source: Path, target: Path, max_model_len: int = 2048) -> None:
    write_serving_model(source, target, max_model_len=max_model_len, tools=[PROBE_TOOL])


def played_conversations(harness: Harness) -> list[list[dict[str, Any]]]:
    """Whole conversations of every kind of question, as the Episode has them, with calls and results."""
    domain = get_domain("live_shop")
    tasks = [*domain.sample_tasks("dev", 13, 4), *domain.sample_tasks("train", 13, 4)]
    episodes = [Episode(HarnessState.original(harness), task, domain) for task in tasks]
    domain.expert().play(episodes, domain.execute, lambda index: None)
    assert all(len(episode.messages()) > 4 for episode in episodes)
    return [episode.messages() for episode in episodes]


def as_an_engine_renders(
    folder: Path, messages: list[dict[str, Any]], tools: Any, generation: bool
) -> list[int]:
    """Token ids by the exported files alone: the template of the file is given, as `--chat-template` gives it."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    text = tokenizer.apply_chat_template(
        messages,
        tools=tools,
        chat_template=(folder / "chat_template.jinja").read_text(encoding="utf-8"),
        add_generation_prompt=generation,
        tokenize=False,
    )
    return list(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_the_weights_are_what_loading_the_trained_folder_as_bfloat16_gives(
    exported: Path, tiny_model: Path
) -> None:
    served = AutoModelForCausalLM.from_pretrained(exported).state_dict()
    evaluated = AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.bfloat16).state_dict()
    assert served.keys() == evaluated.keys()
    for name, tensor in served.items():
        assert tensor.dtype == torch.bfloat16
        assert torch.equal(tensor, evaluated[name]), name
    assert json.loads((exported / "config.json").read_text())["dtype"] == "bfloat16"
    with safe_open(exported / "model.safetensors", framework="pt") as opened:
        assert opened.metadata() == {"format": "pt"}


def test_the_exported_template_renders_the_ids_of_training(
    exported: Path, tiny_model: Path, harness: Harness
) -> None:
    trained = ChatTokens(AutoTokenizer.from_pretrained(tiny_model))
    tools = tools_of(harness)
    for messages in played_conversations(harness):
        for generation in (False, True):
            assert as_an_engine_renders(exported, messages, tools, generation) == trained.conversation(
                messages, tools, generation=generation
            )


def test_every_prefix_of_a_conversation_is_a_prefix_of_its_continuation(
    exported: Path, harness: Harness
) -> None:
    tools = tools_of(harness)
    for messages in played_conversations(harness)[::4]:
        whole = as_an_engine_renders(exported, messages, tools, generation=False)
        for cut in range(1, len(messages)):
            asks = messages[cut]["role"] == "assistant"
            part = as_an_engine_renders(exported, messages[:cut], tools, generation=asks)
            assert whole[: len(part)] == part


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.sampled_from(list("a 直播\"'\\{}<>\n")), max_size=8),
    lambda children: (
        st.lists(children, max_size=3) | st.dictionaries(st.text(max_size=3), children, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None)
@given(arguments=st.dictionaries(st.text(max_size=5), json_values, max_size=3))
def test_arguments_as_an_object_and_as_the_text_of_it_render_the_same(
    exported: Path, arguments: dict[str, Any]
) -> None:
    def conversation(given: Any) -> list[dict[str, Any]]:
        call = {"type": "function", "function": {"name": "probe_tool", "arguments": given}}
        return [{"role": "user", "content": "q"}, {"role": "assistant", "content": "", "tool_calls": [call]}]

    tokens = ChatTokens(AutoTokenizer.from_pretrained(exported))
    text = json.dumps(arguments, ensure_ascii=False)
    assert tokens.conversation(conversation(arguments), [PROBE_TOOL]) == tokens.conversation(
        conversation(text), [PROBE_TOOL]
    )


def test_decoding_is_greedy_and_ends_where_the_evaluated_model_ends(exported: Path) -> None:
    generation = json.loads((exported / "generation_config.json").read_text())
    assert generation == {"do_sample": False, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}


def test_a_source_with_another_end_keeps_both(copied: Path, tmp_path: Path) -> None:
    given = {"eos_token_id": [0, 2], "temperature": 0.7, "do_sample": True}
    (copied / "generation_config.json").write_text(json.dumps(given))
    write(copied, tmp_path / "out")
    generation = json.loads((tmp_path / "out" / "generation_config.json").read_text())
    assert generation["eos_token_id"] == [0, 2]
    assert generation["do_sample"] is False
    assert "temperature" not in generation


def test_a_template_inside_the_tokenizer_configuration_becomes_a_file(copied: Path, tmp_path: Path) -> None:
    template = (copied / "chat_template.jinja").read_text(encoding="utf-8")
    (copied / "chat_template.jinja").unlink()
    settings_file = copied / "tokenizer_config.json"
    settings_file.write_text(json.dumps({**json.loads(settings_file.read_text()), "chat_template": template}))
    write(copied, tmp_path / "out")
    assert (tmp_path / "out" / "chat_template.jinja").read_text(encoding="utf-8") == template


def test_shards_stay_shards(copied: Path, tmp_path: Path) -> None:
    tensors = load_file(copied / "model.safetensors")
    names = sorted(tensors)
    (copied / "model.safetensors").unlink()
    parts = {f"model-0000{part + 1}-of-00002.safetensors": names[part::2] for part in range(2)}
    for file, members in parts.items():
        save_file({name: tensors[name] for name in members}, copied / file, metadata={"format": "pt"})
    weight_map = {name: file for file, members in parts.items() for name in members}
    index = {"metadata": {"total_size": 1}, "weight_map": weight_map}
    (copied / "model.safetensors.index.json").write_text(json.dumps(index))
    write(copied, tmp_path / "out")
    written = json.loads((tmp_path / "out" / "model.safetensors.index.json").read_text())
    assert written["weight_map"] == weight_map
    assert written["metadata"]["total_size"] == 2 * sum(tensor.numel() for tensor in tensors.values())
    AutoModelForCausalLM.from_pretrained(tmp_path / "out")


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), 3.4e38])
def test_weights_that_are_not_finite_are_not_served(copied: Path, tmp_path: Path, bad: float) -> None:
    tensors = load_file(copied / "model.safetensors")
    tensors["model.norm.weight"][3] = bad
    save_file(tensors, copied / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadInput, match=r"model\.norm\.weight holds values that are not finite"):
        write(copied, tmp_path / "out")


def test_a_conversation_longer_than_the_model_reads_is_refused(tiny_model: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="at most 4096"):
        write(tiny_model, tmp_path / "out", max_model_len=5000)


def test_a_template_that_ignores_tools_is_refused(copied: Path, tmp_path: Path) -> None:
    (copied / "chat_template.jinja").write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    )
    with pytest.raises(BadInput, match="does not show the tool 'probe_tool'"):
        write(copied, tmp_path / "out")


def test_a_damaged_export_is_found(exported: Path, tiny_model: Path, tmp_path: Path) -> None:
    damaged = Path(shutil.copytree(exported, tmp_path / "damaged"))
    tensors = load_file(damaged / "model.safetensors")
    dropped = dict(list(tensors.items())[1:])
    save_file(dropped, damaged / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(BadInput, match="tensors are not the model's"):
        check_serving_model(damaged, tiny_model, [PROBE_TOOL])
    shutil.copyfile(exported / "model.safetensors", damaged / "model.safetensors")
    template = damaged / "chat_template.jinja"
    template.write_text(template.read_text(encoding="utf-8").replace("Tools (call", "Tools (Call"))
    with pytest.raises(BadInput, match="renders other tokens"):
        check_serving_model(damaged, tiny_model, [PROBE_TOOL])


def test_a_write_that_fails_is_the_surroundings_fault(tiny_model: Path, tmp_path: Path) -> None:
    """A limit on file sizes fails the write of the weights as a full disk does, in a process of its own."""

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))

    code = (
        "import sys; from pathlib import Path\n"
        "from hat.errors import EnvironmentFailure\n"
        "from hat.serving.weights import round_weights\n"
        "try: round_weights(Path(sys.argv[1]), Path(sys.argv[2]))\n"
        "except EnvironmentFailure as error: print(error)\n"
    )
    (tmp_path / "out").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, str(tiny_model), str(tmp_path / "out")],
        preexec_fn=limit,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be written" in done.stdout, done.stderr
    assert "model.safetensors" in done.stdout
