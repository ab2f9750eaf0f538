"""Pages that launch, pause, close and change a study."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypedDict, TypeVar

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from annotate.access.permissions import can_use_benchmark, check_benchmark_of
from annotate.models import Study
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_button,
    study_page,
    whole_number,
)
from annotate.people.inviting import free_slots
from annotate.presentation.same_size import outputs_of
from annotate.reports import declarations, story_tables
from annotate.studies import changing, extending, lifecycle
from annotate.studies.changing import ChangeError, Redistribution, Withdrawal
from annotate.studies.extending import Extension
from evalcore.models import Output

ACTIONS = {
    "launch": lifecycle.launch,
    "pause": lifecycle.pause,
    "close": lifecycle.close,
}


@study_button("study-detail", lifecycle.LifecycleError)
def study_action(request: UserRequest, study: Study, action: str) -> str:
    """Launch, pause or close the study; return a message with the next step."""
    if action not in ACTIONS:
        raise Http404
    ACTIONS[action](study, request.user)
    if study.state == Study.State.OPEN:
        return _launched(request, study)
    if study.state == Study.State.PAUSED:
        return _("The study is paused. Nobody can answer; links stay valid.")
    text = _("The study is closed. No more answers are collected.")
    return _with_link(text, "report-list", study, _("Make a report"))


def _launched(request: UserRequest, study: Study) -> str:
    reach = lifecycle.reach(study)
    if reach.is_empty:
        # The alert of the page says what is next.
        return _("The study is launched.")
    text = _(
        "The study is running. People who can continue with their link: "
        "%(people)d; public links: %(links)d."
    ) % {"people": reach.people, "links": reach.links}
    if reach.waiting:
        waiting = _("Planned but not invited yet: %(waiting)d.")
        text = f"{text} {waiting % {'waiting': reach.waiting}}"
    return _with_link(text, "annotator-list", study, _("People and pay"))


def _with_link(text: str, page: str, study: Study, name: str) -> str:
    """Return a text followed by a link to a page of the study."""
    address = reverse(page, args=[study.slug])
    return format_html('{} <a href="{}">{}</a>', text, address, name)


Done = TypeVar("Done", Extension, Withdrawal, Redistribution)


class Chosen(TypedDict):
    """Ticked methods and stories."""

    methods: list[str]
    stories: list[str]


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_extend(request: UserRequest, study: Study) -> HttpResponse:
    """Add methods, stories, ratings or people, or preview the change."""
    if request.method != "POST":
        return _page(request, study)
    _check_reach(request, study)
    return _change(
        request,
        study,
        "adding",
        partial(
            extending.extend,
            annotators=_numbers(request.POST, study, "annotators") or 0,
            redundancy=_numbers(request.POST, study, "redundancy"),
            **_chosen(request),
            against=request.POST.getlist("against"),
            only_shown=not can_use_benchmark(request.user, study),
        ),
        lambda done: (
            _("Added. Items: %(units)d; ratings: %(slots)d; annotators: %(people)d.")
            % {"units": done.units, "slots": done.slots, "people": len(done.people)}
        ),
    )


@study_page("POST", role="manager")
def study_withdraw(request: UserRequest, study: Study) -> HttpResponse:
    """Withdraw methods or stories, or preview the change."""
    return _change(
        request,
        study,
        "withdrawing",
        partial(changing.withdraw_units, **_chosen(request)),
        lambda done: (
            _(
                "%(slots)d ratings were withdrawn; %(kept)d that were started or "
                "submitted stay."
            )
            % {"slots": done.slots, "kept": done.kept}
        ),
    )


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_redistribute(request: UserRequest, study: Study) -> HttpResponse:
    """Give people's unfinished work to others, or preview the change."""
    if request.method != "POST":
        return _people_page(request, study)
    givers = study.annotators.filter(name__in=request.POST.getlist("annotator"))
    return _change(
        request,
        study,
        "giving",
        partial(changing.redistribute, annotators=givers),
        lambda done: (
            _(
                "Given to others. Ratings: %(slots)d; people who take them: "
                "%(people)d; available to somebody new: %(free)d."
            )
            % {
                "slots": sum(done.shares.values()),
                "people": len(done.shares),
                "free": done.free,
            }
        ),
    )


