"""Correct typing errors in the title and texts of a study, also while it runs.

Each correction is logged with the text before and after, and raises the study's text
version. Answers have times, so the log says which texts were in force for them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotate import event_log
from annotate.kinds.question import COLUMNS
from annotate.models import Event, Purpose, Slot, Study, Unit, User
from annotate.schema import DefinitionError
from annotate.studies.study_file import define, read_definition, write_definition
from evalcore.models import most_letters

LONGEST_TITLE = most_letters(Study, "title")
LONGEST_VERSION = most_letters(Study, "consent_version")
LONGEST_TEXT = 20_000
# The name of a text in the form and in the log: consent.en, questions.style.text.en,
# training.2.en for the feedback to the second training item.
PARTS = {
    "consent": gettext_lazy("Consent"),
    "instructions": gettext_lazy("Instructions"),
    "category": gettext_lazy("Category"),
    "title": gettext_lazy("Title"),
    "text": gettext_lazy("Question"),
    "help": gettext_lazy("Help"),
    "anchors": gettext_lazy("Anchor"),
    "training": gettext_lazy("Feedback"),
    "labels": gettext_lazy("Kind of fault"),
}
OF_QUESTIONS = ("category", "title", "text", "help")
# Texts by the value or key that they describe.
BY_VALUE = ("anchors", "labels")
Data = dict[str, Any]


class RewordingError(ValueError):
    """A correction that is refused; the message says why."""


@dataclass(frozen=True)
class Wording:
    """A text of a study in one language, with the language codes that lead to it."""

    path: tuple[str, ...]
    text: str
    story: str = ""
    """The story that feedback of the training is about."""

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def language(self) -> str:
        return self.path[-1]

    @property
    def is_long(self) -> bool:
        return self.path[0] != "questions" or self.path[2] in ("text", "help")

    @property
    def label(self) -> str:
        """Return the part of the study, and the value or story that it describes."""
        part = self.path[2] if self.path[0] == "questions" else self.path[0]
        name = str(PARTS[part])
        if part == "training":
            story = f" ({_('story')} {self.story})" if self.story else ""
            return f"{name} {self.path[1]}{story}"
        return f"{name} {self.path[3]}" if part in BY_VALUE else name


@dataclass(frozen=True)
class Correction:
    """A corrected text: its name, and the text before and after."""

    name: str
    before: str
    after: str


@dataclass(frozen=True)
class TextVersion:
    """Texts in force from a time on; the first version has no corrections."""

    number: int
    since: datetime
    corrections: tuple[Correction, ...]
    ratings: int
    """Ratings that were submitted under it."""
    opened_before: int
    """Those of them that annotators had opened before it."""
    user: User | None


def wordings(study: Study) -> list[Wording]:
    """Return the texts that can be corrected, in the order of the study file."""
    if not study.definition:
        return []
    return [*_wordings(_data(study)), *_feedback(_trained(study))]


def _trained(study: Study) -> list[Unit]:
    """Return the training items in their order."""
    units = study.units.filter(purpose=Purpose.TRAINING).select_related("story")
    return list(units.order_by("pk"))


def _feedback(units: Iterable[Unit]) -> Iterator[Wording]:
    for number, unit in enumerate(units, start=1):
        for language, text in sorted(unit.feedback.items()):
            yield Wording(("training", str(number), language), text, unit.story.key)


def _data(study: Study) -> Data:
    definition = read_definition(study.definition, file="", name=study.template)
    return definition.model_dump()


def _wordings(data: Data) -> Iterator[Wording]:
    groups = list(_groups(data))
    languages = sorted({one for _path, texts in groups for one in texts})
    for path, texts in groups:
        for language in languages:
            yield Wording((*path, language), texts.get(language, ""))


def _groups(data: Data) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    """Yield each text of a study by language, without what is not a text."""
    consent = {**data.get("consent", {})}
    consent.pop("version", None)
    whole = [("consent", consent), ("instructions", data.get("instructions", {}))]
    yield from (((name,), texts) for name, texts in whole if texts)
    for question in data["questions"]:
        path = ("questions", question["key"])
        for part in OF_QUESTIONS:
            if texts := question.get(part):
                yield (*path, part), texts
        for part in BY_VALUE:
            for value, texts in question.get(part, {}).items():
                yield (*path, part, str(value)), texts


@transaction.atomic
def rename(study: Study, title: str, *, user: User | None = None) -> bool:
    """Change the title; addresses keep the study's web address name."""
    title = " ".join(title.split())
    if not title:
        raise RewordingError(_("Write a title."))
    if len(title) > LONGEST_TITLE:
        text = _("A title can have at most %(n)d characters; this one has %(has)d.")
        raise RewordingError(text % {"n": LONGEST_TITLE, "has": len(title)})
    stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if stored.title == title:
        return False
    before, stored.title = stored.title, title
    if stored.definition:
        stored.definition = _written(stored, _data(stored) | {"title": title})
    stored.save(update_fields=["title", "definition"])
    event_log.note(
        Event.Kind.STUDY_RENAMED, stored.pk, user=user, corrected=[[before, title]]
    )
    study.title = title
    return True


