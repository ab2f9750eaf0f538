"""Pages of one slot: show, submit, skip, feedback."""

from collections.abc import Iterable, Mapping
from functools import partial
from types import MappingProxyType

from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseRedirect,
    JsonResponse,
)
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.assignment import choosing
from annotate.kinds.base import (
    AnswerError,
    BadAnswerError,
    NotNowError,
    NotYetError,
    SlotTakenError,
)
from annotate.kinds.registry import asks_of_shots, kind_of
from annotate.models import Annotator, Purpose, Skip, Slot, Study
from annotate.models.units import OUTPUTS
from annotate.pages.annotator.answering import (
    address_after,
    annotator_page,
    for_annotator,
    for_trainee,
    go_on_at_once,
    missing,
    next_address,
    remember,
    was_offered,
)
from annotate.pages.study_views import SeatRequest
from annotate.people import outcomes
from annotate.people.session_progress import (
    has_worked_since,
    needs_rest,
    number_in_session,
    progress,
    totals_of,
)
from annotate.presentation import checklist_sheets, shot_comments, slot_view
from annotate.quality import follow_up, training
from annotate.responses import (
    checklists,
    giving_back,
    leasing,
    submission,
    writing,
)
from annotate.responses.late import offer, regain
from annotate.responses.leasing import lacking
from annotate.responses.writing import AnswerRow, CommentRow, Place, Row
from evalcore.database.prepared import Prepared

# The relations that a slot's page needs.
SHOWN = ("study", "annotator", "unit__story", *(f"unit__{name}" for name in OUTPUTS))
SLOT_OF_CODE = Prepared[Slot](
    lambda code: Slot.objects.select_related(*SHOWN).filter(code=code), code=str
)
LONGEST_REASON = Skip._meta.get_field("comment").max_length


