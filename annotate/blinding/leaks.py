"""What would give a method away, and finding it in a text."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from urllib.parse import unquote

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
        """Yield the common telltales of a text."""
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
