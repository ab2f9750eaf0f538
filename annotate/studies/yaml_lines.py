"""Reading YAML that somebody wrote, so that a mistake is named with its line.

A text may come from anywhere: its length, its depth and what its aliases unfold to are
limited before a value is made of it.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import fields
from typing import Any, TypeVar

import yaml

from analysis.problems import Problems, ToldProblem, without_numbers
from annotate.studies.definition import Texts

# A study file of a hundred questions in two languages has 60 kB and 4,000 values.
LONGEST = 256_000
MOST_VALUES = 50_000
WIDEST_SCALE = 100
# Seconds for which anybody can be asked to look at a picture.
MOST_SECONDS = 60
BOOLEAN = "tag:yaml.org,2002:bool"
# What YAML says of a colon inside a text.
COLON = "mapping values are not allowed here"

Step = list[str | int]
Mapped = dict[Any, Any]  # what YAML has under its keys
T = TypeVar("T")
U = TypeVar("U")


class DefinitionError(ValueError):
    """The study file is wrong; the message names file and line.

    `path` leads to the value, `reason` says what is right. `further` are other mistakes
    of the same file, which the message names, too, each kind at its first places.
    """

    def __init__(
        self, file: str, line: int | None, reason: str, path: Step | None = None
    ) -> None:
        self.line = line
        self.path = path or []
        self.reason = reason
        where = ".".join(str(step) for step in self.path)
        place = f"{file}:{line}" if line else file
        self.further: list[DefinitionError] = []
        super().__init__(": ".join(filter(None, (place, where, reason))))
        self.told = ToldProblem(self.args[0], without_numbers(f"{where}: {reason}"))

    def __str__(self) -> str:
        return "\n".join(Problems(one.told for one in self.each()).lines())

    def each(self) -> "Iterator[DefinitionError]":
        yield self
        yield from self.further


def parse(text: str, file: str) -> tuple[yaml.Node | None, Any]:
    """Return the nodes of a YAML text, which know their lines, and its value."""
    if len(text.encode("utf-8", "replace")) > LONGEST:
        raise DefinitionError(file, 1, f"a study file has at most {LONGEST:,} bytes")
    try:
        loader = yaml.SafeLoader(text)
        root = loader.get_single_node()
        if root is None:
            return None, None
        if _size(root, {}, set()) > MOST_VALUES:
            raise DefinitionError(file, 1, f"more than {MOST_VALUES:,} values")
        unquoted = [
            DefinitionError(file, key.start_mark.line + 1, in_quotes(key, read))
            for key, read in _boolean_keys(root)
        ]
        if unquoted:
            unquoted[0].further = unquoted[1:]
            raise unquoted[0]
        return root, loader.construct_document(root)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        reason = error.problem or "no YAML"
        if reason == COLON:
            reason += "; put a text with a colon in quotes"
        raise DefinitionError(file, line, reason) from error
    except RecursionError as error:
        raise DefinitionError(file, 1, "brackets within brackets, too deep") from error
    except DefinitionError:
        raise
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        reason = str(error).splitlines()[0]
        raise DefinitionError(file, 1, reason) from error


def _size(node: yaml.Node, known: dict[int, int], above: set[int]) -> int:
    """Count the values of a node, each alias as often as it stands there."""
    if id(node) in above:
        raise yaml.MarkedYAMLError(
            problem="a value that contains itself", problem_mark=node.start_mark
        )
    if id(node) not in known:
        parts: list[yaml.Node] = []
        if isinstance(node, yaml.MappingNode):
            parts = [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            parts = node.value
        inside = above | {id(node)} if parts else above
        known[id(node)] = 1 + sum(_size(part, known, inside) for part in parts)
    return known[id(node)]


def _boolean_keys(root: yaml.Node) -> Iterator[tuple[yaml.ScalarNode, bool]]:
    """Yield each key that YAML reads as true or false, and as which: none is meant."""
    seen: set[int] = set()
    waiting = [root]
    for node in waiting:  # grows
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            for key, _value in node.value:
                if (read := _truth(key)) is not None:
                    yield key, read
            waiting += [part for pair in node.value for part in pair]
        elif isinstance(node, yaml.SequenceNode):
            waiting += node.value


def _truth(node: yaml.Node) -> bool | None:
    """Return whether a node is true or false; None: it is something else."""
    if not isinstance(node, yaml.ScalarNode) or node.tag != BOOLEAN:
        return None
    return yaml.SafeLoader.bool_values.get(node.value.lower())


def in_quotes(node: yaml.ScalarNode, value: object) -> str:
    """Return how a text is written that YAML reads as another value.

    Examples
    --------
    >>> root, value = parse("title: 12:30", "a.yaml")
    >>> print(in_quotes(root.value[0][1], value["title"]))
    put it in quotes: "12:30" (column 8); without them YAML reads 750
    """
    column = node.start_mark.column + 1
    read = yaml_word(value) if isinstance(value, bool) else value
    return (
        f'put it in quotes: "{node.value}" (column {column}); without them YAML reads '
        f"{read}"
    )


def yaml_word(value: str | bool) -> str:
    """Return a value as it stands in a file."""
    return str(value).lower() if isinstance(value, bool) else value


class Reader:
    """Turns YAML into values and knows the line of each key.

    A wrong value is noted and read as if it were not there, so that all that is wrong
    can be told at once (`finish`).
    """

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.root, self.data = parse(text, file)
        self.problems: list[DefinitionError] = []

    def finish(self) -> None:
        if self.problems:
            first, *first.further = self.problems
            raise first

    def attempt(self, instead: T, read: Callable[..., U], *given: Any) -> T | U:
        """Read a part; if it is wrong as a whole, note that and go on without it."""
        try:
            return read(*given)
        except DefinitionError as error:
            self.problems.append(error)
            return instead

    def refuse(self, path: Step, message: str, instead: T) -> T:
        """Note that a value is wrong, and return what is read in its place."""
        self.problems.append(self.fail(path, message))
        return instead

    def is_wrong(self, *path: str | int) -> bool:
        """Say whether something at or below a path is wrong."""
        return any(one.path[: len(path)] == list(path) for one in self.problems)

    def fail(self, path: Step, message: str) -> DefinitionError:
        """Return an error that names the line of the value at `path`."""
        nodes = self._nodes(path)
        wrong = nodes[-1:] if len(nodes) == len(path) else []
        if wrong and isinstance(wrong[0], yaml.SequenceNode):
            wrong = wrong[0].value
        for node in wrong:
            if (read := _truth(node)) is not None:
                message += f"; if it is a word, {in_quotes(node, read)}"
        return self._error(path, message)

    def _error(self, path: Step, message: str) -> DefinitionError:
        nodes = self._nodes(path)
        line = nodes[-1].start_mark.line + 1 if nodes else 1
        return DefinitionError(self.file, line, message, path)

    def _nodes(self, path: Step) -> list[Any]:
        """Return the nodes that a path leads through, as far as there are any."""
        node, nodes = self.root, []
        for step in path:
            found = None
            if isinstance(node, yaml.MappingNode):
                found = next(
                    (v for k, v in node.value if str(k.value) == str(step)), None
                )
            elif isinstance(node, yaml.SequenceNode) and isinstance(step, int):
                found = node.value[step] if step < len(node.value) else None
            if found is None:
                break
            node = found
            nodes.append(node)
        return nodes

    # Values

    def part(self, data: Any, keys: Collection[str], path: Step) -> Mapped:
        """Accept a mapping of some of these keys."""
        found = self.mapping(data, path)
        self.known(found, keys, path)
        return found

    def plain(self, kind: Any, data: Mapped, path: Step) -> dict[str, Any]:
        """Read what a dataclass has of switches, whole numbers and shares.

        They are known by their usual values. A whole number is at least 1, or 0 where
        that is usual.
        """
        read: dict[str, Any] = {}
        for one in fields(kind):
            key, usual = one.name, one.default
            if type(usual) is bool:
                read[key] = self.switch(data.get(key, usual), usual, [*path, key])
            elif type(usual) is int:
                read[key] = self.number(data, key, usual, min(usual, 1), [*path, key])
            elif type(usual) is float:
                read[key] = self.share(data, key, usual, path)
        return read

    def known(self, data: Mapped, keys: Collection[str], path: Step) -> None:
        for key in data:
            if key not in keys:
                expected = ", ".join(sorted(keys))
                told = f"unknown key; expected {expected}"
                self.problems.append(self._error([*path, key], told))

    def mapping(self, data: Any, path: Step) -> Mapped:
        if data is None:
            return {}
        if not isinstance(data, dict):
            return self.refuse(path, "write keys with values here", {})
        return dict(data)

    def one_of(self, value: Any, known: Sequence[Any], path: Step) -> Any:
        if value not in known:
            listed = ", ".join(map(yaml_word, known))
            return self.refuse(path, f"write one of {listed}", known[0])
        return value

    def switch(self, value: Any, default: bool, path: Step) -> bool:
        """Accept true or false, and no number that equals one of them."""
        if type(value) is not bool:
            return self.refuse(path, "write true or false", default)
        return value

    def several(
        self, values: Any, known: tuple[str, ...], path: Step
    ) -> tuple[str, ...]:
        if not isinstance(values, list):
            told = f"write a list of some of {', '.join(known)}"
            return self.refuse(path, told, ())
        return tuple(
            self.one_of(value, known, [*path, i]) for i, value in enumerate(values)
        )

    def text(self, value: Any, path: Step) -> str:
        """Accept a single value as a text, as it is written; nothing is empty."""
        if isinstance(value, dict | list | bool):
            return self.refuse(path, "write a text", "")
        if value is None:
            return ""
        text = str(value)
        nodes = self._nodes(path)
        is_written = len(nodes) == len(path)  # no default
        if is_written and not isinstance(value, str) and nodes[-1].value != text:
            return self.refuse(path, in_quotes(nodes[-1], value), text)
        return text

    def names(self, value: Any, path: Step) -> tuple[str, ...]:
        """Accept a name, or a list of them."""
        listed = value if isinstance(value, list) else [value]
        places = [[*path, i] for i in range(len(listed))] if listed is value else [path]
        names = tuple(map(self.text, listed, places))
        if not self.is_wrong(*path) and (not names or "" in names):
            self.refuse(path, "write a name, or a list of names", None)
        return names

    def texts(self, value: Any, path: Step) -> Texts:
        """Accept one text, or one for each language."""
        if value is None:
            return {}
        if not isinstance(value, dict | list | bool):
            return {"en": self.text(value, path)}
        if isinstance(value, dict) and not any(
            one is None or isinstance(one, dict | list) for one in value.values()
        ):
            return {str(key): self.text(value[key], [*path, key]) for key in value}
        return self.refuse(path, "write a text, or {en: ..., zh: ...}", {})

    def scale(self, value: Any, path: Step) -> tuple[int, int] | None:
        if value is None:
            return None
        if (
            isinstance(value, list)
            and len(value) == 2
            and all(type(v) is int for v in value)
            and value[0] < value[1] <= value[0] + WIDEST_SCALE
        ):
            return value[0], value[1]
        return self.refuse(
            path,
            "write the lowest and the highest value, such as [0, 4], at most "
            f"{WIDEST_SCALE} apart",
            None,
        )

    def number(
        self,
        data: Mapped,
        key: str,
        default: int,
        least: int = 1,
        path: Step | None = None,
    ) -> int:
        value = data.get(key, default)
        if type(value) is not int or value < least:
            told = f"write a whole number of at least {least}"
            return self.refuse(path or [key], told, default)
        return value

    def seconds(self, data: Mapped, key: str, default: float, path: Step) -> float:
        value = data.get(key, default)
        if type(value) not in (int, float) or not 0 <= value <= MOST_SECONDS:
            told = f"write a number of seconds from 0 to {MOST_SECONDS}"
            return self.refuse([*path, key], told, default)
        return float(value)

    def share(self, data: Mapped, key: str, default: float, path: Step) -> float:
        value = data.get(key, default)
        if type(value) not in (int, float) or not 0 <= value <= 1:
            told = "write a number from 0 to 1"
            return self.refuse([*path, key], told, default)
        return float(value)
