"""Page of a study's people: invitations, limits and personal data."""

from collections.abc import Sequence
from typing import Any

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from annotate.models import Annotator, Invitation, Study
from annotate.pages.manage.payment import people_context
from annotate.pages.study_views import (
    UserRequest,
    attachment,
    render_page,
    study_button,
    study_page,
    whole_number,
)
from annotate.people import inviting, visits
from annotate.people.invitation_list import LONGEST_NOTE, ListError, invite_list
from annotate.personal_data import erasing, record
from annotate.quality import exclusion

LARGEST_LIST = 1_000_000
# The most people that one press of a button invites.
MOST_AT_ONCE = 500

people_button = study_button("annotator-list", inviting.InvitingError)
person_button = study_button("annotator-list", inviting.InvitingError, of="annotators")


@never_cache
@study_page(role="manager")
def annotator_list(request: UserRequest, study: Study) -> HttpResponse:
    """Show the table of people, and invite more."""
    return _page(request, study)


def _page(
    request: UserRequest, study: Study, status: int = 200, **context: Any
) -> HttpResponse:
    waiting = study.annotators.filter(state=Annotator.State.PLANNED).count()
    return render_page(
        request,
        study,
        "manage/annotators.html",
        status,
        waiting=waiting,
        free=inviting.free_slots(study).count(),
        links=min(waiting, MOST_AT_ONCE),
        most_links=MOST_AT_ONCE,
        open_links=sum(link.is_open for link in study.join_links.all()),
        requests=len(visits.requests(study)),
        languages=list(study.languages),
        due=erasing.due_at(study),
        **people_context(request, study),
        **context,
    )


@people_button
def annotator_invite(request: UserRequest, study: Study) -> str:
    """Create links for the next planned annotators, or for new people."""
    note = note_of(request)
    if request.POST.get("new"):
        return _created(_invite_new(request, study, note))
    count = whole_number(request.POST.get("count", "")) or 0
    return _created(inviting.invite(study, count=count, note=note, user=request.user))


@transaction.atomic
def _invite_new(request: UserRequest, study: Study, note: str) -> list[Invitation]:
    count = whole_number(request.POST.get("count", "1"))
    if count is None or not 1 <= count <= MOST_AT_ONCE:
        text = _("Enter a number of links from 1 to %(most)d.")
        raise inviting.InvitingError(text % {"most": MOST_AT_ONCE})
    language = request.POST.get("language", "")
    return [
        inviting.invite_new(study, language=language, note=note, user=request.user)
        for _i in range(count)
    ]


def note_of(request: UserRequest) -> str:
    note = request.POST.get("note", "")
    if len(note) > LONGEST_NOTE:
        text = _("Please write at most %(most)d characters; these are %(n)d.")
        raise inviting.InvitingError(text % {"most": LONGEST_NOTE, "n": len(note)})
    return note


def _created(links: Sequence[Invitation]) -> str:
    text = ngettext("%(n)d link created.", "%(n)d links created.", len(links))
    return text % {"n": len(links)}


@people_button
def annotator_list_invite(request: UserRequest, study: Study) -> str | HttpResponse:
    """Invite everybody on a typed or uploaded list, or show its problems."""
    text = request.POST.get("people", "")
    try:
        text = "\n".join(filter(None, (text, _file_text(request))))
        result = invite_list(study, text, user=request.user)
    except inviting.InvitingError as error:
        problems = error.problems if isinstance(error, ListError) else [str(error)]
        return _page(request, study, 422, problems=problems, people=text)
    messages.success(request, _created(result.made))
    if result.known:
        text = _("Already taking part, so left unchanged: %(names)s.")
        names = ", ".join(result.known[:20])
        more = " …" if len(result.known) > 20 else ""
        messages.info(request, text % {"names": names + more})
    return ""


def _file_text(request: UserRequest) -> str:
    file = request.FILES.get("file")
    if file is None:
        return ""
    assert file.size is not None  # uploaded files have a size
    if file.size > LARGEST_LIST:
        raise inviting.InvitingError(
            _("The file is too large for a list of people: at most 1 MB.")
        )
    content: bytes = file.read()
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise inviting.InvitingError(
            _("The file is not text in UTF-8. Save it as “CSV UTF-8”.")
        ) from error


