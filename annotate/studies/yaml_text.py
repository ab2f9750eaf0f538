"""Reader of untrusted YAML that knows the line and column of each value.

Length, depth and expanded aliases are limited before values are built. The version is
YAML 1.2, in which `yes`, `no`, `on` and `12:30` are text.
"""

from typing import Any

import yaml
from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.constructor import SafeConstructor
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from annotate.schema import LONGEST, DefinitionError, Path

# A study file of a hundred questions in two languages has 4,000.
MOST_VALUES = 50_000
# The message of the YAML reader about a colon inside text.
COLON = "mapping values are not allowed here"


class WrittenInt(int):
    """A whole number that becomes text as it was written: 007."""

    written: str

    def __str__(self) -> str:
        return self.written


class WrittenFloat(float):
    """A number that becomes text as it was written: 1.50."""

    written: str

    def __str__(self) -> str:
        return self.written


class _Constructor(SafeConstructor):
    """Converts nodes to plain values; times and very long numbers become text."""

    def number(self, node: ScalarNode) -> object:
        is_whole = str(node.tag).endswith(":int")
        make = self.construct_yaml_int if is_whole else self.construct_yaml_float
        try:
            plain = make(node)
        except ValueError:
            return node.value
        value = WrittenInt(plain) if is_whole else WrittenFloat(plain)
        value.written = node.value
        return value


for _name in ("int", "float"):
    _Constructor.add_constructor(f"tag:yaml.org,2002:{_name}", _Constructor.number)
_Constructor.add_constructor(
    "tag:yaml.org,2002:timestamp", SafeConstructor.construct_yaml_str
)


class _Composer(Composer):
    """Stops reading once there are too many values."""

    n_nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        self.n_nodes += 1
        if self.n_nodes > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values")
        return super().compose_node(parent, index)


class Document:
    """A YAML text with its value in `data` and the places of all parts."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        self.root: Node | None = None
        self.data: Any = None
        if len(text.encode("utf-8", "replace")) > LONGEST:
            raise self.error(f"a study file has at most {LONGEST:,} bytes")
        try:
            self._read(text)
        except MarkedYAMLError as error:
            mark = error.problem_mark
            reason = (error.problem or "invalid YAML").splitlines()[0]
            if reason == COLON:
                reason += "; put text with a colon in quotes"
            place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
            raise DefinitionError(file, place, reason) from error
        except RecursionError as error:
            raise self.error("brackets are nested too deep") from error
        except (YAMLError, ValueError, OverflowError) as error:
            raise self.error(str(error).splitlines()[0]) from error
        except (AttributeError, KeyError, TypeError) as error:
            # The value does not match its tag, such as !!bool.
            raise self.error("a value does not fit the tag before it") from error

    def _read(self, text: str) -> None:
        reader = YAML(typ="safe", pure=True)
        reader.Composer = _Composer
        reader.Constructor = _Constructor
        self.root = reader.compose(text)
        if self.root is None:
            return
        if _size(self.root, {}, set()) > MOST_VALUES:
            raise ValueError(f"more than {MOST_VALUES:,} values")
        self.data = reader.constructor.construct_document(self.root)

    def error(self, reason: str, path: Path | None = None) -> DefinitionError:
        """Return an error with the place of the value at `path`."""
        return DefinitionError(self.file, self.place(path or []), reason, path)

    def block(self, key: str) -> yaml.Node:
        """Return the value of a key as a PyYAML node, which knows its lines."""
        assert self.root is not None
        return next(_as_plain(v) for k, v in self.root.value if k.value == key)

    def place(self, path: Path) -> tuple[int, int]:
        """Return line and column of a value, or of its nearest existing parent."""
        node = child = self.root
        for step in path:
            if isinstance(node, MappingNode):
                child = next(
                    (v for k, v in node.value if str(k.value) == str(step)), None
                )
            elif isinstance(node, SequenceNode) and isinstance(step, int):
                child = node.value[step] if step < len(node.value) else None
            else:
                child = None
            if child is None:
                break
            node = child
        mark = node.start_mark if node is not None else None
        return (mark.line + 1, mark.column + 1) if mark else (1, 1)


def _as_plain(node: Node) -> yaml.Node:
    """Convert a node to a PyYAML node."""
    marks = node.start_mark, node.end_mark
    if isinstance(node, MappingNode):
        pairs = [(_as_plain(key), _as_plain(value)) for key, value in node.value]
        return yaml.MappingNode(str(node.tag), pairs, *marks)
    if isinstance(node, SequenceNode):
        return yaml.SequenceNode(str(node.tag), [*map(_as_plain, node.value)], *marks)
    return yaml.ScalarNode(str(node.tag), node.value, *marks)


def _size(node: Node, known: dict[int, int], above: set[int]) -> int:
    """Count the values of a node, with aliases expanded."""
    if id(node) in above:
        raise MarkedYAMLError(
            problem="a value that contains itself", problem_mark=node.start_mark
        )
    if id(node) not in known:
        parts: list[Node] = []
        if isinstance(node, MappingNode):
            parts = [part for pair in node.value for part in pair]
        elif isinstance(node, SequenceNode):
            parts = node.value
        inside = above | {id(node)} if parts else above
        known[id(node)] = 1 + sum(_size(part, known, inside) for part in parts)
    return known[id(node)]
