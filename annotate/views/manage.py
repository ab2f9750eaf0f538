"""Pages of a study for its managers and researchers."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotate import exclusion, inviting, lifecycle
from annotate.coverage import coverage
from annotate.models import Annotator, Exclusion, Slot, Study
from annotate.permissions import can_manage, get_study_for, visible_studies
from evalcore import media
from evalcore.models import Frame

SLOTS_PER_PAGE = 100
ACTIONS = {
    "launch": lifecycle.launch,
    "pause": lifecycle.pause,
    "close": lifecycle.close,
}


@require_safe
@login_required
def study_list(request: HttpRequest) -> HttpResponse:
    """List the studies that the user may see, newest first."""
    inside = Q(slots__ordinal__isnull=False) & ~Q(slots__state=Slot.State.EXCLUDED)
    studies = visible_studies(request.user).annotate(
        wanted=Count("slots", filter=inside, distinct=True),
        submitted=Count(
            "slots",
            filter=inside & Q(slots__state=Slot.State.SUBMITTED),
            distinct=True,
        ),
        people=Count("annotators", distinct=True),
    )
    return render(request, "manage/studies.html", {"studies": studies})


@require_safe
@login_required
def study_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show what the study asks, how far it is, and what can be done now."""
    study = get_study_for(request.user, slug)
    context = {
        "coverage": coverage(study),
        "questions": study.questions.all(),
        "events": study.events.select_related("annotator", "user").order_by("-id")[:12],
        "simulated": study.annotators.filter(is_simulated=True).count(),
    }
    return _page(request, study, "manage/study.html", **context)


@require_POST
@login_required
def study_action(request: HttpRequest, slug: str, action: str) -> HttpResponse:
    """Launch, pause or close the study."""
    study = get_study_for(request.user, slug, role="manager")
    if action not in ACTIONS:
        raise Http404
    try:
        ACTIONS[action](study, request.user)
    except lifecycle.LifecycleError as error:
        messages.error(request, str(error))
    return redirect("study-detail", slug)


@require_safe
@login_required
def study_coverage(request: HttpRequest, slug: str) -> HttpResponse:
    """Show methods by stories; htmx asks again for the inner part only."""
    study = get_study_for(request.user, slug)
    template = "manage/coverage.html"
    if request.htmx:
        template = "manage/_coverage.html"
    return _page(request, study, template, coverage=coverage(study))


@require_safe
@login_required
def slot_list(request: HttpRequest, slug: str) -> HttpResponse:
    """List slots, filtered by method, story, annotator and state."""
    study = get_study_for(request.user, slug)
    slots = _filtered(study, request)
    page = Paginator(slots, SLOTS_PER_PAGE).get_page(request.GET.get("page"))
    kept = request.GET.copy()
    kept.pop("page", None)
    return _page(
        request, study, "manage/slots.html",
        page=page, filters=request.GET, query=kept.urlencode(), states=Slot.State,
        annotators=study.annotators.all(),
        stories=sorted(set(study.units.values_list("story__key", flat=True))),
        methods=study.method_names,
    )  # fmt: skip


def _filtered(study: Study, request: HttpRequest) -> QuerySet[Slot]:
    slots = study.slots.select_related(
        "annotator", "unit__story", "unit__output_a__method", "unit__output_b__method"
    ).order_by("unit__story__key", "unit", "round", "ordinal")
    for method in filter(None, request.GET.getlist("method")):
        slots = slots.filter(
            Q(unit__output_a__method__name=method)
            | Q(unit__output_b__method__name=method)
        )
    for parameter, lookup in (
        ("story", "unit__story__key"),
        ("annotator", "annotator__name"),
        ("state", "state"),
    ):
        value = request.GET.get(parameter)
        if value:
            slots = slots.filter(**{lookup: value})
    return slots


