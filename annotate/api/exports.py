"""Tables of a study as files."""

from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request

from annotate.api.base import AnyType, StudyView
from annotate.audit_log import as_of_event
from annotate.models import MAIN
from annotate.reports import downloads


class TableQuery(serializers.Serializer):
    view = serializers.SlugField(
        default=MAIN, max_length=40, help_text="key of a filter"
    )
    as_of = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text="number of an event in the log; the present if not given",
    )


class Table(StudyView):
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="download_table",
        tags=["tables"],
        parameters=[
            OpenApiParameter("table", str, "path", enum=downloads.TABLES),
            TableQuery,
        ],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, slug: str, table: str) -> StreamingHttpResponse:
        """Download a table of answers, or the scores, as CSV."""
        asked = TableQuery(data=request.query_params)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        view = get_object_or_404(self.study.analysis_views, key=given["view"])
        event = given.get("as_of")
        as_of = as_of_event.moment(self.study, event) if event else None
        lines = downloads.csv_lines(self.study, table, view=view.key, as_of=as_of)
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
