"""Uploads of stories, outputs, scores and judgements: received, checked, imported."""

import logging
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import can_create, owned_benchmarks
from annotate.api.base import (
    AccountView,
    Body,
    Listed,
    Query,
    asked,
    created,
    read,
)
from annotate.api.refusals import Conflict, Gone, Refused, Unready
from annotate.models import Upload
from annotate.tasks import ring, wake_uploads
from annotate.uploads import queue, receiving
from annotate.uploads.receiving import DamagedPartError, OutOfPlaceError

logger = logging.getLogger(__name__)
KINDS = ("stories", "outputs", "scores", "ratings", "choices")


class UploadSerializer(serializers.ModelSerializer):
    benchmark = serializers.CharField(
        source="benchmark.slug", default=None, allow_null=True
    )
    study = serializers.CharField(source="study.slug", default=None, allow_null=True)
    chosen = serializers.DictField(help_text="how the files are read")
    found = serializers.DictField(help_text="the preview: figures, rows, problems")

    class Meta:
        model = Upload
        fields = (
            "id",
            "name",
            "stage",
            "state",
            "step",
            "error",
            "total",
            "received",
            "created_at",
            "chosen",
            "found",
            "benchmark",
            "study",
        )


class UploadBody(Body):
    name = serializers.CharField(
        required=False, max_length=200, help_text="of the folder or file"
    )
    files = serializers.ListField(
        required=False,
        child=serializers.ListField(min_length=3, max_length=3),
        help_text="of each file path, bytes, and time of change (any number)",
    )
    entry = serializers.CharField(
        required=False,
        max_length=255,
        help_text="instead of files: a name in the server's folder",
    )
    benchmark = serializers.SlugField(required=False, max_length=80)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if ("entry" in given) == ("files" in given and "name" in given):
            text = "Send name and files, or an entry of the server's folder."
            raise serializers.ValidationError({"files": text})
        return given


class UploadView(AccountView):
    """A view of one's own uploads."""

    scope: ClassVar[str] = "write"

    def check_access(self, request: Request) -> None:
        super().check_access(request)
        if not can_create(request.user):
            raise PermissionDenied("Only managers can bring files in.")

    def upload(self, pk: int) -> Upload:
        return get_object_or_404(Upload, pk=pk, created_by=self.request.user)

    def owned(self, slug: str) -> str:
        """Return the slug of a benchmark if the user may add to it."""
        if not owned_benchmarks(self.request.user).filter(slug=slug).exists():
            raise Refused({"benchmark": f"You own no benchmark {slug}."})
        return slug

    def shown(self, pk: int) -> Response:
        return Response(UploadSerializer(self.upload(pk)).data)


