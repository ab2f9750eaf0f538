"""Uploads of stories, outputs, scores and judgements: received, checked, imported."""

import logging
from typing import Any, ClassVar

from django.core.exceptions import PermissionDenied
from django.http import FileResponse, Http404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from annotate.access.permissions import can_create, owned_benchmarks
from annotate.api import fields
from annotate.api.base import AccountView
from annotate.api.operations import operation, show_operation
from annotate.api.refusals import Conflict, Gone, Refused, Unready
from annotate.models import Study, Upload
from annotate.tasks import ring, wake_uploads
from annotate.uploads import queue, receiving, storage
from annotate.uploads.receiving import DamagedPartError, OutOfPlaceError

logger = logging.getLogger(__name__)


class UploadSerializer(serializers.ModelSerializer):
    benchmark = fields.text_or_null("benchmark.slug")
    study = fields.text_or_null("study.slug")
    chosen = fields.DictField(help_text="how the files are read")
    found = fields.DictField(help_text="the preview: figures, rows, problems")
    Meta = fields.meta(
        Upload,
        "id name stage state step error total received created_at chosen found "
        "benchmark study",
    )


class UploadBody(fields.Body):
    name = fields.CharField(
        required=False, max_length=200, help_text="of the folder or file"
    )
    files = fields.ListField(
        required=False,
        child=fields.ListField(min_length=3, max_length=3),
        help_text="of each file path, bytes, and time of change (any number)",
    )
    entry = fields.CharField(
        required=False,
        max_length=255,
        help_text="instead of files: a name in the server's folder",
    )
    benchmark = fields.SlugField(required=False, max_length=80)

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
        if "pk" in self.kwargs:
            self.row()  # what is not there is said before what is wrong with the body

    def check_token(self, request: Request, study: Study | None = None) -> None:
        """Accept a token of one study for a method that joins it."""
        only = getattr(request.auth, "study", None)
        own = Upload.objects.filter(pk=self.kwargs.get("pk"))
        if only is not None and own.filter(chosen__joins=only.slug).exists():
            study = only
        super().check_token(request, study)

    def rows(self) -> Any:
        own = Upload.objects.filter(created_by=self.user)
        return own.select_related("benchmark", "study")

    def owned(self, slug: str) -> str:
        """Return the slug of a benchmark if the user may add to it."""
        if not owned_benchmarks(self.user).filter(slug=slug).exists():
            raise Refused({"benchmark": f"You own no benchmark {slug}."})
        return slug

    def work_on(self, upload: Upload) -> Upload:
        """Wake a worker for an upload."""
        self.queue(wake_uploads, "upload", upload.pk)
        found: Upload = self.rows().get(pk=upload.pk)
        return found


EXAMPLE = {
    "name": "outputs",
    "files": [["UNO/01/1.png", 48213, 1764400000000]],
    "benchmark": "woods",
}


class UploadList(UploadView):
    @operation("list_uploads", UploadSerializer, many=True)
    def get(self) -> Any:
        """List your uploads that were not discarded."""
        return self.rows().exclude(state=Upload.State.CANCELLED)

    @operation(
        "begin_upload",
        UploadSerializer,
        takes=UploadBody,
        status=201,
        examples=[OpenApiExample("a folder of outputs", EXAMPLE, request_only=True)],
    )
    def post(self, given: dict[str, Any]) -> Upload:
        """Begin an upload, or continue the unfinished one of the same files."""
        benchmark = self.owned(given["benchmark"]) if "benchmark" in given else ""
        if "entry" in given:
            return self.work_on(queue.begin_entry(self.user, given["entry"]))
        name, files = given["name"], given["files"]
        upload = receiving.begin(self.user, name, files, benchmark)
        self.locate("upload", upload.pk)
        return upload


class OneUpload(UploadView):
    get = show_operation(
        "get_upload",
        UploadSerializer,
        "Return an upload with the bytes received, its preview, or its problems.",
    )

    @operation("discard_upload")
    def delete(self) -> None:
        """Remove the files of an upload that is not imported."""
        if not queue.discard(self.row()):
            raise Conflict("This upload is imported already.")


