"""A small, faultless registry on disk, and an editor that breaks it in one place."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hat.harness.load import load_harness
from hat.harness.model import Harness
from hat.harness.registry import Registry

_TOOLS = {
    "get_info": ("product_info", "Price of a link", {"link_id": "integer"}),
    "find_link": ("search_products", "Link of a name", {"query": "string"}),
    "stock": ("check_stock", "How many are left", {"link_id": "integer"}),
    "coupon": ("find_coupon", "Coupon of a link", {"link_id": "integer"}),
    "quote_shipping": ("shipping_quote", "Days and fee", {"link_id": "integer", "region": "string"}),
    "load_skill": ("load_skill", "Read a skill first", {"name": "string"}),
}
_SKILLS = {
    "answer": (
        "Prices and stock",
        "reply",
        "price detail price_by_name showing_price stock compare",
        ["Be short."],
    ),
    "deals": ("Coupons", "reply", "coupon", ["Give the code.", "Say so when there is none."]),
    "returns-desk": ("Returns", "reply", "returns", ["Food: never.", "Clothing: 7 days. Home: 30 days."]),
    "rest": ("All else", "reply", "shipping ends_at host off_topic missing_link", ["Say sorry."]),
    "two-links": ("Comparing links", "strategy", "", ["Call `get_info` for both, then load `answer`."]),
}
_BLOCKS = {
    "role": "# Role\n\n- You answer viewers.\n",
    "rules": (
        "# Rules\n\n- Load a skill with `load_skill` first.\n- Never guess.\n- Use `get_info` for prices.\n"
    ),
    "skills": "# Skills\n",
    "room": "# Room\n\n- Host {{ host }} until {{ ends_at }}, link {{ showing }}.\n",
}


@dataclass(frozen=True)
class Workshop:
    """A version folder under edit."""

    root: Path
    name: str
    version: str

    @property
    def folder(self) -> Path:
        return self.root / self.name / "versions" / self.version

    @property
    def registry(self) -> Registry:
        return Registry(self.root)

    def load(self) -> Harness:
        return load_harness(self.folder)

    def write(self, name: str, content: str | bytes) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return path

    def edit(self, name: str, old: str, new: str) -> Path:
        text = (self.folder / name).read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {name}"
        return self.write(name, text.replace(old, new))

    def edit_tool(self, tool: str, /, **keys: Any) -> Path:
        value = json.loads((self.folder / "tools" / f"{tool}.json").read_text("utf-8"))
        return self.write(f"tools/{tool}.json", json.dumps({**value, **keys}, indent=1, ensure_ascii=False))


def write_version(root: Path, version: str, parent: str | None) -> None:
    folder = root / "shop" / "versions" / version
    bindings = "".join(
        f"  {tool}: {{operation: {operation}, arguments: {{{', '.join(_bound(arguments))}}}}}\n"
        for tool, (operation, _, arguments) in _TOOLS.items()
    )
    files = {
        "harness.yaml": (
            f"schema_version: 1\nname: shop\nversion: {version}\nparent: {parent or 'null'}\n"
            f"changed: Text of {version}.\ndomain: live_shop\nprompt:\n  layout: markdown\n  blocks:\n"
            "    - {id: role}\n    - {id: rules}\n    - {id: skills, kind: skills}\n    - {id: room}\n"
            "limits:\n  max_turns: 6\n  max_tool_calls: 8\n  max_reply_characters: 160\n  max_retries: 2\n"
            f"bindings:\n{bindings}"
        ),
        "hooks/hooks.json": json.dumps(
            {
                "hooks": {
                    "PreToolUse": [_hook("arguments_valid", "Wrong: {problem}.")],
                    "PreReply": [_hook("reply_skill_loaded", "Load one with `load_skill`.")],
                }
            },
            indent=1,
        ),
    }
    for name, (_, description, arguments) in _TOOLS.items():
        schema = {
            "type": "object",
            "properties": {argument: {"type": kind} for argument, kind in arguments.items()},
            "required": list(arguments),
            "additionalProperties": False,
        }
        tool = {"name": name, "description": description, "inputSchema": schema}
        files[f"tools/{name}.json"] = json.dumps(tool, indent=1)
    for name, (description, kind, intents, items) in _SKILLS.items():
        body = f"# About {name.split('-')[0]}\n\n" + "".join(f"- {item}\n" for item in items)
        files[f"skills/{name}/SKILL.md"] = (
            f"---\nname: {name}\ndescription: {description}\n"
            f"metadata:\n  kind: {kind}\n  intents: '{intents}'\n---\n\n{body}"
        )
    files.update({f"prompts/{name}.md": text for name, text in _BLOCKS.items()})
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _bound(arguments: dict[str, str]) -> list[str]:
    return [f"{argument}: {'skill' if argument == 'name' else argument}" for argument in arguments]


def _hook(check: str, message: str) -> dict[str, Any]:
    return {"matcher": "*", "hooks": [{"type": "builtin", "check": check, "message": message}]}


@pytest.fixture
def shop(tmp_path: Path) -> Workshop:
    """``shop@1.0.0``, faultless, the only version of its registry."""
    root = tmp_path / "registry"
    write_version(root, "1.0.0", None)
    return Workshop(root, "shop", "1.0.0")


@pytest.fixture
def next_version(shop: Workshop) -> Workshop:
    """``shop@1.1.0``, the same files as its parent 1.0.0 but for the numbers and `changed`."""
    write_version(shop.root, "1.1.0", "1.0.0")
    return Workshop(shop.root, "shop", "1.1.0")
