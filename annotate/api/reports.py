"""Reports of a study: asked for, followed, downloaded, compared, published."""

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from rest_framework import serializers

from analysis.options import COEFFICIENTS, EPSILONS, KNOWN_COEFFICIENTS, KNOWN_LEVELS
from annotate.access.server_address import links_begin_with
from annotate.api import fields
from annotate.api.base import StudyView, attachment
from annotate.api.operations import list_operation, operation, show_operation
from annotate.api.refusals import Conflict, Refused
from annotate.models import MAIN, PublicReport, Report
from annotate.reports import building, comparing, leaderboards, publishing, writing
from annotate.reports.forms import UNITS, ReportForm
from annotate.tasks import ring, sweep_reports, write_public_data


class ReportSerializer(serializers.ModelSerializer):
    view = serializers.SlugRelatedField(slug_field="key", read_only=True)
    as_of = fields.IntegerField(
        source="as_of_id",
        allow_null=True,
        help_text="event of the log that it is as of",
    )
    created_by = fields.text_or_null("created_by.username")
    options = fields.DictField()
    files = fields.SerializerMethodField(help_text="names to download")
    Meta = fields.meta(
        Report,
        "id command state step error view as_of created_by created_at finished_at "
        "options files",
    )

    def get_files(self, report: Report) -> list[str]:
        is_done = report.state == Report.State.DONE
        return sorted(building.files(report)) if is_done else []


class ReportBody(fields.Body):
    view = fields.CharField(default=MAIN, max_length=40, help_text="of a filter")
    language = fields.ChoiceField(["en", "zh-Hans"], required=False)
    questions = fields.texts(200, required=False, help_text="all if not given")
    metrics = fields.texts(200, required=False, help_text="all if not given")
    exclude_methods = fields.texts(200, required=False)
    split_by = fields.texts(200, required=False, help_text="tags of stories")
    compare_identities = fields.BooleanField(required=False)
    paper = fields.BooleanField(
        required=False, help_text="also tables and texts for a paper, in the archive"
    )
    resamples = fields.IntegerField(
        required=False, min_value=0, max_value=10_000, help_text="1000 if not given"
    )
    confidence = fields.FloatField(
        required=False, min_value=0.5, max_value=0.999, help_text="0.95 if not given"
    )
    seed = fields.IntegerField(required=False, min_value=0, max_value=2**31 - 1)
    levels = fields.ListField(child=fields.ChoiceField(KNOWN_LEVELS), required=False)
    coefficients = fields.ListField(
        child=fields.ChoiceField(KNOWN_COEFFICIENTS),
        required=False,
        help_text=f"{', '.join(COEFFICIENTS)} if not given",
    )
    resample = fields.ChoiceField(UNITS, required=False)
    top = fields.IntegerField(required=False, min_value=0, max_value=10_000)
    epsilon = fields.ChoiceField(EPSILONS, required=False)


class OfReports(StudyView):
    scope = "write"
    writers = None

    def rows(self) -> QuerySet[Report]:
        return self.study.reports.select_related("created_by", "view", "study")

    def finished(self) -> Report:
        """Return the report of the address if it is built."""
        report: Report = self.row(state=Report.State.DONE)
        return report

    def build(self, report: Report) -> Report:
        """Wake a worker for a report."""
        self.queue(sweep_reports.delay, "report", self.study.slug, report.pk)
        return report


class ReportList(OfReports):
    get = list_operation(
        "list_reports", ReportSerializer, "List the reports, the newest first."
    )

    @operation("ask_for_report", ReportSerializer, takes=ReportBody, status=202)
    def post(self, given: dict[str, Any]) -> Report:
        """Queue a report; ask its address until it is done."""
        empty = ReportForm(study=self.study)
        usual = {name: empty[name].initial for name in empty.fields}
        form = ReportForm({**usual, **given}, study=self.study)
        if not form.is_valid():
            errors = {name: [*map(str, found)] for name, found in form.errors.items()}
            raise Refused(errors)
        options = writing.as_stored(form.options())
        view = form.cleaned_data["view"]
        return self.build(
            building.ask(self.study, self.user, view=view, options=options)
        )


class OneReport(OfReports):
    get = show_operation(
        "get_report",
        ReportSerializer,
        "Return the state of a report, and its files when it is done.",
    )

    @operation("cancel_report")
    def delete(self) -> None:
        """Cancel an unfinished report; managers may cancel those of others."""
        report = self.row()
        if not building.may_remove(report, self.user):
            raise PermissionDenied("Only managers can cancel other people's reports.")
        Report.cancel_all(self.study.reports.filter(pk=report.pk))


class ReportAgain(OfReports):
    @operation("build_report_again", ReportSerializer, status=202)
    def post(self) -> Report:
        """Queue a report of the same filter, moment and options."""
        report = self.row(command=Report.Command.ALIGN)
        return self.build(building.build_again(report, user=self.user))


