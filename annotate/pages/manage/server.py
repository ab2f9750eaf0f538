"""The page of the server, for managers of everything."""

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from annotate.pages.manage.coverage_pages import NOTHING_NEW
from annotate.pages.requests import UserRequest
from annotate.server_state.overview import overview

KINDS = {
    "cpu": _("Reports and scores"),
    "gpu": _("Networks"),
    "judge": _("Judges"),
    "beat": _("Scheduler"),
}
SHOWN = 20


@require_safe
@login_required
def server(request: UserRequest) -> HttpResponse:
    """Show how the server does; htmx asks for it again, and whether there is news."""
    if not request.user.is_superuser:
        raise Http404
    found = overview()
    if request.htmx and request.GET.get("since") == found.state:
        return HttpResponse(status=NOTHING_NEW)
    context = {
        "server": found,
        "workers": [(KINDS[row.kind], row) for row in found.workers],
        "jobs": found.jobs[:SHOWN],
        "more": max(len(found.jobs) - SHOWN, 0),
    }
    part = "manage/_server.html" if request.htmx else "manage/server.html"
    return render(request, part, context)
