"""The personal data of one annotator: shown, handed out, withdrawn, erased."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from annotate.models import Annotator, Study
from annotate.pages.requests import UserRequest
from annotate.pages.study_views import attachment, render_page, study_button, study_page
from annotate.personal_data import erasing, record

WISHES = ("work", "answers")


class UnsureError(ValueError):
    """Something that cannot be undone was asked for without the tick that says so."""


data_button = study_button(
    "annotator-list", erasing.ConsentError, erasing.ErasingError, UnsureError
)


@never_cache
@study_page(role="manager")
def person(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    """Show what is known of somebody, and what can be done with it."""
    annotator = get_object_or_404(study.annotators, pk=pk)
    return render_page(
        request,
        study,
        "manage/personal_data.html",
        annotator=annotator,
        known=list(record.known(annotator)),
        comments=erasing.comments_of(annotator),
        is_planned=annotator.state == Annotator.State.PLANNED,
        due=None if annotator.erased_at else erasing.due_at(study),
    )


@never_cache
@study_page(role="manager")
def export(request: UserRequest, study: Study, pk: int) -> HttpResponse:
    annotator = get_object_or_404(study.annotators, pk=pk)
    name = f"{study.slug}-{annotator.pk}-personal-data.zip"
    headers = attachment(name, "application/zip")
    return HttpResponse(record.zipped(annotator), headers=headers)


@data_button
def withdraw(request: UserRequest, study: Study, pk: int) -> str:
    """Withdraw the consent of somebody who has asked for it."""
    annotator = get_object_or_404(study.annotators, pk=pk)
    _check_sure(request)
    wish = request.POST.get("wish")
    if wish not in WISHES:
        raise UnsureError(_("Please say what is to happen with the answers."))
    done = erasing.withdraw(annotator, answers=wish == "answers", user=request.user)
    text = ngettext(
        "%(name)s has withdrawn; %(left_out)d answered story is left out.",
        "%(name)s has withdrawn; %(left_out)d answered stories are left out.",
        done.left_out,
    )
    return text % {"name": annotator.name, "left_out": done.left_out}


@data_button
def erase(request: UserRequest, study: Study, pk: int) -> str:
    annotator = get_object_or_404(study.annotators, pk=pk)
    _check_sure(request)
    comments = bool(request.POST.get("comments"))
    done = erasing.erase(annotator, comments=comments, user=request.user)
    if not done.is_new and not done.comments:
        return _("%(name)s was erased before.") % {"name": annotator.name}
    text = ngettext(
        "Whoever was %(name)s is erased, and %(n)d comment; the answers stay.",
        "Whoever was %(name)s is erased, and %(n)d comments; the answers stay.",
        done.comments,
    )
    return text % {"name": annotator.name, "n": done.comments}


def _check_sure(request: UserRequest) -> None:
    if not request.POST.get("sure"):
        raise UnsureError(_("Nothing was changed: please tick that you are sure."))