class ReportFile(OfReports):
    @operation("download_report_file", "text/csv text/plain application/json")
    def get(self) -> HttpResponseBase:
        """Download a table or `report.json` of a finished report."""
        name = self.kwargs["name"]
        path = building.files(self.finished()).get(name)
        if path is None:
            raise Http404
        return attachment(name, path.open("rb"), building.TYPES[path.suffix])


class ReportZip(OfReports):
    @operation("download_report", "application/zip")
    def get(self) -> HttpResponseBase:
        """Download a whole report, with its page, as one archive."""
        report = self.finished()
        name = f"{self.study.slug}-report-{report.pk}.zip"
        return attachment(name, building.zipped(report), "application/zip")


class CompareQuery(fields.Query):
    before = fields.IntegerField(min_value=1, max_value=fields.LARGEST)
    after = fields.IntegerField(min_value=1, max_value=fields.LARGEST)


class ComparedSerializer(serializers.Serializer):
    question = fields.CharField()
    metric = fields.CharField()
    statistic = fields.CharField()
    before = fields.DictField(child=fields.CharField(allow_blank=True))
    after = fields.DictField(child=fields.CharField(allow_blank=True))


class DifferenceSerializer(serializers.Serializer):
    name = fields.CharField()
    before = fields.CharField()
    after = fields.CharField()


class ComparisonSerializer(serializers.Serializer):
    run = DifferenceSerializer(many=True, help_text="inputs and options that differ")
    changed = ComparedSerializer(many=True)
    single = ComparedSerializer(many=True, help_text="in one of the reports")
    unchanged = ComparedSerializer(many=True)


class ReportCompare(OfReports):
    @operation("compare_reports", ComparisonSerializer, query=CompareQuery)
    def get(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return what differs between two finished reports."""
        done = self.rows().filter(state=Report.State.DONE, command=Report.Command.ALIGN)
        before, after = (
            get_object_or_404(done, pk=given[name]) for name in ("before", "after")
        )
        try:
            shown = comparing.comparison(self.study, before, after)
        except FileNotFoundError as error:
            raise Http404 from error
        names = ("name", "before", "after")
        run = [dict(zip(names, row, strict=True)) for row in shown.comparison.run]
        return {**vars(shown), "run": run}


class PublicationSerializer(serializers.ModelSerializer):
    address = fields.SerializerMethodField()
    has_data = fields.SerializerMethodField(
        help_text="whether its data are written yet"
    )
    Meta = fields.meta(PublicReport, "address with_data has_data published_at")

    def get_address(self, row: PublicReport) -> str:
        base = links_begin_with(self.context["request"])
        return base + reverse("public-report", args=[row.name])

    def get_has_data(self, row: PublicReport) -> bool:
        return row.data_event is not None


class PublicationBody(fields.Body):
    name = fields.CharField(
        max_length=60,
        required=False,
        help_text="last part of the address; not to be guessed if not given",
    )
    with_data = fields.BooleanField(
        default=False, help_text="let readers download result tables and answers"
    )


class Publication(OfReports):
    in_archive = True
    get = show_operation(
        "get_publication",
        PublicationSerializer,
        "Return where a report is public; 404 if it is not.",
    )

    def row(self, **of: Any) -> Any:
        public = PublicReport.objects.filter(withdrawn_at__isnull=True)
        return get_object_or_404(public, report=super().row())

    @operation("publish_report", PublicationSerializer, takes=PublicationBody)
    def put(self, given: dict[str, Any]) -> PublicReport:
        """Make a finished report public, or change how it is."""
        row = publishing.publish(super().row(), **given, by=self.user)
        ring(write_public_data.delay)
        return row

    @operation("withdraw_report")
    def delete(self) -> None:
        """Stop publishing a report; its address answers 410."""
        publishing.withdraw(self.row(), by=self.user)


class StandingRowSerializer(serializers.Serializer):
    question = fields.CharField()
    method = fields.CharField()
    rank = fields.FloatField(allow_null=True)
    rank_low = fields.FloatField(
        allow_null=True, help_text="ends of the 95 % interval of the rank"
    )
    rank_high = fields.FloatField(allow_null=True)
    value = fields.FloatField(
        allow_null=True, help_text="mean rating, or rating of comparisons (mean 1000)"
    )
    low = fields.FloatField(allow_null=True, help_text="ends of its 95 % interval")
    high = fields.FloatField(allow_null=True)
    n = fields.IntegerField(help_text="answers about the method")
    kind = fields.ChoiceField(["ratings", "choices", "rankings"])


class LeaderboardSerializer(serializers.Serializer):
    rows = StandingRowSerializer(many=True)
    notes = fields.texts()


class Leaderboard(StudyView):
    """The leaderboard of a study."""

    @operation("get_leaderboard", LeaderboardSerializer)
    def get(self) -> Any:
        """Return the methods by question, with 95 % intervals."""
        try:
            return leaderboards.leaderboard(self.study)
        except leaderboards.TooManyAnswersError as error:
            raise Conflict(str(error)) from error
