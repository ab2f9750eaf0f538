"""Search for telltales in texts and addresses."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePath

from django.conf import settings
from django.db.models import QuerySet
from django.template import Engine
from django.utils import translation

from annotate.blinding.findings import (
    LEAST_IN_CODES,
    BlindingFinding,
    Telltale,
    Telltales,
)
from annotate.blinding.seat_crawl import SeatAnswer, Visit
from annotate.blinding.sent_files import FORBIDDEN
from annotate.kinds.registry import KINDS
from annotate.models import Purpose, Skip, Study, Unit
from evalcore.models import Output

ORDINARY = ("base.html", "_*.html", "40*.html", "500.html", "rate/*.html")
_TRANSLATED = re.compile(r'translate "([^"]+)"')
# Shorter parts of a path occur in every text.
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


def hashes(outputs: QuerySet[Output]) -> dict[str, str]:
    """Return the method of each picture and video by hash prefix."""
    fields = [
        f"{file}__{kind}"
        for file in ("frames__media", "video")
        for kind in ("sha256", "source_sha256")
    ]
    rows = outputs.values_list("method__name", *fields).iterator()
    return {one[:HASH_START]: name for name, *each in rows for one in each if one}


def interface() -> str:
    """Return the interface texts of annotators' pages in both languages."""
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
    """Return the study's own texts with their places."""
    told: dict[str, object] = {
        "the title": study.title,
        "the consent text": study.consent,
        "the instructions": study.instructions,
    }
    for one in study.questions.all():
        texts = [one.titles, one.texts, one.help_texts, one.anchors, one.categories]
        told[f"question {one.key}"] = texts
    for unit in units:
        key, story = unit.story.key, unit.story
        if unit.purpose == Purpose.TRAINING:
            told[f"the feedback on story {key}"] = unit.feedback
        told[f"story {key}"] = [
            *(shot.text for shot in story.shots.all()),
            *([c.names, c.descriptions, c.key] for c in story.characters.all()),
        ]
    found: dict[str, str] = {}
    for where, value in told.items():
        for text in _strings(value):
            found.setdefault(text, where)
    return found


def _strings(told: object) -> Iterator[str]:
    if isinstance(told, dict):
        told = list(told.values())
    if isinstance(told, list):
        for value in told:
            yield from _strings(value)
    elif isinstance(told, str) and told.strip():
        yield " ".join(told.split())


NO_NAMES = "no trace of a method in anything sent to annotators"
HASH_START = 8
_HEX = re.compile(r"[0-9a-f]{8,}")


@dataclass
class Scanner:
    """Searcher for telltales outside the study's own texts."""

    telltales: Telltales
    own: list[str]
    hashes: Mapping[str, str]

    def answer(
        self, answer: SeatAnswer, where: str, visit: Visit | None
    ) -> Iterator[BlindingFinding]:
        """Yield leaks in a response's status, headers and text."""
        if answer.status >= 500:
            yield BlindingFinding(
                f"could not be checked: status {answer.status}",
                f"at {where}",
                "",
                "a successful response",
            )
        plain = visit.plain if visit else str
        for name, text in answer.headers.items():
            if name.lower() in FORBIDDEN:
                yield BlindingFinding(
                    f"header {name} ({text[:60]})",
                    f"at {where}",
                    "",
                    "no ETag, Last-Modified or Content-Disposition in any response",
                )
            yield from self.text(plain(text), f"in header {name} at {where}")
        for text in answer.cookies:
            yield from self.text(plain(text), f"in cookie at {where}")
        found = set(self.text(plain(answer.text), f"at {where}"))
        for number, line in enumerate(answer.text.splitlines(), 1) if found else ():
            here = set(self.text(plain(line), f"at {where}")) & found
            yield from (
                replace(one, where=f"in line {number} at {where}") for one in here
            )
            found -= here
        yield from sorted(found)

    def text(self, text: str, place: str, least: int = 1) -> Iterator[BlindingFinding]:
        """Yield hashes, and telltales outside the study's own texts."""
        runs = {run[:HASH_START] for run in _HEX.findall(text.casefold())}
        for start in sorted(runs & self.hashes.keys()):
            what = f"hash of a picture ({start}…)"
            yield BlindingFinding(what, place, self.hashes[start], NO_NAMES)
        if not any(self.telltales.find(text, least=least)):
            return
        for one in self.telltales.find(self.without_own(text), least=least):
            what = f"{one.kind} “{one.text}”"
            yield BlindingFinding(what, place, one.who, NO_NAMES)

    def without_own(self, text: str) -> str:
        """Return a text without the study's own texts."""
        rest = " ".join(text.split())
        for own in self.own:
            rest = rest.replace(own, " … ")
        return rest

    def code(self, text: str, where: str) -> Iterator[BlindingFinding]:
        """Yield telltales in a link or the code of a slot."""
        yield from self.text(text, where, LEAST_IN_CODES)
