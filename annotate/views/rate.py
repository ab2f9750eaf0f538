"""The annotator's pages under an invitation link.

The token in the address is the identity; every slot and picture is looked up through
it. Answers are stored by `annotate.rating` alone.
"""

from collections.abc import Callable
from functools import wraps

from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from annotate import leasing, rating, viewing
from annotate.models import Annotator, Event, Invitation, Question, Slot, Study

View = Callable[..., HttpResponse]


def for_annotator(view: View) -> View:
    """Look up the annotator by token and hand the row to the view.

    An unknown link is not found; a revoked one, one of a study that takes no answers
    now, and a story that is not this annotator's get a page that says so, or a sentence
    where a script asks.
    """

    @wraps(view)
    def wrapped(request: HttpRequest, token: str, **kwargs: object) -> HttpResponse:
        invitation = (
            Invitation.objects.filter(token=token)
            .select_related("annotator__study__benchmark")
            .first()
        )
        if invitation is None:
            raise Http404
        annotator = invitation.annotator
        request.token = token
        if invitation.revoked_at is not None:
            return _stopped(request, annotator, "revoked", 410)
        study = annotator.study
        finished = annotator.state == Annotator.State.FINISHED
        if study.state != Study.State.OPEN and not finished:
            return _stopped(request, annotator, study.state, 403)
        try:
            return view(request, annotator, **kwargs)
        except Http404:
            return _stopped(request, annotator, "gone", 404)

    return wrapped


def _stopped(
    request: HttpRequest, annotator: Annotator, why: str, status: int
) -> HttpResponse:
    if "application/json" in request.headers.get("Accept", ""):
        texts = {
            "revoked": _("This invitation is no longer valid."),
            "gone": _("This story is now with somebody else."),
        }
        paused = _("The study does not take answers at the moment.")
        return JsonResponse({"error": texts.get(why, paused)}, status=status)
    context = {"annotator": annotator, "study": annotator.study, "why": why}
    return render(request, "rate/stopped.html", context, status=status)


