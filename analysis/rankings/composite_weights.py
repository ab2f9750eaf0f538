"""Composites: questions or metrics joined into one number, with weights.

A file in YAML or JSON says so under this key; a study file is such a file. Importing
this loads neither numpy nor pandas, so that a web page can read one.
"""

import json
import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from analysis.problems import InputError, Problem, by_line, one_of

KEY = "composites"
KEYS = ("over", "weights", "kind")
OVER = ("questions", "metrics")
KINDS = ("mean", "ranks", "drop")
# Stands between a part and the tag of the stories it is taken from.
AT = "@"
LARGEST_WEIGHT = 10**9
MOST_INSIDE = 12


@dataclass(frozen=True)
class Composite:
    """The parts and weights of one number."""

    name: str
    parts: Mapping[str, float]
    over: str = "metrics"
    kind: str = "mean"
    lines: Mapping[str, int] = field(default_factory=dict, compare=False, repr=False)

    @property
    def weights(self) -> dict[str, float]:
        return {part: weight for part, weight in self.parts.items() if weight}


def equally(
    name: str, parts: Iterable[str], *, over: str = "metrics", kind: str = "mean"
) -> Composite:
    """Return a composite whose parts weigh the same."""
    return Composite(name, dict.fromkeys(parts, 1.0), over, kind)


def rank_composite(metrics: Iterable[str]) -> Composite:
    """Return ViStoryBench's leaderboard: the average of the ranks over metrics."""
    return equally("average rank", metrics, kind="ranks")


def by_name(composites: Iterable[Composite]) -> dict[str, Composite]:
    """Return composites by their names, in their order."""
    return {each.name: each for each in composites}


def split_part(part: str, names: Collection[str]) -> tuple[str, str]:
    """Return what a part names, and the tag behind it.

    Examples
    --------
    >>> split_part("hwpq@SF", ["hwpq"]), split_part("csd@paper", ["csd@paper"])
    (('hwpq', 'SF'), ('csd@paper', ''))
    """
    if part in names or AT not in part:
        return part, ""
    name, _, tag = part.rpartition(AT)
    return name, tag


def inside(known: Mapping[str, Composite], name: str) -> set[str]:
    """Return all that a composite is made of, whatever depth."""
    found: set[str] = set()
    waiting = list(known[name].parts)
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting += known[part].parts if part in known else ()
    return found


def leaves(known: Mapping[str, Composite], name: str) -> dict[str, float]:
    """Return the parts of a mean that are no composites; their weights sum to 1."""
    composite = known[name]
    if composite.kind != "mean":
        return {}
    total = math.fsum(composite.weights.values())
    found: dict[str, float] = {}
    for part, weight in composite.weights.items():
        inner = leaves(known, part) if part in known else {part: 1.0}
        if not inner:
            return {}
        for leaf, share in inner.items():
            found[leaf] = found.get(leaf, 0.0) + weight / total * share
    return found


