"""Request flow of an answer: access, parsing, and the next page."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial, wraps
from math import isfinite
from typing import Any

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    RawPostDataException,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from annotate.access import rate_limits
from annotate.assignment import choosing
from annotate.kinds.base import NotNowError, NotYetError
from annotate.middleware import allow_frame
from annotate.models import Annotator, Invitation, Purpose, Slot, Study, mark_of
from annotate.pages.annotator.stopped import (
    offer_submission,
    revoked,
    stopped_page,
    wants_json,
)
from annotate.pages.study_views import SeatRequest
from annotate.people import outcomes
from annotate.people.status import ENDED, why_stopped
from annotate.presentation.broken_media import FaultRow
from annotate.presentation.shot_comments import ShotCommentRow
from annotate.quality import follow_up, monitoring
from annotate.responses import writing
from annotate.responses.checklists import TicksRow
from annotate.responses.late import offered_at, shows_replaced
from annotate.responses.leasing import lacking
from annotate.responses.submission import Closing, Received, submit
from annotate.responses.writing import AnswerRow, CommentRow, Row
from evalcore.database.prepared import Prepared
from evalcore.serving import log

View = Callable[..., HttpResponseBase]


INVITED = Prepared[Invitation](
    lambda token: (
        Invitation.objects.select_related("annotator__study")
        .defer(*(f"annotator__study__{name}" for name in Study.LONG))
        .filter(token=token)
    ),
    token=str,
)


def for_annotator(view: View, admitting: str = "") -> View:
    """Wrap a view: look up its annotator by token, and refuse invalid links."""

    @wraps(view)
    def wrapped(request: SeatRequest, token: str, **kwargs: object) -> HttpResponseBase:
        invitation = invitation_of(request, token)
        if invitation is None:
            return rate_limits.refuse_link(request)
        annotator = invitation.annotator
        log.note(study=annotator.study.slug, annotator=annotator.pk)
        why = why_stopped(invitation, admitting=admitting)
        if why in ENDED:
            return revoked(request, annotator)
        if why:
            return stopped_page(request, annotator, why, 403)
        study = annotator.study
        try:
            return view(request, annotator, **kwargs)
        except NotYetError as error:
            if wants_json(request):
                return JsonResponse({"error": str(error)}, status=403)
            return redirect("rate-entry", token)
        except Http404:
            if study.state != Study.State.OPEN:  # the slot may return to its annotator
                return stopped_page(request, annotator, study.state, 403)
            is_replaced = shows_replaced(study, str(kwargs.get("code", "")))
            why = "replaced" if is_replaced else "gone"
            return stopped_page(request, annotator, why, 404)

    return wrapped


def for_trainee(view: View) -> View:
    """Wrap a view like `for_annotator`, but admit those who failed the training."""
    return for_annotator(view, admitting="failed")


def invitation_of(request: SeatRequest, token: str) -> Invitation | None:
    """Return the invitation of a token, also after its person's data were erased.

    Its pages can be shown in a frame of the study's platform.
    """
    invitation = INVITED.first(token=token) or INVITED.first(token=mark_of(token))
    request.token = token
    if invitation is not None:
        study = invitation.annotator.study
        allow_frame(request, outcomes.platform_of(study).frames)
    return invitation


def annotator_page(
    request: SeatRequest,
    annotator: Annotator,
    template: str,
    status: int = 200,
    **context: object,
) -> HttpResponse:
    context |= {
        "route": "rate",
        "annotator": annotator,
        "study": annotator.study,
        "token": request.token,
    }
    offer_submission(request, annotator.study, context.get("worth"))
    response = render(request, template, context, status=status)
    response["Referrer-Policy"] = "same-origin"
    return response


COOKIE = "offered"
# The pages that a browser caches, and some that it was offered earlier.
MOST_CODES = 40


def remember(
    request: SeatRequest,
    response: HttpResponse,
    annotator: Annotator,
    codes: Sequence[str],
) -> HttpResponse:
    """Store the codes of offered slots in a signed cookie."""
    before = [code for code in _offered(request, annotator) if code not in codes]
    response.set_cookie(
        COOKIE,
        _signer(annotator).sign(".".join([*before, *codes][-MOST_CODES:])),
        path=reverse("rate-entry", args=[request.token]),
        httponly=True,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )
    return response


def was_offered(request: HttpRequest, annotator: Annotator, code: str) -> bool:
    """Return whether this annotator's browser was offered a slot."""
    return code in _offered(request, annotator)


def _offered(request: HttpRequest, annotator: Annotator) -> list[str]:
    try:
        signed = _signer(annotator).unsign(request.COOKIES.get(COOKIE, ""))
    except BadSignature:
        return []
    return signed.split(".")


def _signer(annotator: Annotator) -> Signer:
    return Signer(salt=f"offered {annotator.pk}")


def missing(annotator: Annotator) -> Exception:
    """Return the error for a slot that is missing or not accessible yet."""
    first = lacking(annotator)
    return NotYetError(first) if first else Http404()


def next_address(
    request: SeatRequest,
    annotator: Annotator,
    session: int | None = None,
    wish: str = "",
) -> str:
    """Take the next slot, in the given session if any; return the next address."""
    if monitoring.unread_warning(annotator) is not None:
        return reverse("rate-warning", args=[request.token])
    following = choosing.next_for(annotator, session=session, wish=wish)
    return _address(request, annotator, following)


def address_after(
    request: SeatRequest, annotator: Annotator, received: Received, wish: str = ""
) -> str:
    """Return the address to show after a submitted slot."""
    row = received.held.slot
    if received.next:
        return received.next
    if row.purpose == Purpose.TRAINING:
        return reverse("rate-feedback", args=[request.token, row.code])
    return next_address(request, annotator, row.session, wish)


