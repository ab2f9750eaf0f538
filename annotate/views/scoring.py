"""Pages about metrics: which there are, and the scores of a study."""

from collections import defaultdict

from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe
from kombu.exceptions import OperationalError

from annotate.permissions import can_manage, get_study_for
from evalcore import scoring
from evalcore.metrics import registry
from evalcore.models import Output
from evalcore.tasks import score_run

# The status by which htmx ends its polling.
STOP_POLLING = 286


@require_safe
@login_required
def metric_list(request: HttpRequest) -> HttpResponse:
    """List every metric and what it lacks here."""
    metrics = [registry.load(name) for name in registry.names()]
    rows = [(metric.info, metric.missing()) for metric in metrics]
    return render(request, "scoring/metrics.html", {"rows": rows})


@require_safe
@login_required
def study_scoring(request: HttpRequest, slug: str) -> HttpResponse:
    """Show how many outputs have which score, and the latest runs."""
    study = get_study_for(request.user, slug)
    counted = (
        study.benchmark.metric_scores.filter(story__isnull=False)
        .values("metric", "metric_version", "method__name")
        .annotate(n=Count("story", distinct=True))
        .order_by("metric", "metric_version", "method__name")
    )
    table: dict[tuple[str, str], dict[str, int]] = defaultdict(dict)
    for row in counted:
        key = row["metric"], row["metric_version"]
        table[key][row["method__name"]] = row["n"]
    methods = sorted(
        set(
            Output.objects.filter(story__benchmark=study.benchmark).values_list(
                "method__name", flat=True
            )
        )
    )
    runs = study.benchmark.metric_runs.all()[:5]
    context = {
        "study": study,
        "can_manage": can_manage(request.user, study),
        "methods": methods,
        "stories": study.benchmark.stories.count(),
        "rows": [
            (name, version, [counts.get(m, 0) for m in methods])
            for (name, version), counts in table.items()
        ],
        "runs": runs,
        "at_work": any(run.state in ("queued", "running") for run in runs),
        "names": registry.names(),
    }
    if not request.htmx:
        return render(request, "scoring/study.html", context)
    status = 200 if context["at_work"] else STOP_POLLING
    return render(request, "scoring/_study.html", context, status=status)


@require_POST
@login_required
def study_score(request: HttpRequest, slug: str) -> HttpResponse:
    """Queue the chosen metrics and ring the worker's bell."""
    study = get_study_for(request.user, slug, role="manager")
    chosen = [n for n in request.POST.getlist("metric") if n in registry.METRICS]
    if chosen:
        run = scoring.queue_run(study.benchmark, chosen)
        try:
            score_run.delay(run.pk)
        except (OperationalError, OSError):
            scoring.logger.warning("the broker is away; run %s waits", run.pk)
    return redirect("study-scoring", slug)
