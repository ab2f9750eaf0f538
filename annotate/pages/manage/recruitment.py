"""Page of a study's public links, crowd platform, codes and costs."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from annotate.access.server_address import links_begin_with
from annotate.models import JoinLink, Study, Visit
from annotate.pages.manage.people import note_of
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_button,
    study_page,
    whole_number,
)
from annotate.people import inviting, joining, ordering, outcomes, places, visits
from annotate.people.outcomes import CompletionCode, Outcome
from annotate.setup_form.recruitment import RecruitmentForm

BACK = "study-recruitment"
# Height 0 lets the frame fill the worker's window.
EXTERNAL_QUESTION = (
    '<ExternalQuestion xmlns="http://mechanicalturk.amazonaws.com/'
    'AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd">'
    "<ExternalURL>{}</ExternalURL><FrameHeight>0</FrameHeight></ExternalQuestion>"
)
links_button = study_button(BACK, inviting.InvitingError)
link_button = study_button(BACK, inviting.InvitingError, of="join_links")


@dataclass(frozen=True)
class LinkRow:
    """A public link with its address, as a platform wants it, and unknown names.

    The question is the text that Mechanical Turk wants instead of the address.
    """

    link: JoinLink
    address: str
    unknown: str
    instead: str
    question: str


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_recruitment(request: UserRequest, study: Study) -> HttpResponse:
    """Show links, codes and costs; store a change of the platform and its codes."""
    form = RecruitmentForm.of(study)
    status = 200
    if request.method == "POST":
        form = RecruitmentForm(request.POST)
        if form.save(study, user=request.user):
            return redirect(BACK, study.slug)
        status = 422
    platform = outcomes.platform_of(study)
    links = [_row(request, link) for link in study.join_links.all()]
    return render_page(
        request,
        study,
        "manage/recruitment.html",
        status,
        form=form,
        platform=platform,
        endings=_endings(study) if platform.has_shared_codes else [],
        links=[row for row in links if row.link.closed_at is None],
        closed_links=[row.link for row in links if row.link.closed_at],
        requests=visits.requests(study),
        order=ordering.order(study),
        languages=list(study.languages),
    )


def _row(request: UserRequest, link: JoinLink) -> LinkRow:
    platform = outcomes.platform_of(link.study)
    address = (
        links_begin_with(request) + reverse("join", args=[link.token]) + platform.query
    )
    unknown = ", ".join(f"{name}=…" for name in link.unknown_parameters)
    instead = " / ".join(f"{name}=…" for name in platform.ids)
    question = EXTERNAL_QUESTION.format(address) if platform.frames else ""
    return LinkRow(link, address, unknown, platform.query or instead, question)


def _endings(study: Study) -> list[tuple[CompletionCode, int]]:
    """Return the code of each outcome, with the number of people who got it."""
    given: dict[str, int] = {}
    for code in outcomes.given_codes(study).values():
        given[code.outcome] = given.get(code.outcome, 0) + 1
    return [(outcomes.ending(study, one), given.get(one, 0)) for one in Outcome]


@links_button
def join_link_make(request: UserRequest, study: Study) -> str:
    """Create a public link."""
    joining.make_link(
        study,
        note=note_of(request),
        most=whole_number(request.POST.get("most", "")) or 0,
        language=request.POST.get("language", ""),
        cap=whole_number(request.POST.get("cap", "")),
        any_device=bool(request.POST.get("any_device")),
        user=request.user,
    )
    return _("The link is open. Copy it from the list.")


@link_button
def join_link_places(request: UserRequest, study: Study, link: JoinLink) -> str:
    """Change the number of places of a link."""
    most = whole_number(request.POST.get("most", "")) or 0
    places.set_places(link, most, user=request.user)
    return _("The link has %(n)d places. Its address stays the same.") % {"n": most}


@link_button
def join_link_close(request: UserRequest, study: Study, link: JoinLink) -> str:
    joining.close_link(link, user=request.user)
    return _("The link is closed. People who have joined can continue.")


@link_button
def join_link_devices(request: UserRequest, study: Study, link: JoinLink) -> str:
    """Set whether people who joined may switch device."""
    any_device = bool(request.POST.get("any_device"))
    joining.trust_ids(link, any_device=any_device, user=request.user)
    if any_device:
        return _(
            "With this link, people can switch device: their ID is enough to continue."
        )
    return _(
        "With this link, people continue in the browser where they joined, or "
        "with their personal link."
    )


@links_button
def visit_admit(request: UserRequest, study: Study, **address: Any) -> str:
    """Let a browser in as the person who asked."""
    own = Visit.objects.filter(annotator__study=study).select_related("annotator")
    visit = get_object_or_404(own, pk=address["pk"])
    if not visits.admit(visit, user=request.user):
        return ""
    return _("%(name)s can continue in that browser by opening the link again.") % {
        "name": visit.annotator.name
    }
