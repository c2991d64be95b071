"""A strict JSON Schema from a CustomResourceDefinition, as an API server reads its OpenAPI schema.

Source: Kubernetes' "Structural schemas" (Extend the Kubernetes API with CustomResourceDefinitions). Stricter than a
server in one thing: fields that the schema does not name are errors, where a server would drop them. Not checked are
the rules in CEL (`x-kubernetes-validations`), which `cel_rules` lists.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator


@cache
def read_definitions(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(apiVersion, kind) -> OpenAPI schema, of every served version of the definitions in a folder."""
    schemas = {}
    for path in sorted(folder.glob("*.yaml")):
        for document in yaml.load_all(path.read_text(encoding="utf-8"), yaml.CSafeLoader):
            if document:
                spec = document["spec"]
                for version in spec["versions"]:
                    key = (f"{spec['group']}/{version['name']}", spec["names"]["kind"])
                    schemas[key] = version["schema"]["openAPIV3Schema"]
    return schemas


def validator(schema: dict[str, Any]) -> Draft202012Validator:
    """What checks a custom resource, its usual metadata included."""
    return Draft202012Validator(_strict(schema, top=True))


def cel_rules(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    """(path, rule) of everything that only an API server can check."""
    for rule in schema.get("x-kubernetes-validations", ()):
        yield path, rule["rule"]
    for name, value in schema.get("properties", {}).items():
        yield from cel_rules(value, f"{path}.{name}")
    if isinstance(schema.get("items"), dict):
        yield from cel_rules(schema["items"], f"{path}[]")
    if isinstance(schema.get("additionalProperties"), dict):
        yield from cel_rules(schema["additionalProperties"], f"{path}.*")


def _strict(schema: dict[str, Any], *, top: bool = False) -> dict[str, Any]:
    if schema.get("x-kubernetes-int-or-string"):
        kept = {key: schema[key] for key in ("pattern",) if key in schema}
        return {"type": ["integer", "string"], **kept}
    strict = {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
    strict.pop("format", None)
    if "properties" in strict:
        strict["properties"] = {
            name: {"type": "object"} if top and name == "metadata" else _strict(value)
            for name, value in strict["properties"].items()
        }
        if not schema.get("x-kubernetes-preserve-unknown-fields"):
            strict.setdefault("additionalProperties", False)
    if isinstance(strict.get("items"), dict):
        strict["items"] = _strict(strict["items"])
    if isinstance(strict.get("additionalProperties"), dict):
        strict["additionalProperties"] = _strict(strict["additionalProperties"])
    for word in ("allOf", "anyOf", "oneOf"):
        if word in strict:
            strict[word] = [_without_closing(each) for each in strict[word]]
    if isinstance(strict.get("not"), dict):
        strict["not"] = _without_closing(strict["not"])
    if strict.pop("nullable", False) and isinstance(strict.get("type"), str):
        strict["type"] = [strict["type"], "null"]
    return strict


def _without_closing(schema: dict[str, Any]) -> dict[str, Any]:
    """A part of `allOf` and the like only adds conditions: closing it would forbid what the whole allows."""
    return {key: value for key, value in schema.items() if not key.startswith("x-kubernetes-")}
