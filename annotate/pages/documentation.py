"""The glossary, and the documentation, which `make docs` builds, as files."""

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.core.exceptions import SuspiciousFileOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe
from django.views.static import serve

from annotate.glossary import groups
from annotate.pages.study_views import UserRequest

INDEX = "index.html"


@require_safe
def documentation(request: HttpRequest, name: str = "") -> HttpResponseBase:
    """Return a file of the built documentation, or say how to build it."""
    root = settings.DOCUMENTATION_ROOT
    if not (root / INDEX).is_file():
        return render(request, "documentation.html")
    if not name or name.endswith("/"):
        name += INDEX
    try:
        return serve(request, name, document_root=str(root))
    except (SuspiciousFileOperation, OSError) as error:  # outside, or too long a name
        raise Http404 from error


@require_safe
@login_required
def glossary(request: UserRequest) -> HttpResponse:
    """Show all terms with their meanings."""
    return render(request, "glossary.html", {"groups": groups()})
