"""Find what tells a method in texts, addresses and files."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.template import Engine
from django.utils import translation

from annotate.blinding.findings import (
    HASH_START,
    LEAST_IN_CODES,
    BlindingFinding,
    Telltale,
    Telltales,
    hash_starts,
)
from annotate.blinding.method_differences import Facts, examine, forbidden_headers
from annotate.blinding.seat_crawl import SeatAnswer, Visit
from annotate.kinds.registry import KINDS
from annotate.models import CHECKS, Purpose, Skip, Study, Unit
from annotate.presentation.shape_notes import ShapeNote
from evalcore.models import Frame, Output, Story

ORDINARY = ("base.html", "_*.html", "40*.html", "500.html", "rate/*.html")
_TRANSLATED = re.compile(r'translate "([^"]+)"')
# Shorter parts of a path stand in every text.
LEAST_PART = 3


def telltales(outputs: QuerySet[Output]) -> list[Telltale]:
    """Return names, families, modes, timestamps, and folders of a study's methods."""
    kinds: dict[tuple[str, str], set[str]] = defaultdict(set)
    rows = outputs.filter(twin_of=None).select_related("method", "story")
    every = set()
    ordinary = {"shots", "shot"}
    for output in rows:
        name = output.method.name
        every.add(name)
        ordinary |= {output.story.key.casefold(), output.language.casefold()}
        for kind, text in (
            ("family", output.method.family),
            ("mode", output.mode),
            ("timestamp", output.timestamp),
            ("folder", output.source),
        ):
            kinds[kind, text].add(name)
        for part in PurePath(output.source).parts:
            kinds["folder", part].add(name)
    found = [Telltale(name, "name", frozenset([name])) for name in sorted(every)]
    names = {name.casefold() for name in every}
    for (kind, text), methods in sorted(kinds.items()):
        shared = methods == every
        short = kind == "folder" and len(text) < LEAST_PART
        known = text.casefold() in names or text.casefold() in ordinary
        if text and not (shared or short or known):
            found.append(Telltale(text, kind, frozenset(methods)))
    return found


def check_words() -> list[Telltale]:
    """Return the words for what checks an annotator; addresses must not hold them."""
    told = [*CHECKS, *Output.Degradation.values]
    return [Telltale(str(word), "kind of check", frozenset()) for word in told]


def _media(outputs: QuerySet[Output], *fields: str) -> Iterator[tuple[Any, ...]]:
    """Yield the method and these fields of each picture and video, once."""
    frames = Frame.objects.filter(output__in=outputs, media__isnull=False)
    videos = Output.everything.filter(pk__in=outputs, video__isnull=False)
    for rows, method, file in (
        (frames, "output__method__name", "media"),
        (videos, "method__name", "video"),
    ):
        shown = (f"{file}__{field}" for field in fields)
        yield from rows.order_by().values_list(method, *shown).distinct().iterator()


def hashes(outputs: QuerySet[Output]) -> dict[str, str]:
    """Return the method of each picture and video by how its hashes begin."""
    return {
        digest[:HASH_START]: name
        for name, *digests in _media(outputs, "sha256", "source_sha256")
        for digest in digests
    }


def odd_shapes(notes: Iterable[ShapeNote]) -> Iterator[BlindingFinding]:
    """Yield what is told of methods whose pictures have an odd shape."""
    for note in notes:
        yield BlindingFinding(
            f"{note.what} {note.effect}".removesuffix("."),
            "in the edges around pictures",
            note.methods,
            note.right.removesuffix("."),
        )


def gaps(outputs: QuerySet[Output]) -> dict[str, tuple[int, int]]:
    """Return how many outputs of pictures lack shots, and how many there are."""
    counted: dict[str, tuple[int, int]] = {}
    lacking = Count("frames", filter=Q(frames__media=None))
    rows = outputs.filter(frames__isnull=False).annotate(lacking=lacking)
    for method, absent in rows.order_by("pk").values_list("method__name", "lacking"):
        some, every = counted.get(method, (0, 0))
        counted[method] = some + bool(absent), every + 1
    return counted


def interface() -> str:
    """Return what the annotators' pages say whatever they show, in both languages."""
    sources = [
        path.read_text(encoding="utf-8")
        for pattern in ORDINARY
        for folder in Engine.get_default().dirs
        for path in sorted(Path(folder).glob(pattern))
    ]
    said = [text for source in sources for text in _TRANSLATED.findall(source)]
    spoken = []
    for language, _name in settings.LANGUAGES:
        with translation.override(language):
            spoken += [translation.gettext(text) for text in said]
            spoken += [text for kind in KINDS.values() for text in kind.labels()]
            spoken += [str(label) for label in Skip.Reason.labels]
    return "\n".join([*sources, *spoken])


def own_texts(study: Study, units: Iterable[Unit]) -> dict[str, str]:
    """Return every text that the study shows on purpose, with where it is written."""
    texts: dict[str, str] = {}
    for where, told in (
        ("the title", study.title),
        ("the consent text", study.consent),
        ("the instructions", study.instructions),
    ):
        _add(texts, where, told)
    for question in study.questions.all():
        where = f"question {question.key}"
        for told in (
            question.titles,
            question.texts,
            question.help_texts,
            question.anchors,
            question.categories,
        ):
            _add(texts, where, told)
    stories: dict[int, Story] = {}
    for unit in units:
        stories[unit.story_id] = unit.story
        if unit.purpose == Purpose.TRAINING:
            _add(texts, f"the feedback on story {unit.story.key}", unit.feedback)
    for story in stories.values():
        for shot in story.shots.all():
            _add(texts, f"story {story.key}, shot {shot.number}", shot.text)
        for one in story.characters.all():
            where = f"story {story.key}, character {one.key}"
            for told in (one.names, one.descriptions, one.key):
                _add(texts, where, told)
    return texts


def _add(texts: dict[str, str], where: str, told: object) -> None:
    for text in _strings(told):
        texts.setdefault(text, where)


def _strings(told: object) -> Iterator[str]:
    if isinstance(told, dict):
        for value in told.values():
            yield from _strings(value)
    elif isinstance(told, str) and told.strip():
        yield " ".join(told.split())


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