def _written(study: Study, data: Data) -> str:
    """Return a changed study file, or refuse a text that no study file can have."""
    try:
        return write_definition(define(data, name=study.template))
    except DefinitionError as error:
        raise RewordingError(str(error)) from error


@transaction.atomic
def reword(
    study: Study,
    texts: Mapping[str, str],
    *,
    version: int,
    user: User | None = None,
) -> list[Correction]:
    """Correct texts, given by their names as they should be; return the corrections.

    Texts are compared with those of the `version` that the user saw. A text that
    somebody else has corrected since is refused if the user changed it, too.
    """
    stored = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    data, units = _data(stored), _trained(stored)
    now = {one.name: one for one in (*_wordings(data), *_feedback(units))}
    seen = {name: one.text for name, one in now.items()} | _undone(stored, version)
    corrections = [
        Correction(name, one.text, text)
        for name, one in now.items()
        if (text := _tidied(texts.get(name, seen[name]))) not in (seen[name], one.text)
    ]
    for one in corrections:
        _check(one, now[one.name], seen[one.name])
        if now[one.name].path[0] == "training":
            _put_feedback(data, units, now[one.name].path, one)
        else:
            _put(data, now[one.name].path, one.after)
    if corrections:
        Unit.objects.bulk_update(units, ["feedback"])
        _store(stored, data, corrections, user)
        study.refresh_from_db()
    return corrections


def _tidied(text: str) -> str:
    return text.replace("\r\n", "\n").strip()


def _check(correction: Correction, wording: Wording, seen: str) -> None:
    """Refuse to empty a text, to write too much, or to undo another's correction."""
    where = place_of(correction.name)
    if correction.before != seen:
        text = _(
            "%(where)s: somebody else has corrected this text meanwhile. It is now "
            "“%(text)s”. Nothing was saved; look at the texts and correct them again."
        )
        raise RewordingError(text % {"where": where, "text": wording.text})
    if not correction.after:
        text = _("%(where)s: a text cannot be removed. Use “Copy and edit” for that.")
        raise RewordingError(text % {"where": where})
    if len(correction.after) > LONGEST_TEXT:
        text = _("%(where)s: a text can have at most %(n)d characters.")
        raise RewordingError(text % {"where": where, "n": LONGEST_TEXT})


def place_of(name: str) -> str:
    """Return where a text stands, in words: style, question (en)."""
    wording = Wording(tuple(name.split(".")), "")
    question = f"{wording.path[1]}, " if wording.path[0] == "questions" else ""
    return f"{question}{wording.label} ({wording.language})"


