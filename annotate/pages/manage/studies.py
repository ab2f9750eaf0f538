"""Pages of a study for managers and researchers."""

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Aggregate, Count, F, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotate.access.permissions import (
    can_create,
    can_delete,
    can_use_benchmark,
    managed_studies,
    visible_studies,
)
from annotate.coverage import slot_list as slot_filters
from annotate.coverage.alert_lines import Alert
from annotate.coverage.dashboard import first_alert
from annotate.kinds.registry import asks_of_shots, kind_of, whole_tables
from annotate.models import (
    Annotator,
    Answer,
    Exclusion,
    Purpose,
    Slot,
    Study,
    Unit,
)
from annotate.pages.annotator.media_files import send_picture, send_video
from annotate.pages.study_views import (
    UserRequest,
    query_without,
    render_page,
    study_page,
)
from annotate.personal_data import erasing
from annotate.presentation import checklist_sheets, slot_view
from annotate.presentation.same_size import outputs_of
from annotate.quality import exclusion, monitoring, training
from annotate.quality_rules.time_signals import GLANCE
from annotate.reports import story_tables
from annotate.reports.output_marks import output_marks
from annotate.responses import timing
from annotate.responses.analysis_views import named_views
from annotate.studies import deadline, lifecycle
from evalcore import media
from evalcore.models import Frame
from evalcore.video.storing import video_still_path

SLOTS_PER_PAGE = 100


@require_safe
@login_required
def study_list(request: UserRequest) -> HttpResponse:
    """List the studies that the user may see, newest first, or the archived ones."""
    units = Unit.objects.filter(purpose=Purpose.REAL)
    visible, shows_archive = visible_studies(request.user), "archived" in request.GET
    studies = (
        visible.filter(archived_at__isnull=not shows_archive)
        .select_related("benchmark")
        .annotate(
            wanted=_of_each(units, Sum("redundancy")) * F("rounds"),
            submitted=_of_each(units, Sum("submitted")),
            people=_of_each(Annotator.objects.all(), Count("pk")),
        )
    )
    may_create = can_create(request.user)
    if may_create and not visible.exists():
        return redirect("home")
    context = {
        "studies": [(study, _first_alert(study)) for study in studies],
        "managed": managed_studies(request.user),
        "can_create": may_create,
        "shows_archive": shows_archive,
        "archived": visible.filter(archived_at__isnull=False).count(),
    }
    return render(request, "manage/studies.html", context)


def _first_alert(study: Study) -> Alert | None:
    """Return what a study needs first; a closed one needs nothing."""
    return None if study.state == Study.State.CLOSED else first_alert(study)


def _of_each(rows: QuerySet[Any], number: Aggregate) -> Coalesce:
    """Aggregate the rows of each study in a subquery: joins would multiply them."""
    own = rows.filter(study=OuterRef("pk")).order_by().values("study")
    return Coalesce(Subquery(own.annotate(n=number).values("n")), 0)


@study_page()
def study_settings(request: UserRequest, study: Study) -> HttpResponse:
    """Show what a study is, and what can be changed."""
    visible = visible_studies(request.user)
    return render_page(
        request,
        study,
        "manage/settings.html",
        questions=study.questions.all(),
        before=visible.filter(next_versions=study).first(),
        later=visible.filter(previous_version=study),
        first_study=visible.filter(follow_ups=study).first(),
        follow_ups=visible.filter(continues=study),
        members=study.members.select_related("user").order_by("role", "user"),
        deadline=deadline.day_of(study),
        editable=lifecycle.is_editable(study),
        at_rest=study.state in lifecycle.AT_REST,
        may_delete=can_delete(request.user, study),
        is_member=can_use_benchmark(request.user, study),
        due=erasing.due_at(study),
        retention_days=0 if study.is_imported else settings.RETENTION_DAYS,
        draw=story_tables.drawn_stories(study),
    )


