"""Telltale texts, and the report of a blinding check."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from urllib.parse import unquote


@dataclass(frozen=True, order=True)
class BlindingFinding:
    """A sign that distinguishes methods, with its place and what would be right."""

    what: str
    where: str
    method: str
    right: str

    def line(self) -> str:
        who = f"{self.method}: " if self.method else ""
        return f"{who}{self.what}; {self.where}; expected: {self.right}"


@dataclass
class BlindingReport:
    """All findings; a study is blind if there is no leak."""

    leaks: list[BlindingFinding] = field(default_factory=list)
    warnings: list[BlindingFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Slots visited, responses of each kind, bytes and seconds.
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def is_blind(self) -> bool:
        return not self.leaks

    def summary(self) -> str:
        n = self.counts
        return (
            f"Checked {n['slots']} slots: {n['pages']} pages, {n['pictures']} "
            f"pictures, {n['videos']} videos, {n['others']} other responses, "
            f"{n['bytes'] / 1e6:,.1f} MB in {self.seconds:.1f} s."
        )

    def as_dict(self) -> dict[str, object]:
        return {
            "blind": self.is_blind,
            "leaks": [asdict(one) for one in self.leaks],
            "warnings": [asdict(one) for one in self.warnings],
            "notes": self.notes,
            "looked_at": {**self.counts, "seconds": self.seconds},
        }


def folded(findings: Iterable[BlindingFinding]) -> list[BlindingFinding]:
    """Merge equal findings, each with its first place."""
    places: dict[tuple[str, str, str], dict[str, None]] = {}
    for one in findings:
        key = (one.what, one.method, one.right)
        places.setdefault(key, {})[one.where] = None
    return [
        BlindingFinding(what, _first_of(list(where)), method, right)
        for (what, method, right), where in places.items()
    ]


def _first_of(where: list[str]) -> str:
    return where[0] + f", and {len(where) - 1} more places" * (len(where) > 1)


# Bytes of pictures are almost random, so shorter words occur in them by chance.
LEAST_IN_BYTES = 6
# Random codes contain short words by chance.
LEAST_IN_CODES = 4
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Telltale:
    """A text that annotators must not see, its kind, and the methods it reveals."""

    text: str
    kind: str
    methods: frozenset[str]

    @property
    def who(self) -> str:
        return ", ".join(sorted(self.methods))


class Telltales:
    """All telltales of a study, compiled for searching.

    Words of the pages themselves, single letters and short numbers prove
    nothing where they stand: they are `common`, and counted page by page.
    """

    def __init__(self, telltales: Iterable[Telltale], interface: str) -> None:
        self.common: dict[Telltale, re.Pattern[str]] = {}
        self.clear: dict[Telltale, re.Pattern[str]] = {}
        for one in telltales:
            if not words(one.text):
                continue
            pattern = _pattern(one.text)
            if is_short(one.text) or pattern.search(interface):
                self.common[one] = pattern
            else:
                self.clear[one] = pattern
        self._any = re.compile("|".join(p.pattern for p in self.clear.values()), re.I)

    def find(self, text: str, *, least: int = 1) -> Iterator[Telltale]:
        """Yield the telltales in a text, including URL-encoded ones."""
        plain = unquote(text)
        if not self.clear or not self._any.search(plain):
            return
        for one, pattern in self.clear.items():
            if len("".join(words(one.text))) >= least and pattern.search(plain):
                yield one

    def find_bytes(self, data: bytes) -> Iterator[Telltale]:
        """Yield the telltales that a file contains verbatim."""
        text = data.decode("latin-1").casefold()
        for one in self.clear:
            name = one.text.encode().decode("latin-1").casefold()
            if len(name) >= LEAST_IN_BYTES and name in text:
                yield one


def words(text: str) -> list[str]:
    """Return the words of a text: runs of letters and digits."""
    return WORD.findall(text.casefold())


def is_short(text: str) -> bool:
    """Say whether a text is too short to search: one letter or a short number."""
    joined = "".join(words(text))
    return len(joined) < 2 or (joined.isdigit() and len(joined) < 6)


def _pattern(text: str) -> re.Pattern[str]:
    """Return a pattern for the words of a text in sequence."""
    parts = words(text)
    start = r"(?<![^\W_])" if parts[0][0].isascii() else ""
    end = r"(?![^\W_])" if parts[-1][-1].isascii() else ""
    return re.compile(start + r"[\W_]*".join(map(re.escape, parts)) + end, re.I)
