"""Login, the user's own account, and the page to set a password."""

from typing import Any, cast

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import PasswordChangeForm, SetPasswordForm
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.forms import (
    ChoiceField,
    Form,
    ModelChoiceField,
    ModelForm,
    TypedChoiceField,
)
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import (
    require_http_methods,
    require_POST,
    require_safe,
)

from annotate.access import accounts, rate_limits
from annotate.access.permissions import visible_studies
from annotate.models import ApiToken, Study, User
from annotate.models.tokens import USUAL_DAYS
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


class TokenForm(ModelForm):  # type: ignore[type-arg]  # only in its stubs
    """Rights, study and end of a new token."""

    DAYS = (
        (30, gettext_lazy("30 days")),
        (90, gettext_lazy("90 days")),
        (USUAL_DAYS, gettext_lazy("1 year")),
        (0, gettext_lazy("never ends")),
    )
    days = TypedChoiceField(
        choices=DAYS, coerce=int, initial=USUAL_DAYS, label=gettext_lazy("Ends after")
    )

    class Meta:
        model = ApiToken
        fields = ("name", "scope", "study")
        labels = {
            "name": gettext_lazy("Name"),
            "scope": gettext_lazy("May"),
            "study": gettext_lazy("In"),
        }

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        scope = cast("ChoiceField", self.fields["scope"])
        scope.choices = ApiToken.Scope.choices  # without an empty one
        study = cast("ModelChoiceField[Study]", self.fields["study"])
        study.queryset = visible_studies(user).order_by("title")
        study.empty_label = _("all your studies")


class Account(PasswordChangeView):
    """Account page: change the password, and make or revoke API tokens."""

    template_name = "account.html"
    success_url = reverse_lazy("account")
    http_method_names = ("get", "post", "head", "options")

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """Return the context with the API tokens, without their secrets."""
        user = cast(UserRequest, self.request).user
        return super().get_context_data(**_about(user), **context)

    def form_valid(self, form: Form) -> HttpResponse:
        """Change the password; all other sessions end."""
        messages.success(
            self.request,
            _(
                "Your password was changed. All other sessions were logged out, and "
                "your API tokens were revoked."
            ),
        )
        return super().form_valid(form)


def _about(user: User, form: TokenForm | None = None) -> dict[str, Any]:
    """Return the page's contents besides the form of the password."""
    linked = user.identities.filter(issuer__startswith=settings.OIDC_ISSUER or "-")
    return {
        "tokens": user.api_tokens.select_related("study"),
        "token_form": form or TokenForm(user),
        "has_password": settings.PASSWORD_LOGIN and user.has_usable_password(),
        "institution": settings.OIDC_ISSUER and settings.OIDC_NAME,
        "is_linked": linked.exists(),
    }


@never_cache
@require_POST
@login_required
def token_create(request: UserRequest) -> HttpResponse:
    """Make an API token and show its secret once."""
    given = TokenForm(request.user, request.POST)
    context: dict[str, Any] = {"form": PasswordChangeForm(request.user)}
    if not given.is_valid():
        context |= _about(request.user, given)
        return render(request, "account.html", context, status=422)
    fields = given.cleaned_data
    days = fields.pop("days") or None
    _token, secret = ApiToken.issue(days, user=request.user, **fields)
    context |= {**_about(request.user), "new_token": secret}
    return render(request, "account.html", context)


@require_POST
@login_required
def token_revoke(request: UserRequest, pk: int) -> HttpResponse:
    """Revoke one of the user's API tokens."""
    token = get_object_or_404(request.user.api_tokens, pk=pk)
    token.revoke()
    messages.success(
        request, _("The API token “%(name)s” is revoked.") % {"name": token.name}
    )
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
