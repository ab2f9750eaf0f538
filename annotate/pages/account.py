"""Front page, login and account page."""

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


class Account(PasswordChangeView):
    """Account page: change the password, and see the API token."""

    template_name = "account.html"
    success_url = reverse_lazy("account")
    http_method_names = ("get", "post", "head", "options")

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return the context with the API token."""
        token = Token.objects.filter(user=self.request.user).first()
        return super().get_context_data(token=token, **context)

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


@require_POST
@login_required
def token_revoke(request: UserRequest) -> HttpResponse:
    """Revoke the user's API token."""
    if request.user.revoke_token():
        messages.success(request, _("Your API token was revoked."))
    return redirect("account")
