"""Pages that ask a metric again, and delete the values of a metric or a run."""

import csv
from collections import Counter, defaultdict
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotate.access.permissions import check_benchmark_of, owns
from annotate.models import Study
from annotate.pages.scores import queued
from annotate.pages.study_views import (
    UserRequest,
    attachment,
    render_page,
    study_button,
    study_page,
)
from annotate.reports.score_changes import delete_values, queue_again, uses_of
from annotate.reports.study_scores import details
from evalcore.metrics import registry
from evalcore.metrics.base import FatalError
from evalcore.metrics.identity import Identity, parts_of
from evalcore.models import MetricRun
from evalcore.scoring import score_rows
from evalcore.scoring.asked_again import RECORD, Which, replaced_by
from evalcore.scoring.chunks import ScoringError
from evalcore.scoring.deleting import StoredValues, values_of_identity, values_of_run
from evalcore.scoring.failures import Failure, grouped, open_failures
from evalcore.scoring.identities import Identities
from evalcore.scoring.run_options import RunOptions

# Values of a metric -------------------------------------------------------------------


@study_page(role="manager")
def metric_values(request: UserRequest, study: Study) -> HttpResponse:
    """Show the values of one version of a metric, to ask again or to delete them."""
    check_benchmark_of(request.user, study)
    values = _chosen(request, study)
    by_method: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    tables: tuple[QuerySet[Any], ...] = (values.scores, values.absences)
    for place, rows in enumerate(tables):
        counts = rows.order_by().values_list("method__name").annotate(n=Count("pk"))
        for method, number in counts:
            by_method[method][place] = number
    if not by_method:
        raise Http404("no such values")
    identity = _identity(values)
    name, options = _request_of(identity.metric, identity.label)
    definition = (identity.metric, identity.profile)
    failed = [f for f in open_failures(study.benchmark) if f.definition == definition]
    return render_page(
        request,
        study,
        "scoring/values.html",
        identity=identity,
        details=details(identity),
        values=values,
        by_method=sorted((name, *numbers) for name, numbers in by_method.items()),
        reasons=Counter(values.absences.values_list("reason", flat=True)).most_common(),
        failures=grouped(failed),
        is_current=_is_current(name, options, identity),
        **_of_deletion(request, study, values),
    )


def _chosen(request: HttpRequest, study: Study) -> StoredValues:
    """Return the values that an address names."""
    metric, key = (request.GET.get(name, "") for name in ("metric", "identity"))
    return values_of_identity(study.benchmark, metric, key)


def _identity(values: StoredValues) -> Identity:
    """Return the identity of values, or of absences if there are none."""
    row = values.scores.first() or values.absences.first()
    return Identities().of_row(row)


def _request_of(metric: str, version: str) -> tuple[str, RunOptions]:
    """Return name and options of a run that computes a stored version."""
    parts = parts_of(version)
    name = f"{metric}@{parts['profile']}" if "profile" in parts else metric
    options: RunOptions = {"truth": parts.get("truth", "")}
    if "repeat" in parts:
        options["repeat"] = int(parts["repeat"])
    return name, options


def _is_current(name: str, options: RunOptions, identity: Identity) -> bool:
    """Return whether a run would compute this identity, as far as is known here."""
    try:
        metrics = score_rows.metrics_of([name], options)
        (wanted,) = score_rows.identified(metrics, strict=False)
    except (registry.UnknownMetricError, FatalError):
        return False
    return wanted.key in ((identity.asked,), (identity.metric, identity.label))


@study_button("study-scoring", registry.UnknownMetricError, ScoringError)
def metric_again(request: UserRequest, study: Study) -> str:
    """Queue a run that asks a metric again: all, what is undefined, or some outputs."""
    check_benchmark_of(request.user, study)
    sent = request.POST
    name, options = sent.get("metric", ""), RunOptions()
    if "version" in sent:
        name, options = _request_of(name, sent["version"])
    which: Which = "undefined" if sent.get("which") == "undefined" else "all"
    outputs = sent.get("outputs", "").splitlines()
    chosen = [one.strip() for one in outputs if one.strip()]
    if sent.get("which") == "outputs" and not chosen:
        raise ScoringError(_("Name the outputs: METHOD/STORY, one per line."))
    options |= {"again": which, "outputs": chosen if which == "all" else []}
    queue_again(study.benchmark, [name], request.user, **options)
    return queued()


@study_button("study-scoring", ScoringError)
def metric_delete(request: UserRequest, study: Study) -> str:
    """Delete the values of one version of a metric."""
    _check_owner(request, study)
    return _deleted(_chosen(request, study), request)


# Runs ---------------------------------------------------------------------------------


@study_page(role="manager")
def run_detail(request: UserRequest, study: Study, run: int) -> HttpResponse:
    """Show a run with its failures, what it replaced, and what was deleted of it."""
    row = _run(request, study, run)
    failed = [
        Failure(output, metric, reason, row.pk)
        for failures in row.chunks.values_list("failures", flat=True)
        for output, metric, reason in failures
    ]
    values = values_of_run(row)
    return render_page(
        request,
        study,
        "scoring/run.html",
        run=row,
        values=values,
        failures=grouped(failed),
        replaced=len(replaced_by(row)),
        **_of_deletion(request, study, values),
    )


@study_page(role="manager")
def run_replaced(request: UserRequest, study: Study, run: int) -> HttpResponse:
    """Download the values that a run has replaced."""
    row = _run(request, study, run)
    name = f"{study.benchmark.slug}-replaced-by-run-{row.pk}.csv"
    answer = HttpResponse(headers=attachment(name))
    writer = csv.writer(answer)
    writer.writerows([RECORD, *replaced_by(row)])
    return answer


@study_button("study-scoring", ScoringError)
def run_delete(request: UserRequest, study: Study, run: int) -> str:
    """Delete the values of a run; its row stays as a record."""
    _check_owner(request, study)
    return _deleted(values_of_run(_run(request, study, run)), request)


def _run(request: UserRequest, study: Study, run: int) -> MetricRun:
    """Return a run whose scores the study uses."""
    check_benchmark_of(request.user, study)
    runs = study.benchmark.metric_runs.filter(posted_to__in=["", study.slug])
    return get_object_or_404(runs, pk=run)


# Deleting -----------------------------------------------------------------------------


def _check_owner(request: UserRequest, study: Study) -> None:
    if not owns(request.user, study.benchmark):
        raise PermissionDenied(
            _("Only an owner of the benchmark may delete its scores.")
        )


def _of_deletion(
    request: UserRequest, study: Study, values: StoredValues
) -> dict[str, Any]:
    """Return what the question before a deletion says."""
    return {
        "can_delete": owns(request.user, study.benchmark),
        "scores": values.scores.count(),
        "absences": values.absences.count(),
        "uses": uses_of(values),
    }


def _deleted(values: StoredValues, request: UserRequest) -> str:
    if request.POST.get("sure") != "yes":
        raise ScoringError(_("Nothing was deleted: tick the box to confirm."))
    scores, absences = delete_values(values, request.user, request.user.get_username())
    return _("Deleted: %(scores)s values and %(absences)s undefined values.") % {
        "scores": scores,
        "absences": absences,
    }
