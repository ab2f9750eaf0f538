"""The annotator's pages under an invitation link."""

from collections.abc import Callable
from functools import wraps
from typing import Any

from django.http import (
    Http404,
    HttpResponse,
    HttpResponseBase,
    HttpResponseRedirect,
    JsonResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate import event_log
from annotate.access import rate_limits
from annotate.assignment import choosing
from annotate.kinds.errors import NotYetError
from annotate.kinds.registry import kind_of
from annotate.models import Annotator, Event, Invitation, Purpose, Slot, Study, mark_of
from annotate.pages.annotator.session_progress import progress
from annotate.pages.study_views import SeatRequest
from annotate.people import devices, outcomes
from annotate.presentation import same_size
from annotate.presentation.slot_view import in_order
from annotate.quality import monitoring, training
from annotate.responses import leasing
from annotate.responses.leasing import lacking
from annotate.responses.submission import Received
from evalcore.database.prepared import Prepared
from evalcore.serving import log

View = Callable[..., HttpResponseBase]
HELD: dict[str, str] = {
    Annotator.State.PAUSED: "held",
    Annotator.State.FAILED: "failed",
}


INVITED = Prepared[Invitation](
    lambda token: (
        Invitation.objects.select_related("annotator__study")
        .defer(*(f"annotator__study__{name}" for name in Study.LONG))
        .filter(token=token)
    ),
    token=str,
)


def for_annotator(view: View, held_too: str = "") -> View:
    """Look up the annotator by token and hand the row to the view."""

    @wraps(view)
    def wrapped(request: SeatRequest, token: str, **kwargs: object) -> HttpResponseBase:
        invitation = invitation_of(token)
        if invitation is None:
            return rate_limits.refuse_link(request)
        annotator = invitation.annotator
        request.token = token
        log.note(study=annotator.study.slug, annotator=annotator.pk)
        if invitation.revoked_at is not None:
            return revoked(request, annotator)
        held = HELD.get(annotator.state)
        if held is not None and annotator.state != held_too:
            return _stopped(request, annotator, held, 403)
        study = annotator.study
        finished = annotator.state == Annotator.State.FINISHED
        if study.state != Study.State.OPEN and not finished:
            return _stopped(request, annotator, study.state, 403)
        try:
            return view(request, annotator, **kwargs)
        except NotYetError as error:
            if _wants_json(request):
                return JsonResponse({"error": str(error)}, status=403)
            return redirect("rate-entry", token)
        except Http404:
            if study.state != Study.State.OPEN:  # it may be theirs again
                return _stopped(request, annotator, study.state, 403)
            return _stopped(request, annotator, "gone", 404)

    return wrapped


def for_trainee(view: View) -> View:
    """Let in whom `for_annotator` does, and those who did not pass the training."""
    return for_annotator(view, held_too=Annotator.State.FAILED)


def invitation_of(token: str) -> Invitation | None:
    """Return whose link it is, or was before that person's data were erased."""
    return INVITED.first(token=token) or INVITED.first(token=mark_of(token))


def revoked(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Say that a link is no longer valid, or what its annotator has decided."""
    has_withdrawn = annotator.withdrawn_at and not annotator.erased_at
    return _stopped(
        request, annotator, "withdrawn" if has_withdrawn else "revoked", 410
    )


def _wants_json(request: SeatRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")


def _stopped(
    request: SeatRequest, annotator: Annotator, why: str, status: int
) -> HttpResponse:
    if _wants_json(request):
        texts = {
            "revoked": _("This invitation is no longer valid."),
            "withdrawn": _("You have withdrawn from this study."),
            "gone": _("This story is now with somebody else."),
            "failed": _(
                "You did not pass the training round, so you cannot take part in this "
                "study."
            ),
            "held": _("Your work is paused; the study's manager knows why."),
        }
        paused = _("The study does not take answers at the moment.")
        return JsonResponse({"error": texts.get(why, paused)}, status=status)
    context = {
        "annotator": annotator,
        "study": annotator.study,
        "why": why,
        "token": request.token,
        "worth": None if why in ("gone", "draft") else outcomes.worth(annotator),
    }
    if why == "failed":
        context["result"] = training.result(annotator, annotator.training_attempts)
    if why == "held":
        context["text"] = monitoring.pause_text(annotator)
    return render(request, "rate/stopped.html", context, status=status)


@never_cache
@require_safe
@for_annotator
def entry(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Lead to whatever comes next: consent, instructions, work, or thanks."""
    if devices.other(request, annotator) is not None:
        return redirect("rate-second-link", request.token)
    if annotator.consented_at is None:
        return redirect("rate-consent", request.token)
    return devices.remember(
        request, redirect(_place(annotator), request.token), annotator
    )


def _place(annotator: Annotator) -> str:
    """Return where somebody who has agreed goes on."""
    if annotator.instructed_at is None:
        return "rate-instructions"
    done = _is_done(annotator, choosing.next_slot(annotator))
    return "rate-done" if done else "rate-pause"


def _is_done(annotator: Annotator, following: Slot | None) -> bool:
    """Say whether the last page is next: what is left can only be offered."""
    if following is None:
        return True
    finished = annotator.state == Annotator.State.FINISHED
    return finished and following.annotator_id is None


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def consent(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Show the consent text; agreeing stores when, and to which version."""
    if devices.other(request, annotator) is not None:
        return redirect("rate-second-link", request.token)
    if request.method == "POST":
        agreed = (
            Annotator.objects.filter(pk=annotator.pk, consented_at__isnull=True)
            .exclude(state__in=Annotator.STOPPED)
            .update(
                consented_at=timezone.now(),
                consent_version=annotator.study.consent_version,
                state=Annotator.State.ACTIVE,
                language=annotator.language or _language(),
            )
        )
        if agreed:
            event_log.note(
                Event.Kind.CONSENT_GIVEN,
                annotator.study_id,
                annotator=annotator,
                version=annotator.study.consent_version,
                **_order(annotator),
            )
        response = redirect("rate-instructions", request.token)
        return devices.remember(request, response, annotator)
    return annotator_page(request, annotator, "rate/consent.html")


def _order(annotator: Annotator) -> dict[str, Any]:
    """Return what the log says of the order of questions; nothing if all have one."""
    study = annotator.study
    if not study.shuffle_questions:
        return {}
    whole = [question for question in study.asked if not kind_of(question).of_shots]
    asked = in_order(whole, study, annotator)
    return {"questions": [question.key for question in asked]}


def _language() -> str:
    """Return the language of the page as studies name it: zh, not zh-hans."""
    return (translation.get_language() or "").split("-")[0]


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def instructions(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Show the instructions; starting takes the first slot."""
    if annotator.consented_at is None:
        return redirect("rate-consent", request.token)
    if request.method == "POST":
        if annotator.instructed_at is None:
            annotator.instructed_at = timezone.now()
            annotator.save(update_fields=["instructed_at"])
        return HttpResponseRedirect(to_next(request, annotator))
    outputs = same_size.outputs_of(annotator.study)
    return annotator_page(
        request,
        annotator,
        "rate/instructions.html",
        questions=in_order(annotator.study.asked, annotator.study, annotator),
        # What keys there are; those of texts and characters are told in any case.
        videos=outputs.filter(video__isnull=False).exists(),
        has_texts=True,
        characters=True,
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def pause(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Stand between two sessions, and before going on after an absence."""
    if lacking(annotator):
        return redirect("rate-entry", request.token)
    if request.method == "POST":
        return HttpResponseRedirect(to_next(request, annotator))
    return annotator_page(
        request,
        annotator,
        "rate/pause.html",
        progress=progress(annotator),
        previous=last_answered(annotator),
        may_stop=annotator.state == Annotator.State.ACTIVE
        and annotator.study.is_open
        and outcomes.has_judged_enough(annotator),
        is_complete=annotator.completed_at is not None,
    )


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@for_annotator
def warning(request: SeatRequest, annotator: Annotator) -> HttpResponse:
    """Tell the annotator what a quality rule found; reading it leads on."""
    flag = monitoring.unread_warning(annotator)
    if flag is None:
        return redirect("rate-entry", request.token)
    if request.method == "POST":
        flag.shown_at = timezone.now()
        flag.save(update_fields=["shown_at"])
        session = leasing.session_at_hand(annotator)
        return HttpResponseRedirect(_go_on(request, annotator, session=session))
    text = monitoring.warning_text(flag)
    return annotator_page(request, annotator, "rate/warning.html", text=text)


def last_answered(annotator: Annotator) -> Slot | None:
    """Return the slot to go back to: the last submitted one of the session at hand."""
    if annotator.study.state != Study.State.OPEN:
        return None
    return (
        leasing.own_slots(annotator)
        .filter(state=Slot.State.SUBMITTED, session=leasing.session_at_hand(annotator))
        .last()
    )


def after_slot(
    request: SeatRequest, annotator: Annotator, received: Received, shown: str = ""
) -> str:
    """Take the next slot, if no page comes first, and return what to show."""
    row = received.held.slot
    if received.next:
        return received.next
    if row.purpose == Purpose.TRAINING:
        return reverse("rate-feedback", args=[request.token, row.code])
    return _go_on(request, annotator, row.session, shown)


def to_next(request: SeatRequest, annotator: Annotator) -> str:
    """Take the next slot, in whichever session, and return its page's address."""
    return _go_on(request, annotator)


def _go_on(
    request: SeatRequest,
    annotator: Annotator,
    session: int | None = None,
    wish: str = "",
) -> str:
    """Take the next slot as `after_slot` does, and return the address to show."""
    if monitoring.unread_warning(annotator) is not None:
        return reverse("rate-warning", args=[request.token])
    following = choosing.next_for(annotator, session=session, wish=wish)
    return _address(request, annotator, following)


def go_on_at_once(
    request: SeatRequest,
    annotator: Annotator,
    received: Received,
    own: Slot | None,
    shown: str = "",
) -> str:
    """Do as `after_slot` in the transaction in which the slot was submitted."""
    if received.facts and received.facts.is_warned:
        return reverse("rate-warning", args=[request.token])
    session = received.held.slot.session
    following = choosing.next_while_locked(
        received.held.person, own, session=session, wish=shown
    )
    return _address(request, annotator, following)


def _address(
    request: SeatRequest, annotator: Annotator, following: choosing.NextStep
) -> str:
    if following.taken:
        assert following.slot is not None
        return reverse("rate-slot", args=[request.token, following.slot.code])
    if following.kind == choosing.Next.DONE:
        outcomes.finish_if_done(annotator)
    done = _is_done(annotator, following.slot)
    return reverse("rate-done" if done else "rate-pause", args=[request.token])


def annotator_page(
    request: SeatRequest,
    annotator: Annotator,
    template: str,
    status: int = 200,
    **context: object,
) -> HttpResponse:
    context |= {
        "seat": "rate",
        "annotator": annotator,
        "study": annotator.study,
        "token": request.token,
    }
    response = render(request, template, context, status=status)
    response["Referrer-Policy"] = "same-origin"
    return response
