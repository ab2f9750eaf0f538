"""Problems of an input: what, where, and what would be right.

It imports nothing, so that any part of the project may use it.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Protocol, Self, TypeVar

from analysis.sentences import sentence

# Shown and kept problems of each kind, and the number of kinds kept.
SHOWN_OF_A_KIND, KEPT_OF_A_KIND, KEPT_KINDS = 3, 100, 100
OTHER_KINDS = ""
# Characters of a value, and names of a list, that a message shows.
LONGEST_SHOWN, MOST_NAMES = 60, 12
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(e[-+]?\d+)?")


def without_numbers(text: str) -> str:
    """Return a message with its numbers left open.

    >>> without_numbers("3 columns as in the header, not 5")
    '# columns as in the header, not #'
    """
    return _NUMBER.sub("#", text)


def shown(value: str) -> str:
    r"""Return a value as a message shows it, on one line.

    What cannot be printed is escaped, and the middle of a long value left out.

    >>> print(shown("a\n\x1b[1m"), shown("x" * 40 + "y" * 40))
    a\n\x1b[1m xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…yyyyyyyyyyyyyyyyyyyyyyyyyyyyy
    """
    if len(value) > 2 * LONGEST_SHOWN:
        value = f"{value[:LONGEST_SHOWN]}…{value[-LONGEST_SHOWN:]}"
    text = "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode()
        for letter in value
    )
    if len(text) <= LONGEST_SHOWN:
        return text
    return f"{text[: LONGEST_SHOWN // 2]}…{text[1 - LONGEST_SHOWN // 2 :]}"


def listed(names: Iterable[object]) -> str:
    """Return names as a message lists them: of many the first ones.

    >>> listed(["a", "b"]), listed([]), listed(range(14))
    ('a, b', 'none', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 and 2 more')
    """
    every = [shown(str(name)) for name in names]
    rest = len(every) - MOST_NAMES
    if rest > 0:
        names = every[:MOST_NAMES]
        return sentence("{names} and {n} more", names=names, n=f"{rest:,}")
    return sentence("{names}", names=every) if every else "none"


def one_of(name: str, known: Collection[str]) -> str:
    """Return the known names, with the nearest ones to an unknown name.

    >>> one_of("cid", {"cids", "blur"}), one_of("x", {"cids", "blur"})
    ('one of blur, cids (nearest: cids)', 'one of blur, cids')
    """
    lower = {each.lower(): each for each in sorted(known)}
    near = [lower[each] for each in get_close_matches(name.lower(), lower)]
    told = f" (nearest: {listed(near)})" if near else ""
    return f"one of {listed(sorted(known))}{told}"


@dataclass(frozen=True)
class Problem:
    """A problem of an input, and what would be right.

    `expected` follows that word; `line` 1 is the header, None where lines do not
    apply; `rule` is `expected` as it would be in any other place.
    """

    file: str
    expected: str
    line: int | None = None
    column: str = ""
    value: str = ""
    rule: str = ""

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        parts = [where, shown(self.column), shown(self.value)]
        parts.append(f"expected {self.expected}")
        text = ": ".join(part for part in parts if part)
        return " ".join(text.splitlines())  # one line a problem, whatever a cell holds

    @property
    def kind(self) -> str:
        """Return the kind that equal problems in different places share."""
        return f"{self.column}: {self.rule or without_numbers(self.expected)}"


@dataclass(frozen=True)
class WordedProblem:
    """A problem with its text, and the kind that it shares with others."""

    text: str
    kind: str

    def __str__(self) -> str:
        return self.text


class HasKind(Protocol):
    """Something that is wrong in one of many places."""

    @property
    def kind(self) -> str:
        """Return the kind that it shares with the same problem in other places."""


K = TypeVar("K", bound=HasKind)


class Problems(list[K]):
    """The problems of an input: the first of each kind are kept, and all are counted.

    A file of ten million bad rows says few different things; what is kept of them is
    bounded.
    """

    def __init__(self, problems: Iterable[K] = ()) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()
        self.extend(problems)

    def __reduce__(self) -> tuple[type, tuple[list[K]], dict[str, object]]:
        """Let another process have them: a list's items come before its counts."""
        return type(self), (list(self),), vars(self)

    @property
    def total(self) -> int:
        """Return how many problems there are, those that were not kept included."""
        return self._counts.total()

    def append(self, problem: K) -> None:
        """Count a problem, and keep it if it is among the first of its kind."""
        kind = self._known(problem.kind)
        if kind != OTHER_KINDS and self._counts[kind] < KEPT_OF_A_KIND:
            super().append(problem)
        self._counts[kind] += 1

    def extend(self, problems: Iterable[K]) -> None:
        """Add problems; of `Problems` those that were only counted, too."""
        for problem in problems:
            self.append(problem)
        if isinstance(problems, Problems):
            kept = Counter(problem.kind for problem in problems)
            for kind, number in (problems._counts - kept).items():
                self._counts[self._known(kind)] += number

    def __iadd__(self, problems: Iterable[K]) -> Self:  # type: ignore[override, misc]
        self.extend(problems)
        return self

    def repeat(self, problem: K, number: int) -> None:
        """Count so many more that say the same of other places."""
        self._counts[self._known(problem.kind)] += number

    def _known(self, kind: str) -> str:
        is_new = kind not in self._counts
        return OTHER_KINDS if is_new and len(self._counts) >= KEPT_KINDS else kind

    def kept(self) -> list[str]:
        """Return every problem that was kept, and at last how many there are more."""
        rest = self.total - len(self)
        return [*map(str, self), *([f"... and {rest:,} more"] if rest else [])]

    def lines(
        self, shown: int = SHOWN_OF_A_KIND, more: str = "... and {n} more"
    ) -> list[str]:
        """Return the first problems of each kind, one a line, and how many more.

        A list that is shown whole keeps its order.
        """
        if self.total == len(self) and max(self._counts.values(), default=0) <= shown:
            return list(map(str, self))
        by_kind: dict[str, list[K]] = defaultdict(list)
        for problem in self:
            by_kind[problem.kind].append(problem)
        lines: list[str] = []
        for kind, kept in by_kind.items():
            told = list(map(str, kept[:shown]))
            lines += told
            if rest := self._counts[kind] - len(told):
                lines.append(more.format(n=f"{rest:,}"))
        if others := self.total - sum(self._counts[kind] for kind in by_kind):
            lines.append(more.format(n=f"{others:,}"))
        return lines


def by_line(problems: Iterable[Problem]) -> Problems[Problem]:
    """Return the problems of one file in the order of its lines."""
    found = Problems(problems)
    found.sort(key=lambda problem: problem.line or 0)
    return found


class InputError(ValueError):
    """An input was refused for `problems`; `table` is what could be read of it."""

    def __init__(self, problems: Iterable[Problem], table: object = None) -> None:
        self.problems = Problems(problems)
        self.table = table
        super().__init__("\n".join(self.lines()))

    def __reduce__(self) -> tuple[type, tuple[Problems[Problem], object]]:
        """Let another process have it: a pool hands errors over as pickles."""
        return type(self), (self.problems, self.table)

    def lines(self) -> list[str]:
        """Return what is wrong, each kind at its first places."""
        return self.problems.lines()
