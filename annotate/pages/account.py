"""Login, the user's own account, and the page to set a password."""

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)
from rest_framework.authtoken.models import Token

from annotate.access import accounts, rate_limits
from annotate.models import User
from annotate.pages.study_views import PageRequest, UserRequest


class Login(LoginView):
    """Login, also to change to another account."""

    template_name = "login.html"

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Redirect users who are already logged in, unless they log in again."""
        if cast(PageRequest, request).htmx:
            # The login of a polling page has expired: reload the whole page.
            return HttpResponse(headers={"HX-Refresh": "true"})
        self.redirect_authenticated_user = request.method != "POST"
        return super().dispatch(request, *args, **kwargs)

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return the context with the ways to log in."""
        ways = {
            "has_passwords": settings.PASSWORD_LOGIN,
            "institution": settings.OIDC_ISSUER and settings.OIDC_NAME,
        }
        return super().get_context_data(**ways, **context)


@never_cache
@require_safe
def sign_on(request: HttpRequest, stage: str) -> HttpResponse:
    """Send somebody to their institution's login, or take them back from it."""
    # Its package is installed where this is used.
    from annotate.sign_on import provider

    return provider.respond(request, stage)


class Account(PasswordChangeView):
    """Account page: change the password, and make or revoke the API token."""

    template_name = "account.html"
    success_url = reverse_lazy("account")
    http_method_names = ("get", "post", "head", "options")

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return the context with the API token, without its secret."""
        context |= _about(cast(UserRequest, self.request).user)
        return super().get_context_data(**context)

    def form_valid(self, form: Form) -> HttpResponse:
        """Change the password; all other sessions end."""
        messages.success(
            self.request,
            _(
                "Your password was changed. All other sessions were logged out, and "
                "your API token was revoked."
            ),
        )
        return super().form_valid(form)


def _about(user: User) -> dict[str, Any]:
    """Return what the account page shows besides the form."""
    linked = user.identities.filter(issuer__startswith=settings.OIDC_ISSUER or "-")
    return {
        "token": Token.objects.filter(user=user).first(),
        "has_password": settings.PASSWORD_LOGIN and user.has_usable_password(),
        "institution": settings.OIDC_ISSUER and settings.OIDC_NAME,
        "is_linked": linked.exists(),
    }


@require_POST
@login_required
def token_create(request: UserRequest) -> HttpResponse:
    """Create an API token and show it once; an earlier one ends."""
    request.user.revoke_token()
    token = Token.objects.create(user=request.user)
    context = _about(request.user) | {
        "new_token": token.key,
        "form": PasswordChangeForm(request.user),
    }
    return render(request, "account.html", context)


@require_POST
@login_required
def token_revoke(request: UserRequest) -> HttpResponse:
    """Revoke the user's API token."""
    if request.user.revoke_token():
        messages.success(request, _("Your API token was revoked."))
    return redirect("account")


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def password_link(request: HttpRequest, token: str) -> HttpResponse:
    """Set a password by the link that a manager made, and log in."""
    link = accounts.find_link(token)
    if link is None:
        return rate_limits.refuse_link(request)
    is_valid = link.is_valid
    form = SetPasswordForm(link.user, request.POST or None)
    if is_valid and form.is_valid():
        is_valid = accounts.use_link(link, form.cleaned_data["new_password1"])
        if is_valid:
            enter(request, link.user)
            return redirect("home")
    context = {"form": form if is_valid else None, "owner": link.user}
    return render(
        request, "password_link.html", context, status=200 if is_valid else 410
    )


def enter(request: HttpRequest, user: User) -> None:
    """Log in somebody who has just set a password."""
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