@study_page()
def slot_list(request: UserRequest, study: Study) -> HttpResponse:
    """List slots, filtered by method, story, annotator, session, state and part."""
    slots = slot_filters.filtered(study, request.GET).annotate(
        measured=timing.measured()
    )
    page = Paginator(slots, SLOTS_PER_PAGE).get_page(request.GET.get("page"))
    methods = request.GET.getlist("method")
    return render_page(
        request,
        study,
        "manage/slots.html",
        page=page,
        filters=request.GET,
        disputed=slot_filters.disputed(study, request.GET.get("disputed", "")),
        query=query_without(request, "page"),
        states=Slot.State.choices,
        parts=[
            ("wanted", _("counted")),
            ("surplus", _("extra (not counted)")),
            ("checks", _("checks")),
            ("training", _("training")),
        ],
        annotators=study.annotators.values_list("name", flat=True),
        stories=sorted(set(study.units.values_list("story__key", flat=True))),
        chosen="".join(methods[:1]),
        against="".join(methods[1:2]),
        methods=study.method_names,
        sessions=_sessions(study),
    )


def _sessions(study: Study) -> list[str]:
    numbers = study.slots.filter(session__isnull=False).values_list(
        "session", flat=True
    )
    return [str(session) for session in sorted(cast("set[int]", set(numbers)))]


@study_page()
def slot_detail(request: UserRequest, study: Study, code: str) -> HttpResponse:
    """Show what one annotator saw and answered, with every revision."""
    slot = _get_slot(study, code)
    outputs = slot.unit.outputs
    exclusions = (
        slot.exclusions.select_related("author", "slot")
        .prefetch_related("views")
        .order_by("-id")
    )
    reasons = monitoring.reasons(exclusions)
    before, after = _neighbours(slot_filters.filtered(study, request.GET), code)
    return render_page(
        request,
        study,
        "manage/slot.html",
        slot=slot,
        other=_to_compare(slot),
        **_all_answers(slot),
        time_problem=timing.time_problem(
            slot.offered_at, slot.claimed_seconds, slot.seconds
        ),
        in_sight=_in_sight(slot),
        marks=output_marks(study, outputs[0]),
        story_comments=slot.story_comments.select_related("annotator"),
        shot_comments=slot.shot_comments.select_related("output__method", "annotator"),
        exclusions=[(row, reasons[row.pk]) for row in exclusions],
        views=named_views(study),
        outputs=[
            (output, output.frames.all(), slot.order.index(place) + 1)
            for place, output in enumerate(outputs)
        ],
        shots=slot_view.shown_shots(slot),
        query=query_without(request, "page"),
        before=before,
        after=after,
    )


def _in_sight(slot: Slot) -> list[tuple[str, float, bool]]:
    """Return each shot's number, its seconds in sight, and whether it was seen."""
    enough = slot.study.must_see or GLANCE
    times = slot.in_sight or {}
    return [(shot, seconds, seconds >= enough) for shot, seconds in times.items()]


def _all_answers(slot: Slot) -> dict[str, Any]:
    answers: dict[str, Any] = {"answers": _answers(slot)}
    if asks_of_shots(slot.study):
        answers["ticked_shots"] = checklist_sheets.told_shots(slot)
        answers["boxes"] = checklist_sheets.box_names(slot.unit.output_a)
    return answers


def _answers(slot: Slot) -> list[tuple[Answer, str, tuple[bool, str] | None]]:
    """Return every answer with its words, and its mark if there is one."""
    rows: list[Answer] = []
    for model, names in whole_tables(slot.study).items():
        answers = model.objects.filter(slot=slot, question__kind__in=names)
        rows += answers.select_related("question", "annotator")
    rows.sort(key=lambda a: (a.question.ordinal, a.annotator.name, a.revision))
    return [(row, _in_words(slot, row, row.value), _mark(slot, row)) for row in rows]


def _in_words(slot: Slot, answer: Answer, value: int | str) -> str:
    return kind_of(answer.question).text_for_manager(slot, answer.question, value)


