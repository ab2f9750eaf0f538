"""Page of the glossary."""

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.glossary import groups
from annotate.pages.study_views import UserRequest


@require_safe
@login_required
def glossary(request: UserRequest) -> HttpResponse:
    """Show all terms with their meanings."""
    return render(request, "glossary.html", {"groups": groups()})
