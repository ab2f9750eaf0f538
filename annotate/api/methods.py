"""Methods of a study; a new one with its outputs; the leaderboard."""

from typing import Any

from django.db.models import F, Q, Sum
from django.utils.translation import gettext as _
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import check_benchmark_of, owns
from annotate.api.base import Body, StudyView, created, read
from annotate.api.refusals import Conflict
from annotate.api.uploads import UploadSerializer
from annotate.models import Purpose, Study
from annotate.models.units import OUTPUTS
from annotate.reports import leaderboards
from annotate.studies.changing import withdrawn_names
from annotate.studies.new_method import check_new, join_method
from annotate.uploads import receiving

FILE = "outputs.zip"
LONGEST_METHOD = 200


class StudyMethodSerializer(serializers.Serializer):
    method = serializers.CharField()
    items = serializers.IntegerField(help_text="outputs, pairs or sets that show it")
    wanted = serializers.IntegerField(help_text="ratings that these items need")
    submitted = serializers.IntegerField(help_text="ratings that they have")
    is_withdrawn = serializers.BooleanField()


class NewMethodSerializer(Body):
    method = serializers.CharField(max_length=LONGEST_METHOD)
    against = serializers.ListField(
        child=serializers.CharField(max_length=LONGEST_METHOD),
        default=list,
        help_text="side by side: the methods to compare it with; empty: as the study "
        "pairs its methods",
    )
    bytes = serializers.IntegerField(
        required=False,
        min_value=1,
        help_text="size of a zip with a folder of pictures, or a video, for every "
        "story of the study. Without it, the outputs were imported before",
    )


class StandingRowSerializer(serializers.Serializer):
    question = serializers.CharField()
    method = serializers.CharField()
    rank = serializers.FloatField(allow_null=True)
    rank_low = serializers.FloatField(
        allow_null=True, help_text="ends of the 95 % interval of the rank"
    )
    rank_high = serializers.FloatField(allow_null=True)
    value = serializers.FloatField(
        allow_null=True, help_text="mean rating, or rating of comparisons (mean 1000)"
    )
    low = serializers.FloatField(allow_null=True, help_text="ends of its 95 % interval")
    high = serializers.FloatField(allow_null=True)
    n = serializers.IntegerField(help_text="answers about the method")
    kind = serializers.ChoiceField(["ratings", "choices", "rankings"])


class LeaderboardSerializer(serializers.Serializer):
    rows = StandingRowSerializer(many=True)
    notes = serializers.ListField(child=serializers.CharField())


class MethodList(StudyView):
    """The methods of a study."""

    scope = "write"

    @extend_schema(
        operation_id="list_study_methods",
        tags=["changes"],
        responses=StudyMethodSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the methods with their numbers of ratings."""
        return Response(StudyMethodSerializer(_methods(self.study), many=True).data)

    @extend_schema(
        operation_id="add_method",
        tags=["changes"],
        request=NewMethodSerializer,
        responses={201: StudyMethodSerializer(many=True), 202: UploadSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let a new method join a running study.

        Outputs that were imported before join at once (201). With `bytes`, send the zip
        in parts to the upload in `Location`; then it is imported and joins, or nothing
        is stored (202).
        """
        given = read(NewMethodSerializer, request)
        method, against = given["method"], given["against"]
        check_benchmark_of(request.user, self.study)
        if "bytes" not in given:
            join_method(self.study, method, against=against, user=request.user)
            listed = StudyMethodSerializer(_methods(self.study), many=True).data
            return created(listed, "api-methods", slug)
        check_new(self.study, method)
        if not owns(request.user, self.study.benchmark):
            self.permission_denied(
                request, _("Only an owner of this benchmark may do that.")
            )
        upload = receiving.begin(
            request.user,
            f"{method}.zip",
            [[FILE, given["bytes"], 0]],
            chosen={
                "kind": "outputs",
                "path": "",
                "benchmark": self.study.benchmark.slug,
                "title": self.study.benchmark.title,
                "method": method,
                "create": False,
                "skip": False,
                "replace": False,
                "low": 0,
                "high": 4,
                "joins": slug,
                "against": against,
            },
        )
        job = UploadSerializer(upload).data
        return created(job, "api-upload", upload.pk, status=202)


class Leaderboard(StudyView):
    """The leaderboard of a study."""

    @extend_schema(
        operation_id="get_leaderboard",
        tags=["reports"],
        responses=LeaderboardSerializer,
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the methods by question, with 95 % intervals."""
        try:
            found = leaderboards.leaderboard(self.study)
        except leaderboards.TooManyAnswersError as error:
            raise Conflict(str(error)) from error
        return Response(LeaderboardSerializer(found).data)


def _methods(study: Study) -> list[dict[str, Any]]:
    """Return the methods of a study with their items and ratings."""
    gone, _stories = withdrawn_names(study)
    units = study.units.filter(purpose=Purpose.REAL)
    rows = []
    for name in study.method_names:
        shown = Q()
        for output in OUTPUTS:
            shown |= Q(**{f"{output}__method__name": name})
        own = units.filter(shown)
        sums = own.aggregate(
            wanted=Sum(F("redundancy") * study.rounds, default=0),
            submitted=Sum("submitted", default=0),
        )
        row = {"method": name, "items": own.count(), "is_withdrawn": name in gone}
        rows.append(row | sums)
    return rows
