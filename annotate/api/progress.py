"""Progress of a study: numbers, what to do now, findings, and the log."""

from typing import Any

from django.db import transaction
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import can_manage
from annotate.access.server_address import links_begin_with
from annotate.api.base import (
    AnyType,
    Body,
    Listed,
    Query,
    StudyView,
    asked,
    read,
)
from annotate.audit_log.log_lines import EVERYTHING, listed
from annotate.coverage import coverage_tables
from annotate.coverage.alert_lines import LONGEST_KEY, Alert, mark_handled
from annotate.coverage.counts import units
from annotate.coverage.dashboard import dashboard
from annotate.coverage.enough import enough
from annotate.models import Event, Flag
from annotate.presentation import broken_media
from annotate.quality import monitoring
from annotate.spreadsheet import csv_lines

LARGEST = 2**63 - 1


class CellSerializer(serializers.Serializer):
    methods = serializers.ListField(child=serializers.CharField())
    story = serializers.CharField()
    submitted = serializers.IntegerField(source="done")
    leased = serializers.IntegerField()
    wanted = serializers.IntegerField()


class AlertSerializer(serializers.Serializer):
    kind = serializers.CharField()
    level = serializers.ChoiceField(["step", "warning", "error"])
    text = serializers.CharField()
    todo = serializers.CharField(help_text="what to do")
    since = serializers.DateTimeField(allow_null=True)
    person = serializers.CharField(
        source="annotator.name", default=None, allow_null=True
    )
    notes = serializers.ListField(child=serializers.CharField())
    flags = serializers.SerializerMethodField(help_text="findings to resolve")
    faults = serializers.SerializerMethodField(help_text="reports to mark as handled")
    keys = serializers.SerializerMethodField(help_text="keys to mark as handled")

    def get_flags(self, alert: Alert) -> list[int]:
        return [int(value) for value in _fields(alert, "flag")]

    def get_faults(self, alert: Alert) -> list[int]:
        return [int(value) for value in _fields(alert, "fault")]

    def get_keys(self, alert: Alert) -> list[str]:
        return _fields(alert, "key")


def _fields(alert: Alert, name: str) -> list[str]:
    """Return what the buttons of a line send under a name."""
    sent = [value for one in alert.buttons for key, value in one.fields if key == name]
    return list(dict.fromkeys(sent))


class GoalSerializer(serializers.Serializer):
    question = serializers.CharField(source="question.key")
    goal = serializers.CharField()
    size = serializers.FloatField()
    state = serializers.ChoiceField(["stop", "not_yet", "unknown", "waiting"])
    now = serializers.CharField()
    needed = serializers.CharField()
    sentence = serializers.CharField()


class AgreementSerializer(serializers.Serializer):
    question = serializers.CharField(source="topic.key")
    alpha = serializers.FloatField(allow_null=True)
    low = serializers.FloatField(allow_null=True)
    high = serializers.FloatField(allow_null=True)
    items = serializers.IntegerField(source="n_units")
    answers = serializers.IntegerField(source="n_answers")
    reason = serializers.CharField(help_text="why it is undefined")


def _date(source: str) -> serializers.DateTimeField:
    return serializers.DateTimeField(
        source=f"outlook.forecast.{source}", allow_null=True
    )


class NumbersSerializer(serializers.Serializer):
    submitted = serializers.IntegerField(source="totals.submitted")
    wanted = serializers.IntegerField(source="totals.wanted")
    leased = serializers.IntegerField(source="totals.leased")
    open = serializers.IntegerField(source="totals.open")
    excluded = serializers.IntegerField(source="totals.excluded")
    surplus = serializers.IntegerField(source="totals.surplus")
    expected_end = _date("median")
    earliest_end = _date("early")
    latest_end = _date("late")
    waiting = serializers.IntegerField(
        source="outlook.waiting.slots",
        help_text="slots that the expected dates do not include",
    )
    outlook = serializers.CharField(
        source="outlook.text", help_text="the current pace, or why there is no date yet"
    )


class CoverageSerializer(NumbersSerializer):
    cells = CellSerializer(many=True)


class ProgressSerializer(NumbersSerializer):
    sentence = serializers.CharField()
    do_now = AlertSerializer(many=True, source="alerts")
    enough = GoalSerializer(many=True, help_text="precision against the goals")
    agreement = AgreementSerializer(many=True, source="alphas")
    people = serializers.DictField(
        child=serializers.IntegerField(), help_text="by status"
    )
    minutes = serializers.FloatField(
        allow_null=True, help_text="median of people who finished"
    )