@study_page("POST", role="manager")
def study_trained_on(request: UserRequest, study: Study) -> HttpResponse:
    """Declare the metrics that methods were trained on or chosen by."""
    given = {
        name: [*filter(None, map(str.strip, request.POST[field].split(",")))]
        for name in changing.names_now(study)[0]
        if (field := f"trained_on.{name}") in request.POST
    }
    try:
        changing.set_trained_on(study, given, user=request.user)
    except ChangeError as error:
        return _page(request, study, 422, form="shaping", error=str(error))
    messages.success(request, _("Saved."))
    return redirect("study-extend", study.slug)


def _check_reach(request: UserRequest, study: Study) -> None:
    """Refuse methods and stories new to the study unless the user is a member."""
    gone_methods, gone_stories = changing.withdrawn_names(study)
    chosen = _chosen(request)
    if {*chosen["methods"]} - gone_methods or {*chosen["stories"]} - gone_stories:
        check_benchmark_of(request.user, study)


def _chosen(request: UserRequest) -> Chosen:
    return {
        "methods": request.POST.getlist("method"),
        "stories": request.POST.getlist("story"),
    }


def _change(
    request: UserRequest,
    study: Study,
    form: str,
    change: Callable[..., Done],
    message: Callable[[Done], str],
) -> HttpResponse:
    """Make a change and report it, or preview it."""
    checks_only = "check" in request.POST
    try:
        result = change(study, user=request.user, dry_run=checks_only)
    except ChangeError as error:
        return _answer(request, study, form, error=str(error))
    if checks_only:
        return _answer(request, study, form, result=result)
    messages.success(request, message(result))
    return redirect("study-detail" if form == "giving" else "study-extend", study.slug)


def _numbers(form: QueryDict, study: Study, name: str) -> int | dict[str, int] | None:
    if not study.languages:
        return whole_number(form.get(name, ""))
    numbers = {
        code: whole_number(form.get(f"{name}-{code}", "")) for code in study.languages
    }
    given = {code: number for code, number in numbers.items() if number is not None}
    return given or None


def _answer(
    request: UserRequest, study: Study, form: str, **outcome: Any
) -> HttpResponse:
    """Return a preview or an error: for htmx a part of the page, else all of it."""
    context = {"study": study, "form": form, **outcome}
    if request.htmx:
        return render(request, "manage/_change.html", context)
    status = 422 if "error" in outcome else 200
    page = _people_page if form == "giving" else _page
    return page(request, study, status, form=form, **outcome)


def _page(
    request: UserRequest, study: Study, status: int = 200, **context: Any
) -> HttpResponse:
    gone_methods, gone_stories = changing.withdrawn_names(study)
    methods, stories = changing.names_now(study)
    outputs = Output.objects.filter(story__benchmark=study.benchmark)
    if not can_use_benchmark(request.user, study):
        outputs = outputs.filter(
            Q(method__name__in=gone_methods) | Q(story__key__in=gone_stories),
            pk__in=outputs_of(study),
        )
    has_pairs = study.is_side_by_side and not study.adaptive
    all_methods = {*outputs.values_list("method__name", flat=True)}
    all_stories = {*outputs.values_list("story__key", flat=True)}
    return render_page(
        request,
        study,
        "manage/extend.html",
        status,
        methods=sorted(methods),
        stories=sorted(stories),
        new_methods=sorted(all_methods - methods),
        new_stories=sorted(all_stories - stories),
        withdrawn=gone_methods | gone_stories,
        numbers=study.languages or {"": study.redundancy},
        chosen_methods=request.POST.getlist("method"),
        chosen_stories=request.POST.getlist("story"),
        opponents=sorted(methods) if has_pairs else [],
        chosen_opponents=request.POST.getlist("against"),
        draw=story_tables.drawn_stories(study),
        trained_on=[
            (name, request.POST.get(f"trained_on.{name}", ", ".join(stored)))
            for name in sorted(methods)
            for stored in [study.trained_on.get(name, ())]
        ],
        unscored=declarations.unscored(study),
        **context,
    )


def _people_page(
    request: UserRequest, study: Study, status: int = 200, **context: Any
) -> HttpResponse:
    """Show who has unfinished work; preselect people named or away."""
    holders = changing.presences(study)
    chosen = {*request.GET.getlist("annotator"), *request.POST.getlist("annotator")}
    if "away" in request.GET:
        chosen |= {holder.person.name for holder in holders if holder.is_missed}
    left_behind = not study.is_open and free_slots(study).exists()
    return render_page(
        request,
        study,
        "manage/redistribute.html",
        status,
        holders=holders,
        left_behind=left_behind,
        can_give=holders or left_behind,
        chosen=chosen,
        **context,
    )
