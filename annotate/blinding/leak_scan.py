"""Looking for telltales in single answers."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from annotate.blinding.file_metadata import Facts, examine
from annotate.blinding.findings import BlindingFinding
from annotate.blinding.leaks import (
    LEAST_IN_CODES,
    Telltale,
    Telltales,
    hash_starts,
)
from annotate.blinding.method_differences import forbidden_headers
from annotate.blinding.seat_crawl import SeatAnswer, Visit

# What people read; the rest of a page is for browsers and scripts.
READ = {"text", "alt", "title", "aria-label", "placeholder", "content", "summary"}
NO_NAMES = "nothing that tells a method in anything that annotators are sent"
NO_METADATA = "pictures and videos without metadata"
NO_CODES = "random links and codes, addresses that say only where something stands"

MORE_OFTEN = "more often on this method's pages than on others of the same stories"
_NUMBER = re.compile(r"\d+(\.\d+)?(px|s)?")

# Where a common telltale stands: language of the page, element, attribute.
LeakPlace = tuple[str, str, str]
Counted = Counter[tuple[Telltale | str, LeakPlace]]


@dataclass
class Scanner:
    """Knows what must not be seen, and counts what alone proves nothing."""

    telltales: Telltales
    checks: Telltales
    own: list[str]
    hashes: Mapping[str, str]
    counted: dict[str, list[tuple[frozenset[str], Counted]]] = field(
        default_factory=lambda: defaultdict(list)
    )

    def answer(
        self, answer: SeatAnswer, where: str, visit: Visit | None
    ) -> Iterator[BlindingFinding]:
        """Yield what an answer's status, headers and text give away."""
        if answer.status >= 500:
            yield BlindingFinding(
                f"answered {answer.status}, so it could not be looked at",
                f"at {where}",
                "",
                "an answer",
            )
        plain = visit.plain if visit else str
        yield from forbidden_headers(where, answer.headers)
        lines = [(f"header {name}", text) for name, text in answer.headers.items()]
        lines += [("cookie", text) for text in answer.cookies]
        for name, text in lines:
            yield from self._hidden(plain(text), f"in {name} at {where}")
        for piece in answer.pieces:
            place = f"in {piece.where} at {where}"
            if piece.attribute in READ or piece.element == "comment":
                yield from self._read(piece.text, place)
            else:
                yield from self._hidden(plain(piece.text), place)

    def _read(self, text: str, place: str, least: int = 1) -> Iterator[BlindingFinding]:
        """Yield what stands elsewhere than in the study's own texts."""
        if found := list(self.telltales.find(text, least=least)):
            left = set(self.telltales.find(self._without_own(text)))
            for one in found:
                if one in left:
                    yield self._finding(one, place)

    def _without_own(self, text: str) -> str:
        """Return what is left of a text without the study's own texts."""
        rest = " ".join(text.split())
        for own in self.own:
            rest = rest.replace(own, " … ")
        return rest

    def _hidden(
        self, text: str, place: str, least: int = 1
    ) -> Iterator[BlindingFinding]:
        yield from self._read(text, place, least)
        for one in self.checks.find(text, least=least):
            yield self._finding(one, place)
        for start in sorted(hash_starts(text) & self.hashes.keys()):
            yield BlindingFinding(
                f"hash of a picture ({start}…)", place, self.hashes[start], NO_CODES
            )

    def code(self, text: str, where: str) -> Iterator[BlindingFinding]:
        """Yield what a link or the code of a slot gives away."""
        yield from self._hidden(text, where, LEAST_IN_CODES)

    def _finding(self, telltale: Telltale, place: str) -> BlindingFinding:
        return BlindingFinding(
            f"{telltale.kind} “{telltale.text}”", place, telltale.who, NO_NAMES
        )

    def media(
        self, answer: SeatAnswer, where: str, method: str
    ) -> tuple[Facts, list[BlindingFinding]]:
        """Return what a picture or video tells, and what of it gives away."""
        facts = examine(answer.body)
        found = [
            (f"metadata of a file: {tag}", method, NO_METADATA)
            for tag in facts.metadata
        ]
        found += [
            (f"{one.kind} “{one.text}” in the bytes of a file", one.who, NO_METADATA)
            for one in self.telltales.find_bytes(answer.body)
        ]
        if facts.size is None:
            what = f"a file of kind {facts.kind} that cannot be read"
            found.append((what, method, "WebP pictures and mp4 videos"))
        return facts, [
            BlindingFinding(what, f"at {where}", whose, right)
            for what, whose, right in found
        ]

    # What stands everywhere

    def count(self, visit: Visit) -> None:
        """Count the common telltales and the numbers of a slot's pages."""
        methods = frozenset(output.method.name for output in visit.shown.values())
        counted: Counted = Counter()
        for page in visit.pages:
            for piece in page.pieces:
                place = (page.language, piece.element, piece.attribute)
                text = self._without_own(visit.plain(piece.text))
                for one in self.telltales.find_common(text):
                    counted[one, place] += 1
                if piece.attribute not in READ and _NUMBER.fullmatch(piece.text):
                    counted[piece.text, place] += 1
        self.counted[visit.unit.story.key].append((methods, counted))

    def common(self) -> Iterator[BlindingFinding]:
        """Yield common telltales that stand more often where their method is shown."""
        for one, place in self._places():
            if isinstance(one, Telltale) and self._tells(one, place, one.methods):
                _language, element, attribute = place
                yield self._finding(
                    one, f"in {attribute or 'text'} of <{element}>, {MORE_OFTEN}"
                )

    def numbers(self) -> Iterator[BlindingFinding]:
        """Yield numbers in attributes that stand more often with one method."""
        methods = {
            m for pages in self.counted.values() for shown, _c in pages for m in shown
        }
        for one, place in self._places():
            for method in sorted(methods) if isinstance(one, str) else ():
                if self._tells(one, place, frozenset([method])):
                    _language, element, attribute = place
                    yield BlindingFinding(
                        f"number {one}",
                        f"in {attribute} of <{element}>, {MORE_OFTEN}",
                        method,
                        "the same numbers for all methods",
                    )

    def _places(self) -> list[tuple[Telltale | str, LeakPlace]]:
        every = {key for pages in self.counted.values() for _m, c in pages for key in c}
        return sorted(every, key=str)

    def _tells(
        self, one: Telltale | str, place: LeakPlace, methods: frozenset[str]
    ) -> bool:
        """Say whether every story shows it more often with these methods."""
        held = [
            (
                [c[one, place] for shown, c in pages if shown & methods],
                [c[one, place] for shown, c in pages if not shown & methods],
            )
            for pages in self.counted.values()
        ]
        both = [(own, others) for own, others in held if own and others]
        return bool(both) and all(min(own) > max(others) for own, others in both)
