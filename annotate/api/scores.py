"""Metric scores of a study: posted, listed, computed, deleted."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.problems import InputError, Problem, Problems
from annotate.access.permissions import can_use_benchmark, check_benchmark_of, owns
from annotate.api.authentication import TableJSONParser
from annotate.api.base import (
    AccountView,
    Body,
    Listed,
    Query,
    StudyView,
    asked,
    created,
    read,
)
from annotate.models import Study
from annotate.reports.score_changes import delete_values, queue_again
from annotate.reports.study_scores import scores_of
from annotate.tasks import ring
from evalcore.importing.scores import import_scores
from evalcore.metrics import registry
from evalcore.models import MetricRun, MetricScore
from evalcore.scoring import metric_runs
from evalcore.scoring.deleting import StoredValues, values_of_identity, values_of_run
from evalcore.scoring.identities import Identities
from evalcore.scoring.tasks import wake_workers


class AsGiven(serializers.Field):
    """A cell as sent, checked later by the reader of files."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class ScoreField(AsGiven, serializers.FloatField):
    """A score, as a cell of a file has it."""


class ShotField(AsGiven, serializers.IntegerField):
    """The number of a shot, as a cell of a file has it."""


class DirectionField(AsGiven, serializers.BooleanField):
    """Direction of a metric, as a cell of a file has it."""


class ScoreRowSerializer(serializers.Serializer):
    story = serializers.CharField(allow_blank=True, default="")
    method = serializers.CharField()
    metric = serializers.CharField()
    score = ScoreField(allow_null=True)
    shot = ShotField(required=False, allow_null=True)
    higher_is_better = DirectionField(required=False, allow_null=True)
    metric_version = serializers.CharField(allow_blank=True, default="")
    profile = serializers.CharField(allow_blank=True, default="")
    backend = serializers.CharField(allow_blank=True, default="")
    weights = serializers.RegexField("^[0-9a-f]{8}$", allow_blank=True, default="")
    precision = serializers.CharField(allow_blank=True, default="")
    judge = serializers.CharField(allow_blank=True, default="")
    judge_version = serializers.CharField(allow_blank=True, default="")
    settings = serializers.CharField(allow_blank=True, default="")
    identity = serializers.CharField(
        allow_blank=True,
        default="",
        help_text="hash over the columns before it; checked if given",
    )
    computed_at = serializers.CharField(
        allow_blank=True, default="", help_text="ISO 8601; without a zone UTC"
    )


class ScoresBody(Body):
    scores = ScoreRowSerializer(many=True, allow_empty=False)
    replace = serializers.BooleanField(default=False)


class SummarySerializer(serializers.Serializer):
    rows = serializers.IntegerField()
    created = serializers.IntegerField()
    replaced = serializers.IntegerField()
    guessed = serializers.ListField(
        child=serializers.CharField(),
        help_text="metrics assumed to be higher-is-better, as the request does not say",
    )
    turned = serializers.ListField(
        child=serializers.CharField(),
        help_text="metrics assumed to be lower-is-better because of their names",
    )


class ScoreSerializer(serializers.ModelSerializer):
    story = serializers.CharField(source="story.key", default=None, allow_null=True)
    method = serializers.CharField(source="method.name")
    shot = serializers.IntegerField(source="shot.number", default=None, allow_null=True)
    score = serializers.FloatField(source="value")
    identity = serializers.SerializerMethodField()
    is_own = serializers.SerializerMethodField(
        help_text="posted to this study, instead of the benchmark's"
    )

    class Meta:
        model = MetricScore
        fields = (
            "story",
            "method",
            "metric",
            "score",
            "shot",
            "higher_is_better",
            "metric_version",
            "backend",
            "identity",
            "is_own",
            "run",
        )

    def get_identity(self, row: MetricScore) -> str:
        known: Identities = self.context["identities"]
        return known.of_row(row).key

    def get_is_own(self, row: MetricScore) -> bool:
        return bool(row.posted_to)