def _mark(slot: Slot, answer: Answer) -> tuple[bool, str] | None:
    """Return whether an answer is right, and the expected one; None if unknown."""
    if slot.purpose not in (Purpose.GOLD, Purpose.TRAINING):
        return None
    known = training.known_answers(slot).get(answer.question.key)
    if known is None:
        return None
    expected, words = known
    if isinstance(expected, str):
        words = _in_words(slot, answer, expected)
    return kind_of(answer.question).is_right(answer.value, expected), words


def _to_compare(slot: Slot) -> Slot | None:
    """Return the slot with which a check is compared."""
    if slot.purpose == Purpose.REPEAT:
        return slot.repeat_of
    if slot.purpose == Purpose.TRAINING:
        return training.slot_of_original(slot)
    if slot.purpose != Purpose.TWIN or slot.annotator is None:
        return None
    real = slot.annotator.slots.filter(purpose=Purpose.REAL)
    return real.filter(unit=slot.unit.original_id).first()


def _neighbours(listed: QuerySet[Slot], code: str) -> tuple[str, str]:
    """Return the previous and the next code in the list of slots."""
    codes = list(listed.values_list("code", flat=True))
    if code not in codes:
        return "", ""
    at = codes.index(code)
    return "".join(codes[max(at - 1, 0) : at]), "".join(codes[at + 1 : at + 2])


def _get_slot(study: Study, code: str) -> Slot:
    return get_object_or_404(
        study.slots.select_related(
            "study",
            "annotator",
            "unit__story",
            *study.output_paths("unit__", "__method"),
            *study.output_paths("unit__", "__video"),
        ),
        code=code,
    )


@study_page("POST", role="manager")
def slot_exclude(request: UserRequest, study: Study, code: str) -> HttpResponse:
    """Exclude a submitted slot, with a reason."""
    views = named_views(study).filter(key__in=request.POST.getlist("view"))
    try:
        exclusion.exclude(
            _get_slot(study, code),
            reason=request.POST.get("reason", ""),
            author=request.user,
            views=views if "chosen" in request.POST else None,
        )
    except exclusion.ExclusionError as error:
        messages.error(request, str(error))
    return _to_slot(request, study, code)


@study_page("POST", role="manager")
def slot_restore(request: UserRequest, study: Study, code: str) -> HttpResponse:
    in_force = Exclusion.objects.filter(slot__study=study, undone_at__isnull=True)
    try:
        exclusion.undo(
            get_object_or_404(in_force, slot__code=code), author=request.user
        )
    except exclusion.ExclusionError as error:
        messages.error(request, str(error))
    return _to_slot(request, study, code)


def _to_slot(request: UserRequest, study: Study, code: str) -> HttpResponse:
    """Redirect to the slot's page, keeping the filters of the list."""
    query = query_without(request, "page")
    address = reverse("slot-detail", args=[study.slug, code])
    return redirect(f"{address}?{query}" if query else address)


@study_page()
def frame_thumb(request: UserRequest, study: Study, pk: int) -> HttpResponseBase:
    return _send_frame(request, study, pk, "thumb")


@study_page()
def frame_display(request: UserRequest, study: Study, pk: int) -> HttpResponseBase:
    return _send_frame(request, study, pk, "display")


def _send_frame(
    request: UserRequest, study: Study, pk: int, rendition: media.Rendition
) -> HttpResponseBase:
    frames = Frame.objects.filter(output__in=outputs_of(study), media__isnull=False)
    frame = get_object_or_404(frames.select_related("media"), pk=pk)
    assert frame.media is not None
    return send_picture(request, media.rendition_path(frame.media, rendition))


@study_page()
def output_video(request: UserRequest, study: Study, pk: int) -> HttpResponseBase:
    """Send the video of an output of the study, or a range of it."""
    return send_video(request, get_object_or_404(outputs_of(study), pk=pk))


@study_page()
def output_still(request: UserRequest, study: Study, pk: int) -> HttpResponseBase:
    outputs = outputs_of(study).filter(video__isnull=False)
    output = get_object_or_404(outputs.select_related("video"), pk=pk)
    assert output.video is not None
    return send_picture(request, video_still_path(output.video, "thumb"))