class Coverage(StudyView):
    @extend_schema(
        operation_id="get_coverage", tags=["progress"], responses=CoverageSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the numbers of the study, and those of each item."""
        board = dashboard(self.study)
        found = {**vars(board), "cells": units(self.study)}
        return Response(CoverageSerializer(found).data)


class Progress(StudyView):
    @extend_schema(
        operation_id="get_progress", tags=["progress"], responses=ProgressSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the numbers, what to do now, the forecast and the goals."""
        board = dashboard(self.study, base=links_begin_with(request))
        found: dict[str, Any] = {
            **vars(board),
            "enough": enough(self.study),
            "people": {str(status): n for status, n in board.by_status},
            "minutes": board.minutes,
        }
        return Response(ProgressSerializer(found).data)


class ProgressTable(StudyView):
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="download_progress",
        tags=["progress"],
        parameters=[
            OpenApiParameter("table", str, "path", enum=[*coverage_tables.TABLES])
        ],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, slug: str, table: str) -> StreamingHttpResponse:
        """Download counts, annotators, arrivals, alerts, comments or the log as CSV."""
        header, rows = coverage_tables.TABLES[table]
        lines = csv_lines(header, rows(self.study))
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


class HandledBody(Body):
    person = serializers.CharField(
        required=False, max_length=100, help_text="whom a key is about"
    )
    flags = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=LARGEST),
        default=list,
        max_length=100,
    )
    faults = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=LARGEST),
        default=list,
        max_length=100,
    )
    keys = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_KEY), default=list, max_length=5
    )


class HandledSerializer(serializers.Serializer):
    flags = serializers.IntegerField()
    faults = serializers.IntegerField()
    keys = serializers.IntegerField()


class Handled(StudyView):
    @extend_schema(
        operation_id="mark_as_handled",
        tags=["progress"],
        request=HandledBody,
        responses=HandledSerializer,
    )
    @transaction.atomic
    def post(self, request: Request, slug: str) -> Response:
        """Mark the findings, reports and keys of a do-now line as handled."""
        given, person = read(HandledBody, request), None
        if name := given.get("person"):
            person = get_object_or_404(self.study.annotators, name=name)
        flags = Flag.objects.filter(annotator__study=self.study, pk__in=given["flags"])
        for flag in flags:
            monitoring.resolve(flag, user=request.user)
        for key in given["keys"]:
            mark_handled(self.study, key, person=person, user=request.user)
        done = {
            "flags": len(flags),
            "faults": broken_media.settle(self.study, given["faults"]),
            "keys": len(given["keys"]),
        }
        return Response(HandledSerializer(done).data)


class FlagSerializer(serializers.ModelSerializer):
    person = serializers.CharField(source="annotator.name")
    text = serializers.CharField(source="sentence")

    class Meta:
        model = Flag
        fields = (
            "id",
            "person",
            "rule",
            "signal",
            "action",
            "value",
            "n",
            "text",
            "created_at",
            "resolved_at",
        )


class FlagQuery(Query):
    open = serializers.BooleanField(default=False, help_text="unresolved ones alone")


class FlagList(Listed, StudyView):
    @extend_schema(
        operation_id="list_findings",
        tags=["progress"],
        parameters=[FlagQuery],
        responses=FlagSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the findings of quality rules about people."""
        flags = Flag.objects.filter(annotator__study=self.study)
        if asked(FlagQuery, request)["open"]:
            flags = flags.filter(resolved_at=None)
        return self.page(flags.select_related("annotator"), FlagSerializer)


class FlagResolve(StudyView):
    @extend_schema(
        operation_id="resolve_finding",
        tags=["progress"],
        request=None,
        responses=FlagSerializer,
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Resolve a finding."""
        flags = Flag.objects.filter(annotator__study=self.study)
        flag = monitoring.resolve(get_object_or_404(flags, pk=pk), user=request.user)
        return Response(FlagSerializer(flag).data)


class EventSerializer(serializers.ModelSerializer):
    person = serializers.CharField(
        source="annotator.name", default=None, allow_null=True
    )
    user = serializers.CharField(source="user.username", default=None, allow_null=True)
    slot = serializers.CharField(source="slot.code", default=None, allow_null=True)
    details = serializers.DictField()

    class Meta:
        model = Event
        fields = ("id", "at", "kind", "person", "user", "slot", "details")


class EventQuery(Query):
    kind = serializers.ChoiceField(
        [EVERYTHING, *Event.Kind.values],
        required=False,
        help_text="those of interest if not given",
    )
    person = serializers.CharField(required=False, max_length=100)


class EventList(Listed, StudyView):
    @extend_schema(
        operation_id="list_events",
        tags=["progress"],
        parameters=[EventQuery],
        responses=EventSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the study's log, the newest events first."""
        given = asked(EventQuery, request)
        events = listed(
            self.study,
            kind=given.get("kind", ""),
            annotator=given.get("person", ""),
            with_pay=can_manage(request.user, self.study),
        )
        return self.page(events, EventSerializer)
