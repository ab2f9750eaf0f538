"""Publication of a report at a public address."""

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.server_address import links_begin_with
from annotate.api.base import Body, StudyView, read
from annotate.models import PublicReport, Report
from annotate.reports import publishing
from annotate.tasks import ring, write_public_data


class PublicationSerializer(serializers.Serializer):
    address = serializers.CharField()
    with_data = serializers.BooleanField()
    has_data = serializers.BooleanField(help_text="whether its data are written yet")
    published_at = serializers.DateTimeField()


class PublicationBody(Body):
    name = serializers.CharField(
        max_length=60,
        required=False,
        help_text="last part of the address; not to be guessed if not given",
    )
    with_data = serializers.BooleanField(
        default=False, help_text="let readers download result tables and answers"
    )


class Publication(StudyView):
    scope = "write"
    writers = None
    in_archive = True

    @extend_schema(
        operation_id="get_publication",
        tags=["reports"],
        responses=PublicationSerializer,
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return where a report is public; 404 if it is not."""
        return self._shown(get_object_or_404(self._public(), report=self._report()))

    @extend_schema(
        operation_id="publish_report",
        tags=["reports"],
        request=PublicationBody,
        responses=PublicationSerializer,
    )
    def put(self, request: Request, slug: str, pk: int) -> Response:
        """Make a finished report public, or change how it is."""
        given = read(PublicationBody, request)
        row = publishing.publish(self._report(), **given, by=request.user)
        ring(write_public_data.delay)
        return self._shown(row)

    @extend_schema(
        operation_id="withdraw_report", tags=["reports"], responses={204: None}
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Stop publishing a report; its address answers 410."""
        row = get_object_or_404(self._public(), report=self._report())
        publishing.withdraw(row, by=request.user)
        return Response(status=204)

    def _report(self) -> Report:
        return get_object_or_404(self.study.reports, pk=self.kwargs["pk"])

    def _public(self) -> QuerySet[PublicReport]:
        return PublicReport.objects.filter(withdrawn_at__isnull=True)

    def _shown(self, row: PublicReport) -> Response:
        address = reverse("public-report", args=[row.name])
        shown = {
            "address": links_begin_with(self.request) + address,
            "with_data": row.with_data,
            "has_data": row.data_event is not None,
            "published_at": row.published_at,
        }
        return Response(PublicationSerializer(shown).data)
