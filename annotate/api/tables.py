"""Tables of a study: as CSV at once, in every format and as a bundle by a worker."""

from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from annotate.api import fields
from annotate.api.base import StudyView, attachment
from annotate.api.operations import list_operation, operation, show_operation
from annotate.audit_log import as_of_event
from annotate.bundles import exports
from annotate.models import MAIN, Export
from annotate.reports import building, downloads
from annotate.reports.export_folder import FORMATS
from annotate.reports.layouts import IMAGE_FOLDER, LAYOUTS
from annotate.tasks import wake_exports

EVENT = "number of an event in the log; the present if not given"


class TableQuery(fields.Query):
    view = fields.SlugField(default=MAIN, max_length=40, help_text="key of a filter")
    as_of = fields.IntegerField(
        required=False, min_value=1, max_value=fields.LARGEST, help_text=EVENT
    )


TABLE = OpenApiParameter("table", str, "path", enum=downloads.TABLES)


class Table(StudyView):
    @operation("download_table", "text/csv", query=TableQuery, parameters=[TABLE])
    def get(self, given: dict[str, Any]) -> StreamingHttpResponse:
        """Download a table of answers, or the scores, as CSV."""
        view = get_object_or_404(self.study.analysis_views, key=given["view"])
        event = given.get("as_of")
        as_of = as_of_event.moment(self.study, event) if event else None
        name = self.kwargs["table"]
        lines = downloads.csv_lines(self.study, name, view=view.key, as_of=as_of)
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


class ExportSerializer(serializers.ModelSerializer):
    format = fields.CharField(source="form")
    view = serializers.SlugRelatedField(slug_field="key", read_only=True)
    as_of = fields.IntegerField(source="as_of_id", allow_null=True)
    created_by = fields.text_or_null("created_by.username")
    notes = fields.texts(help_text="what is left out")
    Meta = fields.meta(
        Export,
        "id state step error table layout format view as_of with_scores bom "
        "created_by created_at finished_at name bytes sha256 notes",
    )


class ExportBody(fields.Body):
    table = fields.CharField(
        default="", allow_blank=True, max_length=40, help_text="all if not given"
    )
    layout = fields.ChoiceField([*LAYOUTS, IMAGE_FOLDER], default="long")
    format = fields.ChoiceField(FORMATS, default="csv")
    view = fields.CharField(default=MAIN, max_length=40, help_text="key of a filter")
    as_of = fields.IntegerField(
        required=False, min_value=1, max_value=fields.LARGEST, help_text=EVENT
    )
    with_scores = fields.BooleanField(
        default=False, help_text="wide: add metric scores as columns"
    )
    bom = fields.BooleanField(
        default=False, help_text="CSV: begin with a byte order mark"
    )


class OfExports(StudyView):
    scope = "write"
    writers: ClassVar[str | None] = None

    def rows(self) -> QuerySet[Export]:
        return exports.visible_exports(self.study, self.user)

    def write(self, export: Export) -> Export:
        """Wake a worker for an export."""
        self.queue(wake_exports, "export", self.study.slug, export.pk)
        return export


class ExportList(OfExports):
    get = list_operation(
        "list_exports",
        ExportSerializer,
        "List the exports of the last week, the newest first.",
    )

    @operation("ask_for_export", ExportSerializer, takes=ExportBody, status=202)
    def post(self, given: dict[str, Any]) -> Export:
        """Queue an export of tables; ask its address until it is done."""
        return self.write(exports.ask(self.study, self.user, **given))


class BundleBody(fields.Body):
    pictures = fields.BooleanField(
        default=True, help_text="and videos; false: leave them out"
    )


class Bundle(OfExports):
    scope = "manage"
    writers = "manager"

    @operation("ask_for_bundle", ExportSerializer, takes=BundleBody, status=202)
    def post(self, given: dict[str, Any]) -> Export:
        """Queue a bundle: the study in one file, which another server can import."""
        return self.write(exports.ask_bundle(self.study, self.user, **given))


class OneExport(OfExports):
    in_archive = True
    get = show_operation(
        "get_export", ExportSerializer, "Return the state of an export or bundle."
    )

    @operation("delete_export")
    def delete(self) -> None:
        """Delete an export and its file; managers may delete those of others."""
        export = self.row()
        if not building.may_remove(export, self.user):
            raise PermissionDenied("Only managers can delete other people's exports.")
        exports.delete(export)


class ExportFile(OfExports):
    @operation("download_export", "application/octet-stream")
    def get(self) -> HttpResponseBase:
        """Download the file of a finished export, which is kept for a week."""
        path = exports.path_of(self.row(state=Export.State.DONE))
        if not path.is_file():
            raise Http404
        return attachment(path.name, path.open("rb"), "application/octet-stream")
