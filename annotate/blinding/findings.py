"""Leaks, and what a check of blinding reports of them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from itertools import repeat
from urllib.parse import unquote


@dataclass(frozen=True, order=True)
class BlindingFinding:
    """Something that tells methods apart, where, whom it tells, what would be right."""

    what: str
    where: str
    method: str
    right: str

    def line(self) -> str:
        who = f"{self.method}: " if self.method else ""
        return f"{who}{self.what}; {self.where}; right: {self.right}"


@dataclass
class LookedAt:
    """What was looked at."""

    slots: int = 0
    pages: int = 0
    pictures: int = 0
    videos: int = 0
    others: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        return (
            f"Looked at {self.slots} slots: {self.pages} pages, {self.pictures} "
            f"pictures, {self.videos} videos, {self.others} other answers, "
            f"{self.bytes / 1e6:,.1f} MB in {self.seconds:.1f} s."
        )


@dataclass
class BlindingReport:
    """All that was found; a study is blind when there is no leak."""

    leaks: list[BlindingFinding] = field(default_factory=list)
    warnings: list[BlindingFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: LookedAt = field(default_factory=LookedAt)

    @property
    def is_blind(self) -> bool:
        return not self.leaks

    def as_dict(self) -> dict[str, object]:
        return {
            "blind": self.is_blind,
            "leaks": [asdict(one) for one in self.leaks],
            "warnings": [asdict(one) for one in self.warnings],
            "notes": self.notes,
            "looked_at": asdict(self.counts),
        }


def folded(findings: Iterable[BlindingFinding]) -> list[BlindingFinding]:
    """Return one finding for each thing that was found, with its first place."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for one in findings:
        key = (one.what, one.method, one.right)
        listed = places.setdefault(key, [])
        if one.where not in listed:
            listed.append(one.where)
    return [
        BlindingFinding(
            what,
            where[0] + f", and {len(where) - 1} more places" * (len(where) > 1),
            method,
            right,
        )
        for (what, method, right), where in places.items()
    ]


# Bytes of pictures are as good as random: shorter words would turn up in them.
LEAST_IN_BYTES = 6
# Random codes hold short words now and then.
LEAST_IN_CODES = 4

_WORD = re.compile(r"[^\W_]+")
_HEX = re.compile(r"[0-9a-f]{8,}")
HASH_START = 8


@dataclass(frozen=True)
class Telltale:
    """A text that no annotator may meet, what it is, and whom it gives away."""

    text: str
    kind: str
    methods: frozenset[str]

    @property
    def who(self) -> str:
        return ", ".join(sorted(self.methods))


class Telltales:
    """All telltales of a study, ready to be looked for."""

    def __init__(self, telltales: Iterable[Telltale], interface: str) -> None:
        every = [one for one in telltales if words(one.text)]
        patterns = {one: _pattern(one.text) for one in every}
        self.common = [
            one
            for one in every
            if is_short(one.text) or patterns[one].search(interface)
        ]
        self.clear = [one for one in every if one not in self.common]
        self._common, self._clear = _Search(self.common), _Search(self.clear)

    def find(self, text: str, *, least: int = 1) -> Iterator[Telltale]:
        """Yield the clear telltales of a text, also if it is encoded for addresses."""
        return self._clear.find(text, least)

    def find_common(self, text: str) -> Iterator[Telltale]:
        return self._common.find(text, 1)

    def find_bytes(self, data: bytes) -> Iterator[Telltale]:
        """Yield the telltales that stand in a file as they are written."""
        text = data.decode("latin-1").casefold()
        for one in self.clear:
            name = one.text.encode().decode("latin-1").casefold()
            if len(name) >= LEAST_IN_BYTES and name in text:
                yield one


class _Search:
    """Looks for telltales: for all of them at once, as most texts hold none."""

    def __init__(self, telltales: list[Telltale]) -> None:
        self.each = [
            (one, _pattern(one.text), len("".join(words(one.text))))
            for one in telltales
        ]
        every = [pattern.pattern for _one, pattern, _length in self.each]
        self.any = re.compile("|".join(every), re.I)

    def find(self, text: str, least: int) -> Iterator[Telltale]:
        plain = unquote(text)
        if not self.each or not self.any.search(plain):
            return
        for one, pattern, length in self.each:
            if length >= least:
                yield from repeat(one, len(pattern.findall(plain)))


def words(text: str) -> list[str]:
    """Return the words of a text: letters and digits, without what is between them."""
    return _WORD.findall(text.casefold())


def is_short(text: str) -> bool:
    """Say whether a text is found everywhere: one letter, or a short number."""
    joined = "".join(words(text))
    return len(joined) < 2 or (joined.isdigit() and len(joined) < 6)


def _pattern(text: str) -> re.Pattern[str]:
    """Return what finds the words of a text one after the other."""
    parts = words(text)
    start = r"(?<![^\W_])" if parts[0][0].isascii() else ""
    end = r"(?![^\W_])" if parts[-1][-1].isascii() else ""
    return re.compile(start + r"[\W_]*".join(map(re.escape, parts)) + end, re.I)


def hash_starts(text: str) -> set[str]:
    """Return how the hexadecimal numbers of a text begin, if they are long enough."""
    return {run[:HASH_START] for run in _HEX.findall(text.casefold())}