@require_safe
@login_required
def slot_detail(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """Show what one annotator saw and answered, with every revision."""
    study = get_study_for(request.user, slug)
    slot = _get_slot(study, code)
    related = slot.choices if study.is_pairwise else slot.ratings
    outputs = [o for o in (slot.unit.output_a, slot.unit.output_b) if o is not None]
    return _page(
        request, study, "manage/slot.html",
        slot=slot,
        answers=related.select_related("question", "annotator").order_by(
            "question__ordinal", "annotator", "revision"
        ),
        exclusions=slot.exclusions.select_related("author").order_by("-id"),
        outputs=[(output, output.frames.all()) for output in outputs],
    )  # fmt: skip


def _get_slot(study: Study, code: str) -> Slot:
    return get_object_or_404(
        study.slots.select_related(
            "annotator", "unit__story", "unit__output_a__method",
            "unit__output_b__method",
        ),
        code=code,
    )  # fmt: skip


@require_POST
@login_required
def slot_exclude(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """Leave a submitted slot out of the analysis, with a reason."""
    study = get_study_for(request.user, slug, role="manager")
    slot = _get_slot(study, code)
    try:
        exclusion.exclude(
            slot, reason=request.POST.get("reason", ""), author=request.user
        )
    except exclusion.ExclusionError as error:
        messages.error(request, str(error))
    return redirect("slot-detail", slug, code)


@require_POST
@login_required
def slot_restore(request: HttpRequest, slug: str, code: str) -> HttpResponse:
    """Take an exclusion back."""
    study = get_study_for(request.user, slug, role="manager")
    row = get_object_or_404(
        Exclusion, slot__study=study, slot__code=code, undone_at__isnull=True
    )
    try:
        exclusion.undo(row, author=request.user)
    except exclusion.ExclusionError as error:
        messages.error(request, str(error))
    return redirect("slot-detail", slug, code)


@require_safe
@login_required
def annotator_list(request: HttpRequest, slug: str) -> HttpResponse:
    """List the annotators with progress and, for managers, their links."""
    study = get_study_for(request.user, slug)
    people = coverage(study).people
    waiting = sum(p.annotator.state == Annotator.State.PLANNED for p in people)
    invitations = {
        i.annotator_id: i
        for a in study.annotators.filter(invitation__isnull=False).select_related(
            "invitation"
        )
        for i in [a.invitation]
    }
    rows = [(person, invitations.get(person.annotator.pk)) for person in people]
    free = study.slots.filter(annotator__isnull=True, state=Slot.State.OPEN).count()
    return _page(
        request, study, "manage/annotators.html",
        rows=rows, waiting=waiting, free=free,
        base=request.build_absolute_uri("/").rstrip("/"),
    )  # fmt: skip


@require_POST
@login_required
def annotator_invite(request: HttpRequest, slug: str) -> HttpResponse:
    """Create links for the next planned annotators, or for a new person."""
    study = get_study_for(request.user, slug, role="manager")
    note = request.POST.get("note", "")[:200]
    count = request.POST.get("count", "")
    try:
        if request.POST.get("new"):
            made = [inviting.invite_new(study, note=note, user=request.user)]
        else:
            number = int(count) if count.isdecimal() and len(count) < 6 else 0
            made = inviting.invite(study, count=number, note=note, user=request.user)
    except inviting.InvitingError as error:
        messages.error(request, str(error))
    else:
        text = ngettext("%(n)d link created.", "%(n)d links created.", len(made))
        messages.success(request, text % {"n": len(made)})
    return redirect("annotator-list", slug)


@require_POST
@login_required
def annotator_reissue(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Replace a lost link."""
    study = get_study_for(request.user, slug, role="manager")
    annotator = get_object_or_404(study.annotators, pk=pk, invitation__isnull=False)
    try:
        inviting.reissue(annotator, user=request.user)
    except inviting.InvitingError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request, _("%(name)s has a new link.") % {"name": annotator.name}
        )
    return redirect("annotator-list", slug)


@require_POST
@login_required
def annotator_revoke(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Close a link and free what is not submitted."""
    study = get_study_for(request.user, slug, role="manager")
    annotator = get_object_or_404(study.annotators, pk=pk)
    freed = inviting.revoke(annotator, user=request.user)
    messages.success(
        request,
        _("%(name)s was revoked; %(freed)d slots are free again.")
        % {"name": annotator.name, "freed": freed},
    )
    return redirect("annotator-list", slug)


@require_safe
@login_required
def frame_thumb(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Send a small picture of one of the study's outputs."""
    study = get_study_for(request.user, slug)
    shown = Q(output__in=study.units.values("output_a")) | Q(
        output__in=study.units.filter(output_b__isnull=False).values("output_b")
    )
    frame = get_object_or_404(
        Frame.objects.select_related("media").filter(shown, media__isnull=False), pk=pk
    )
    data = media.rendition_path(frame.media, "thumb").read_bytes()
    response = HttpResponse(data, content_type="image/webp")
    response["Cache-Control"] = "private, max-age=86400"
    return response


def _page(
    request: HttpRequest, study: Study, template: str, **context: object
) -> HttpResponse:
    context |= {"study": study, "can_manage": can_manage(request.user, study)}
    return render(request, template, context)