class ScoreQuery(Query):
    metric = serializers.CharField(required=False, max_length=100)
    method = serializers.CharField(required=False, max_length=200)


class IdentityQuery(Query):
    metric = serializers.CharField(max_length=100)
    identity = serializers.CharField(max_length=20)


class DeletedSerializer(serializers.Serializer):
    scores = serializers.IntegerField()
    absences = serializers.IntegerField(help_text="undefined values")


class Scores(Listed, StudyView):
    parser_classes = (TableJSONParser,)

    @property
    def scope(self) -> str:  # type: ignore[override]
        return "write" if self.request.method == "POST" else "manage"

    @extend_schema(
        operation_id="list_scores",
        tags=["scores"],
        parameters=[ScoreQuery],
        responses=ScoreSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the scores that the study uses."""
        given, rows = asked(ScoreQuery, request), scores_of(self.study)
        if metric := given.get("metric"):
            rows = rows.filter(metric=metric)
        if method := given.get("method"):
            rows = rows.filter(method__name=method)
        rows = rows.select_related("story", "method", "shot").order_by("pk")
        return self.page(rows, ScoreSerializer, identities=Identities())

    @extend_schema(
        operation_id="post_scores",
        tags=["scores"],
        request=ScoresBody,
        responses={200: SummarySerializer},
        examples=[
            OpenApiExample(
                "one score",
                {
                    "scores": [
                        {
                            "story": "01",
                            "method": "UNO",
                            "metric": "mine",
                            "score": 0.61,
                            "higher_is_better": True,
                        }
                    ]
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Post metric scores computed elsewhere, for use in this study only.

        All rows are stored, or none and the reply lists every problem.
        """
        # pandas is loaded only where a table is read.
        import pandas as pd

        from analysis.reading.inputs import check_scores

        given = read(ScoresBody, request)
        problems = _outside(self.study, given["scores"])
        if problems:
            raise InputError(problems)
        frame = pd.DataFrame(given["scores"]).astype(object)
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        summary = import_scores(
            check_scores(frame, file="scores"),
            benchmark=self.study.benchmark,
            file="API",
            replace=given["replace"],
            posted_to=self.study.slug,
        )
        return Response(vars(summary))

    @extend_schema(
        operation_id="delete_scores",
        tags=["scores"],
        parameters=[IdentityQuery],
        responses=DeletedSerializer,
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the values of one version of a metric from the benchmark."""
        check_owner(request, self.study)
        given, benchmark = asked(IdentityQuery, request), self.study.benchmark
        values = values_of_identity(benchmark, given["metric"], given["identity"])
        return deleted(values, request)


def check_owner(request: Request, study: Study) -> None:
    """Refuse to delete scores of a benchmark that somebody else owns."""
    if not owns(request.user, study.benchmark):
        raise PermissionDenied("Only an owner of the benchmark may delete its scores.")


def deleted(values: StoredValues, request: Request) -> Response:
    """Delete values, and return how many there were."""
    scores, absences = delete_values(values, request.user, request.user.get_username())
    return Response({"scores": scores, "absences": absences})


def _outside(study: Study, rows: list[dict[str, Any]]) -> Problems[Problem]:
    """Return problems for rows whose story or method is not in the study."""
    units = study.units.values_list(
        "story__key", *study.output_paths(below="__method__name")
    )
    shown = {(story, method) for story, *pair in units for method in pair if method}
    methods = {method for _story, method in shown}
    return Problems(
        Problem(
            "scores",
            "a story and method of this study",
            line,
            value=f"{row['story']} / {row['method']}",
        )
        for line, row in enumerate(rows, start=1)
        if (row["story"], row["method"]) not in shown
        and (row["story"] or row["method"] not in methods)
    )


class RunSerializer(serializers.ModelSerializer):
    metrics = serializers.ListField(child=serializers.CharField())
    options = serializers.DictField()

    class Meta:
        model = MetricRun
        fields = (
            "id",
            "source",
            "metrics",
            "state",
            "total",
            "done",
            "created_at",
            "started_at",
            "finished_at",
            "error",
            "options",
            "dollars",
        )


class RunBody(Body):
    metrics = serializers.ListField(
        child=serializers.CharField(max_length=100),
        allow_empty=False,
        max_length=200,
        help_text="names, or name@profile",
    )
    truth = serializers.CharField(
        default="", allow_blank=True, max_length=200, help_text="method of true outputs"
    )
    outputs = serializers.ListField(
        child=serializers.CharField(max_length=400),
        default=list,
        max_length=10_000,
        help_text="METHOD/STORY; [] is all",
    )
    again = serializers.ChoiceField(
        ["all", "undefined"],
        required=False,
        help_text="compute existing values again, and replace them",
    )
    repeat = serializers.IntegerField(default=0, min_value=0, max_value=1000)


class RunList(Listed, StudyView):
    @extend_schema(
        operation_id="list_runs", tags=["scores"], responses=RunSerializer(many=True)
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the computations and imports of scores, the newest first."""
        return self.page(runs_of(request, self.study), RunSerializer)

    @extend_schema(
        operation_id="start_run",
        tags=["scores"],
        request=RunBody,
        responses={202: RunSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Compute missing scores of metrics; ask its address until it is done."""
        check_benchmark_of(request.user, self.study)
        given = read(RunBody, request)
        for name in given["metrics"]:
            registry.load(name)
        names = given.pop("metrics")
        if given.get("again"):
            run = queue_again(self.study.benchmark, names, request.user, **given)
        else:
            run = metric_runs.queue_run(self.study.benchmark, names, **given)
        ring(wake_workers)
        return created(RunSerializer(run).data, "api-run", slug, run.pk, status=202)


def runs_of(request: Request, study: Study) -> Any:
    """Return the runs whose scores the study uses, as far as the user may see them."""
    is_member = can_use_benchmark(request.user, study)
    whose = ["", study.slug] if is_member else [study.slug]
    return study.benchmark.metric_runs.filter(posted_to__in=whose)


class OfRun(StudyView):
    def run(self, pk: int) -> MetricRun:
        found: MetricRun = get_object_or_404(runs_of(self.request, self.study), pk=pk)
        return found


class Run(OfRun):
    @extend_schema(operation_id="get_run", tags=["scores"], responses=RunSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return a run with its state."""
        return Response(RunSerializer(self.run(pk)).data)

    @extend_schema(
        operation_id="delete_run_scores", tags=["scores"], responses=DeletedSerializer
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Delete the values of a run; its row stays as a record."""
        check_owner(request, self.study)
        return deleted(values_of_run(self.run(pk)), request)


class RunStop(OfRun):
    @extend_schema(
        operation_id="stop_run", tags=["scores"], request=None, responses=RunSerializer
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Stop a run; stored scores stay."""
        check_benchmark_of(request.user, self.study)
        run = self.run(pk)
        metric_runs.stop(self.study.benchmark.metric_runs.filter(pk=pk))
        run.refresh_from_db()
        return Response(RunSerializer(run).data)


class MetricSerializer(serializers.Serializer):
    name = serializers.CharField()
    family = serializers.CharField()
    level = serializers.CharField(help_text="what one value is about")
    higher_is_better = serializers.BooleanField()
    profiles = serializers.ListField(child=serializers.CharField())
    is_ready = serializers.BooleanField()
    lacks = serializers.CharField(help_text="what is missing here, and how to get it")


class MetricList(Listed, AccountView):
    @extend_schema(
        operation_id="list_metrics",
        tags=["scores"],
        responses=MetricSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List the metrics that the server knows, and what each lacks."""
        rows = []
        for name in registry.names():
            metric = registry.load(name)
            lacks = metric.missing()
            rows.append(
                {
                    "name": name,
                    "family": metric.info.family,
                    "level": metric.info.scores,
                    "higher_is_better": metric.info.higher_is_better,
                    "profiles": sorted(registry.METRICS[name].known),
                    "is_ready": not lacks,
                    "lacks": str(lacks),
                }
            )
        return self.page(rows, MetricSerializer)
