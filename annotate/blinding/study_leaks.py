"""What would give the methods of a study away, and what the study itself tells."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import PurePath
from typing import Any

from django.conf import settings
from django.db.models import Count, Q, QuerySet
from django.utils import translation

from annotate.blinding.findings import BlindingFinding
from annotate.blinding.leaks import HASH_START, Telltale
from annotate.kinds.registry import KINDS
from annotate.models import CHECKS, Purpose, Skip, Study, Unit
from annotate.presentation.shape_notes import ShapeNote
from evalcore.models import Frame, Output, Story

TEMPLATES = settings.BASE_DIR / "templates"
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
        for path in sorted(TEMPLATES.glob(pattern))
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
