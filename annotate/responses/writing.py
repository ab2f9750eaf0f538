"""The only writer of answers, including those of checklists."""

import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Any, ClassVar, TypeVar

from django.db.models import F, Manager, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.kinds.base import AnswerError, BadAnswerError
from annotate.kinds.registry import KINDS, is_required, kind_of, whole_tables
from annotate.models import (
    Annotator,
    Answer,
    Look,
    Purpose,
    Question,
    ShotComment,
    Slot,
    StoryComment,
)
from annotate.responses.leasing import refuse_unless_held
from evalcore.database.prepared import Prepared, add, store
from evalcore.models import Shot

# The most rows in one request. They are stored in one transaction, for which all others
# wait; queue.js sends no more.
MOST_ROWS = 200
# Revisions of one answer. Further changes of a draft overwrite the last one, as every
# change to the draft of a free text does.
MOST_REVISIONS = 100
# A key from the page: milliseconds since 1970, and the browser's tab.
PAGE_KEY = re.compile(r"([0-9]{13}) (.+)", re.ASCII)

# The place of a row: a question, shot or text.
Place = tuple[str | int, ...]


class Held:
    """A slot and its annotator, both locked while a request works on them."""

    def __init__(self, slot: Slot, person: Annotator) -> None:
        self.slot, self.person = slot, person
        self.is_open = False

    def open(self) -> Slot:
        """Return the slot if its annotator may answer it now, or raise."""
        if not self.is_open:
            refuse_unless_held(self.slot, self.person)
            self.is_open = True
        return self.slot

    @cached_property
    def questions(self) -> list[Question]:
        """Return the questions about the story, loaded on first use."""
        return [
            question
            for question in self.slot.study.asked
            if not question.stories or question.is_asked_of(self.slot.unit.story)
        ]

    @cached_property
    def revisions(self) -> dict[int, list[Answer]]:
        """Return all revisions of the annotator's answers by question, in order."""
        by_question: dict[int, list[Answer]] = defaultdict(list)
        for model in whole_tables(self.slot.study):
            rows = _of_slot(model, is_current=False)
            for row in rows.rows(slot=self.slot.pk, annotator=self.person.pk):
                by_question[row.question_id].append(row)
        return by_question


@dataclass(frozen=True, kw_only=True)
class Row(ABC):
    """A row of a request about one question, shot or text."""

    is_answer: ClassVar[bool] = True

    id: str = ""
    client_key: str = ""

    @property
    @abstractmethod
    def place(self) -> Place:
        """Return the place of the row; only the last row of a place counts."""

    @abstractmethod
    def store(self, held: Held) -> None:
        """Store the row, or raise before anything is written."""


@dataclass(frozen=True, kw_only=True)
class AnswerRow(Row):
    """An answer to a question; None as value takes it back."""

    question: str
    value: int | str | None

    @property
    def place(self) -> Place:
        return "question", self.question

    def store(self, held: Held) -> None:
        refused = record_answers(held, [self])
        if refused:
            raise refused[self.place]


# The models whose rows store the client's key.
Stored = TypeVar("Stored", bound=Answer | ShotComment | StoryComment | Row)


def tab_of(key: str) -> str:
    """Return the browser tab of a key; empty if no page created it."""
    match = PAGE_KEY.fullmatch(key)
    return match[2] if match else ""


def sent_before(key: str, rows: Iterable[Stored]) -> list[Stored]:
    """Return the stored rows of the same or a later event in the same tab."""
    tab = tab_of(key)
    return [
        row
        for row in rows
        if key
        and (
            row.client_key == key
            or (tab and row.client_key > key and tab_of(row.client_key) == tab)
        )
    ]


def confirm(key: str, rows: Iterable[Answer]) -> None:
    """Record that a later event of the same tab changed answers."""
    tab = tab_of(key)
    for row in rows:
        if tab and tab_of(row.client_key) == tab:
            row.client_key = key
            store(row, "client_key")


def record_answers(held: Held, rows: Sequence[AnswerRow]) -> dict[Place, AnswerError]:
    """Store answers to different questions; return the reasons for refusals."""
    refused: dict[Place, AnswerError] = {}
    questions = {question.key: question for question in held.slot.study.asked}
    new: dict[type[Answer], list[Answer]] = defaultdict(list)
    for row in rows:
        try:
            question = questions.get(row.question)
            if question is None:
                raise BadAnswerError(_("This question does not exist."))
            if row.value is None:
                _take_back(held, question, row.client_key)
            elif (answer := _next(held, question, row, row.value)) is not None:
                new[type(answer)].append(answer)
        except AnswerError as error:
            refused[row.place] = error
    for answers in new.values():
        add_revisions(answers, chain(*held.revisions.values()))
        for answer in answers:
            held.revisions[answer.question_id].append(answer)
    return refused


def _next(
    held: Held, question: Question, row: AnswerRow, value: int | str
) -> Answer | None:
    """Return the next revision of an answer, or None if nothing changes."""
    _refuse_box(question)
    before = held.revisions[question.pk]
    if sent_before(row.client_key, before):
        return None
    slot, kind = held.open(), kind_of(question)
    if question not in held.questions:
        raise BadAnswerError("This question is not asked of this story.")
    fields = kind.fields(slot, question, value)
    current = next((old for old in before if old.is_current), None)
    if current is not None and current.value == fields["value"]:
        confirm(row.client_key, [current])
        return None
    answer = kind.model(
        slot=slot,
        annotator=held.person,
        question=question,
        client_key=row.client_key,
        **fields,
    )
    number(answer, before)
    return answer


