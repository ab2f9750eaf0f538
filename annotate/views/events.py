"""The log of a study, newest first."""

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.models import Event, Study
from annotate.permissions import can_manage, get_study_for

EVENTS_PER_PAGE = 50
# How a slot stands after an event is for replaying, not for reading.
STANDING = ("lease", "holder", "ordinal", "slots")


@require_safe
@login_required
def event_list(request: HttpRequest, slug: str) -> HttpResponse:
    """List events, filtered by kind and annotator, a page before a given event."""
    study = get_study_for(request.user, slug)
    found = list(_filtered(study, request)[: EVENTS_PER_PAGE + 1])
    shown = found[:EVENTS_PER_PAGE]
    kept = request.GET.copy()
    kept.pop("before", None)
    context = {
        "study": study,
        "can_manage": can_manage(request.user, study),
        "events": [(event, _details(event)) for event in shown],
        "older": shown[-1].pk if len(found) > EVENTS_PER_PAGE else None,
        "is_later_page": "before" in request.GET,
        "kinds": Event.Kind.choices,
        "annotators": study.annotators.values_list("name", flat=True),
        "filters": request.GET,
        "query": kept.urlencode(),
    }
    return render(request, "manage/events.html", context)


def _filtered(study: Study, request: HttpRequest) -> QuerySet[Event]:
    events = study.events.select_related(
        "annotator", "user", "slot__unit__story", "slot__unit__output_a__method",
        "slot__unit__output_b__method",
    ).order_by("-id")  # fmt: skip
    if kind := request.GET.get("kind"):
        events = events.filter(kind=kind)
    if name := request.GET.get("annotator"):
        events = events.filter(annotator__name=name)
    before = request.GET.get("before", "")
    if before.isdecimal() and len(before) < 19:
        events = events.filter(pk__lt=int(before))
    return events


def _details(event: Event) -> list[tuple[str, object]]:
    """Return what an event says besides whom and what it concerns."""
    found: list[tuple[str, object]] = [
        (key, value)
        for key, value in event.details.items()
        if key not in STANDING and value not in ("", None)
    ]
    if "slots" in event.details:
        slots = event.details["slots"]
        found.append(("slots", len(slots) if isinstance(slots, list) else slots))
    return found
