"""Answers sent and slots submitted by the function that pages and programs use."""

from collections.abc import Mapping

from annotate.kinds.base import AnswerError
from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Answer, Question, Rating, Slot
from annotate.presentation.shot_comments import ShotCommentRow
from annotate.quality import follow_up
from annotate.responses import checklists
from annotate.responses.submission import Closing, Received
from annotate.responses.submission import submit as submit_slot
from annotate.responses.writing import AnswerRow, CommentRow, Row


def send(slot: Slot, annotator: Annotator, *rows: Row, **more: object) -> Received:
    """Send rows of a slot; raise why one of them was refused."""
    received = submit_slot(
        annotator, slot.code, rows, follow_up=follow_up, whole=True, **more
    )
    if received is None:
        raise AnswerError("This story is with somebody else.")
    return received


def record_answer(
    *,
    slot: Slot,
    annotator: Annotator,
    question: Question,
    value: int | str,
    client_key: str = "",
) -> Answer:
    """Answer a question, and return the current row."""
    row = AnswerRow(question=question.key, value=value, client_key=client_key)
    held = send(slot, annotator, row).held.slot
    answers = kind_of(question).model.objects.filter(slot=held, annotator=annotator)
    return answers.filter(question=question).order_by("-is_current", "revision")[0]


def take_back(
    *, slot: Slot, annotator: Annotator, question: Question, client_key: str = ""
) -> None:
    row = AnswerRow(question=question.key, value=None, client_key=client_key)
    send(slot, annotator, row)


def submit(*, slot: Slot, annotator: Annotator, **told: object) -> Slot:
    """Submit a slot whose questions are answered, with the page's times."""
    return send(slot, annotator, closing=Closing(**told)).held.slot


def record_shot(
    *, slot: Slot, annotator: Annotator, shot: int, ticked, looked: bool, **key: str
) -> int:
    """Tick the boxes of a shot; return how many have changed."""
    row = checklists.TicksRow(shot=shot, ticked=frozenset(ticked), looked=looked, **key)
    return _new_ratings(slot, annotator, row)


def record_checklist_form(
    *, slot: Slot, annotator: Annotator, posted: Mapping[str, str]
) -> int:
    """Send a form of a checklist; return how many boxes have changed."""
    return _new_ratings(slot, annotator, *checklists.form_rows(slot, posted))


def _new_ratings(slot: Slot, annotator: Annotator, *rows: Row) -> int:
    before = Rating.objects.count()
    send(slot, annotator, *rows)
    return Rating.objects.count() - before


def record_comment(
    *, slot: Slot, annotator: Annotator, text: str, client_key: str = ""
) -> None:
    send(slot, annotator, CommentRow(text=text, client_key=client_key))


def record_shot_comments(
    *, slot: Slot, annotator: Annotator, texts: Mapping[tuple[str, int], str]
) -> None:
    rows = (
        ShotCommentRow(side=side, shot=shot, text=text)
        for (side, shot), text in texts.items()
    )
    send(slot, annotator, *rows)