def number(answer: Answer, before: Sequence[Answer]) -> None:
    """Make an answer to a locked slot the next revision of its answers."""
    is_submitted = answer.slot.state == Slot.State.SUBMITTED
    if answer.slot.purpose == Purpose.TRAINING and is_submitted:
        # The expected answer has already been shown.
        raise AnswerError(_("This answer is closed and cannot be changed."))
    if not before:
        return
    last = max(before, key=lambda old: old.revision)
    answer.revision = last.revision + 1
    # Texts and marks are sent at every pause, and only the submitted ones matter.
    is_draft = kind_of(answer.question).is_open_ended and not is_submitted
    if is_draft or last.revision >= MOST_REVISIONS:
        if is_submitted:
            text = _(
                "This answer was changed %(most)d times and can no longer be changed."
            )
            raise AnswerError(text % {"most": MOST_REVISIONS})
        answer.pk, answer.revision = last.pk, last.revision


def add_revisions(answers: Sequence[Answer], before: Iterable[Answer]) -> None:
    """Store numbered answers of one table as the current ones."""
    changed = {answer.question_id for answer in answers}
    overtaken = [old for old in before if old.is_current and old.question_id in changed]
    for old in overtaken:
        old.is_current = False
    if overtaken:
        rows = type(answers[0]).objects.filter(pk__in=[old.pk for old in overtaken])
        rows.update(is_current=False)
    overwriting = [answer for answer in answers if answer.pk is not None]
    if fresh := [answer for answer in answers if answer.pk is None]:
        add(*fresh)
    for answer in overwriting:
        answer.save(force_update=True)


def _refuse_box(question: Question) -> None:
    """Raise if the question is a label's box, which is answered per shot."""
    if kind_of(question).of_shots:
        raise BadAnswerError(
            f"{question.key} is a label's box: send it shot by shot, under `ticked`."
        )


def _take_back(held: Held, question: Question, key: str) -> None:
    """Take back an answer; earlier revisions are kept."""
    _refuse_box(question)
    slot = held.open()
    is_training = slot.purpose == Purpose.TRAINING
    if slot.state == Slot.State.SUBMITTED and (is_training or is_required(question)):
        raise BadAnswerError(_("This answer is closed and cannot be changed."))
    revisions = held.revisions[question.pk]
    if sent_before(key, revisions):
        return
    current = [answer for answer in revisions if answer.is_current]
    confirm(key, current)
    for answer in current:
        answer.is_current = False
        store(answer, "is_current")


def refuse_unknown_shot(held: Slot, shot: int) -> None:
    """Raise unless the slot's story has a shot of this number."""
    if not Shot.objects.filter(story__units=held.unit_id, number=shot).exists():
        raise BadAnswerError(_("This story has no shot %(shot)s.") % {"shot": shot})


@lru_cache
def _of_slot(model: type[Answer], *, is_current: bool) -> Prepared[Answer]:
    """Return the query for an annotator's answers to a slot, without checklists."""
    whole = {"question__kind__in": [k.name for k in KINDS.values() if not k.of_shots]}
    only = whole | {"is_current": True} if is_current else whole
    return Prepared(
        lambda slot, annotator: model.objects.filter(
            slot=slot, annotator=annotator, **only
        ).order_by("revision"),
        slot=int,
        annotator=int,
    )


def current_answers(slot: Slot, annotator: Annotator | None) -> dict[int, Answer]:
    """Return the annotator's current answers to a slot by question id."""
    if annotator is None:
        return {}
    by_question: dict[int, Answer] = {}
    for model in whole_tables(slot.study):
        ask = _of_slot(model, is_current=True)
        rows = ask.rows(slot=slot.pk, annotator=annotator.pk)
        by_question |= {row.question_id: row for row in rows}
    return by_question


def shots_left(slot: Slot, annotator: Annotator | None) -> list[int]:
    """Return the shots, in order, that the annotator has not marked as done."""
    looks = Look.objects.filter(slot=slot, annotator=annotator).values("shot")
    left = slot.unit.story.shots.exclude(number__in=looks)
    return list(left.values_list("number", flat=True))


LONGEST_COMMENT = 4000
Comment = TypeVar("Comment", ShotComment, StoryComment)


@dataclass(frozen=True, kw_only=True)
class CommentRow(Row):
    """A comment on a story; an empty text removes it."""

    text: str

    @property
    def place(self) -> Place:
        return ("comment",)

    def store(self, held: Held) -> None:
        if not held.slot.study.presentation.get("comments"):
            raise BadAnswerError("This study takes no comments.")
        own = held.person.story_comments
        keep(own, {"slot": held.open()}, self.text, self.client_key)


def keep(own: Manager[Comment], of: dict[str, Any], text: str, key: str) -> None:
    """Store a person's comment; the caller has locked the slot."""
    text = text.strip()[:LONGEST_COMMENT]
    before = own.filter(**of).first()
    if before and sent_before(key, [before]):
        return
    if before and not text:
        before.delete()
    elif before and before.text == text:
        own.filter(**of).update(client_key=key or before.client_key)
    elif text:
        fields = {"text": text, "written_at": timezone.now(), "client_key": key}
        own.update_or_create(**of, defaults=fields)


def of_holder(rows: QuerySet[Comment]) -> QuerySet[Comment]:
    """Return the comments of the current holders of slots."""
    return rows.filter(annotator=F("slot__annotator"))


def by_slot(slots: Iterable[Slot]) -> dict[int, str]:
    """Return the comments of the current holders by slot."""
    written = of_holder(StoryComment.objects.filter(slot__in=slots))
    return dict(written.values_list("slot", "text"))


def on_page(slot: Slot) -> dict[str, str]:
    """Return the template context of the comment; empty if not allowed."""
    if not slot.study.presentation.get("comments"):
        return {}
    return {"comment": by_slot([slot]).get(slot.pk, "")}
