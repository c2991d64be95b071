"""The interface of Triton's vLLM backend, as a python-based backend that drives vLLM in its own process.

Stands where that backend would stand (`backends/vllm/model.py`), so that an exported repository is loaded as it
is. Written after the backend's documented inputs, outputs and `model.json`; the backend itself comes only in
images. Its tests show that the repository loads, and what clients must send and get; not the backend's own speed.
"""

import locale

# Without it the stub decodes text as ASCII.
locale.setlocale(locale.LC_ALL, "C.UTF-8")

import json  # noqa: E402
import os  # noqa: E402
import threading  # noqa: E402
import uuid  # noqa: E402
from typing import Any  # noqa: E402

import numpy as np  # noqa: E402
import triton_python_backend_utils as pb_utils  # noqa: E402

_INPUTS = {
    "text_input": "TYPE_STRING",
    "stream": "TYPE_BOOL",
    "sampling_parameters": "TYPE_STRING",
    "exclude_input_in_output": "TYPE_BOOL",
    "return_finish_reason": "TYPE_BOOL",
    "return_num_output_tokens": "TYPE_BOOL",
}
_OUTPUTS = {"text_output": "TYPE_STRING", "finish_reason": "TYPE_STRING", "num_output_tokens": "TYPE_UINT32"}
_FINAL = pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL


class TritonPythonModel:
    """One vLLM engine; a thread steps it and sends what it has."""

    @staticmethod
    def auto_complete_config(config: Any) -> Any:
        for name, kind in _INPUTS.items():
            config.add_input({"name": name, "data_type": kind, "dims": [1], "optional": name != "text_input"})
        for name, kind in _OUTPUTS.items():
            config.add_output({"name": name, "data_type": kind, "dims": [-1]})
        config.set_model_transaction_policy({"decoupled": True})
        config.set_max_batch_size(0)
        return config

    def initialize(self, args: dict[str, str]) -> None:
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        from vllm.engine.arg_utils import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine

        folder = os.path.join(args["model_repository"], args["model_version"])
        with open(os.path.join(folder, "model.json"), encoding="utf-8") as handle:
            self.engine = LLMEngine.from_engine_args(EngineArgs(**json.load(handle)))
        self.changed = threading.Condition()
        self.waiting: list[Any] = []
        self.open: dict[str, Any] = {}
        self.ended = False
        self.thread = threading.Thread(target=self._work, daemon=True)
        self.thread.start()

    def execute(self, requests: list[Any]) -> None:
        with self.changed:
            self.waiting.extend(_Request(request) for request in requests)
            self.changed.notify()

    def finalize(self) -> None:
        with self.changed:
            self.ended = True
            self.changed.notify()
        self.thread.join(5)

    def _work(self) -> None:
        while True:
            with self.changed:
                while not (self.waiting or self.open or self.ended):
                    self.changed.wait()
                if self.ended:
                    return
                arrived, self.waiting = self.waiting, []
            for request in arrived:
                self._begin(request)
            for output in self.engine.step():
                request = self.open.get(output.request_id)
                if request is not None and request.send(output):
                    del self.open[output.request_id]

    def _begin(self, request: "_Request") -> None:
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        try:
            parameters = SamplingParams(**request.sampling, output_kind=RequestOutputKind.DELTA)
            self.engine.add_request(request.id, request.text, parameters)
            self.open[request.id] = request
        except Exception as error:  # noqa: BLE001  the client is told
            request.fail(f"Error generating stream: {error}")


class _Request:
    """One request's inputs, and what is sent for it."""

    def __init__(self, request: Any) -> None:
        self.id = uuid.uuid4().hex
        self.text = self._value(request, "text_input", b"").decode("utf-8")
        self.stream = bool(self._value(request, "stream", False))
        exclude = self._value(request, "exclude_input_in_output", None)
        self.prefix = "" if self.stream or exclude else self.text
        self.sampling = json.loads(self._value(request, "sampling_parameters", b"{}"))
        self.finish_reason = bool(self._value(request, "return_finish_reason", False))
        self.count = bool(self._value(request, "return_num_output_tokens", False))
        self.sender = request.get_response_sender()
        self.text_so_far = ""
        self.tokens_so_far = 0

    def send(self, output: Any) -> bool:
        """Send what is new; whether the request is done."""
        one = output.outputs[0]
        self.text_so_far += one.text
        self.tokens_so_far += len(one.token_ids)
        if not (self.stream or output.finished):
            return False
        values = [_tensor("text_output", self.prefix + self.text_so_far, object)]
        if self.finish_reason:
            values.append(_tensor("finish_reason", str(one.finish_reason), object))
        if self.count:
            values.append(_tensor("num_output_tokens", self.tokens_so_far, np.uint32))
        self.text_so_far, self.tokens_so_far = "", 0
        flags = _FINAL if output.finished else 0
        self.sender.send(pb_utils.InferenceResponse(output_tensors=values), flags)
        return bool(output.finished)

    def fail(self, message: str) -> None:
        self.sender.send(pb_utils.InferenceResponse(error=pb_utils.TritonError(message)), _FINAL)

    @staticmethod
    def _value(request: Any, name: str, default: Any) -> Any:
        tensor = pb_utils.get_input_tensor_by_name(request, name)
        return default if tensor is None else tensor.as_numpy()[0]


def _tensor(name: str, value: Any, kind: Any) -> Any:
    content = value.encode("utf-8") if isinstance(value, str) else value
    return pb_utils.Tensor(name, np.array([content], dtype=kind))
