"""The front page and the login."""

from typing import Any, cast

from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotate.pages.requests import PageRequest


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
