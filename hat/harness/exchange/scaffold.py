"""What a harness needs and a foreign source lacks: manifest, prompt, a way to load skills, a reply skill, checks."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hat.domains.declared_tools.domain import INTENT
from hat.harness.load import HOOKS, MANIFEST
from hat.harness.model import LOAD_SKILL, LOAD_SKILL_ARGUMENT

DOMAIN = "declared_tools"
_REPLY_SKILL = """---
name: {name}
description: What every reply says, to be loaded before it
metadata:
  kind: reply
  intents: {intent}
---
# Reply

- After a tool call, reply with its receipt: Done. Receipt and the receipt.
- After following a skill, reply with its title: Procedure and the title.
"""


def scaffold(
    *,
    name: str,
    version: str,
    parent: str | None,
    changed: str,
    tools: Sequence[str],
    skills: Sequence[str],
    has_hooks: bool,
) -> Mapping[str, str]:
    """Path to text of every file that the source does not bring; ``tools`` and ``skills`` are the source's names."""
    loader = _free("load_skill", {*tools, *skills})
    reply = _free("report-outcome", {*tools, *skills})
    files = {
        MANIFEST: _manifest(name, version, parent, changed, loader, tools, bool(skills)),
        "prompts/role.md": (
            "# Role\n\n- You do what each request asks, by a tool call or by following a skill.\n"
            f"- Load `{reply}` with `{loader}` before you reply.\n"
        ),
        "prompts/skills.md": "# Skills\n",
        f"skills/{reply}/SKILL.md": _REPLY_SKILL.format(name=reply, intent=INTENT),
        f"tools/{loader}.json": _json(
            {
                "name": loader,
                "description": "Read a skill",
                "inputSchema": {
                    "type": "object",
                    "properties": {LOAD_SKILL_ARGUMENT: {"type": "string"}},
                    "required": [LOAD_SKILL_ARGUMENT],
                    "additionalProperties": False,
                },
            }
        ),
    }
    if skills:
        listed = ", ".join(f"`{skill}`" for skill in sorted(skills))
        files["prompts/procedures.md"] = f"# Procedures\n\n- Where one of them fits, load it: {listed}.\n"
    if not has_hooks:
        files[HOOKS] = _json(
            {
                "hooks": {
                    "PreToolUse": [_check("arguments_valid", "The arguments are wrong: {problem}.")],
                    "PreReply": [_check("reply_skill_loaded", f"Load a reply skill with `{loader}` first.")],
                }
            }
        )
    return files


def _manifest(
    name: str,
    version: str,
    parent: str | None,
    changed: str,
    loader: str,
    tools: Sequence[str],
    procedures: bool,
) -> str:
    blocks = ["{id: role}", *(["{id: procedures}"] if procedures else []), "{id: skills, kind: skills}"]
    # Names are quoted: a tool may be called null, yes or 1e3.
    bindings = [
        f"  {json.dumps(loader)}: {{operation: {LOAD_SKILL}}}",
        *(f"  {json.dumps(tool)}: {{operation: {json.dumps(_operation(tool))}}}" for tool in tools),
    ]
    return "\n".join(
        [
            "schema_version: 1",
            f"name: {json.dumps(name)}",
            f"version: {version}",
            f"parent: {parent or 'null'}",
            f"changed: {json.dumps(changed, ensure_ascii=False)}",
            f"domain: {DOMAIN}",
            "prompt:",
            "  layout: markdown",
            "  blocks:",
            *(f"    - {block}" for block in blocks),
            "limits:",
            "  max_turns: 8",
            "  max_tool_calls: 8",
            "  max_reply_characters: 400",
            "  max_retries: 2",
            "bindings:",
            *bindings,
            "",
        ]
    )


def _operation(tool: str) -> str:
    """The tool's own name, but for the one that means loading a skill of the harness."""
    return "tool_load_skill" if tool == LOAD_SKILL else tool


def _check(check: str, message: str) -> dict[str, Any]:
    return {"matcher": "*", "hooks": [{"type": "builtin", "check": check, "message": message}]}


def _free(name: str, taken: set[str]) -> str:
    """The name, or the first numbered one that nothing has."""
    candidate, number = name, 2
    while candidate in taken:
        candidate = f"{name}{'-' if '-' in name else '_'}{number}"
        number += 1
    return candidate


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