@person_button
def annotator_cap(request: UserRequest, study: Study, annotator: Annotator) -> str:
    cap = whole_number(request.POST.get("cap", ""))
    freed = inviting.set_cap(annotator, cap, user=request.user)
    text = ngettext(
        "The limit for %(name)s is saved; %(freed)d rating is available to others.",
        "The limit for %(name)s is saved; %(freed)d ratings are available to others.",
        freed,
    )
    return text % {"name": annotator.name, "freed": freed}


@person_button
def annotator_reissue(request: UserRequest, study: Study, annotator: Annotator) -> str:
    if not hasattr(annotator, "invitation"):
        raise Http404
    inviting.reissue(annotator, user=request.user)
    return _("%(name)s has a new link.") % {"name": annotator.name}


def leave_out(request: UserRequest, annotator: Annotator) -> str:
    """Exclude everything that an annotator has submitted; return a message."""
    rows = exclusion.exclude_annotator(
        annotator, reason=request.POST.get("reason", ""), author=request.user
    )
    text = ngettext(
        "%(n)d rating of %(name)s was left out.",
        "%(n)d ratings of %(name)s were left out.",
        len(rows),
    )
    return text % {"n": len(rows), "name": annotator.name}


def revoke(request: UserRequest, annotator: Annotator) -> str:
    """Revoke an annotator; return a message with the number of freed slots."""
    freed = inviting.revoke(annotator, user=request.user)
    text = ngettext(
        "%(name)s was removed from the study; %(freed)d rating is available to others.",
        "%(name)s was removed from the study; %(freed)d ratings are available "
        "to others.",
        freed,
    )
    return text % {"name": annotator.name, "freed": freed}


@never_cache
@study_page(role="manager", of="annotators")
def annotator_data(
    request: UserRequest, study: Study, annotator: Annotator
) -> HttpResponse:
    """Show the personal data of an annotator, with withdrawal and erasure."""
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
@study_page(role="manager", of="annotators")
def annotator_data_zip(
    request: UserRequest, study: Study, annotator: Annotator
) -> HttpResponse:
    name = f"{study.slug}-{annotator.pk}-personal-data.zip"
    headers = attachment(name, "application/zip")
    return HttpResponse(record.zipped(annotator), headers=headers)


class UnsureError(ValueError):
    """Irreversible request without confirmation."""


data_button = study_button(
    "annotator-list",
    erasing.ConsentError,
    erasing.ErasingError,
    UnsureError,
    of="annotators",
)


@data_button
def annotator_withdraw(request: UserRequest, study: Study, annotator: Annotator) -> str:
    """Withdraw an annotator's consent on their request."""
    _check_sure(request)
    wish = request.POST.get("wish")
    if wish not in ("work", "answers"):
        raise UnsureError(_("Please choose what should happen to the answers."))
    done = erasing.withdraw(annotator, answers=wish == "answers", user=request.user)
    text = ngettext(
        "%(name)s has withdrawn; %(left_out)d answered story is left out.",
        "%(name)s has withdrawn; %(left_out)d answered stories are left out.",
        done.left_out,
    )
    return text % {"name": annotator.name, "left_out": done.left_out}


@data_button
def annotator_erase(request: UserRequest, study: Study, annotator: Annotator) -> str:
    _check_sure(request)
    comments = bool(request.POST.get("comments"))
    done = erasing.erase(annotator, comments=comments, user=request.user)
    if not done.is_new and not done.comments:
        return _("The personal data of %(name)s were already erased.") % {
            "name": annotator.name
        }
    text = ngettext(
        "The personal data of %(name)s and %(n)d comment were erased; the "
        "answers stay.",
        "The personal data of %(name)s and %(n)d comments were erased; the "
        "answers stay.",
        done.comments,
    )
    return text % {"name": annotator.name, "n": done.comments}


def _check_sure(request: UserRequest) -> None:
    if not request.POST.get("sure"):
        raise UnsureError(
            _("Nothing was changed. Please tick the box to confirm that you are sure.")
        )
