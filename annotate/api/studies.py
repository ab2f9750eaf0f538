"""Studies, their progress and their scores."""

from typing import Any

from django.db.models import QuerySet
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import generics
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.problems import InputError, Problem, Problems
from annotate.access.permissions import get_study_for, visible_studies
from annotate.api import serializers
from annotate.api.authentication import (
    TableJSONParser,
)
from annotate.api.refusals import Conflict, Refused
from annotate.coverage.counts import units
from annotate.coverage.dashboard import standing
from annotate.models import Study
from annotate.studies.lifecycle import ARCHIVED
from evalcore.importing.scores import import_scores


class StudyList(generics.ListAPIView):
    """The studies that you can see."""

    serializer_class = serializers.StudySerializer

    def get_queryset(self) -> QuerySet[Study]:
        return visible_studies(self.request.user).select_related("benchmark")


class StudyDetail(generics.RetrieveAPIView):
    serializer_class = serializers.StudySerializer

    def get_object(self) -> Study:
        return get_study_for(self.request.user, self.kwargs["slug"])


class StudyCoverage(APIView):
    """Progress of a study by cell, and its expected end."""

    @extend_schema(responses=serializers.CoverageSerializer)
    def get(self, request: Request, slug: str) -> Response:
        study = get_study_for(request.user, slug)
        stands = standing(study)
        found = {
            "totals": stands.totals,
            "outlook": stands.outlook,
            "cells": units(study),
        }
        return Response(serializers.CoverageSerializer(found).data)


class StudyScores(APIView):
    """Upload metric scores computed elsewhere, for use in this study only."""

    parser_classes = (TableJSONParser,)

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

        study = get_study_for(request.user, slug, role="manager")
        if study.archived_at:
            raise Conflict(str(ARCHIVED))
        given = serializers.ScoresSerializer(data=request.data)
        given.is_valid(raise_exception=True)
        problems = _outside(study, given.validated_data["scores"])
        if problems:
            raise Refused({"problems": problems.kept()})
        frame = pd.DataFrame(given.validated_data["scores"]).astype(object)
        frame.index = pd.RangeIndex(1, len(frame) + 1)
        try:
            summary = import_scores(
                check_scores(frame, file="scores"),
                benchmark=study.benchmark,
                file="API",
                replace=given.validated_data["replace"],
                posted_to=study.slug,
            )
        except InputError as error:
            raise Refused({"problems": error.problems.kept()}) from error
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
