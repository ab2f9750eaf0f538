"""The front page, the login, and the page of one's own account."""

from typing import Any, cast

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe
from rest_framework.authtoken.models import Token

from annotate.pages.study_views import PageRequest, UserRequest


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "home.html")


class Login(LoginView):
    """Log in; with another account's password, change to that account."""

    template_name = "login.html"

    def dispatch(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponseBase:
        """Send on who is logged in already and asks for the form only."""
        if cast(PageRequest, request).htmx:
            # A page that asks for its part again has lost its login: load it anew.
            return HttpResponse(headers={"HX-Refresh": "true"})
        self.redirect_authenticated_user = request.method != "POST"
        return super().dispatch(request, *args, **kwargs)


class Account(PasswordChangeView):
    """Show when the API token was made, and take a new password."""

    template_name = "account.html"
    success_url = reverse_lazy("account")
    http_method_names = ("get", "post", "head", "options")

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return what the page shows."""
        token = Token.objects.filter(user=self.request.user).first()
        return super().get_context_data(token=token, **context)

    def form_valid(self, form: Form) -> HttpResponse:
        """Change the password; this session goes on, all others end."""
        messages.success(
            self.request,
            _(
                "Your password is changed. Other sessions are logged out, and the API "
                "token is revoked."
            ),
        )
        return super().form_valid(form)


@require_POST
@login_required
def token_revoke(request: UserRequest) -> HttpResponse:
    """Revoke one's own API token."""
    if request.user.revoke_token():
        messages.success(request, _("The API token is revoked."))
    return redirect("account")
