"""YAML read strictly: plain data, no key twice, no aliases, bounded size."""

from collections.abc import Hashable
from typing import Any

import yaml

from hat.errors import BadInput

_LARGEST_CHARACTERS = 200_000


class _StrictLoader(yaml.SafeLoader):
    """A duplicate key would silently drop one of two limits; aliases can expand without end."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark
            raise yaml.constructor.ConstructorError(None, None, "aliases are not accepted", mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise _refused(f"key {key!r} is not text", key_node)
            if key in seen:
                raise _refused(f"key {key!r} twice", key_node)
            seen.add(key)
        return super().construct_mapping(node, deep)


def _refused(problem: str, node: yaml.Node) -> yaml.constructor.ConstructorError:
    return yaml.constructor.ConstructorError(None, None, problem, node.start_mark)


def parse_yaml(text: str, *, where: str) -> Any:
    """The document's value.

    Raises:
        BadInput: not YAML, a key twice or not text, an alias, an unsafe tag, or too long; with the line.
    """
    if len(text) > _LARGEST_CHARACTERS:
        raise BadInput(f"longer than {_LARGEST_CHARACTERS} characters", where=where)
    try:
        # A subclass of SafeLoader: builds plain values only.
        return yaml.load(text, Loader=_StrictLoader)
    except RecursionError as error:
        raise BadInput("nested too deeply", where=where) from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise BadInput(f"not acceptable YAML: {error.problem}", where=f"{where}{line}") from error
    except yaml.YAMLError as error:
        raise BadInput(f"not acceptable YAML: {error}", where=where) from error
