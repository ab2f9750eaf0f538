"""Methods of a study; a new one with its outputs; the leaderboard."""

from typing import Any

from django.db.models import F, Q, Sum
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import check_benchmark_of, owns
from annotate.api.authentication import ShallowJSONParser
from annotate.api.base import Body, StudyView, read
from annotate.api.refusals import Conflict, Gone, Refused
from annotate.models import Purpose, Study, Upload
from annotate.models.units import OUTPUTS
from annotate.reports import leaderboards
from annotate.studies.changing import withdrawn_names
from annotate.studies.new_method import check_new, join_method
from annotate.tasks import wake_uploads
from annotate.uploads import receiving
from annotate.uploads.receiving import DamagedPartError, OutOfPlaceError

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


class MethodJobSerializer(serializers.Serializer):
    id = serializers.IntegerField(source="pk")
    method = serializers.CharField(source="chosen.method")
    state = serializers.SerializerMethodField(
        help_text="receiving, queued, running, done, failed or discarded"
    )
    received = serializers.IntegerField(help_text="bytes; the next part begins here")
    total = serializers.IntegerField()
    step = serializers.CharField()
    problems = serializers.SerializerMethodField()

    def get_state(self, upload: Upload) -> str:
        if upload.state == Upload.State.CANCELLED:
            return "discarded"
        if upload.stage == Upload.Stage.RECEIVE:
            return "receiving"
        return str(upload.state)

    def get_problems(self, upload: Upload) -> list[str]:
        found = upload.found.get("problems", [])
        return [*filter(None, [upload.error]), *found]


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


class PartParser(BaseParser):
    """Parser of a part of a file, as it is."""

    media_type = "application/octet-stream"

    def parse(self, stream: Any, *_about: Any, **_more: Any) -> bytes:
        part: bytes = stream.read(receiving.LARGEST_PART + 1)
        return part


class MethodList(StudyView):
    """The methods of a study."""

    scope = "write"

    @extend_schema(
        operation_id="study_methods", responses=StudyMethodSerializer(many=True)
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the methods with their numbers of ratings."""
        return Response(StudyMethodSerializer(_methods(self.study), many=True).data)

    @extend_schema(
        operation_id="study_method_add",
        request=NewMethodSerializer,
        responses={201: StudyMethodSerializer(many=True), 202: MethodJobSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Let a new method join a running study.

        Outputs that were imported before join at once (201). With `bytes` the zip is
        sent in parts to the address in `Location`; then it is imported, and joins, or
        nothing is stored (202).
        """
        given = read(NewMethodSerializer, request)
        method, against = given["method"], given["against"]
        check_benchmark_of(request.user, self.study)
        if "bytes" not in given:
            join_method(self.study, method, against=against, user=request.user)
            place = reverse("api-methods", args=[slug])
            listed = StudyMethodSerializer(_methods(self.study), many=True)
            return Response(listed.data, status=201, headers={"Location": place})
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
        place = reverse("api-method-job", args=[slug, upload.pk])
        job = MethodJobSerializer(upload)
        return Response(job.data, status=202, headers={"Location": place})


class MethodJob(StudyView):
    """A new method on its way into a study."""

    scope = "write"
    parser_classes = (ShallowJSONParser, PartParser)

    @extend_schema(operation_id="study_method_job", responses=MethodJobSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return how far it is, and what was wrong."""
        return Response(MethodJobSerializer(self._upload(request, pk)).data)

    @extend_schema(
        operation_id="study_method_part",
        request={"application/octet-stream": OpenApiTypes.BINARY},
        parameters=[
            OpenApiParameter("offset", int, required=True),
            OpenApiParameter("crc", int, required=True, description="CRC-32"),
        ],
        responses=MethodJobSerializer,
    )
    def put(self, request: Request, slug: str, pk: int) -> Response:
        """Send the next bytes of the zip, at most 8 MB; repeating is harmless."""
        upload = self._upload(request, pk)
        if upload.state == Upload.State.CANCELLED:
            raise Gone(_("This upload was discarded."))
        texts = [request.query_params.get(name, "") for name in ("offset", "crc")]
        if not all(one.isascii() and one.isdecimal() for one in texts):
            text = _("The part lacks its place or its checksum.")
            raise Refused({"offset": text})
        part = request.data
        is_part = isinstance(part, bytes) and 0 < len(part) <= receiving.LARGEST_PART
        if not is_part:
            raise Refused({"part": _("The part is too large or empty.")})
        try:
            receiving.receive(upload, int(texts[0]), int(texts[1]), part)
        except OutOfPlaceError as error:
            text = _("The part does not continue the file received so far.")
            raise Conflict(text) from error
        except DamagedPartError as error:
            text = _("The part was damaged on its way, or is of another file.")
            raise Refused({"part": text}) from error
        if upload.is_waiting:
            wake_uploads()
        return Response(MethodJobSerializer(upload).data)

    def _upload(self, request: Request, pk: int) -> Upload:
        own = Upload.objects.filter(created_by=request.user, pk=pk)
        upload = own.filter(chosen__joins=self.study.slug).first()
        if upload is None:
            raise Http404
        return upload


class Leaderboard(StudyView):
    """The leaderboard of a study."""

    @extend_schema(operation_id="study_leaderboard", responses=LeaderboardSerializer)
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
