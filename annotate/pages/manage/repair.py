"""Pages that rename a study, correct its texts, archive it and delete it."""

from itertools import groupby
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from annotate.access.permissions import can_delete
from annotate.models import Slot, Study
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_button,
    study_page,
    whole_number,
)
from annotate.reports import deleting
from annotate.studies import lifecycle, rewording
from annotate.studies.rewording import RewordingError, Wording
from annotate.tasks import delete_studies


@study_button("study-settings", RewordingError)
def study_rename(request: UserRequest, study: Study) -> str:
    """Change the title of a study."""
    title = request.POST.get("title", "")
    if rewording.rename(study, title, user=request.user):
        return _("The study is called “%(title)s” now.") % {"title": study.title}
    return _("The title is the same as before.")


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_texts(request: UserRequest, study: Study) -> HttpResponseBase:
    """Show the texts of a study, and correct them."""
    if request.method != "POST" or not study.definition:
        return _texts_page(request, study)
    try:
        done = rewording.reword(
            study,
            request.POST.dict(),
            version=whole_number(request.POST.get("version", "")) or 0,
            user=request.user,
        )
    except RewordingError as error:
        return _texts_page(request, study, 422, error=str(error))
    if not done:
        messages.info(request, _("No text was changed."))
    else:
        text = ngettext(
            "%(n)d text was corrected. Annotators see it from the next page on.",
            "%(n)d texts were corrected. Annotators see them from the next page on.",
            len(done),
        )
        messages.success(request, text % {"n": len(done)})
    return redirect("study-texts", study.slug)


def _texts_page(
    request: UserRequest, study: Study, status: int = 200, **context: Any
) -> HttpResponse:
    versions = rewording.text_versions(study)
    return render_page(
        request,
        study,
        "manage/texts.html",
        status,
        parts=_parts(request, study),
        versions=[
            (one, [(rewording.place_of(c.name), c) for c in one.corrections])
            for one in reversed(versions)
        ],
        editable=lifecycle.is_editable(study),
        **context,
    )


# A text in each language, with what is written in its field.
Languages = list[tuple[Wording, str]]


def _parts(request: UserRequest, study: Study) -> list[tuple[str, list[Languages]]]:
    """Return the texts of the whole study and of each question, as they were sent."""
    titles = {
        "": _("Consent and instructions"),
        ".training": _("Training"),
        **{one.key.partition("|")[0]: one.title for one in study.questions.all()},
    }

    def part_of(wording: Wording) -> str:
        part = wording.path[0]
        return {"questions": wording.path[1], "training": ".training"}.get(part, "")

    return [
        (
            titles.get(key, key),
            [
                [(one, request.POST.get(one.name, one.text)) for one in languages]
                for _text, languages in groupby(texts, lambda one: one.path[:-1])
            ],
        )
        for key, texts in groupby(rewording.wordings(study), part_of)
    ]


@study_button("study-settings", lifecycle.LifecycleError, in_archive=True)
def study_archive(request: UserRequest, study: Study) -> str:
    """Put a study into the archive, or take it out again."""
    if request.POST.get("do") == "restore":
        lifecycle.restore(study, request.user)
        return _("The study is out of the archive.")
    lifecycle.archive(study, request.user)
    return _("The study is archived: hidden from the list and read-only.")


@never_cache
@study_page("GET", "HEAD", "POST", role="manager", in_archive=True)
def study_delete(request: UserRequest, study: Study) -> HttpResponseBase:
    """Say what would be deleted, and delete the study after its name was typed."""
    if not can_delete(request.user, study):
        raise PermissionDenied(
            _("Only an owner of the benchmark who manages the study may delete it.")
        )
    if request.method != "POST":
        return _delete_page(request, study)
    try:
        is_gone = deleting.ask_to_delete(
            study, request.POST.get("name", ""), user=request.user
        )
    except deleting.DeletingError as error:
        return _delete_page(request, study, 422, error=str(error))
    if is_gone:
        text = _("The study %(name)s was deleted.")
    else:
        delete_studies.delay()
        text = _("The study %(name)s is being deleted. This takes some minutes.")
    messages.success(request, text % {"name": study.slug})
    return redirect("study-list")


def _delete_page(
    request: UserRequest, study: Study, status: int = 200, **context: Any
) -> HttpResponse:
    submitted = (Slot.State.SUBMITTED, Slot.State.EXCLUDED)
    return render_page(
        request,
        study,
        "manage/delete.html",
        status,
        ratings=study.slots.filter(state__in=submitted).count(),
        people=study.annotators.count(),
        reports=study.reports.count(),
        at_rest=study.state in lifecycle.AT_REST,
        **context,
    )
