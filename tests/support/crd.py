"""The real custom resource definitions as strict JSON Schemas: a server's verdict, except for CEL rules."""

from pathlib import Path
from typing import Any

import yaml


def strict_schema(crd: Path) -> dict[str, Any]:
    """The CRD's schema with unknown fields refused. CEL rules (`x-kubernetes-validations`) are not checked."""
    document = yaml.safe_load(crd.read_text(encoding="utf-8"))
    schema = document["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["properties"]["metadata"] = {"type": "object"}
    return _strict(schema)


def _strict(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_strict(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("x-kubernetes-int-or-string"):
        return {"anyOf": [{"type": "integer"}, {"type": "string"}]}
    made = {key: value if key in ("default", "enum") else _strict(value) for key, value in schema.items()}
    open_ended = schema.get("x-kubernetes-preserve-unknown-fields") or "additionalProperties" in schema
    if isinstance(schema.get("properties"), dict) and schema.get("type") == "object" and not open_ended:
        made["additionalProperties"] = False
    return made
