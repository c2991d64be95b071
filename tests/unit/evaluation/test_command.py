import subprocess
import sys
from pathlib import Path

import pytest

from hat.errors import BadInput
from hat.evaluation.command import evaluate_model
from hat.evaluation.config import EvaluateConfig

REGISTRY = Path(__file__).parents[3] / "harness_registry"


@pytest.mark.parametrize(
    ("model", "reference", "suites", "message"),
    [
        ("absent", "live-shop@1.0.0", (), "absent"),
        ("absent", "live-shop@9.9.9", (), "9.9.9"),
        ("absent", "no-such-shop", (), "no-such-shop"),
        ("absent", "live-shop@1.0.0", ("live_stream",), "Known: live_stream_qa"),
    ],
)
def test_what_is_wrong_is_said_before_a_model_library_is_loaded(model, reference, suites, message):
    with pytest.raises(BadInput, match=message):
        evaluate_model(model, reference, registry=REGISTRY, suites=suites)


def test_importing_the_command_imports_no_model_library():
    program = "import sys, hat.evaluation.command, hat.evaluation.suites; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_suite_can_be_asked_for_alone_and_ifeval_is_instruction_following():
    config = EvaluateConfig().only(("ifeval",))
    assert (config.live_stream_qa, config.harness_variant_qa, config.tool_prompt_robustness) == (0, 0, 0)
    assert config.instruction_following == 30
    assert EvaluateConfig().only(("harness_variant_qa",)).instruction_following == 0
    assert EvaluateConfig().for_base().harness_variant_qa == EvaluateConfig().base_items


@pytest.mark.parametrize(
    ("suites", "items", "message"),
    [
        (("combined", "live_stream_qa"), None, "apart from them"),
        (("live_stream_qa",), 3, "--items is for the full suites"),
        (("test_only_families",), 3, "kept for the test split"),
        (("combined",), 3, "absent"),
    ],
)
def test_full_suites_are_asked_apart_and_refused_before_a_model_is_read(suites, items, message):
    with pytest.raises(BadInput, match=message):
        evaluate_model("absent", "live-shop@1.0.0", registry=REGISTRY, suites=suites, items=items)
