"""Reports of a study: asked for, followed, downloaded, compared."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.options import COEFFICIENTS, EPSILONS, KNOWN_COEFFICIENTS, KNOWN_LEVELS
from annotate.access.permissions import can_manage
from annotate.api.base import (
    AnyType,
    Body,
    Listed,
    Query,
    StudyView,
    asked,
    attachment,
    created,
    read,
)
from annotate.api.refusals import Refused
from annotate.models import MAIN, Report
from annotate.reports import building, comparing, writing
from annotate.reports.forms import UNITS, ReportForm
from annotate.tasks import ring, sweep_reports

LARGEST = 2**63 - 1


def _names() -> serializers.ListField:
    child = serializers.CharField(max_length=200)
    return serializers.ListField(
        child=child, required=False, help_text="all if not given"
    )


class ReportSerializer(serializers.ModelSerializer):
    view = serializers.SlugRelatedField(slug_field="key", read_only=True)
    as_of = serializers.IntegerField(
        source="as_of_id",
        allow_null=True,
        help_text="event of the log that it is as of",
    )
    created_by = serializers.CharField(
        source="created_by.username", default=None, allow_null=True
    )
    options = serializers.DictField()
    files = serializers.SerializerMethodField(help_text="names to download")

    class Meta:
        model = Report
        fields = (
            "id",
            "command",
            "state",
            "step",
            "error",
            "view",
            "as_of",
            "created_by",
            "created_at",
            "finished_at",
            "options",
            "files",
        )

    def get_files(self, report: Report) -> list[str]:
        is_done = report.state == Report.State.DONE
        return sorted(building.files(report)) if is_done else []


class ReportBody(Body):
    view = serializers.CharField(default=MAIN, max_length=40, help_text="of a filter")
    language = serializers.ChoiceField(["en", "zh-Hans"], required=False)
    questions = _names()
    metrics = _names()
    exclude_methods = serializers.ListField(
        child=serializers.CharField(max_length=200), required=False
    )
    split_by = serializers.ListField(
        child=serializers.CharField(max_length=200),
        required=False,
        help_text="tags of stories",
    )
    compare_identities = serializers.BooleanField(required=False)
    resamples = serializers.IntegerField(
        required=False, min_value=0, max_value=10_000, help_text="1000 if not given"
    )
    confidence = serializers.FloatField(
        required=False, min_value=0.5, max_value=0.999, help_text="0.95 if not given"
    )
    seed = serializers.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    levels = serializers.ListField(
        child=serializers.ChoiceField(KNOWN_LEVELS), required=False
    )
    coefficients = serializers.ListField(
        child=serializers.ChoiceField(KNOWN_COEFFICIENTS),
        required=False,
        help_text=f"{', '.join(COEFFICIENTS)} if not given",
    )
    resample = serializers.ChoiceField(UNITS, required=False)
    top = serializers.IntegerField(required=False, min_value=0, max_value=10_000)
    epsilon = serializers.ChoiceField(EPSILONS, required=False)


class ReportList(Listed, StudyView):
    scope = "write"
    writers = None

    @extend_schema(
        operation_id="list_reports",
        tags=["reports"],
        responses=ReportSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the reports, the newest first."""
        rows = self.study.reports.select_related("created_by", "view")
        return self.page(rows, ReportSerializer)

    @extend_schema(
        operation_id="ask_for_report",
        tags=["reports"],
        request=ReportBody,
        responses={202: ReportSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Queue a report; ask its address until it is done."""
        given = read(ReportBody, request)
        empty = ReportForm(study=self.study)
        usual = {name: empty[name].initial for name in empty.fields}
        form = ReportForm({**usual, **given}, study=self.study)
        if not form.is_valid():
            errors = {name: [*map(str, found)] for name, found in form.errors.items()}
            raise Refused(errors)
        options = writing.as_stored(form.options())
        view = form.cleaned_data["view"]
        return _queued(
            building.ask(self.study, request.user, view=view, options=options)
        )


def _queued(report: Report) -> Response:
    ring(sweep_reports.delay)
    shown = ReportSerializer(report).data
    return created(shown, "api-report", report.study.slug, report.pk, status=202)


class OfReport(StudyView):
    scope = "write"
    writers = None

    def report(self, pk: int, **of: Any) -> Report:
        rows = self.study.reports.select_related("created_by", "view", "study")
        return get_object_or_404(rows, pk=pk, **of)


class OneReport(OfReport):
    @extend_schema(
        operation_id="get_report", tags=["reports"], responses=ReportSerializer
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return the state of a report, and its files when it is done."""
        return Response(ReportSerializer(self.report(pk)).data)

    @extend_schema(
        operation_id="cancel_report", tags=["reports"], responses={204: None}
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Cancel an unfinished report; managers may cancel those of others."""
        report = self.report(pk)
        is_own = report.created_by_id == request.user.pk
        if not is_own and not can_manage(request.user, self.study):
            raise PermissionDenied("Only managers can cancel other people's reports.")
        Report.cancel_all(self.study.reports.filter(pk=pk))
        return Response(status=204)


class ReportAgain(OfReport):
    @extend_schema(
        operation_id="build_report_again",
        tags=["reports"],
        request=None,
        responses={202: ReportSerializer},
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Queue a report of the same filter, moment and options."""
        report = self.report(pk, command=Report.Command.ALIGN)
        return _queued(building.build_again(report, user=request.user))


class ReportFile(OfReport):
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="download_report_file",
        tags=["reports"],
        responses={
            (200, "text/csv"): OpenApiTypes.STR,
            (200, "text/plain"): OpenApiTypes.STR,
            (200, "application/json"): OpenApiTypes.OBJECT,
        },
    )
    def get(self, request: Request, slug: str, pk: int, name: str) -> HttpResponseBase:
        """Download a table or `report.json` of a finished report."""
        path = building.files(self.report(pk, state=Report.State.DONE)).get(name)
        if path is None:
            raise Http404
        return attachment(name, path.open("rb"), building.TYPES[path.suffix])


class ReportZip(OfReport):
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="download_report",
        tags=["reports"],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, slug: str, pk: int) -> HttpResponseBase:
        """Download a whole report, with its page, as one archive."""
        content = building.zipped(self.report(pk, state=Report.State.DONE))
        return attachment(f"{slug}-report-{pk}.zip", content, "application/zip")


class CompareQuery(Query):
    before = serializers.IntegerField(min_value=1, max_value=LARGEST)
    after = serializers.IntegerField(min_value=1, max_value=LARGEST)


class ComparedSerializer(serializers.Serializer):
    question = serializers.CharField()
    metric = serializers.CharField()
    statistic = serializers.CharField()
    before = serializers.DictField(child=serializers.CharField(allow_blank=True))
    after = serializers.DictField(child=serializers.CharField(allow_blank=True))


class DifferenceSerializer(serializers.Serializer):
    name = serializers.CharField()
    before = serializers.CharField()
    after = serializers.CharField()


class ComparisonSerializer(serializers.Serializer):
    run = DifferenceSerializer(many=True, help_text="inputs and options that differ")
    changed = ComparedSerializer(many=True)
    single = ComparedSerializer(many=True, help_text="in one of the reports")
    unchanged = ComparedSerializer(many=True)


class ReportCompare(OfReport):
    @extend_schema(
        operation_id="compare_reports",
        tags=["reports"],
        parameters=[CompareQuery],
        responses=ComparisonSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return what differs between two finished reports."""
        done = {"state": Report.State.DONE, "command": Report.Command.ALIGN}
        pair = asked(CompareQuery, request)
        before, after = (
            self.report(pair[name], **done) for name in ("before", "after")
        )
        try:
            shown = comparing.comparison(self.study, before, after)
        except FileNotFoundError as error:
            raise Http404 from error
        names = ("name", "before", "after")
        run = [dict(zip(names, row, strict=True)) for row in shown.comparison.run]
        return Response(ComparisonSerializer({**vars(shown), "run": run}).data)
