"""Metric scores of a study: posted, listed, computed, deleted."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from analysis.problems import InputError, Problem, Problems
from annotate.access.permissions import can_use_benchmark, check_benchmark_of, owns
from annotate.api import fields
from annotate.api.authentication import TableJSONParser
from annotate.api.base import AccountView, StudyView
from annotate.api.operations import list_operation, operation, show_operation
from annotate.models import Study
from annotate.reports.score_changes import delete_values, queue_again
from annotate.reports.study_scores import scores_of
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


class ScoreField(AsGiven, fields.FloatField):
    """A score, as a cell of a file has it."""


class ShotField(AsGiven, fields.IntegerField):
    """The number of a shot, as a cell of a file has it."""


class DirectionField(AsGiven, fields.BooleanField):
    """Direction of a metric, as a cell of a file has it."""


def _cell(**about: Any) -> fields.CharField:
    return fields.CharField(allow_blank=True, default="", **about)


class ScoreRowSerializer(serializers.Serializer):
    story = _cell()
    method = fields.CharField()
    metric = fields.CharField()
    score = ScoreField(allow_null=True)
    shot = ShotField(required=False, allow_null=True)
    higher_is_better = DirectionField(required=False, allow_null=True)
    metric_version = _cell()
    profile = _cell()
    backend = _cell()
    weights = fields.RegexField("^[0-9a-f]{8}$", allow_blank=True, default="")
    precision = _cell()
    judge = _cell()
    judge_version = _cell()
    settings = _cell()
    identity = _cell(help_text="hash over the columns before it; checked if given")
    computed_at = _cell(help_text="ISO 8601; without a zone UTC")


class ScoresBody(fields.Body):
    scores = ScoreRowSerializer(many=True, allow_empty=False)
    replace = fields.BooleanField(
        default=False, help_text="overwrite values that differ"
    )


class SummarySerializer(serializers.Serializer):
    rows = fields.IntegerField()
    created = fields.IntegerField()
    replaced = fields.IntegerField()
    guessed = fields.texts(
        help_text="metrics assumed to be higher-is-better, as the request does not say"
    )
    turned = fields.texts(
        help_text="metrics assumed to be lower-is-better because of their names"
    )


class ScoreSerializer(serializers.ModelSerializer):
    story = fields.text_or_null("story.key")
    method = fields.CharField(source="method.name")
    shot = fields.IntegerField(source="shot.number", default=None, allow_null=True)
    score = fields.FloatField(source="value")
    identity = fields.SerializerMethodField()
    is_own = fields.SerializerMethodField(
        help_text="posted to this study, instead of the benchmark's"
    )
    Meta = fields.meta(
        MetricScore,
        "story method metric score shot higher_is_better metric_version backend "
        "identity is_own run",
    )

    def get_identity(self, row: MetricScore) -> str:
        known: Identities = self.context.setdefault("identities", Identities())
        return known.of_row(row).key

    def get_is_own(self, row: MetricScore) -> bool:
        return bool(row.posted_to)


class ScoreQuery(fields.Query):
    metric = fields.CharField(required=False, max_length=100)
    method = fields.CharField(required=False, max_length=200, source="method__name")


class IdentityQuery(fields.Query):
    metric = fields.CharField(max_length=100)
    identity = fields.CharField(max_length=20)


class DeletedSerializer(serializers.Serializer):
    scores = fields.IntegerField()
    absences = fields.IntegerField(help_text="undefined values")


EXAMPLE = {
    "story": "01",
    "method": "UNO",
    "metric": "mine",
    "score": 0.61,
    "higher_is_better": True,
}


class ScoreView(StudyView):
    def deleted(self, values: StoredValues) -> dict[str, int]:
        """Delete values of the benchmark; return how many there were."""
        scores, absences = delete_values(values, self.user, self.user.get_username())
        return {"scores": scores, "absences": absences}

    def check_owner(self) -> None:
        """Refuse to delete scores of a benchmark that somebody else owns."""
        if not owns(self.user, self.study.benchmark):
            text = "Only an owner of the benchmark may delete its scores."
            raise PermissionDenied(text)


class Scores(ScoreView):
    parser_classes = (TableJSONParser,)

    def check_change(self) -> None:
        if self.request.method == "DELETE":
            self.check_owner()

    @property
    def scope(self) -> str:  # type: ignore[override]
        return "write" if self.request.method == "POST" else "manage"

    @operation("list_scores", ScoreSerializer, query=ScoreQuery, many=True)
    def get(self, given: dict[str, Any]) -> QuerySet[MetricScore]:
        """List the scores that the study uses."""
        rows = scores_of(self.study).filter(**given)
        return rows.select_related("story", "method", "shot").order_by("pk")

    @operation(
        "post_scores",
        SummarySerializer,
        takes=ScoresBody,
        examples=[
            OpenApiExample("one score", {"scores": [EXAMPLE]}, request_only=True)
        ],
    )
    def post(self, given: dict[str, Any]) -> Any:
        """Post metric scores computed elsewhere, for use in this study only.

        All rows are stored, or none and the reply lists every problem.
        """
        # pandas is loaded only where a table is read.
        import pandas as pd

        from analysis.reading.inputs import check_scores

        problems = _outside(self.study, given["scores"])
        if problems:
            raise InputError(problems)
        frame = pd.DataFrame(given["scores"]).astype(object)
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        return import_scores(
            check_scores(frame, file="scores"),
            benchmark=self.study.benchmark,
            file="API",
            replace=given["replace"],
            posted_to=self.study.slug,
        )

    @operation("delete_scores", DeletedSerializer, query=IdentityQuery)
    def delete(self, given: dict[str, Any]) -> dict[str, int]:
        """Delete the values of one version of a metric from the benchmark."""
        return self.deleted(values_of_identity(self.study.benchmark, **given))


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
    metrics = fields.texts()
    options = fields.DictField()
    Meta = fields.meta(
        MetricRun,
        "id source metrics state total done created_at started_at finished_at error "
        "options dollars",
    )


class RunBody(fields.Body):
    metrics = fields.texts(
        100, allow_empty=False, max_length=200, help_text="names, or name@profile"
    )
    truth = fields.CharField(
        default="", allow_blank=True, max_length=200, help_text="method of true outputs"
    )
    outputs = fields.texts(
        400, default=list, max_length=10_000, help_text="METHOD/STORY; [] is all"
    )
    again = fields.ChoiceField(
        ["all", "undefined"],
        required=False,
        help_text="compute existing values again, and replace them",
    )
    repeat = fields.IntegerField(default=0, min_value=0, max_value=1000)


class OfRuns(ScoreView):
    def check_change(self) -> None:
        check_benchmark_of(self.user, self.study)

    def rows(self) -> QuerySet[MetricRun]:
        """Return the runs whose scores the study uses, as far as the user sees them."""
        is_member = can_use_benchmark(self.user, self.study)
        whose = ["", self.study.slug] if is_member else [self.study.slug]
        return self.study.benchmark.metric_runs.filter(posted_to__in=whose)


class RunList(OfRuns):
    get = list_operation(
        "list_runs",
        RunSerializer,
        "List the computations and imports of scores, the newest first.",
    )

    @operation("start_run", RunSerializer, takes=RunBody, status=202)
    def post(self, given: dict[str, Any]) -> MetricRun:
        """Compute missing scores of metrics; ask its address until it is done."""
        names, benchmark = given.pop("metrics"), self.study.benchmark
        for name in names:
            registry.load(name)
        if given.get("again"):
            run = queue_again(benchmark, names, self.user, **given)
        else:
            run = metric_runs.queue_run(benchmark, names, **given)
        self.queue(wake_workers, "run", self.study.slug, run.pk)
        return run


class Run(OfRuns):
    get = show_operation("get_run", RunSerializer, "Return a run with its state.")

    def check_change(self) -> None:
        self.check_owner()

    @operation("delete_run_scores", DeletedSerializer)
    def delete(self) -> dict[str, int]:
        """Delete the values of a run; its row stays as a record."""
        return self.deleted(values_of_run(self.row()))


class RunStop(OfRuns):
    @operation("stop_run", RunSerializer)
    def post(self) -> MetricRun:
        """Stop a run; stored scores stay."""
        run: MetricRun = self.row()
        metric_runs.stop(self.study.benchmark.metric_runs.filter(pk=run.pk))
        run.refresh_from_db()
        return run


class MetricSerializer(serializers.Serializer):
    name = fields.CharField()
    family = fields.CharField(source="info.family")
    level = fields.CharField(source="info.scores", help_text="what one value is about")
    higher_is_better = fields.BooleanField(source="info.higher_is_better")
    profiles = fields.texts()
    is_ready = fields.BooleanField()
    lacks = fields.CharField(help_text="what is missing here, and how to get it")


class MetricList(AccountView):
    @operation("list_metrics", MetricSerializer, many=True)
    def get(self) -> list[dict[str, Any]]:
        """List the metrics that the server knows, and what each lacks."""
        rows = []
        for name in registry.names():
            metric = registry.load(name)
            lacks = metric.missing()
            rows.append(
                {
                    "name": name,
                    "info": metric.info,
                    "profiles": sorted(registry.METRICS[name].known),
                    "is_ready": not lacks,
                    "lacks": str(lacks),
                }
            )
        return rows