@never_cache
@require_safe
@for_annotator
def slot(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Show a slot's versions of a story, with the questions."""
    ahead = request.GET.get("ahead", "")
    if ahead.isdecimal():
        row = look_at(request, annotator, code)
        return _slot_page(request, annotator, row, ahead=int(ahead))
    return _slot_page(request, annotator, get_slot(annotator, code))


@never_cache
@require_safe
@for_annotator
def ahead(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Return the addresses of the likely next pages, without taking slots."""
    row = get_slot(annotator, code)
    number = number_in_session(annotator, row)
    codes = [slot.code for slot in choosing.foreseen(annotator, row)]
    links = [reverse("rate-slot", args=[request.token, code]) for code in codes]
    pages = [f"{link}?ahead={number + i}" for i, link in enumerate(links, start=1)]
    reply = JsonResponse({"pages": pages, "rest": needs_rest(annotator)})
    return remember(request, reply, annotator, codes)


@never_cache
@require_POST
@for_annotator
def submit(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store the posted form, close the slot, and redirect to the next page."""
    row = get_slot(annotator, code, late=True)
    rows, closing = _rows(request, row), submission.Closing(_seconds(request))
    go_on = partial(go_on_at_once, request, annotator)
    try:
        received = submission.submit(
            annotator, row.code, rows, closing, follow_up=follow_up, go_on=go_on
        )
    except NotNowError as error:
        sent = _sent(rows, {})
        return _slot_page(
            request, annotator, row, error=str(error), status=422, sent=sent
        )
    if received is None:
        raise missing(annotator)
    if not received.submitted:
        problems = [*received.refused.values(), received.problem]
        message = " ".join(dict.fromkeys(str(one) for one in problems if one))
        sent = _sent(rows, received.refused)
        return _slot_page(request, annotator, row, error=message, status=422, sent=sent)
    return HttpResponseRedirect(address_after(request, annotator, received))


@never_cache
@require_POST
@for_annotator
def heartbeat(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Renew the lease while the annotator is active on the page."""
    renewed = leasing.heartbeat(get_slot(annotator, code), annotator)
    return HttpResponse(status=204 if renewed else 409)


@never_cache
@require_POST
@for_annotator
def skip(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Skip a story, with a reason."""
    row = get_slot(annotator, code)
    reason = request.POST.get("reason", "")
    comment = request.POST.get("comment", "").strip()[:LONGEST_REASON]
    error = ""
    if reason not in Skip.Reason.values:
        error = _("Please say why you are skipping this story.")
    elif row.purpose == Purpose.TRAINING:
        error = _("The stories of the training round cannot be skipped.")
    if not error:
        try:
            follow_up.skip(
                slot=row, annotator=annotator, reason=reason, comment=comment
            )
        except BadAnswerError as refused:
            error = str(refused)
        except SlotTakenError:
            error = _("This answer is closed and cannot be changed.")
    if error:
        skipping = {"reason": reason, "comment": comment}
        return _slot_page(
            request, annotator, row, error=error, status=422, skipping=skipping
        )
    return HttpResponseRedirect(next_address(request, annotator))


@never_cache
@require_safe
@for_trainee
def feedback(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Show the expected answers after a training story."""
    row = get_slot(annotator, code)
    if row.purpose != Purpose.TRAINING or row.state != Slot.State.SUBMITTED:
        raise Http404
    return annotator_page(
        request,
        annotator,
        "rate/feedback.html",
        slot=row,
        progress=progress(annotator, row),
        result=training.result(annotator, row.round),
        repeated=training.repeated(annotator, row.round),
        worth=outcomes.current_code(annotator),
        **training.feedback(row),
    )


def _rows(request: SeatRequest, row: Slot) -> list[Row]:
    """Return the rows of a form posted without scripts."""
    posted = request.POST
    rows: list[Row] = [
        AnswerRow(question=question.key, value=value or None)
        for question in row.questions
        if (value := kind_of(question).posted(question, posted)) is not None
    ]
    if asks_of_shots(row.study):
        rows += checklists.form_rows(row, posted)
    if row.study.presentation.get("comments") and "comment" in posted:
        rows.append(CommentRow(text=posted["comment"]))
    return rows + shot_comments.form_rows(posted)


def _sent(
    rows: Iterable[Row], refused: Mapping[Place, AnswerError]
) -> dict[str, tuple[str, str]]:
    """Return the posted answers by question, with the reasons for refusal."""
    return {
        row.question: (str(row.value or ""), str(refused.get(row.place, "")))
        for row in rows
        if isinstance(row, AnswerRow)
    }


def _seconds(request: SeatRequest) -> float | None:
    """Return the browser's time on the page, if it was sent."""
    try:
        return float(request.POST.get("seconds", ""))
    except ValueError:
        return None


def get_slot(annotator: Annotator, code: str, *, late: bool = False) -> Slot:
    """Return the annotator's slot with this code, or raise `Http404`."""
    row = _own(annotator, code) or regain(annotator, code, late=late)
    return _admitted(annotator, row)


def look_at(request: HttpRequest, annotator: Annotator, code: str) -> Slot:
    """Return a slot to show: the annotator's, or a free one that was offered."""
    row = _own(annotator, code)
    if row is None and was_offered(request, annotator, code):
        row = choosing.free_slot(annotator, code, SHOWN)
        row = row or _own(annotator, code)
    return _admitted(annotator, row)


def _admitted(annotator: Annotator, row: Slot | None) -> Slot:
    """Return the slot, unless the annotator has to do something else first."""
    if row is None:
        raise missing(annotator)
    if first := lacking(annotator, row.purpose):
        raise NotYetError(first)
    return row


def _own(annotator: Annotator, code: str) -> Slot | None:
    row = SLOT_OF_CODE.first(code=code)
    if row is None or row.annotator_id != annotator.pk or row.state in leasing.CLOSED:
        return None
    return row


def _slot_page(
    request: SeatRequest,
    annotator: Annotator,
    row: Slot,
    *,
    error: str = "",
    status: int = 200,
    ahead: int = 0,
    skipping: dict[str, str] | None = None,
    sent: Mapping[str, tuple[str, str]] = MappingProxyType({}),
) -> HttpResponse:
    row.study = annotator.study
    totals = totals_of(annotator)
    position = progress(annotator, row, ahead, totals)
    can_skip = row.state != Slot.State.SUBMITTED and row.purpose != Purpose.TRAINING
    context = {
        "slot": row,
        "skip_reasons": Skip.Reason.choices,
        "can_skip": can_skip,
        "skipping": skipping or {},
        "words_needed": can_skip
        and giving_back.needs_words(row, annotator, totals.skipped),
        "proof": "" if row.started_at else offer(annotator, row.code),
        "progress": position,
        "locked": _is_locked(annotator, row),
        "rest": not ahead and has_worked_since(annotator, totals.first),
        "previous": position["before"],
        "error": error,
        **slot_view.for_viewer(row),
        **slot_view.for_player(row),
        "questions": slot_view.shown_questions(row, sent),
        **writing.on_page(row),
        **training.feedback(row),
    }
    if asks_of_shots(row.study):
        context |= checklist_sheets.on_page(row)
    if row.study.may_comment_on_shots:
        context |= shot_comments.on_page(row)
    return annotator_page(
        request, annotator, "rate/slot.html", status=status, **context
    )


def _is_locked(annotator: Annotator, row: Slot) -> bool:
    """Return whether a submitted slot's answers can no longer change."""
    return row.state == Slot.State.SUBMITTED and (
        row.purpose == Purpose.TRAINING
        or row.study.state != Study.State.OPEN
        or row.session != leasing.session_at_hand(annotator)
    )
