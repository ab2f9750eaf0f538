"""Invitations from a list with one person per line."""

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
# Names of the first column that mark a line as a heading.
HEADINGS = ("person", "id", "name", "email", "e-mail", "external_id", "prolific_pid")
LONGEST_ID = most_letters(Annotator, "external_id")
LONGEST_NOTE = most_letters(Invitation, "note")
MOST_LINES = 2000


@dataclass(frozen=True)
class ListedPerson:
    """A person of the list; `line` counts from 1."""

    line: int
    person: str
    language: str = ""
    cap: int | None = None
    note: str = ""


class ListError(InvitingError):
    """Invalid lines of a list; `problems` has the first of them with reasons."""

    def __init__(self, wrong: Problems[WordedProblem]) -> None:
        self.problems = wrong.lines(more=_("... and {n} more"))
        super().__init__(" ".join(self.problems))


@dataclass(frozen=True)
class ListResult:
    """The new invitations, and the people of the list who already take part."""

    made: tuple[Invitation, ...]
    known: tuple[str, ...]


def invite_list(study: Study, text: str, *, user: User | None = None) -> ListResult:
    """Invite everybody on a list, or nobody if a line is invalid."""
    with transaction.atomic():
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        problems: Problems[WordedProblem] = Problems()
        listed = list(_read(study, text, problems))
        ids = study.annotators.exclude(external_id="").values_list(
            "external_id", flat=True
        )
        present = {known.casefold() for known in ids}
        new = [one for one in listed if one.person.casefold() not in present]
        if not listed and not problems:
            empty = _("The list is empty. Write one person per line.")
            problems.append(WordedProblem(empty, empty))
        sent = [] if problems else [_invite(study, one, user, problems) for one in new]
        if problems:
            # The exception rolls back the invitations that were made.
            raise ListError(problems)
    return ListResult(
        tuple(invitation for invitation in sent if invitation is not None),
        tuple(one.person for one in listed if one not in new),
    )


def _invite(
    study: Study,
    one: ListedPerson,
    user: User | None,
    problems: Problems[WordedProblem],
) -> Invitation | None:
    annotator = inviting.find_place(
        study, language=one.language, external_id=one.person, cap=one.cap, user=user
    )
    if annotator is None:
        reason = _("everybody planned is already invited, and no ratings are available")
        problems.append(_problem(one.line, reason))
        return None
    return inviting.send(annotator, one.note, user)


def _problem(line: int, reason: str, kind: str = "") -> WordedProblem:
    text = _("Line %(line)d: %(reason)s.") % {"line": line, "reason": reason}
    return WordedProblem(text, kind or without_numbers(reason))


def _read(
    study: Study, text: str, problems: Problems[WordedProblem]
) -> Iterator[ListedPerson]:
    """Yield the people of a list; add invalid lines to the problems."""
    lines = text.removeprefix("\ufeff").splitlines()
    if len(lines) > MOST_LINES:
        most = _("a list can have at most %(most)d lines") % {"most": MOST_LINES}
        problems.append(_problem(len(lines), most))
        return
    columns: tuple[str, ...] = COLUMNS
    seen: dict[str, int] = {}
    for number, line in enumerate(lines, start=1):
        try:
            cells = _cells(line)
        except csv.Error:
            reason = _("a cell has more than %(most)d characters")
            named = {"most": csv.field_size_limit()}
            problems.append(_problem(number, reason % named))
            continue
        if not any(cells):
            continue
        if cells[0].casefold() in HEADINGS:
            # Pasted lists may each bring a heading.
            columns = ("person", *(cell.casefold() for cell in cells[1:]))
            unknown = [name for name in columns if name not in COLUMNS]
            if unknown:
                reason = _("unknown column %(name)s; expected %(known)s")
                names = {"name": unknown[0], "known": ", ".join(COLUMNS)}
                problems.append(_problem(number, reason % names))
                return
            continue
        reason, kind = _fault(study, columns, cells), ""
        person = cells[0].casefold()
        if not reason and person in seen:
            kind = "twice"
            reason = _("%(person)s is already on line %(before)d") % {
                "person": cells[0],
                "before": seen[person],
            }
        if reason:
            problems.append(_problem(number, reason, kind))
            continue
        seen[person] = number
        given = dict(zip(columns, cells, strict=False))
        yield ListedPerson(
            number,
            given["person"],
            given.get("language", ""),
            int(given["cap"]) if given.get("cap") else None,
            given.get("note", ""),
        )


def _cells(line: str) -> list[str]:
    """Split a line at tabs, semicolons or commas."""
    mark = next((mark for mark in "\t;" if mark in line), ",")
    row = next(csv.reader(StringIO(line), delimiter=mark), [])
    return [cell.strip() for cell in row]


def _fault(study: Study, columns: tuple[str, ...], cells: list[str]) -> str:
    """Return what is wrong with a line; empty if nothing is."""
    if len(cells) > len(columns):
        return _("the line has %(n)d columns; expected %(known)s") % {
            "n": len(cells),
            "known": ", ".join(columns),
        }
    given = dict(zip(columns, cells, strict=False))
    if not is_valid_id(given["person"]):
        return _("a person's name or ID needs 1 to %(most)d printable characters") % {
            "most": LONGEST_ID
        }
    return (
        _language_fault(study, given.get("language", ""))
        or _cap_fault(given.get("cap", ""))
        or _note_fault(given.get("note", ""))
    )


def _note_fault(note: str) -> str:
    if len(note) > LONGEST_NOTE:
        return _("a note can have at most %(most)d characters") % {"most": LONGEST_NOTE}
    return "" if note.isprintable() else _("a note cannot contain control characters")


def is_valid_id(text: str) -> bool:
    """Say whether a text can identify a person."""
    return bool(text.strip()) and len(text) <= LONGEST_ID and text.isprintable()


def _language_fault(study: Study, language: str) -> str:
    known = ", ".join(study.languages)
    if study.languages and language not in study.languages:
        return _("%(given)s is not a language of this study; expected %(known)s") % {
            "given": repr(language),
            "known": known,
        }
    if language and not study.languages:
        return _("this study has no languages; leave the language empty")
    return ""


def _cap_fault(cap: str) -> str:
    if not cap or (
        cap.isdecimal() and cap.isascii() and 1 <= int(cap[:9]) <= MOST_SLOTS
    ):
        return ""
    return _(
        "%(given)s is not a valid limit; write a number from 1 to %(most)d, or nothing"
    ) % {
        "given": repr(cap),
        "most": MOST_SLOTS,
    }
