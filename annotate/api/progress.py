"""Progress of a study: numbers, what to do now, findings, and the log."""

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import StreamingHttpResponse
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers

from annotate.access.permissions import can_manage
from annotate.access.server_address import links_begin_with
from annotate.api import fields
from annotate.api.base import StudyView
from annotate.api.operations import operation
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


class CellSerializer(serializers.Serializer):
    methods = fields.texts()
    story = fields.CharField()
    submitted = fields.IntegerField(source="done")
    leased = fields.IntegerField()
    wanted = fields.IntegerField()


class AlertSerializer(serializers.Serializer):
    kind = fields.CharField()
    level = fields.ChoiceField(["step", "warning", "error"])
    text = fields.CharField()
    todo = fields.CharField(help_text="what to do")
    since = fields.DateTimeField(allow_null=True)
    person = fields.text_or_null("annotator.name")
    notes = fields.texts()
    flags = fields.SerializerMethodField(help_text="findings to resolve")
    faults = fields.SerializerMethodField(help_text="reports to mark as handled")
    keys = fields.SerializerMethodField(help_text="keys to mark as handled")

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
    question = fields.CharField(source="question.key")
    goal = fields.CharField()
    size = fields.FloatField()
    state = fields.ChoiceField(["stop", "not_yet", "unknown", "waiting"])
    now = fields.CharField()
    needed = fields.CharField()
    sentence = fields.CharField()


class AgreementSerializer(serializers.Serializer):
    question = fields.CharField(source="topic.key")
    alpha = fields.FloatField(allow_null=True)
    low = fields.FloatField(allow_null=True)
    high = fields.FloatField(allow_null=True)
    items = fields.IntegerField(source="n_units")
    answers = fields.IntegerField(source="n_answers")
    reason = fields.CharField(help_text="why it is undefined")


def _date(source: str) -> fields.DateTimeField:
    return fields.DateTimeField(source=f"outlook.forecast.{source}", allow_null=True)


class NumbersSerializer(serializers.Serializer):
    submitted = fields.IntegerField(source="totals.submitted")
    wanted = fields.IntegerField(source="totals.wanted")
    leased = fields.IntegerField(source="totals.leased")
    open = fields.IntegerField(source="totals.open")
    excluded = fields.IntegerField(source="totals.excluded")
    surplus = fields.IntegerField(source="totals.surplus")
    expected_end = _date("median")
    earliest_end = _date("early")
    latest_end = _date("late")
    waiting = fields.IntegerField(
        source="outlook.waiting.slots",
        help_text="slots that the expected dates do not include",
    )
    outlook = fields.CharField(
        source="outlook.text", help_text="the current pace, or why there is no date yet"
    )


class CoverageSerializer(NumbersSerializer):
    cells = CellSerializer(many=True)


class ProgressSerializer(NumbersSerializer):
    sentence = fields.CharField()
    do_now = AlertSerializer(many=True, source="alerts")
    enough = GoalSerializer(many=True, help_text="precision against the goals")
    agreement = AgreementSerializer(many=True, source="alphas")
    people = fields.counts(help_text="by status")
    minutes = fields.FloatField(
        allow_null=True, help_text="median of people who finished"
    )


class Coverage(StudyView):
    @operation("get_coverage", CoverageSerializer)
    def get(self) -> dict[str, Any]:
        """Return the numbers of the study, and those of each item."""
        return {**vars(dashboard(self.study)), "cells": units(self.study)}


class Progress(StudyView):
    @operation("get_progress", ProgressSerializer)
    def get(self) -> dict[str, Any]:
        """Return the numbers, what to do now, the forecast and the goals."""
        board = dashboard(self.study, base=links_begin_with(self.request))
        return {
            **vars(board),
            "enough": enough(self.study),
            "people": {str(status): n for status, n in board.by_status},
            "minutes": board.minutes,
        }


TABLE = OpenApiParameter("table", str, "path", enum=[*coverage_tables.TABLES])


class ProgressTable(StudyView):
    @operation("download_progress", "text/csv", parameters=[TABLE])
    def get(self) -> StreamingHttpResponse:
        """Download counts, annotators, arrivals, alerts, comments or the log as CSV."""
        header, rows = coverage_tables.TABLES[self.kwargs["table"]]
        lines = csv_lines(header, rows(self.study))
        return StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")


class HandledBody(fields.Body):
    person = fields.CharField(
        required=False, max_length=100, help_text="whom a key is about"
    )
    flags = fields.ids(default=list, max_length=100)
    faults = fields.ids(default=list, max_length=100)
    keys = fields.texts(LONGEST_KEY, default=list, max_length=5)


class HandledSerializer(serializers.Serializer):
    flags = fields.IntegerField()
    faults = fields.IntegerField()
    keys = fields.IntegerField()


class OfFlags(StudyView):
    def rows(self) -> QuerySet[Flag]:
        of_study = Flag.objects.filter(annotator__study=self.study)
        return of_study.select_related("annotator")


class Handled(OfFlags):
    @operation("mark_as_handled", HandledSerializer, takes=HandledBody)
    @transaction.atomic
    def post(self, given: dict[str, Any]) -> dict[str, int]:
        """Mark the findings, reports and keys of a do-now line as handled."""
        person = None
        if name := given.get("person"):
            person = get_object_or_404(self.study.annotators, name=name)
        flags = self.rows().filter(pk__in=given["flags"])
        for flag in flags:
            monitoring.resolve(flag, user=self.user)
        for key in given["keys"]:
            mark_handled(self.study, key, person=person, user=self.user)
        return {
            "flags": len(flags),
            "faults": broken_media.settle(self.study, given["faults"]),
            "keys": len(given["keys"]),
        }


class FlagSerializer(serializers.ModelSerializer):
    person = fields.CharField(source="annotator.name")
    text = fields.CharField(source="sentence")
    Meta = fields.meta(
        Flag, "id person rule signal action value n text created_at resolved_at"
    )


class FlagQuery(fields.Query):
    open = fields.BooleanField(default=False, help_text="unresolved ones alone")


class FlagList(OfFlags):
    @operation("list_findings", FlagSerializer, query=FlagQuery, many=True)
    def get(self, given: dict[str, Any]) -> QuerySet[Flag]:
        """List the findings of quality rules about people."""
        only = {"resolved_at": None} if given["open"] else {}
        return self.rows().filter(**only)


class FlagResolve(OfFlags):
    @operation("resolve_finding", FlagSerializer)
    def post(self) -> Flag:
        """Resolve a finding."""
        return monitoring.resolve(self.row(), user=self.user)


class EventSerializer(serializers.ModelSerializer):
    person = fields.text_or_null("annotator.name")
    user = fields.text_or_null("user.username")
    slot = fields.text_or_null("slot.code")
    details = fields.DictField()
    Meta = fields.meta(Event, "id at kind person user slot details")


class EventQuery(fields.Query):
    kind = fields.ChoiceField(
        [EVERYTHING, *Event.Kind.values],
        required=False,
        help_text="those of interest if not given",
    )
    person = fields.CharField(required=False, max_length=100)


class EventList(StudyView):
    @operation("list_events", EventSerializer, query=EventQuery, many=True)
    def get(self, given: dict[str, Any]) -> Any:
        """List the study's log, the newest events first."""
        return listed(
            self.study,
            kind=given.get("kind", ""),
            annotator=given.get("person", ""),
            with_pay=can_manage(self.user, self.study),
        )
