"""A small Kubeflow Pipelines API server for tests: the calls that our client makes, over HTTP, in memory.

Requests and answers are checked against the models of `kfp_server_api`, so a field that the real API does not know
is refused. It runs nothing: a test moves runs to another state. Faults are queued by a test and met by requests.
It can be started from the command line, for the how-to pages: ``python -m tests.support.kubeflow_server --port P``.
"""

import argparse
import json
import re
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.parser import BytesParser
from email.policy import HTTP
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

import kfp_server_api
import yaml

PREFIX = "/apis/v2beta1"
MAX_PARAMETER_CHARACTERS = 10_000
CODES = {400: 3, 401: 16, 404: 5, 409: 6, 429: 8, 500: 13, 503: 14}
"""HTTP status -> gRPC code, as the gateway of the real server gives it."""


@dataclass
class Fault:
    """What the next requests that fit meet instead of, or after, being served."""

    status: int
    """Status to answer with; 0 closes the connection without an answer."""
    method: str = ""
    path: str = ""
    """A regular expression."""
    times: int = 1
    delay: float = 0.0
    """Seconds to wait first."""
    after: bool = False
    """Whether the request takes effect before the fault: its answer is lost."""
    action: Callable[[], None] = lambda: None
    """Called before the answer, e.g. to kill the client."""