class UploadPicture(UploadView):
    @operation("download_upload_picture", "image/webp")
    def get(self) -> FileResponse:
        """Download a picture of the preview; `found` has how many there are."""
        path = storage.thumbs_folder(self.row()) / f"{self.kwargs['number']}.webp"
        if not path.is_file():
            raise Http404
        return FileResponse(path.open("rb"), content_type="image/webp")


class BytesParser(BaseParser):
    """Parser of bytes, which a view reads from the request itself."""

    media_type = "application/octet-stream"
    most: ClassVar[int] = receiving.LARGEST_PART

    def parse(self, stream: Any, *args: Any, **kwargs: Any) -> bytes:
        read: bytes = stream.read(self.most + 1)
        return read


class PartQuery(fields.Query):
    offset = fields.IntegerField(
        min_value=0, max_value=2**53, help_text="bytes before the part"
    )
    crc = fields.IntegerField(
        min_value=0, max_value=2**32 - 1, help_text="CRC-32 of the part"
    )


class ReceivedSerializer(serializers.Serializer):
    received = fields.IntegerField(help_text="bytes that are there")


class UploadPart(UploadView):
    parser_classes = (BytesParser,)

    @operation(
        "send_part",
        ReceivedSerializer,
        query=PartQuery,
        takes={"application/octet-stream": OpenApiTypes.BINARY},
        other={410: None, 507: None},
    )
    def put(self, given: dict[str, Any]) -> dict[str, int]:
        """Send the next bytes of all files, one after another, at most 8 MiB.

        Repeating a part is harmless. After an interruption continue from `received`.
        """
        upload, part = self.row(), self.request.data
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
        return {"received": received}


class ChoicesBody(fields.Body):
    kind = fields.ChoiceField(Upload.KINDS, required=False)
    benchmark = fields.SlugField(required=False, max_length=80)
    title = fields.CharField(required=False, max_length=80)
    method = fields.CharField(required=False, max_length=200)
    create = fields.BooleanField(required=False)
    skip = fields.BooleanField(required=False)
    replace = fields.BooleanField(required=False)
    low = fields.IntegerField(required=False, min_value=-1000, max_value=999)
    high = fields.IntegerField(required=False, min_value=-999, max_value=1000)

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        low, high = given.get("low"), given.get("high")
        if (low is None) != (high is None) or (low is not None and low >= high):
            raise serializers.ValidationError(
                {"low": "Give low and high, low below high."}
            )
        return given


class UploadCheck(UploadView):
    @operation("check_upload", UploadSerializer, takes=ChoicesBody, status=202)
    def post(self, given: dict[str, Any]) -> Upload:
        """Check the files again, read in another way, for another preview."""
        upload = self.row()
        if "benchmark" in given:
            self.owned(given["benchmark"])
        if not queue.change(upload, given):
            raise Conflict("This upload is not received, in work, or imported already.")
        return self.work_on(upload)


class UploadImport(UploadView):
    @operation("import_upload", UploadSerializer, status=202)
    def post(self) -> Upload:
        """Import what the preview shows: everything, or nothing."""
        upload = self.row()
        if not queue.accept(upload, {}):
            raise Conflict("This upload has no preview yet, or is imported already.")
        return self.work_on(upload)


class ContinueBody(fields.Body):
    part = fields.IntegerField(
        min_value=0, max_value=100_000, help_text="place in `found.parts`"
    )


class UploadContinue(UploadView):
    @operation("continue_upload", UploadSerializer, takes=ContinueBody, status=202)
    def post(self, given: dict[str, Any]) -> Upload:
        """Check a further part of imported files, as an upload of its own."""
        following = queue.go_on(self.row(), given["part"])
        if following is None:
            raise Conflict("There is no such part, or it is imported already.")
        return self.work_on(following)
