"""Page of a study's members and their roles."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache

from annotate.access import accounts
from annotate.access.accounts import AccountError
from annotate.access.permissions import can_use_benchmark, visible_studies
from annotate.models import Study, StudyMember, User
from annotate.pages.manage.accounts import NewLink, new_link
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_button,
    study_page,
)
from annotate.studies import members
from annotate.studies.members import MemberError, Role

member_button = study_button("study-member-list", MemberError, of="members")


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def study_member_list(request: UserRequest, study: Study) -> HttpResponse:
    """List the members, and add one who has an account or gets one."""
    if request.method != "POST":
        return _page(request, study)
    try:
        link = _add(request, study)
    except (AccountError, MemberError) as error:
        return _page(request, study, 422, error=str(error), given=request.POST)
    if link is not None:
        return _page(request, study, link=link)
    messages.success(request, _("%(name)s was added.") % {"name": _name(request)})
    return redirect("study-member-list", study.slug)


@transaction.atomic
def _add(request: UserRequest, study: Study) -> NewLink | None:
    """Add a member; return the link of an account that is made for it."""
    name, role, link = _name(request), _role(request), None
    if request.POST.get("new"):
        user = accounts.create(name, accounts.Role.MEMBER, by=request.user)
        link = new_link(request, user)
    else:
        found = User.objects.filter(username=name, is_active=True).first()
        if found is None:
            text = _(
                "There is no account “%(name)s”. Correct the name, or tick “Create a "
                "new account”."
            )
            raise MemberError(text % {"name": name})
        user = found
    members.add(study, user, role, by=request.user)
    return link


def _name(request: UserRequest) -> str:
    return request.POST.get("name", "").strip()[:150]


def _role(request: UserRequest) -> Role:
    role = request.POST.get("role", "")
    if role not in Role:
        raise MemberError(_("Please choose a role."))
    return Role(role)


def _page(
    request: UserRequest, study: Study, status: int = 200, **context: object
) -> HttpResponse:
    rows = study.members.select_related("user")
    return render_page(
        request,
        study,
        "manage/members.html",
        status,
        members=rows.order_by("role", "user__username"),
        roles=Role.choices,
        is_of_benchmark=can_use_benchmark(request.user, study),
        **context,
    )


@member_button
def study_member_change(request: UserRequest, study: Study, member: StudyMember) -> str:
    """Give a member another role."""
    members.change_role(member, _role(request), by=request.user)
    return _("The role of %(name)s is saved.") % {"name": member.user.username}


@member_button
def study_member_remove(
    request: UserRequest, study: Study, member: StudyMember
) -> str | HttpResponse:
    """Remove a member; those who leave a study return to their others."""
    name = member.user.username
    members.remove(member, by=request.user)
    messages.success(request, _("%(name)s was removed.") % {"name": name})
    if not visible_studies(request.user).filter(pk=study.pk).exists():
        return redirect("study-list")
    return ""