class Refused(Exception):
    """A request that the API refuses."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class KubeflowServer:
    """The server's state and its address once started."""

    tokens: set[str] | None = None
    """Bearer tokens that are let in; None lets everyone in."""
    multi_user: bool = False
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """(method, path) of everything asked, faults included."""
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)
    pipelines: dict[str, dict[str, Any]] = field(default_factory=dict)
    versions: dict[str, dict[str, Any]] = field(default_factory=dict)
    runs: dict[str, dict[str, Any]] = field(default_factory=dict)
    recurring: dict[str, dict[str, Any]] = field(default_factory=dict)
    lock: threading.RLock = field(default_factory=threading.RLock)
    url: str = ""

    def finish(self, run_id: str, state: str) -> None:
        """Put a run in another state."""
        self.runs[run_id] |= {"state": state, "finished_at": _now()}

    def take_fault(self, method: str, path: str) -> Fault | None:
        with self.lock:
            for fault in self.faults:
                if fault.times and fault.method in ("", method) and re.search(fault.path, path):
                    fault.times -= 1
                    return fault
        return None

    # What follows is one method a call of the API.

    def get_healthz(self, query: dict[str, str], body: Any) -> Any:
        return {"multi_user": self.multi_user}

    def get_experiments(self, query: dict[str, str], body: Any) -> Any:
        found = [each for each in self.experiments.values() if _in_namespace(each, query)]
        return _page("experiments", found, query)

    def post_experiments(self, query: dict[str, str], body: Any) -> Any:
        document = _model(body, kfp_server_api.V2beta1Experiment)
        name, namespace = document.get("display_name"), document.get("namespace", "")
        if not name:
            raise Refused(400, "Experiment has empty name")
        if self.multi_user and not namespace:
            raise Refused(400, "Namespace cannot be empty in multi-user mode")
        if any((e["display_name"], e["namespace"]) == (name, namespace) for e in self.experiments.values()):
            raise Refused(409, f"Already exist error: Experiment {name} already exists")
        return _add(self.experiments, "experiment_id", {**document, "namespace": namespace})

    def get_pipelines(self, query: dict[str, str], body: Any) -> Any:
        return _page("pipelines", [p for p in self.pipelines.values() if _in_namespace(p, query)], query)

    def post_pipelines_upload(self, query: dict[str, str], body: Any) -> Any:
        name, namespace = query.get("name", ""), query.get("namespace", "")
        if any((p["name"], p["namespace"]) == (name, namespace) for p in self.pipelines.values()):
            raise Refused(409, f"Already exist error: The name {name} already exist")
        document = {"name": name, "display_name": query.get("display_name", name), "namespace": namespace}
        pipeline = _add(self.pipelines, "pipeline_id", document)
        # As the real server does: the first version has the pipeline's name.
        self._add_version(pipeline["pipeline_id"], name, body)
        return pipeline

    def post_pipelines_upload_version(self, query: dict[str, str], body: Any) -> Any:
        pipeline, name = query.get("pipelineid", ""), query.get("name", "")
        if pipeline not in self.pipelines:
            raise Refused(404, f"Pipeline {pipeline} not found")
        if any((v["pipeline_id"], v["name"]) == (pipeline, name) for v in self.versions.values()):
            raise Refused(409, f"Already exist error: The pipeline version {name} already exists")
        return self._add_version(pipeline, name, body)

    def get_versions(self, query: dict[str, str], body: Any, pipeline: str) -> Any:
        found = [each for each in self.versions.values() if each["pipeline_id"] == pipeline]
        return _page("pipeline_versions", found, query)

    def get_version(self, query: dict[str, str], body: Any, pipeline: str, version: str) -> Any:
        return _one(self.versions, version)

    def get_runs(self, query: dict[str, str], body: Any) -> Any:
        found = list(self.runs.values())
        if "experiment_id" in query:
            found = [each for each in found if each["experiment_id"] == query["experiment_id"]]
        elif self.multi_user and not query.get("namespace"):
            raise Refused(400, "Namespace cannot be empty in multi-user mode")
        return _page("runs", found, query)

    def post_runs(self, query: dict[str, str], body: Any) -> Any:
        document = _model(body, kfp_server_api.V2beta1Run)
        self._check_work(document)
        document |= {"state": "PENDING", "storage_state": "AVAILABLE"}
        return _add(self.runs, "run_id", document)

    def get_run(self, query: dict[str, str], body: Any, run: str) -> Any:
        return _one(self.runs, run)

    def get_recurringruns(self, query: dict[str, str], body: Any) -> Any:
        found = list(self.recurring.values())
        if "experiment_id" in query:
            found = [each for each in found if each["experiment_id"] == query["experiment_id"]]
        elif self.multi_user and not query.get("namespace"):
            raise Refused(400, "Namespace cannot be empty in multi-user mode")
        return _page("recurringRuns", found, query)

    def post_recurringruns(self, query: dict[str, str], body: Any) -> Any:
        document = _model(body, kfp_server_api.V2beta1RecurringRun)
        self._check_work(document)
        cron = document.get("trigger", {}).get("cron_schedule", {}).get("cron", "")
        if len(cron.split()) != 6:
            raise Refused(400, f"Schedule cron {cron!r} is not supported: expected exactly 6 fields")
        if not 1 <= int(document.get("max_concurrency", 0)) <= 10:
            raise Refused(400, "The max concurrency must be in range [1, 10]")
        document["status"] = "ENABLED" if document.get("mode") == "ENABLE" else "DISABLED"
        return _add(self.recurring, "recurring_run_id", document)

    def post_recurringrun_verb(self, query: dict[str, str], body: Any, one: str, verb: str) -> Any:
        _one(self.recurring, one)["status"] = "ENABLED" if verb == "enable" else "DISABLED"
        return {}

    def delete_recurringrun(self, query: dict[str, str], body: Any, one: str) -> Any:
        _one(self.recurring, one)
        del self.recurring[one]
        return {}

    def _add_version(self, pipeline: str, name: str, body: Any) -> dict[str, Any]:
        documents = list(yaml.safe_load_all(body))
        if "pipelineInfo" not in documents[0]:
            raise Refused(400, "Invalid input error: not a pipeline spec")
        spec = {"pipeline_spec": documents[0]}
        if len(documents) > 1:
            spec["platform_spec"] = documents[1]
        document = {"pipeline_id": pipeline, "name": name, "display_name": name, "pipeline_spec": spec}
        return _add(self.versions, "pipeline_version_id", document)

    def _check_work(self, document: dict[str, Any]) -> None:
        """What the real server checks of a run and of a recurring run alike."""
        if not document.get("display_name"):
            raise Refused(400, "The name is empty")
        _one(self.experiments, document.get("experiment_id", ""))
        reference, spec = document.get("pipeline_version_reference"), document.get("pipeline_spec")
        if (reference is None) == (spec is None):
            raise Refused(400, "Either a pipeline spec or a pipeline version reference is needed")
        if reference is not None:
            _one(self.pipelines, reference.get("pipeline_id", ""))
            if version := reference.get("pipeline_version_id"):
                found = _one(self.versions, version)
            else:  # the newest version
                found = [v for v in self.versions.values() if v["pipeline_id"] == reference["pipeline_id"]][
                    -1
                ]
            spec = found["pipeline_spec"]
        root = spec.get("pipeline_spec", spec)["root"]["inputDefinitions"]["parameters"]
        given = document.get("runtime_config", {}).get("parameters", {})
        if unknown := set(given) - set(root):
            raise Refused(400, f"Unknown input parameter {sorted(unknown)[0]}")
        for name, value in root.items():
            if name not in given and "defaultValue" not in value and not value.get("isOptional"):
                raise Refused(400, f"Missing required parameter {name}")
        if any(isinstance(v, str) and len(v) > MAX_PARAMETER_CHARACTERS for v in given.values()):
            raise Refused(400, "Input parameter length exceeds the limit")


