"""Page of the accounts, for managers of every study."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from annotate.access import accounts, server_address
from annotate.access.accounts import AccountError, Role
from annotate.models import PasswordLink, Study, StudyMember, User
from annotate.pages.study_views import UserRequest
from annotate.studies import members

View = Callable[..., HttpResponse]


@dataclass(frozen=True)
class AccountRow:
    """An account with its role, studies and link."""

    user: User
    role: Role
    studies: list[StudyMember]
    link: PasswordLink | None  # one that still works


@dataclass(frozen=True)
class NewLink:
    """A new link to set a password, which is shown once."""

    owner: User
    address: str


def new_link(request: UserRequest, user: User) -> NewLink:
    """Create a link to set the password of an account."""
    token = accounts.issue_link(user, by=request.user)
    path = reverse("password-link", args=[token])
    return NewLink(user, server_address.links_begin_with(request) + path)


def of_superusers(view: View) -> View:
    """Hide a page from everybody else."""

    @never_cache
    @login_required
    @wraps(view)
    def wrapped(request: UserRequest, **kwargs: object) -> HttpResponse:
        if not request.user.is_superuser:
            raise Http404
        return view(request, **kwargs)

    return wrapped


@require_http_methods(["GET", "HEAD", "POST"])
@of_superusers
def account_list(request: UserRequest) -> HttpResponse:
    """List the accounts, and create one."""
    if request.method != "POST":
        return _page(request)
    name, role = request.POST.get("name", ""), request.POST.get("role", "")
    try:
        link = new_link(request, _create(name, role, request.user))
    except AccountError as error:
        return _page(request, 422, error=str(error), name=name, chosen=role)
    return _page(request, link=link)


@transaction.atomic
def _create(name: str, role: str, by: User) -> User:
    """Create an account; a role that is a study's slug is that of a researcher."""
    if role in Role:
        return accounts.create(name, Role(role), by=by)
    study = Study.objects.filter(slug=role.removeprefix("study:")).first()
    if study is None:
        raise AccountError(_("Please choose a role."))
    user = accounts.create(name, Role.MEMBER, by=by)
    members.add(study, user, members.Role.RESEARCHER, by=by)
    return user


def _page(request: UserRequest, status: int = 200, **context: object) -> HttpResponse:
    users = User.objects.order_by("-is_active", "username")
    rows = [
        AccountRow(
            user,
            accounts.role_of(user),
            list(user.memberships.all()),
            link
            if (link := getattr(user, "password_link", None)) and link.is_valid
            else None,
        )
        for user in users.select_related("password_link").prefetch_related(
            "memberships__study"
        )
    ]
    context |= {
        "rows": rows,
        "roles": Role.choices,
        "general": [(role.value, role.label) for role in Role if role != Role.MEMBER],
        "studies": Study.objects.order_by("title"),
    }
    return render(request, "manage/accounts.html", context, status=status)


@require_POST
@of_superusers
def account_change(request: UserRequest, pk: int, action: str) -> HttpResponse:
    """Make a link for an account, or change its role, sessions or state."""
    user = get_object_or_404(User, pk=pk)
    if action not in (*ACTIONS, "link") or user == request.user:
        raise Http404
    try:
        if action == "link":
            return _page(request, link=new_link(request, user))
        text = ACTIONS[action](request, user)
    except AccountError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, text % {"name": user.username})
    return redirect("account-list")


def _change_role(request: UserRequest, user: User) -> str:
    role = request.POST.get("role", "")
    if role not in Role:
        raise AccountError(_("Please choose a role."))
    accounts.change_role(user, Role(role), by=request.user)
    return _("The role of %(name)s is saved.")


def _log_out(request: UserRequest, user: User) -> str:
    accounts.end_sessions(user)
    return _("%(name)s is logged out everywhere, and the API token is revoked.")


def _deactivate(request: UserRequest, user: User) -> str:
    accounts.deactivate(user, by=request.user)
    return _("%(name)s can no longer log in.")


def _activate(request: UserRequest, user: User) -> str:
    accounts.activate(user, by=request.user)
    return _("%(name)s can log in again.")


ACTIONS: dict[str, Callable[[UserRequest, User], str]] = {
    "role": _change_role,
    "log-out": _log_out,
    "deactivate": _deactivate,
    "activate": _activate,
}
