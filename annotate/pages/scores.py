"""Pages about metrics, the scores of a study, and one output."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotate.access.permissions import (
    can_manage,
    can_use_benchmark,
    check_benchmark_of,
)
from annotate.models import Study
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_button,
    study_page,
)
from annotate.reports.outputs import shown_output
from annotate.reports.study_scores import (
    about_judged,
    details,
    identities_of,
    scores_of,
)
from annotate.tasks import ring
from evalcore.metrics import checking, downloads, registry
from evalcore.metrics.base import Metric, MissingRequirements
from evalcore.metrics.identity import Identity
from evalcore.metrics.weights import HOW
from evalcore.models import MetricAbsence, Output
from evalcore.scoring import judge_budget, metric_runs
from evalcore.scoring.chunks import ScoringError
from evalcore.scoring.failures import grouped, open_failures
from evalcore.scoring.identities import FIELDS, ORDER, Identities
from evalcore.scoring.tasks import wake_workers

# htmx stops polling on this status.
STOP_POLLING = 286
SHOWN_RUNS, SHOWN_REASONS = 5, 3
BASELINE = "baseline"

Row = tuple[Any, ...]


@require_safe
@login_required
def metric_list(request: HttpRequest) -> HttpResponse:
    """List every metric, its missing requirements and how to obtain them."""
    families = _families()
    rows = [row for family in families for row in family.rows]
    needing = registry.needing(registry.computable())
    context = {
        "families": families,
        "ready": sum(len(family.ready) for family in families),
        "all": len(rows),
        "needing": [(lack, own) for lack, own in needing.items() if lack.how != HOW],
        "fetches": downloads.fetches(registry.names()),
        "never_checked": checking.never_checked(settings.CHECKED_METRICS),
    }
    return render(request, "scoring/metrics.html", context)


# A metric, its missing requirements and its profiles.
MetricRow = tuple[Metric, MissingRequirements, registry.Entry]


@dataclass(frozen=True)
class MetricsSection:
    """The metrics of one paper, the baselines, or the stand-ins."""

    name: str
    rows: list[MetricRow]

    @property
    def title(self) -> str:
        """Return the section's title; papers have the same name in every language."""
        return {BASELINE: _("Baselines"), "stand-in": _("Stand-ins")}.get(
            self.name, self.name
        )

    @property
    def ready(self) -> list[MetricRow]:
        return [row for row in self.rows if not row[1]]

    @property
    def lacking(self) -> list[MetricRow]:
        """Return those that another machine may be able to compute."""
        rows = [row for row in self.rows if row[1]]
        return [row for row in rows if not registry.import_only(row[0].info.name)]


def _families() -> list[MetricsSection]:
    """Return metrics, missing requirements and profiles by family."""
    rows = [
        (metric, metric.missing(), registry.METRICS[name])
        for name in registry.names()
        for metric in [registry.load(name)]
    ]
    return [
        MetricsSection(name, list(group))
        for name, group in groupby(rows, lambda row: row[0].info.family)
    ]


@study_page()
def study_scoring(request: UserRequest, study: Study) -> HttpResponse:
    """Show score counts by metric, the latest runs and missing requirements."""
    is_member = can_use_benchmark(request.user, study)
    part = request.GET.get("part")
    whose = ["", study.slug] if is_member else [study.slug]
    runs = study.benchmark.metric_runs.filter(posted_to__in=whose)[:SHOWN_RUNS]
    at_work = any(run.state in metric_runs.OPEN for run in runs)
    context: dict[str, object] = {"study": study, "at_work": at_work}
    is_manager = can_manage(request.user, study)
    context |= {"can_manage": is_manager, "can_compute": is_member and is_manager}
    if part != "scores":
        context["runs"] = [(run, metric_runs.waiting_for(run)) for run in runs]
    status = 200 if at_work else STOP_POLLING
    if part == "runs":
        answer = render(request, "scoring/_runs.html", context, status=status)
        if not at_work:
            answer["HX-Trigger"] = "scored"
        return answer
    methods = study.method_names
    own = scores_of(study).filter(posted_to=study.slug)
    used = {
        those[0].identity for those in identities_of(study).values() if len(those) > 1
    }
    context |= {
        "methods": methods,
        "stories": study.units.values("story").distinct().count(),
        "rows": _table(_counted(study), methods, 0, used),
        "whole": _table(_of_methods(study), methods, None, used),
        "absences": _absences(study),
        "failures": grouped(open_failures(study.benchmark)) if is_member else [],
        "posted": sorted(set(own.values_list("metric", flat=True))),
    }
    if part == "scores":
        return render(request, "scoring/_scores.html", context, status=status)
    families = _families()
    context |= {
        "families": [family for family in families if family.name != BASELINE],
        "baselines": registry.ready_baselines(),
        "fetches": downloads.fetches(registry.names()),
    }
    if context["can_compute"]:
        outputs = Output.objects.filter(story__benchmark=study.benchmark)
        names = outputs.values_list("method__name", flat=True)
        context |= {"truths": sorted(set(names)), "money": judge_budget.of_all_runs()}
    return render(request, "scoring/study.html", context)


