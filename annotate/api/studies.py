"""Studies, their progress and their scores."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response

from analysis.problems import InputError, Problem, Problems
from annotate.access.permissions import visible_studies
from annotate.api import serializers
from annotate.api.authentication import (
    TableJSONParser,
)
from annotate.api.base import AccountView, StudyView
from annotate.coverage.counts import units
from annotate.coverage.dashboard import standing
from annotate.models import Study
from evalcore.importing.scores import import_scores


class StudyList(AccountView, generics.ListAPIView):
    """The studies that you can see."""

    serializer_class = serializers.StudySerializer

    def check_token(self, request: Request, study: Study | None = None) -> None:
        """Accept a token of one study, which sees this one in the list."""
        token = request.auth
        super().check_token(request, getattr(token, "study", None))

    def get_queryset(self) -> QuerySet[Study]:
        studies = visible_studies(self.request.user).select_related("benchmark")
        only = getattr(self.request.auth, "study", None)
        return studies.filter(pk=only.pk) if only else studies

    @extend_schema(operation_id="list_studies", tags=["studies"])
    def get(self, request: Request) -> Response:
        """List the studies that you can see, newest first."""
        return self.list(request)


class StudyDetail(StudyView):
    @extend_schema(
        operation_id="get_study",
        tags=["studies"],
        responses=serializers.StudySerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return one study."""
        return Response(serializers.StudySerializer(self.study).data)


class StudyCoverage(StudyView):
    """Progress of a study by cell, and its expected end."""

    @extend_schema(responses=serializers.CoverageSerializer)
    def get(self, request: Request, slug: str) -> Response:
        study = self.study
        stands = standing(study)
        found = {
            "totals": stands.totals,
            "outlook": stands.outlook,
            "cells": units(study),
        }
        return Response(serializers.CoverageSerializer(found).data)


class StudyScores(StudyView):
    """Upload metric scores computed elsewhere, for use in this study only."""

    parser_classes = (TableJSONParser,)
    scope = "write"

    @extend_schema(
        request=serializers.ScoresSerializer,
        responses={
            200: serializers.SummarySerializer,
            400: OpenApiResponse(description="all problems found; nothing was stored"),
            409: OpenApiResponse(description="the study is archived"),
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        # pandas is loaded only where a table is read.
        import pandas as pd

        from analysis.reading.inputs import check_scores

        study = self.study
        given = serializers.ScoresSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        problems = _outside(study, given.validated_data["scores"])
        if problems:
            raise InputError(problems)
        frame = pd.DataFrame(given.validated_data["scores"]).astype(object)
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        summary = import_scores(
            check_scores(frame, file="scores"),
            benchmark=study.benchmark,
            file="API",
            replace=given.validated_data["replace"],
            posted_to=study.slug,
        )
        return Response(vars(summary))


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
