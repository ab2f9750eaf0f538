"""The page of one output: a story as one method rendered it, and what is said of it."""

from django.http import HttpResponse

from annotate.models import Study
from annotate.pages.requests import UserRequest
from annotate.pages.study_views import render_page, study_page
from annotate.reports import study_outputs


@study_page()
def output_detail(request: UserRequest, study: Study) -> HttpResponse:
    """Show a story by one method: text, pictures, answers of people, scores."""
    story, method = (request.GET.get(name, "") for name in ("story", "method"))
    shown = study_outputs.shown_output(study, story, method)
    if shown is None:
        names = {"story": story, "method": method}
        return render_page(request, study, "reports/no_output.html", 404, **names)
    return render_page(request, study, "reports/output.html", shown=shown)