@never_cache
@require_safe
@for_annotator
def entry(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Lead to whatever comes next: consent, instructions, work, or thanks."""
    if annotator.consented_at is None:
        return redirect("rate-consent", request.token)
    if annotator.instructed_at is None:
        return redirect("rate-instructions", request.token)
    if _is_done(annotator):
        return redirect("rate-done", request.token)
    return redirect("rate-pause", request.token)


def _is_done(annotator: Annotator) -> bool:
    """Say whether the last page is next: what is left can only be offered."""
    following = leasing.next_slot(annotator)
    if following is None:
        return True
    finished = annotator.state == Annotator.State.FINISHED
    return finished and following.annotator_id is None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def consent(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show the consent text; agreeing stores when, and to which version."""
    if request.method == "POST":
        agreed = (
            Annotator.objects.filter(pk=annotator.pk, consented_at__isnull=True)
            .exclude(state=Annotator.State.REVOKED)
            .update(
                consented_at=timezone.now(),
                consent_version=annotator.study.consent_version,
                state=Annotator.State.ACTIVE,
                language=translation.get_language() or "",
            )
        )
        if agreed:
            Event.objects.create(
                study=annotator.study,
                kind=Event.Kind.CONSENT_GIVEN,
                annotator=annotator,
                details={"version": annotator.study.consent_version},
            )
        return redirect("rate-instructions", request.token)
    return _page(request, annotator, "rate/consent.html")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def instructions(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Show the instructions; starting takes the first slot."""
    if annotator.consented_at is None:
        return redirect("rate-consent", request.token)
    if request.method == "POST":
        if annotator.instructed_at is None:
            annotator.instructed_at = timezone.now()
            annotator.save(update_fields=["instructed_at"])
        return _to_next(request, annotator)
    questions = annotator.study.questions.all()
    return _page(request, annotator, "rate/instructions.html", questions=questions)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def pause(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Stand between two sessions, and before going on after an absence."""
    if annotator.instructed_at is None:
        return redirect("rate-entry", request.token)
    if request.method == "POST":
        return _to_next(request, annotator)
    return _page(
        request,
        annotator,
        "rate/pause.html",
        progress=_progress(annotator),
        previous=_last_answered(annotator),
    )


@never_cache
@require_safe
@for_annotator
def done(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Thank whoever has finished, with the completion code; offer free slots."""
    if annotator.consented_at is None:
        return redirect("rate-consent", request.token)
    leasing.finish_if_done(annotator)
    finished = annotator.state == Annotator.State.FINISHED
    if not finished and not _is_done(annotator):
        return redirect("rate-entry", request.token)
    begun = leasing.own_slots(annotator).filter(state__in=leasing.UNFINISHED)
    more = begun.count() + leasing.free_slots(annotator).count()
    return _page(
        request,
        annotator,
        "rate/done.html",
        finished=finished,
        judged=annotator.slots.filter(submitted_at__isnull=False).count(),
        more=more if leasing.next_slot(annotator) else 0,
        previous=_last_answered(annotator),
    )


def _last_answered(annotator: Annotator) -> Slot | None:
    """Return the slot to go back to: the last submitted one of the session at hand."""
    if annotator.study.state != Study.State.OPEN:
        return None
    return (
        leasing.own_slots(annotator)
        .filter(state=Slot.State.SUBMITTED, session=rating.session_at_hand(annotator))
        .last()
    )


@never_cache
@require_safe
@for_annotator
def slot(request: HttpRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Show one story, or two side by side, with the questions."""
    return _slot_page(request, annotator, get_slot(annotator, code))


@never_cache
@require_POST
@for_annotator
def answer(request: HttpRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store one answer as it is given."""
    row = get_slot(annotator, code)
    question = row.study.questions.filter(key=request.POST.get("question", "")).first()
    if question is None:
        return JsonResponse({"error": _("This question does not exist.")}, status=400)
    try:
        stored = _record(
            row, annotator, question, request.POST.get("value", ""),
            request.POST.get("client_key", ""),
        )  # fmt: skip
    except rating.AnswerError as error:
        return JsonResponse({"error": str(error)}, status=409)
    return JsonResponse({"revision": stored.revision})


@never_cache
@require_POST
@for_annotator
def submit(request: HttpRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store what the form holds, close the slot, and go on.

    Without JavaScript this is the only request of a page. With it the answers are
    `stored` already; those in the form may be older, when another tab changed them.
    """
    row = get_slot(annotator, code)
    problems = []
    if not request.POST.get("stored"):
        problems = _record_all(request, annotator, row)
    if not problems:
        try:
            leasing.submit(slot=row, annotator=annotator, seconds=_seconds(request))
        except rating.AnswerError as error:
            problems = [str(error)]
    if problems:
        error = " ".join(dict.fromkeys(problems))
        return _slot_page(request, annotator, row, error=error, status=422)
    return _after(request, annotator, row)


def _record_all(request: HttpRequest, annotator: Annotator, row: Slot) -> list[str]:
    """Store what a form without a script holds; return what could not be stored."""
    problems = []
    for question in row.study.questions.all():
        value = request.POST.get(question.key, "")
        if value:
            try:
                _record(row, annotator, question, value)
            except rating.AnswerError as error:
                problems.append(str(error))
    return problems


def _record(
    row: Slot, annotator: Annotator, question: Question, value: str, key: str = ""
) -> object:
    return rating.record_answer(
        slot=row,
        annotator=annotator,
        question=question,
        value=value,
        client_key=key[:40],
    )


def _seconds(request: HttpRequest) -> float | None:
    """Return the time on the page that the browser measured, if it did."""
    try:
        return float(request.POST.get("seconds", ""))
    except ValueError:
        return None


def _after(request: HttpRequest, annotator: Annotator, row: Slot) -> HttpResponse:
    """Go to the next slot, to the pause after a session, or to the last page."""
    following = None if _is_done(annotator) else leasing.next_slot(annotator)
    if following is None:
        return redirect("rate-done", request.token)
    if leasing.session_for(following, annotator) != row.session:
        return redirect("rate-pause", request.token)
    return _to_next(request, annotator)


def _to_next(request: HttpRequest, annotator: Annotator) -> HttpResponse:
    """Take the next slot and lead to its page; try again if someone was faster."""
    leasing.release_expired()
    while (following := leasing.next_slot(annotator)) is not None:
        try:
            taken = leasing.take(following, annotator)
        except leasing.SlotTakenError:
            continue
        Annotator.objects.filter(pk=annotator.pk).update(last_seen_at=timezone.now())
        return redirect("rate-slot", request.token, taken.code)
    return redirect("rate-done", request.token)


def get_slot(annotator: Annotator, code: str) -> Slot:
    """Return the annotator's slot of that code; anybody else's does not exist."""
    row = (
        Slot.objects.filter(annotator=annotator, code=code)
        .exclude(state=Slot.State.EXCLUDED)
        .select_related(
            "study", "annotator", "unit__story", "unit__output_a", "unit__output_b"
        )
        .first()
    )
    if row is None:
        row = _taken_again(annotator, code)
    if row is None:
        raise Http404
    return row


def _taken_again(annotator: Annotator, code: str) -> Slot | None:
    """Return a slot that became free while its annotator was at work on it."""
    free = leasing.free_slots(annotator).filter(code=code).first()
    if free is None:
        return None
    try:
        return leasing.take(free, annotator)
    except leasing.SlotTakenError:
        return None


def _slot_page(
    request: HttpRequest,
    annotator: Annotator,
    row: Slot,
    *,
    error: str = "",
    status: int = 200,
) -> HttpResponse:
    labels = {"left": _("Left"), "tie": _("No preference"), "right": _("Right")}
    return _page(
        request,
        annotator,
        "rate/slot.html",
        status=status,
        slot=row,
        shots=viewing.shown_shots(row),
        characters=viewing.shown_characters(row),
        questions=viewing.shown_questions(row, labels),
        sides=list(viewing.sides(row)),
        side_names={"only": "", "left": labels["left"], "right": labels["right"]},
        progress=_progress(annotator, row),
        locked=_is_locked(annotator, row),
        previous=leasing.own_slots(annotator)
        .filter(position__lt=row.position, session=row.session)
        .last(),
        error=error,
    )


def _is_locked(annotator: Annotator, row: Slot) -> bool:
    """Say whether the answers of a submitted slot stay as they are."""
    return row.state == Slot.State.SUBMITTED and (
        row.study.state != Study.State.OPEN
        or row.session != rating.session_at_hand(annotator)
    )


def _progress(annotator: Annotator, row: Slot | None = None) -> dict[str, int]:
    """Return how far the annotator is, in all and in the session at hand."""
    own = list(leasing.own_slots(annotator).values_list("session", "state", "position"))
    at = row or leasing.next_slot(annotator)
    session = leasing.session_for(at, annotator) if at else 1
    here = [position for number, _state, position in own if number == session]
    submitted = sum(state == Slot.State.SUBMITTED for _number, state, _place in own)
    place = at.position if at and at.position else None
    return {
        "session": session,
        "sessions": max([session, *(number or 1 for number, _state, _place in own)]),
        "number": 1 + sum(place is None or position < place for position in here),
        "size": _session_length(annotator, at, len(here)),
        "submitted": submitted,
        "planned": len(own),
    }


def _session_length(annotator: Annotator, at: Slot | None, begun: int) -> int:
    """Return how long the session is; free slots join until it is full."""
    if at is None or not (at.claimed or at.annotator_id is None):
        return begun
    free = leasing.free_slots(annotator).count()
    return max(begun, min(annotator.study.session_size, begun + free))


def _page(
    request: HttpRequest,
    annotator: Annotator,
    template: str,
    status: int = 200,
    **context: object,
) -> HttpResponse:
    context |= {
        "annotator": annotator,
        "study": annotator.study,
        "token": request.token,
    }
    response = render(request, template, context, status=status)
    response["Referrer-Policy"] = "same-origin"
    return response