class UploadList(Listed, UploadView):
    @extend_schema(
        operation_id="list_uploads",
        tags=["uploads"],
        responses=UploadSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List your uploads that were not discarded."""
        own = Upload.objects.filter(created_by=request.user)
        own = own.exclude(state=Upload.State.CANCELLED)
        rows = own.select_related("benchmark", "study")
        return self.page(rows, UploadSerializer)

    @extend_schema(
        operation_id="begin_upload",
        tags=["uploads"],
        request=UploadBody,
        responses={201: UploadSerializer},
        examples=[
            OpenApiExample(
                "a folder of outputs",
                {
                    "name": "outputs",
                    "files": [["UNO/01/1.png", 48213, 1764400000000]],
                    "benchmark": "woods",
                },
                request_only=True,
            )
        ],
    )
    def post(self, request: Request) -> Response:
        """Begin an upload, or continue the unfinished one of the same files."""
        given = read(UploadBody, request)
        benchmark = self.owned(given["benchmark"]) if "benchmark" in given else ""
        if "entry" in given:
            upload = queue.begin_entry(request.user, given["entry"])
            ring(wake_uploads)
        else:
            upload = receiving.begin(
                request.user, given["name"], given["files"], benchmark
            )
        return created(UploadSerializer(upload).data, "api-upload", upload.pk)


class OneUpload(UploadView):
    @extend_schema(
        operation_id="get_upload", tags=["uploads"], responses=UploadSerializer
    )
    def get(self, request: Request, pk: int) -> Response:
        """Return an upload with the bytes received, its preview, or its problems."""
        return self.shown(pk)

    @extend_schema(
        operation_id="discard_upload", tags=["uploads"], responses={204: None}
    )
    def delete(self, request: Request, pk: int) -> Response:
        """Remove the files of an upload that is not imported."""
        if not queue.discard(self.upload(pk)):
            raise Conflict("This upload is imported already.")
        return Response(status=204)


class BytesParser(BaseParser):
    """Parser of bytes, which a view reads from the request itself."""

    media_type = "application/octet-stream"

    def parse(self, stream: Any, *args: Any, **kwargs: Any) -> bytes:
        read: bytes = stream.read(receiving.LARGEST_PART + 1)
        return read


class PartQuery(Query):
    offset = serializers.IntegerField(
        min_value=0, max_value=2**53, help_text="bytes before the part"
    )
    crc = serializers.IntegerField(
        min_value=0, max_value=2**32 - 1, help_text="CRC-32 of the part"
    )


class ReceivedSerializer(serializers.Serializer):
    received = serializers.IntegerField(help_text="bytes that are there")


class UploadPart(UploadView):
    parser_classes = (BytesParser,)

    @extend_schema(
        operation_id="send_part",
        tags=["uploads"],
        parameters=[PartQuery],
        request={"application/octet-stream": OpenApiTypes.BINARY},
        responses={200: ReceivedSerializer, 410: None, 507: None},
    )
    def put(self, request: Request, pk: int) -> Response:
        """Send the next bytes of all files, one after another, at most 8 MiB.

        Repeating a part is harmless. After an interruption continue from `received`.
        """
        upload, given = self.upload(pk), asked(PartQuery, request)
        part = request.data
        if not isinstance(part, bytes) or not 0 < len(part) <= receiving.LARGEST_PART:
            raise Refused({"body": "Send 1 byte to 8 MiB."})
        if upload.state == Upload.State.CANCELLED:
            raise Gone("This upload was discarded.")
        try:
            received = receiving.receive(upload, given["offset"], given["crc"], part)
        except OutOfPlaceError as error:
            text = f"Continue from byte {upload.received}."
            raise Conflict(text) from error
        except DamagedPartError as error:
            text = "The part has another checksum, or is of another file."
            raise Refused({"crc": text}) from error
        except OSError as error:
            logger.warning("upload %s: %s", upload.pk, error)
            raise Unready("The server could not write the file.") from error
        if upload.is_waiting:
            ring(wake_uploads)
        return Response({"received": received})


class ChoicesBody(Body):
    kind = serializers.ChoiceField(KINDS, required=False)
    benchmark = serializers.SlugField(required=False, max_length=80)
    title = serializers.CharField(required=False, max_length=80)
    method = serializers.CharField(required=False, max_length=200)
    create = serializers.BooleanField(required=False)
    skip = serializers.BooleanField(required=False)
    replace = serializers.BooleanField(required=False)
    low = serializers.IntegerField(required=False, min_value=-1000, max_value=999)
    high = serializers.IntegerField(required=False, min_value=-999, max_value=1000)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        low, high = given.get("low"), given.get("high")
        if (low is None) != (high is None) or (low is not None and low >= high):
            raise serializers.ValidationError(
                {"low": "Give low and high, low below high."}
            )
        return given


class UploadCheck(UploadView):
    @extend_schema(
        operation_id="check_upload",
        tags=["uploads"],
        request=ChoicesBody,
        responses={202: UploadSerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Check the files again, read in another way, for another preview."""
        upload, given = self.upload(pk), read(ChoicesBody, request)
        if "benchmark" in given:
            self.owned(given["benchmark"])
        if not queue.change(upload, given):
            raise Conflict("This upload is not received, in work, or imported already.")
        ring(wake_uploads)
        return _accepted(self.upload(pk))


def _accepted(upload: Upload) -> Response:
    return created(UploadSerializer(upload).data, "api-upload", upload.pk, status=202)


class UploadImport(UploadView):
    @extend_schema(
        operation_id="import_upload",
        tags=["uploads"],
        request=None,
        responses={202: UploadSerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Import what the preview shows: everything, or nothing."""
        if not queue.accept(self.upload(pk), {}):
            raise Conflict("This upload has no preview yet, or is imported already.")
        ring(wake_uploads)
        return _accepted(self.upload(pk))


class ContinueBody(Body):
    part = serializers.IntegerField(
        min_value=0, max_value=100_000, help_text="place in `found.parts`"
    )


class UploadContinue(UploadView):
    @extend_schema(
        operation_id="continue_upload",
        tags=["uploads"],
        request=ContinueBody,
        responses={202: UploadSerializer},
    )
    def post(self, request: Request, pk: int) -> Response:
        """Check a further part of imported files, as an upload of its own."""
        upload, given = self.upload(pk), read(ContinueBody, request)
        following = queue.go_on(upload, given["part"])
        if following is None:
            raise Conflict("There is no such part, or it is imported already.")
        ring(wake_uploads)
        return _accepted(following)
