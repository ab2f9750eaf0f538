"""Launching, pausing and closing a study, and saying what comes next."""

from django.contrib import messages
from django.http import Http404
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext as _

from annotate.models import Study
from annotate.pages.requests import UserRequest
from annotate.pages.study_views import study_button
from annotate.studies import lifecycle

ACTIONS = {
    "launch": lifecycle.launch,
    "pause": lifecycle.pause,
    "close": lifecycle.close,
}


@study_button("study-detail", lifecycle.LifecycleError)
def study_action(request: UserRequest, study: Study, action: str) -> str:
    """Launch, pause or close the study, and say what to do next."""
    if action not in ACTIONS:
        raise Http404
    ACTIONS[action](study, request.user)
    if study.state == Study.State.OPEN:
        return _who_may_come(request, study)
    if study.state == Study.State.PAUSED:
        return _("The study is paused: nobody can answer. Links stay valid.")
    said = _("The study is closed: it takes no more answers.")
    return _and(said, "report-list", study, _("Make a report"))


def _who_may_come(request: UserRequest, study: Study) -> str:
    reach = lifecycle.reach(study)
    if reach.is_empty:
        said = _("The study is open, but nobody can take part: nobody has a link yet.")
        next_step = _and(said, "annotator-list", study, _("Invite people"))
        messages.warning(request, next_step)
        return ""
    said = _(
        "The study is open. People who can go on by their link: %(people)d; links to "
        "join by: %(links)d."
    ) % {"people": reach.people, "links": reach.links}
    if reach.waiting:
        told = _("Planned, but not invited yet: %(waiting)d.")
        said = f"{said} {told % {'waiting': reach.waiting}}"
    return _and(said, "annotator-list", study, _("Annotators"))


def _and(said: str, page: str, study: Study, name: str) -> str:
    """Return a sentence with a link to the page where one goes on."""
    address = reverse(page, args=[study.slug])
    return format_html('{} <a href="{}">{}</a>', said, address, name)