def go_on_at_once(
    request: SeatRequest,
    annotator: Annotator,
    received: Received,
    own: Slot | None,
    wish: str = "",
) -> str:
    """Return `address_after` within the transaction that submits the slot."""
    if received.facts and received.facts.is_warned:
        return reverse("rate-warning", args=[request.token])
    following = choosing.next_while_locked(
        received.held.person, own, session=received.held.slot.session, wish=wish
    )
    return _address(request, annotator, following)


def _address(
    request: SeatRequest, annotator: Annotator, following: choosing.NextStep
) -> str:
    if following.taken and following.slot is not None:
        return reverse("rate-slot", args=[request.token, following.slot.code])
    if following.kind == choosing.Next.DONE:
        outcomes.finish_if_done(annotator)
    done = is_done(annotator, following.slot)
    return reverse("rate-done" if done else "rate-pause", args=[request.token])


def is_done(annotator: Annotator, following: Slot | None) -> bool:
    """Return whether the last page is next, since other slots are only optional."""
    if following is None:
        return True
    finished = annotator.state == Annotator.State.FINISHED
    return finished and following.annotator_id is None


MALFORMED = (
    AttributeError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
LONGEST_KEY = 40


class UnreadableError(ValueError):
    """The request does not have the format that pages send."""


class TooManyRowsError(Exception):
    """The request has more rows than one transaction stores."""


@never_cache
@require_POST
@for_annotator
def save(request: SeatRequest, annotator: Annotator, code: str) -> HttpResponse:
    """Store answers, and submit the story if it is done."""
    try:
        rows, closing, shown = _read(request)
    except TooManyRowsError as error:
        return JsonResponse({"error": str(error)}, status=413)
    except UnreadableError as error:
        return JsonResponse({"error": str(error)}, status=400)
    if not was_offered(request, annotator, shown):
        shown = ""
    go_on = partial(go_on_at_once, request, annotator, wish=shown)
    proof = request.GET.get("proof", "")
    if closing and proof:
        closing = replace(closing, offered_at=offered_at(annotator, code, proof))
    try:
        received = submit(
            annotator,
            code,
            rows,
            closing,
            follow_up=follow_up,
            proof=proof,
            go_on=go_on,
        )
    except NotNowError as error:
        refused = {row.id: {"why": str(error), "final": False} for row in rows}
        return JsonResponse({"problem": "", "submitted": False, "refused": refused})
    if received is None:
        raise missing(annotator)
    reply: dict[str, object] = {
        "problem": str(received.problem or ""),
        "submitted": received.submitted,
        "refused": {
            row.id: {"why": str(why), "final": not isinstance(why, NotNowError)}
            for row in rows
            if (why := received.refused.get(row.place)) is not None
        },
    }
    if received.submitted:
        reply["next"] = address_after(request, annotator, received, shown)
    return JsonResponse(reply)


def _read(request: SeatRequest) -> tuple[list[Row], Closing | None, str]:
    """Return the rows, the submission if any, and the code of the story shown next."""
    try:
        sent = json.loads(request.body)["rows"]
        if len(sent) > writing.MOST_ROWS:
            raise TooManyRowsError(
                f"Expected at most {writing.MOST_ROWS} rows in one request, "
                f"not {len(sent)}; nothing was stored. Send them in several requests."
            )
        submit = next((row for row in sent if row["kind"] == "submit"), None)
        rows = [_row(row) for row in sent if row["kind"] != "submit"]
        if submit is None:
            return rows, None, ""
        return rows, _closing(submit), _text(submit.get("shown", ""))
    except (*MALFORMED, RawPostDataException) as error:
        raise UnreadableError(
            "Expected JSON with rows, each an answer (id, key, question, value), the "
            "boxes of a shot (id, key, shot, ticked, looked), a comment (id, key, "
            "text), a comment on a shot (id, key, side, shot, text), a fault (id, "
            f"side, shot) or a submit (seconds, in_sight, shown): {error!r}."
        ) from error


def _closing(submit: dict[str, Any]) -> Closing:
    """Return the reported times, which can be missing."""
    seconds, in_sight = submit.get("seconds"), submit.get("in_sight")
    if in_sight is not None:
        times = {int(shot): float(time) for shot, time in in_sight.items()}
        in_sight = {shot: time for shot, time in times.items() if isfinite(time)}
    return Closing(None if seconds is None else float(seconds), in_sight)


def _row(sent: dict[str, Any]) -> Row:
    """Return the row of an answer, comment or report."""
    kind, name = sent["kind"], _text(sent["id"])
    if kind == "fault":
        return FaultRow(id=name, side=_text(sent["side"]), shot=int(sent["shot"]))
    own = {"id": name, "client_key": _text(sent["key"])[:LONGEST_KEY]}
    if kind == "answer" and "ticked" in sent:
        return TicksRow(
            **own,
            shot=int(sent["shot"]),
            ticked=frozenset(map(_text, sent["ticked"])),
            looked=sent.get("looked") is True,
        )
    if kind == "answer":
        question, value = _text(sent["question"]), _text(sent["value"])
        return AnswerRow(**own, question=question, value=value or None)
    if kind == "comment":
        return CommentRow(**own, text=_text(sent["text"]))
    if kind == "shot_comment":
        side, shot, text = _text(sent["side"]), int(sent["shot"]), _text(sent["text"])
        return ShotCommentRow(**own, side=side, shot=shot, text=text)
    raise KeyError(kind)


def _text(value: object) -> str:
    """Return a value as text that a database can store."""
    text = str(value)
    text.encode()
    if "\0" in text:
        raise ValueError("a NUL character in " + repr(text))
    return text
