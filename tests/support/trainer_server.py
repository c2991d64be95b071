"""A Kubernetes API server that knows one thing: `TrainJob`, checked against the real CRD's schema."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator

ROOT = "/apis/trainer.kubeflow.org/v1alpha1/namespaces/team/trainjobs"


@dataclass
class TrainerServer:
    """The server's state."""

    schema: dict[str, Any]
    installed: bool = True
    """Whether the cluster has the CRD."""
    forbidden: bool = False
    broken: int = 0
    """How many of the next requests meet a server error."""
    jobs: dict[str, dict[str, Any]] = field(default_factory=dict)
    created: list[dict[str, Any]] = field(default_factory=list)
    url: str = ""

    def set_condition(self, name: str, kind: str, message: str = "m") -> None:
        """Give a job a condition, as its controller does."""
        condition = {"type": kind, "status": "True", "reason": "r", "message": message}
        condition["lastTransitionTime"] = "2026-01-01T00:00:00Z"
        self.jobs[name]["status"] = {"conditions": [condition]}

    def serve(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if self.broken:
            self.broken -= 1
            return 500, _status(500)
        if not self.installed:
            return 404, _status(404)
        if self.forbidden:
            return 403, _status(403)
        name = path.removeprefix(ROOT).strip("/")
        if method == "POST":
            Draft202012Validator(self.schema).validate(body)
            if body["metadata"]["name"] in self.jobs:
                return 409, _status(409)
            self.jobs[body["metadata"]["name"]] = body
            self.created.append(body)
            return 201, body
        if not name:
            return 200, {"kind": "TrainJobList", "items": list(self.jobs.values())}
        if name not in self.jobs:
            return 404, _status(404)
        if method == "DELETE":
            return 200, self.jobs.pop(name)
        return 200, self.jobs[name]


@contextmanager
def serving_trainer(server: TrainerServer, kubeconfig: Path) -> Iterator[TrainerServer]:
    """Serve on 127.0.0.1 until the block ends, and write a kubeconfig that leads there."""

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            path = self.path.partition("?")[0]
            status, answer = server.serve(self.command, path, json.loads(data) if data else None)
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_DELETE = _serve

        def log_message(self, *_: Any) -> None:
            return

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    cluster = {"name": "c", "cluster": {"server": server.url}}
    context = {"name": "x", "context": {"cluster": "c", "user": "u", "namespace": "team"}}
    document = {"clusters": [cluster], "contexts": [context], "users": [{"name": "u", "user": {}}]}
    document |= {"apiVersion": "v1", "kind": "Config", "current-context": "x"}
    kubeconfig.write_text(yaml.safe_dump(document), encoding="utf-8")
    threading.Thread(target=http.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()


def _status(code: int) -> dict[str, Any]:
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "told so"}
