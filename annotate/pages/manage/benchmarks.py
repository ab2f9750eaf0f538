"""Pages of benchmarks and their members."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Count, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotate.access.permissions import (
    can_create,
    get_benchmark_for,
    owns,
    visible_benchmarks,
    visible_studies,
)
from annotate.pages.manage.upload_words import figures_of
from annotate.pages.study_views import attachment
from evalcore import members
from evalcore.exporting import export_questionnaires, prompts_with_questionnaires
from evalcore.formats.vistar import TABLE
from evalcore.members import LastOwnerError, Role, UnknownAccountError
from evalcore.models import Benchmark, BenchmarkMember


@require_safe
@login_required
def benchmark_list(request: HttpRequest) -> HttpResponse:
    """List the benchmarks that the user may plan studies with."""
    context = {
        "benchmarks": counted_benchmarks(request),
        "can_create": can_create(request.user),
    }
    return render(request, "manage/benchmarks.html", context)


def counted_benchmarks(request: HttpRequest) -> QuerySet[Benchmark]:
    """Return the visible benchmarks with numbers of stories and methods."""
    rows = visible_benchmarks(request.user).order_by("title")
    return rows.annotate(
        stories_count=Count("stories", distinct=True),
        methods_count=Count("stories__outputs__method", distinct=True),
    )


@require_safe
@login_required
def benchmark_detail(request: HttpRequest, slug: str) -> HttpResponse:
    """Show the members of a benchmark, its imports and the user's studies with it."""
    benchmark = get_benchmark_for(request.user, slug)
    context = {
        "benchmark": benchmark,
        "members": benchmark.members.select_related("user").order_by(
            "-role", "user__username"
        ),
        "owns": owns(request.user, benchmark),
        "questionnaires": prompts_with_questionnaires(benchmark).count(),
        "studies": visible_studies(request.user).filter(benchmark=benchmark),
        "uploads": [
            (upload, figures_of(upload))
            for upload in benchmark.uploads.select_related("created_by")
            if upload.is_imported
        ],
    }
    return render(request, "manage/benchmark.html", context)


@require_safe
@login_required
def benchmark_questionnaires(
    request: HttpRequest, slug: str, *, file: str
) -> HttpResponse:
    """Return the questionnaires of a benchmark's prompts, with their authors."""
    benchmark = get_benchmark_for(request.user, slug)
    kind = "csv" if file == TABLE else "jsonl"
    headers = attachment(f"{slug}-{file}", f"text/{kind}; charset=utf-8")
    return HttpResponse(export_questionnaires(benchmark)[file], headers=headers)


@require_POST
@login_required
def member_add(request: HttpRequest, slug: str) -> HttpResponse:
    """Add a member or an owner by user name."""
    benchmark = get_benchmark_for(request.user, slug, role="owner")
    role = Role.OWNER if "owner" in request.POST else Role.MEMBER
    name = request.POST.get("name", "").strip()
    try:
        row = members.add(benchmark, members.account(name), role)
    except UnknownAccountError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _added(row, role) % {"name": name})
    return redirect("benchmark-detail", slug)


def _added(row: BenchmarkMember, role: Role) -> str:
    if row.role == role:
        return _("%(name)s was added.")
    return _(
        "%(name)s is already an owner. To make them an ordinary member, remove "
        "them and add them again."
    )


@require_POST
@login_required
def member_remove(request: HttpRequest, slug: str, pk: int) -> HttpResponse:
    """Remove a member, who keeps their studies."""
    benchmark = get_benchmark_for(request.user, slug, role="owner")
    member = get_object_or_404(benchmark.members.select_related("user"), pk=pk)
    name = member.user.get_username()
    try:
        members.remove(benchmark, member.user, leave_an_owner=True)
    except LastOwnerError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, _("%(name)s was removed.") % {"name": name})
    if visible_benchmarks(request.user).filter(pk=benchmark.pk).exists():
        return redirect("benchmark-detail", slug)
    return redirect("benchmark-list")