def read_composites(path: Path) -> tuple[Composite, ...]:
    """Read the composites of a file in YAML or JSON; other keys than theirs may be."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise _unreadable(path.name, error) from error
    return composites_of(content, path.name)


def composites_of(content: bytes, file: str) -> tuple[Composite, ...]:
    """Return the composites of what a file of this name holds."""
    try:
        text = content.decode("utf-8-sig")
        # Tabs may stand before a line of JSON, but of YAML they may not.
        text = text.expandtabs() if file.lower().endswith(".json") else text
        root = yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        told = f"YAML or JSON ({error.problem})"
        raise InputError([Problem(file, told, line)]) from error
    except (UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise _unreadable(file, error) from error
    return _of_root(root, file)


def _unreadable(file: str, error: Exception) -> InputError:
    return InputError([Problem(file, f"a readable file in YAML or JSON ({error})")])


def given_composites(given: Mapping[str, object]) -> tuple[Composite, ...]:
    """Return composites that are given as a mapping, as a file would have them."""
    text = json.dumps({KEY: given}, default=str)
    return _of_root(yaml.compose(text, yaml.SafeLoader), KEY)


def _of_root(root: yaml.Node | None, file: str) -> tuple[Composite, ...]:
    block = None
    if isinstance(root, yaml.MappingNode):
        block = next((v for k, v in root.value if k.value == KEY), None)
    if block is None:
        raise InputError([Problem(file, f"the key {KEY}", 1)])
    _check_aliases(block, file)
    return composites_in(block, file)


def _check_aliases(block: yaml.Node, file: str) -> None:
    """Refuse a node that stands twice: short aliases may unfold to text without end."""
    seen: set[int] = set()
    waiting = [(block, block)]
    for node, inside in waiting:  # grows
        if id(node) in seen:
            line = inside.start_mark.line + 1
            raise InputError([Problem(file, "values written out, no aliases", line)])
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            waiting += [(one, key) for key, value in node.value for one in (key, value)]
        elif isinstance(node, yaml.SequenceNode):
            waiting += [(one, node) for one in node.value]


def composites_in(block: yaml.Node, file: str) -> tuple[Composite, ...]:
    """Return the composites of a block of YAML, whose nodes know their lines."""
    reader = _Reader(file)
    found = tuple(
        reader.composite(name, node, line)
        for name, node, line in reader.pairs(block, "", "composites by their names")
    )
    if reader.problems:
        raise InputError(by_line(reader.problems))
    reader.check_nesting(by_name(found))
    if reader.problems:
        raise InputError(by_line(reader.problems))
    return found


class _Reader:
    """Reads nodes of YAML, and notes what is wrong with them."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def refuse(self, line: int, column: str, value: str, expected: str) -> None:
        self.problems.append(Problem(self.file, expected, line, column, value))

    def pairs(
        self, node: yaml.Node, column: str, expected: str
    ) -> Iterator[tuple[str, yaml.Node, int]]:
        """Yield key, value and line of a mapping, each key once."""
        if not isinstance(node, yaml.MappingNode) or not node.value:
            self.refuse(node.start_mark.line + 1, column, "", expected)
            return
        seen: set[str] = set()
        for key, value in node.value:
            # Other keys are not read: what they hold may have no end.
            is_name = isinstance(key, yaml.ScalarNode)
            name = str(key.value).strip() if is_name else ""
            line = key.start_mark.line + 1
            if not name:
                self.refuse(line, column, "", "a name")
            elif name in seen:
                self.refuse(line, column, name, "each name once")
            else:
                yield name, value, line
            seen.add(name)

    def composite(self, name: str, node: yaml.Node, line: int) -> Composite:
        wanted = "over: questions or metrics, and weights"
        given: dict[str, yaml.Node] = {}
        for key, value, at in self.pairs(node, name, wanted):
            given[key] = value
            if key not in KEYS:
                self.refuse(at, name, key, f"one of {', '.join(KEYS)}")
        if isinstance(node, yaml.MappingNode) and not {"over", "weights"} <= {*given}:
            self.refuse(line, name, "", wanted)
        parts, lines = self.weights(name, given.get("weights"))
        over = self.word(name, given.get("over"), OVER)
        kind = self.word(name, given.get("kind"), KINDS)
        if kind == "drop" and sum(weight > 0 for weight in parts.values()) != 2:
            self.refuse(line, name, "", "two parts of a drop: what it is from, and to")
        return Composite(name, parts, over, kind, {**lines, name: line})

    def word(self, name: str, node: yaml.Node | None, known: tuple[str, ...]) -> str:
        """Return one of the known words; the first where nothing is said."""
        if node is not None and node.value not in known:
            value = str(node.value) if isinstance(node, yaml.ScalarNode) else ""
            line = node.start_mark.line + 1
            self.refuse(line, name, value, f"one of {', '.join(known)}")
        return str(node.value) if node is not None else known[0]

    def weights(
        self, name: str, node: yaml.Node | None
    ) -> tuple[dict[str, float], dict[str, int]]:
        """Return the weight and the line of each part; those of a list weigh 1."""
        if node is None:
            return {}, {}
        if isinstance(node, yaml.SequenceNode):
            one = yaml.ScalarNode("tag:yaml.org,2002:int", "1")
            pairs = [(each, one) for each in node.value]
            node = yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark)
        parts, lines = {}, {}
        before = len(self.problems)
        for part, value, line in self.pairs(node, name, "weights by names of parts"):
            parts[part], lines[part] = _number(value), line
            if not 0 <= parts[part] <= LARGEST_WEIGHT:
                text = str(value.value) if isinstance(value, yaml.ScalarNode) else ""
                expected = f"a weight from 0 to {LARGEST_WEIGHT:,}"
                self.refuse(line, f"{name}: {part}", text, expected)
        if len(self.problems) == before and not math.fsum(parts.values()):
            line = node.start_mark.line + 1
            self.refuse(line, name, "", "weights that do not sum to 0")
        return parts, lines

    def check_nesting(self, known: Mapping[str, Composite]) -> None:
        for name, composite in known.items():
            own = inside(known, name)
            if len(own & known.keys()) > MOST_INSIDE:
                expected = f"at most {MOST_INSIDE} composites inside one"
                self.refuse(composite.lines[name], name, "", expected)
            if name in own:
                expected = "a composite that is no part of itself"
                self.refuse(composite.lines[name], name, "", expected)
            for part in composite.parts:
                if part in known and known[part].over != composite.over:
                    expected = f"a composite over {composite.over}"
                    self.refuse(composite.lines[part], name, part, expected)


def _number(node: yaml.Node) -> float:
    try:
        return float(node.value)
    except (TypeError, ValueError):
        return math.nan


def check_composites(
    composites: Iterable[Composite],
    *,
    questions: Collection[str],
    metrics: Collection[str] | None = None,
    tags: Mapping[str, Collection[str]] | None = None,
    file: str,
) -> None:
    """Refuse composites that name nothing, or are named like something else."""
    known = by_name(composites)
    there = {"questions": questions, "metrics": metrics}
    problems: list[Problem] = []
    for name, composite in known.items():
        if name in questions or name in (metrics or ()):
            expected = "a name that no question and no metric has"
            line = composite.lines.get(name)
            problems.append(Problem(file, expected, line, "", name))
        names = there[composite.over]
        for part in composite.parts:
            if part in known or names is None:
                continue
            if expected := _why_unknown(part, composite.over, names, tags):
                line = composite.lines.get(part)
                problems.append(Problem(file, expected, line, name, part))
    if problems:
        raise InputError(by_line(problems))


def _why_unknown(
    part: str,
    over: str,
    names: Collection[str],
    tags: Mapping[str, Collection[str]] | None,
) -> str:
    """Return what would be right instead of a part; empty where it is right."""
    name, tag = split_part(part, names)
    if name not in names:
        return one_of(name, names)
    column, _, value = tag.partition("=")
    if not tag or tags is None or value in tags.get(column, ()):
        return ""
    if not tags:
        return "no tag, or a table of stories that has it (--stories)"
    having = [column for column, values in tags.items() if tag in values]
    if not having:
        values = {value for own in tags.values() for value in own}
        return f"a tag behind {AT}: {one_of(value or tag, values)}"
    if len(having) > 1:
        return " or ".join(f"{name}{AT}{column}={tag}" for column in having)
    return ""