def _put(data: Data, path: tuple[str, ...], text: str) -> None:
    inner: Any = data
    if path[0] == "questions":
        inner = next(one for one in data["questions"] if one["key"] == path[1])
        path = path[2:]
    for step in path[:-1]:
        inner = inner[int(step) if step not in inner else step]
    inner[path[-1]] = text


def _put_feedback(
    data: Data, units: Sequence[Unit], path: tuple[str, ...], correction: Correction
) -> None:
    """Correct feedback in its unit, and in the study file if it stands there."""
    unit, language = units[int(path[1]) - 1], path[2]
    unit.feedback[language] = correction.after
    for one in (data.get("training") or {}).get("units", ()):
        texts = one.get("feedback", {})
        is_same = one["story"] == unit.story.key
        if is_same and texts.get(language) == correction.before:
            texts[language] = correction.after


def _store(
    study: Study, data: Data, corrections: Iterable[Correction], user: User | None
) -> None:
    """Write the study file, its copies in the database, and the log."""
    logged: Data = {"corrected": [list(asdict(one).values()) for one in corrections]}
    if any(one.name.startswith("consent.") for one in corrections):
        data["consent"]["version"] = _raised(study.consent_version)
        study.consent_version = logged["version"] = data["consent"]["version"]
    study.definition = _written(study, data)
    definition = read_definition(study.definition, file="", name=study.template)
    study.consent = definition.consent.texts
    study.instructions = definition.instructions
    rows = {row["key"]: row for row in definition.stored_questions}
    questions = list(study.questions.all())
    columns = {*COLUMNS.values(), "anchors"}
    for question in questions:
        for column in columns & rows[question.key].keys():
            setattr(question, column, rows[question.key][column])
    study.questions.bulk_update(questions, sorted(columns))
    study.text_version += 1
    study.save(
        update_fields=[
            "definition",
            "consent",
            "consent_version",
            "instructions",
            "text_version",
        ]
    )
    event_log.note(
        Event.Kind.TEXTS_CORRECTED,
        study.pk,
        user=user,
        text_version=study.text_version,
        **logged,
    )


def _raised(version: str) -> str:
    """Return the version of the consent text after this one: 1, 2; may, may-2."""
    match = re.fullmatch(r"(.*?)(\d{1,9})", version, re.DOTALL)
    if match is None:
        return f"{version[: LONGEST_VERSION - 2]}-2"
    number = str(int(match[2]) + 1)
    return match[1][: LONGEST_VERSION - len(number)] + number


def _events(study: Study) -> list[Event]:
    events = study.events.filter(kind=Event.Kind.TEXTS_CORRECTED)
    return list(events.select_related("user").order_by("pk"))


def _undone(study: Study, version: int) -> dict[str, str]:
    """Return the texts of an earlier version that have been corrected since."""
    texts: dict[str, str] = {}
    for event in _events(study):
        if event.details["text_version"] > version:
            for name, before, _after in event.details["corrected"]:
                texts.setdefault(name, before)
    return texts


def text_versions(study: Study) -> list[TextVersion]:
    """Return the versions of the study's texts, with the ratings under each."""
    events = _events(study)
    submitted = study.slots.filter(
        state__in=(Slot.State.SUBMITTED, Slot.State.EXCLUDED)
    )
    starts = [study.created_at, *(event.at for event in events)]
    versions = []
    for index, since in enumerate(starts):
        under = submitted.filter(submitted_at__gte=since)
        if index < len(events):
            under = under.filter(submitted_at__lt=starts[index + 1])
        event = events[index - 1] if index else None
        versions.append(
            TextVersion(
                index + 1,
                since,
                tuple(Correction(*one) for one in event.details["corrected"])
                if event
                else (),
                under.count(),
                under.filter(
                    Q(offered_at__lt=since)
                    | Q(offered_at__isnull=True, started_at__lt=since)
                ).count(),
                event.user if event else None,
            )
        )
    return versions
