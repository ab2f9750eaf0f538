"""Preview of the annotator's page for managers."""

from collections.abc import Mapping
from functools import wraps
from typing import Any

from django.db.models import QuerySet
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
)
from django.shortcuts import get_object_or_404, render
from django.utils import translation
from django.views.decorators.http import require_POST, require_safe

from annotate.access.permissions import can_create, visible_outputs
from annotate.models import Slot, Study, Unit
from annotate.models.units import as_fields
from annotate.pages.annotator.media_files import (
    Sends,
    send_character,
    send_frame,
    send_side,
)
from annotate.presentation import checklist_sheets, shot_comments, slot_view
from annotate.responses import writing
from annotate.studies.drafting import first_slot, read_code
from annotate.studies.planning import Setup
from evalcore.models import Output

LANGUAGES = {"en": "en", "zh": "zh-hans"}
NO_VALUES: Mapping[str, str] = {}


def preview_page(
    request: HttpRequest,
    setup: Setup,
    sent: Mapping[str, str] = NO_VALUES,
    among: QuerySet[Output] | None = None,
) -> HttpResponse:
    """Show the first story of an unstored study, in either language."""
    wanted = (request.POST or request.GET).get("shown_in", "")
    language = LANGUAGES.get(wanted, translation.get_language())
    with translation.override(language), first_slot(setup, among) as slot:
        context = {
            "route": "preview",
            "slot": slot,
            "study": slot.study,
            "token": setup.benchmark.slug,
            "annotator": slot.annotator,
            **slot_view.for_viewer(slot),
            **slot_view.for_player(slot),
            "questions": slot_view.shown_questions(slot),
            **checklist_sheets.on_page(slot),
            **writing.on_page(slot),
            **shot_comments.on_page(slot),
            "progress": {
                "number": 1,
                "size": setup.definition.session_size,
                "session": 1,
                "sessions": 1,
            },
            "sent": [
                (name, value)
                for name, values in getattr(sent, "lists", list)()
                if name not in ("csrfmiddlewaretoken", "shown_in")
                for value in values
            ],
            "method": request.method,
            "other": "en" if language.startswith("zh") else "zh",
        }
        return render(request, "manage/preview.html", context)


@require_POST
def save(request: HttpRequest, token: str, code: str) -> JsonResponse:
    """Accept answers without storing them."""
    _slot(request, token, code)
    return JsonResponse({"refused": {}, "problem": "", "submitted": False})


@require_POST
def submit(request: HttpRequest, token: str, code: str) -> HttpResponse:
    """Accept answers without storing them; the page stays."""
    _slot(request, token, code)
    return HttpResponse(status=204)


def _of_preview(send: Sends) -> Sends:
    """Return a view that sends media of an unstored slot."""

    @require_safe
    @wraps(send)
    def view(
        request: HttpRequest, token: str, code: str, **which: Any
    ) -> HttpResponseBase:
        return send(request, _slot(request, token, code), **which)

    return view


picture = _of_preview(send_frame)
character = _of_preview(send_character)
video = _of_preview(send_side)


def _slot(request: HttpRequest, benchmark: str, code: str) -> Slot:
    """Return an unstored slot of outputs that the user may see."""
    if not can_create(request.user):
        raise Http404
    parts = read_code(code)
    if parts is None:
        raise Http404
    numbers, box = parts
    visible = visible_outputs(request.user).filter(story__benchmark__slug=benchmark)
    outputs = [
        get_object_or_404(visible.select_related("story"), pk=number)
        for number in numbers
    ]
    unit = Unit(story=outputs[0].story, **as_fields(outputs))
    presentation: dict[str, object] = {"same_size": box is not None}
    if box is not None:
        presentation["box"] = list(box)
    return Slot(study=Study(presentation=presentation), unit=unit, a_is_left=True)