def _counted(study: Study) -> Iterable[Row]:
    """Return for every metric how many stories of each method have a value."""
    return (
        scores_of(study)
        .filter(story__isnull=False)
        .values_list(*FIELDS, "method__name")
        .annotate(stories=Count("story", distinct=True))
        .order_by(*ORDER)
    )


def _of_methods(study: Study) -> Iterable[Row]:
    """Return the values of whole methods; the study's own take precedence."""
    return (
        scores_of(study)
        .filter(story__isnull=True)
        .values_list(*FIELDS, "method__name", "value")
        .order_by(*ORDER, "posted_to")
    )


def _table(
    rows: Iterable[Row], methods: list[str], otherwise: object, used: set[Identity]
) -> list[Row]:
    """Return a row for each identity of a metric, with a cell per method.

    The row also says whether reports use this one of several identities, as `used`
    has them.
    """
    table: dict[Identity, dict[str, object]] = defaultdict(dict)
    known = Identities()
    for a, b, c, d, e, method, cell in rows:
        table[known.of((a, b, c, d, e))][method] = cell
    return [
        (
            identity,
            details(identity),
            identity in used,
            [cells.get(method, otherwise) for method in methods],
        )
        for identity, cells in table.items()
    ]


def _absences(study: Study) -> list[Row]:
    """Return how often each metric has no value, with the commonest reasons."""
    counts = (
        about_judged(MetricAbsence.objects.all(), study)
        .values_list(*FIELDS, "reason")
        .annotate(times=Count("pk"))
        .order_by(*ORDER, "-times", "reason")
    )
    rows, known = [], Identities()
    for cells, group in groupby(counts, lambda row: row[: len(FIELDS)]):
        identity = known.of(cells)
        reasons = [(reason, times) for *_metric, reason, times in group]
        total = sum(times for _reason, times in reasons)
        rows.append((identity, details(identity), total, reasons[:SHOWN_REASONS]))
    return rows


@study_button("study-scoring", registry.UnknownMetricError, ScoringError)
def study_score(request: UserRequest, study: Study) -> str:
    """Queue the chosen metrics with the baselines, and wake the workers."""
    check_benchmark_of(request.user, study)
    truth = request.POST.get("truth", "")
    metric_runs.queue_run(study.benchmark, _chosen(request.POST), truth=truth)
    return queued()


def queued() -> str:
    """Wake the workers for a queued run; return what to say, if they do not hear it."""
    return "" if ring(wake_workers) else _("Queued. A worker starts within a minute.")


@study_button("study-scoring")
def scoring_stop(request: UserRequest, study: Study, run: int) -> str:
    """Stop a run; stored scores stay."""
    check_benchmark_of(request.user, study)
    get_object_or_404(study.benchmark.metric_runs, pk=run)
    stopped = metric_runs.stop(study.benchmark.metric_runs.filter(pk=run))
    return _("Stopped. Computed scores stay.") if stopped else ""


def _chosen(sent: QueryDict) -> list[str]:
    """Return the chosen metrics with their profiles, and all ready baselines."""
    chosen = []
    for name in sent.getlist("metric"):
        if name not in registry.METRICS:
            continue
        profile = sent.get(f"profile-{name}", "").strip()
        chosen.append(f"{name}@{profile}" if profile else name)
    return [*chosen, *registry.ready_baselines()]


@study_page()
def output_detail(request: UserRequest, study: Study) -> HttpResponse:
    """Show one method's output for a story with its answers and scores."""
    story, method = (request.GET.get(name, "") for name in ("story", "method"))
    shown = shown_output(study, story, method)
    if shown is None:
        names = {"story": story, "method": method}
        return render_page(request, study, "reports/no_output.html", 404, **names)
    return render_page(request, study, "reports/output.html", shown=shown)
