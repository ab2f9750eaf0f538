"""The front page, the first account of a server, and the server's address."""

from dataclasses import dataclass

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import BaseUserCreationForm
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotate.access import accounts, rate_limits, server_address
from annotate.access.permissions import can_create, managed_studies, visible_benchmarks
from annotate.models import Annotator, JoinLink, Study, User
from annotate.pages.account import enter
from annotate.pages.study_views import UserRequest
from annotate.people.outcomes import invitation_page
from evalcore.models import Benchmark, Output
from evalcore.serving import first_start


@require_safe
def home(request: HttpRequest) -> HttpResponse:
    """Show visitors what this is, and a new manager the way to a first study."""
    user = request.user
    if not user.is_authenticated:
        context = {"is_new": not first_start.has_account()}
        return render(request, "home.html", context)
    steps = first_steps(user) if can_create(user) else []
    if all(step.is_done for step in steps):
        return redirect("study-list")
    now = next(step for step in steps if not step.is_done)
    return render(request, "first_steps.html", {"steps": steps, "now": now})


@dataclass(frozen=True)
class Step:
    """One of the steps to a first study."""

    title: str
    text: str
    button: str
    address: str
    result: str  # empty until the step is done

    @property
    def is_done(self) -> bool:
        return bool(self.result)


def first_steps(user: User) -> list[Step]:
    """Return the steps from pictures to sent links, each with its state."""
    studies = managed_studies(user).order_by("-created_at")
    study = studies.first()
    return [
        Step(
            _("Add pictures and stories"),
            _("Put the pictures of each method into a folder of its own."),
            _("Add pictures"),
            reverse("upload-start"),
            _pictures(visible_benchmarks(user)),
        ),
        Step(
            _("Set up a study"),
            _("Choose the questions and the number of people. You see the cost."),
            _("Set up a study"),
            reverse("setup-start"),
            study.title if study else "",
        ),
        Step(
            _("Send links to annotators"),
            _("Launch the study, create links, and send them to the people who rate."),
            _("Send links"),
            _page_of_links(study) if study else "",
            _people(studies),
        ),
    ]


def _pictures(benchmarks: QuerySet[Benchmark]) -> str:
    outputs = Output.objects.filter(story__benchmark__in=benchmarks)
    found = outputs.aggregate(
        stories=Count("story", distinct=True), methods=Count("method", distinct=True)
    )
    if not found["methods"]:
        return ""
    stories = ngettext("%(n)d story", "%(n)d stories", found["stories"])
    methods = ngettext("%(n)d method", "%(n)d methods", found["methods"])
    return f"{stories % {'n': found['stories']}}, {methods % {'n': found['methods']}}"


def _page_of_links(study: Study) -> str:
    """Return the page for the last step: a draft is launched first."""
    is_draft = study.state == Study.State.DRAFT
    page = "study-detail" if is_draft else invitation_page(study)
    return reverse(page, args=[study.slug])


def _people(studies: QuerySet[Study]) -> str:
    people = Annotator.objects.filter(study__in=studies)
    n = people.exclude(state=Annotator.State.PLANNED).count()
    if n or JoinLink.objects.filter(study__in=studies).exists():
        return ngettext("%(n)d person", "%(n)d people", n) % {"n": n}
    return ""


class FirstAccountForm(BaseUserCreationForm):  # type: ignore[type-arg]  # not when it runs
    """The first account, and the server's address."""

    address = forms.CharField(required=False, max_length=server_address.LONGEST)

    class Meta:
        model = User
        fields = ("username",)

    def clean_address(self) -> str:
        """Return the address as it is stored."""
        try:
            return server_address.checked(self.cleaned_data["address"])
        except server_address.AddressError as error:
            raise ValidationError(str(error)) from error


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def first_account(request: HttpRequest, token: str) -> HttpResponse:
    """Create the first account, by the link that the server printed at its start."""
    if not first_start.is_valid(token):
        return rate_limits.refuse_link(request)
    base = server_address.links_begin_with(request)
    initial = {"address": "" if server_address.is_local(base) else base}
    form = FirstAccountForm(request.POST or None, initial=initial)
    if not first_start.has_account() and form.is_valid():
        try:
            user = _create(form)
        except accounts.AccountError as error:
            messages.error(request, str(error))
            return redirect("login")
        enter(request, user)
        return redirect("home")
    context = {
        "form": form,
        "is_over": first_start.has_account(),
        "setting": settings.BASE_URL,
    }
    return render(request, "first_account.html", context)


@transaction.atomic
def _create(form: FirstAccountForm) -> User:
    user: User = form.save(commit=False)
    accounts.create_first(user)
    if not settings.BASE_URL:
        server_address.save(form.cleaned_data["address"])
    return user


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def address(request: UserRequest) -> HttpResponse:
    """Show and change the address with which links begin."""
    if not request.user.is_superuser:
        raise Http404
    given, error = request.POST.get("address", ""), ""
    back = request.POST.get("next") or request.GET.get("next", "")
    if request.method == "POST" and not settings.BASE_URL:
        try:
            server_address.save(given)
        except server_address.AddressError as problem:
            error = str(problem)
        else:
            messages.success(request, _("The address is saved. Links begin with it."))
            is_own = url_has_allowed_host_and_scheme(back, {request.get_host()})
            return redirect(back if is_own else "server-address")
    known = server_address.server_address()
    context = {
        "setting": settings.BASE_URL,
        "address": given if error else known,
        "known": "" if server_address.is_local(known) else known,
        "error": error,
        "next": back,
        "bind": settings.BIND,
    }
    return render(request, "manage/address.html", context, status=422 if error else 200)
