"""Launching, pausing and closing a study, and saying what comes next."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from annotate.access.permissions import get_study_for
from annotate.models import Study
from annotate.pages.requests import UserRequest
from annotate.studies import lifecycle

ACTIONS = {
    "launch": lifecycle.launch,
    "pause": lifecycle.pause,
    "close": lifecycle.close,
}


@require_POST
@login_required
def study_action(request: UserRequest, slug: str, action: str) -> HttpResponse:
    """Launch, pause or close the study."""
    study = get_study_for(request.user, slug, role="manager")
    if action not in ACTIONS:
        raise Http404
    try:
        ACTIONS[action](study, request.user)
    except lifecycle.LifecycleError as error:
        messages.error(request, str(error))
    else:
        _tell(request, study)
    return redirect("study-detail", slug)


def _tell(request: UserRequest, study: Study) -> None:
    """Say what happened, and what to do next."""
    if study.state == Study.State.OPEN:
        _tell_who_may_come(request, study)
    elif study.state == Study.State.PAUSED:
        said = _("The study is paused: nobody can answer. Links stay valid.")
        messages.success(request, said)
    else:
        said = _("The study is closed: it takes no more answers.")
        messages.success(request, _and(said, "report-list", study, _("Make a report")))


def _tell_who_may_come(request: UserRequest, study: Study) -> None:
    reach = lifecycle.reach(study)
    if reach.is_empty:
        said = _("The study is open, but nobody can take part: nobody has a link yet.")
        next_step = _and(said, "annotator-list", study, _("Invite people"))
        messages.warning(request, next_step)
        return
    said = _(
        "The study is open. People who can go on by their link: %(people)d; links to "
        "join by: %(links)d."
    ) % {"people": reach.people, "links": reach.links}
    if reach.waiting:
        told = _("Planned, but not invited yet: %(waiting)d.")
        said = f"{said} {told % {'waiting': reach.waiting}}"
    messages.success(request, _and(said, "annotator-list", study, _("Annotators")))


def _and(said: str, page: str, study: Study, name: str) -> str:
    """Return a sentence with a link to the page where one goes on."""
    address = reverse(page, args=[study.slug])
    return format_html('{} <a href="{}">{}</a>', said, address, name)