ROUTES = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"/healthz", "healthz"),
        (r"/experiments", "experiments"),
        (r"/pipelines", "pipelines"),
        (r"/pipelines/upload", "pipelines_upload"),
        (r"/pipelines/upload_version", "pipelines_upload_version"),
        (r"/pipelines/([\w-]+)/versions", "versions"),
        (r"/pipelines/([\w-]+)/versions/([\w-]+)", "version"),
        (r"/runs", "runs"),
        (r"/runs/([\w-]+)", "run"),
        (r"/recurringruns", "recurringruns"),
        (r"/recurringruns/([\w-]+):(enable|disable)", "recurringrun_verb"),
        (r"/recurringruns/([\w-]+)", "recurringrun"),
    )
]


@contextmanager
def serving(server: KubeflowServer, port: int = 0) -> Iterator[KubeflowServer]:
    """Serve on 127.0.0.1 until the block ends; ``port`` 0 picks a free one."""

    class Handler(_Handler):
        state = server

    http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    http.daemon_threads = True
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    state: KubeflowServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        return

    def _serve(self) -> None:
        address = urlsplit(self.path)
        path = address.path.removeprefix(PREFIX)
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.state.requests.append((self.command, path))
        fault = self.state.take_fault(self.command, path)
        if fault is not None:
            time.sleep(fault.delay)
        status, answer = fault.status if fault else 200, _error(fault.status, "fault") if fault else {}
        if fault is None or fault.after or fault.status == 200:
            served = self._answer(path, address.query, body)
            if fault is None or fault.status == 200:
                status, answer = served
        if fault is not None:
            fault.action()
        if status == 0:
            self.close_connection = True
            self.connection.close()
            return
        with suppress(ConnectionError):  # a client that did not wait
            self._send(status, answer)

    def _send(self, status: int, answer: Any) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = _serve

    def _answer(self, path: str, query: str, body: bytes) -> tuple[int, Any]:
        tokens = self.state.tokens
        if tokens is not None and self.headers.get("Authorization") not in {f"Bearer {t}" for t in tokens}:
            return 401, _error(401, "Request header error: the token has expired")
        values = {key: value[0] for key, value in parse_qs(query).items()}
        for pattern, name in ROUTES:
            match = pattern.fullmatch(path)
            method = getattr(self.state, f"{self.command.lower()}_{name}", None)
            if match and method:
                try:
                    with self.state.lock:
                        return 200, method(values, self._body(body), *match.groups())
                except Refused as refused:
                    return refused.status, _error(refused.status, str(refused))
        return 404, _error(404, "Not Found")

    def _body(self, body: bytes) -> Any:
        kind = self.headers.get("Content-Type", "")
        if kind.startswith("multipart/form-data"):
            message = BytesParser(policy=HTTP).parsebytes(f"Content-Type: {kind}\r\n\r\n".encode() + body)
            return next(message.iter_parts()).get_content()
        return json.loads(body) if body else None


def _model(body: Any, model: Any) -> dict[str, Any]:
    """The request's document. Refused when it holds a field that the API's model does not know."""
    if not isinstance(body, dict):
        raise Refused(400, "the body is not an object")
    if unknown := set(body) - set(model.attribute_map.values()):
        raise Refused(400, f"unknown field {sorted(unknown)[0]!r} in {model.__name__}")
    return dict(body)


def _add(table: dict[str, dict[str, Any]], key: str, document: dict[str, Any]) -> dict[str, Any]:
    document[key] = str(uuid.uuid4())
    document["created_at"] = _now()
    table[document[key]] = document
    return document


def _one(table: dict[str, dict[str, Any]], key: str) -> dict[str, Any]:
    if key not in table:
        raise Refused(404, f"{key or 'nothing'} not found")
    return table[key]


def _in_namespace(document: dict[str, Any], query: dict[str, str]) -> bool:
    return "namespace" not in query or document["namespace"] == query["namespace"]


def _page(name: str, found: list[dict[str, Any]], query: dict[str, str]) -> dict[str, Any]:
    for predicate in json.loads(query.get("filter", "{}")).get("predicates", ()):
        if predicate["operation"] not in ("EQUALS", 1, "1"):
            raise Refused(400, f"operation {predicate['operation']} is not served here")
        found = [each for each in found if each.get(predicate["key"]) == predicate.get("stringValue")]
    start, size = int(query.get("page_token") or 0), int(query.get("page_size") or 10)
    answer: dict[str, Any] = {"total_size": len(found)}
    if page := found[start : start + size]:  # the real server leaves an empty list out
        answer[name] = page
    if start + size < len(found):
        answer["next_page_token"] = str(start + size)
    return answer


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error": message, "code": CODES.get(status, 2), "message": message, "details": []}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def main() -> None:
    """Serve until interrupted; ``--finish`` lets runs succeed at once, as a cluster would in the end."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8888)
    arguments = parser.parse_args()
    with serving(KubeflowServer(), arguments.port) as server:
        print(f"serving {server.url}", flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
