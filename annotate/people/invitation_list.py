"""Inviting by list: one person a line, with problems named by line."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from io import StringIO

from django.db import transaction
from django.utils.translation import gettext as _

from analysis.problems import Problems, WordedProblem, without_numbers
from annotate.models import Annotator, Invitation, Study, User
from annotate.people import inviting
from annotate.people.inviting import MOST_SLOTS, InvitingError
from evalcore.models import most_letters

COLUMNS = ("person", "language", "cap", "note")
# What the first column is called where a list has a heading.
HEADINGS = ("person", "id", "name", "email", "e-mail", "external_id", "prolific_pid")
LONGEST_ID = most_letters(Annotator, "external_id")
LONGEST_NOTE = most_letters(Invitation, "note")
MOST_LINES = 2000


@dataclass(frozen=True)
class Listed:
    """A person of the list; `line` counts from 1."""

    line: int
    person: str
    language: str = ""
    cap: int | None = None
    note: str = ""


class ListError(InvitingError):
    """Lines of the list are wrong; `problems` says which and why, the first ones."""

    def __init__(self, wrong: Problems[WordedProblem]) -> None:
        self.problems = wrong.lines(more=_("... and {n} more"))
        super().__init__(" ".join(self.problems))


@dataclass(frozen=True)
class Invited:
    """The links that were made, and who of the list takes part already."""

    made: tuple[Invitation, ...]
    known: tuple[str, ...]


def invite_list(study: Study, text: str, *, user: User | None = None) -> Invited:
    """Invite everybody on a list, or nobody if a line is wrong."""
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        problems: Problems[WordedProblem] = Problems()
        listed = list(_read(study, text, problems))
        ids = study.annotators.exclude(external_id="").values_list(
            "external_id", flat=True
        )
        there = {known.casefold() for known in ids}
        new = [one for one in listed if one.person.casefold() not in there]
        if not listed and not problems:
            empty = _("The list is empty; write one person a line.")
            problems.append(WordedProblem(empty, empty))
        made = [] if problems else [_invite(study, one, user, problems) for one in new]
        if problems:
            # Leaving the block by an exception takes back whoever was invited.
            raise ListError(problems)
    return Invited(
        tuple(invitation for invitation in made if invitation is not None),
        tuple(one.person for one in listed if one not in new),
    )


def _invite(
    study: Study, one: Listed, user: User | None, problems: Problems[WordedProblem]
) -> Invitation | None:
    annotator = inviting.find_place(
        study, language=one.language, external_id=one.person, cap=one.cap, user=user
    )
    if annotator is None:
        reason = _("nobody planned is left to be invited, and no slot is free")
        problems.append(_problem(one.line, reason))
        return None
    return inviting.send(annotator, one.note, user)


def _problem(line: int, reason: str, kind: str = "") -> WordedProblem:
    text = _("Line %(line)d: %(reason)s.") % {"line": line, "reason": reason}
    return WordedProblem(text, kind or without_numbers(reason))


def _read(
    study: Study, text: str, problems: Problems[WordedProblem]
) -> Iterator[Listed]:
    """Yield the people of a list; what is wrong is added to the problems."""
    lines = text.removeprefix("\ufeff").splitlines()
    if len(lines) > MOST_LINES:
        most = _("a list has at most %(most)d lines") % {"most": MOST_LINES}
        problems.append(_problem(len(lines), most))
        return
    columns: tuple[str, ...] = COLUMNS
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        try:
            cells = _cells(line)
        except csv.Error:
            reason = _("a cell has more than %(most)d letters")
            named = {"most": csv.field_size_limit()}
            problems.append(_problem(number, reason % named))
            continue
        if not any(cells):
            continue
        if cells[0].casefold() in HEADINGS:
            # Wherever it stands: lists are pasted one below the other.
            columns = ("person", *(cell.casefold() for cell in cells[1:]))
            unknown = [name for name in columns if name not in COLUMNS]
            if unknown:
                reason = _("unknown column %(name)s; there are %(known)s")
                names = {"name": unknown[0], "known": ", ".join(COLUMNS)}
                problems.append(_problem(number, reason % names))
                return
            continue
        reason, kind = _fault(study, columns, cells), ""
        person = cells[0].casefold()
        if not reason and person in seen:
            kind = "twice"
            reason = _("%(person)s is on line %(before)d already") % {
                "person": cells[0],
                "before": seen[person],
            }
        if reason:
            problems.append(_problem(number, reason, kind))
            continue
        seen[person] = number
        given = dict(zip(columns, cells, strict=False))
        yield Listed(
            number,
            given["person"],
            given.get("language", ""),
            int(given["cap"]) if given.get("cap") else None,
            given.get("note", ""),
        )


def _cells(line: str) -> list[str]:
    """Return the cells of a line that a spreadsheet or a person wrote."""
    mark = next((mark for mark in "\t;" if mark in line), ",")
    row = next(csv.reader(StringIO(line), delimiter=mark), [])
    return [cell.strip() for cell in row]


def _fault(study: Study, columns: tuple[str, ...], cells: list[str]) -> str:
    """Return what is wrong with a line, or nothing."""
    if len(cells) > len(columns):
        return _("%(n)d columns; there are %(known)s") % {
            "n": len(cells),
            "known": ", ".join(columns),
        }
    given = dict(zip(columns, cells, strict=False))
    if not is_known_id(given["person"]):
        return _("a person is 1 to %(most)d letters, digits or signs") % {
            "most": LONGEST_ID
        }
    return (
        _language_fault(study, given.get("language", ""))
        or _cap_fault(given.get("cap", ""))
        or _note_fault(given.get("note", ""))
    )


def _note_fault(note: str) -> str:
    if len(note) > LONGEST_NOTE:
        return _("a note has at most %(most)d letters") % {"most": LONGEST_NOTE}
    return "" if note.isprintable() else _("a note has no control characters")


def is_known_id(text: str) -> bool:
    """Say whether somebody can be known by this name."""
    return bool(text.strip()) and len(text) <= LONGEST_ID and text.isprintable()


def _language_fault(study: Study, language: str) -> str:
    known = ", ".join(study.languages)
    if study.languages and language not in study.languages:
        return _("%(given)s is no language of this study; there are %(known)s") % {
            "given": repr(language),
            "known": known,
        }
    if language and not study.languages:
        return _("this study has no languages; leave the second column empty")
    return ""


def _cap_fault(cap: str) -> str:
    if not cap or (
        cap.isdecimal() and cap.isascii() and 1 <= int(cap[:9]) <= MOST_SLOTS
    ):
        return ""
    return _("%(given)s is no cap; write a number from 1 to %(most)d, or nothing") % {
        "given": repr(cap),
        "most": MOST_SLOTS,
    }
