"""Pages that bring stories, outputs, scores and judgements in."""

import json
import logging
from collections.abc import Callable
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import (
    FileResponse,
    Http404,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
)
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from annotate.access.permissions import owned_benchmarks
from annotate.middleware import LARGEST_BODY
from annotate.models import Upload
from annotate.pages.manage.setup import for_creators
from annotate.pages.manage.upload_words import figures_of, kind_labels, table_of
from annotate.pages.study_views import UserRequest, whole_number
from annotate.tasks import ring, wake_uploads
from annotate.uploads import queue, receiving, storage
from annotate.uploads.names import RefusedUploadError
from annotate.uploads.receiving import DamagedPartError, OutOfPlaceError
from evalcore.models import Output, Worker
from evalcore.serving import workers

logger = logging.getLogger(__name__)

LONGEST_METHOD, LONGEST_TITLE = 200, 80
LOWEST, HIGHEST = -1000, 1000
View = Callable[..., HttpResponseBase]


def of_own_upload(view: View) -> View:
    """Pass the view the user's own upload with the address's `pk`."""

    @never_cache
    @login_required
    @wraps(view)
    def wrapped(request: UserRequest, pk: int, **kwargs: Any) -> HttpResponseBase:
        upload = Upload.objects.filter(pk=pk, created_by=request.user).first()
        if upload is None:
            raise Http404
        return view(request, upload, **kwargs)

    return wrapped


@never_cache
@require_safe
@for_creators
def upload_start(request: UserRequest) -> HttpResponse:
    """Show the choice of files, and the user's unfinished uploads."""
    own = Upload.objects.filter(created_by=request.user)
    own = own.exclude(state=Upload.State.CANCELLED)
    context = {
        "benchmark": _owned(request, request.GET.get("benchmark", "")),
        "unfinished": [upload for upload in own if not upload.is_imported],
        "entries": queue.entries(),
        "addresses": settings.UPLOAD_ADDRESSES,
        "most_mb": settings.UPLOAD_MAX_MB,
        "most_files": settings.UPLOAD_MAX_FILES,
        "mb_text": f"{settings.UPLOAD_MAX_MB:,}",
        "files_text": f"{settings.UPLOAD_MAX_FILES:,}",
        "largest_part": receiving.LARGEST_PART,
    }
    return render(request, "manage/upload_start.html", context)


@require_POST
@for_creators
def upload_begin(request: UserRequest) -> HttpResponse:
    """Take the list of files, and say where their bytes go."""
    try:
        given = json.loads(request.read(LARGEST_BODY))
        name, files = str(given["name"]), list(given["files"])
        benchmark = _owned(request, str(given.get("benchmark", "")))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return _refusal(_("The list of files cannot be read."))
    try:
        upload = receiving.begin(request.user, name, files, benchmark)
    except RefusedUploadError as error:
        return _refusal(str(error))
    return JsonResponse(
        {
            "part": reverse("upload-part", args=[upload.pk]),
            "page": reverse("upload-detail", args=[upload.pk]),
            "received": upload.received,
        }
    )


def _owned(request: UserRequest, slug: str) -> str:
    """Return the name of a benchmark if the user may add to it, else nothing."""
    owned = owned_benchmarks(request.user)
    return slug if owned.filter(slug=slug).exists() else ""


def _refusal(error: str, status: int = 400, **values: object) -> JsonResponse:
    return JsonResponse({"error": error, **values}, status=status)


@require_POST
@of_own_upload
def upload_part(request: UserRequest, upload: Upload) -> HttpResponse:
    """Take the next bytes; the reply says how many are there."""
    numbers = [request.GET.get(name, "") for name in ("offset", "crc")]
    if not all(text.isascii() and text.isdecimal() for text in numbers):
        return _refusal(_("The part lacks its place or its checksum."))
    try:
        part = request.read(receiving.LARGEST_PART + 1)
    except OSError:  # the browser is gone
        part = b""
    if not 0 < len(part) <= receiving.LARGEST_PART:
        return _refusal(_("The part is too large or empty."))
    if upload.state == Upload.State.CANCELLED:
        return _refusal(_("This upload was discarded."), 410)
    offset, checksum = map(int, numbers)
    try:
        received = receiving.receive(upload, offset, checksum, part)
    except OutOfPlaceError:
        text = _("The part does not continue the file received so far.")
        return _refusal(text, 409, received=upload.received)
    except DamagedPartError:
        return _refusal(_("The part was damaged on its way, or is of another file."))
    except OSError as error:
        logger.warning("upload %s: %s", upload.pk, error)
        return _refusal(_("The server could not write the file."), 507)
    if upload.is_waiting:
        ring(wake_uploads)
    return JsonResponse({"received": received})


@require_POST
@for_creators
def upload_entry(request: UserRequest) -> HttpResponse:
    """Inspect a folder or file that lies on the server."""
    try:
        upload = queue.begin_entry(request.user, request.POST.get("entry", ""))
    except RefusedUploadError as error:
        messages.error(request, str(error))
        return redirect("upload-start")
    ring(wake_uploads)
    return redirect("upload-detail", upload.pk)


@require_safe
@of_own_upload
def upload_detail(request: UserRequest, upload: Upload) -> HttpResponse:
    """Show what is done with an upload, its preview, or what follows; htmx polls."""
    if upload.state == Upload.State.CANCELLED:
        return redirect("upload-start")
    owned = owned_benchmarks(request.user).order_by("title")
    slug = upload.chosen.get("benchmark")
    waits = [row for row in workers.of_every_kind() if row.kind == Worker.Kind.JUDGE]
    context = {
        "upload": upload,
        "figures": figures_of(upload),
        **table_of(upload),
        "has_outputs": Output.objects.filter(
            story__benchmark=upload.benchmark_id
        ).exists(),
        "kinds": kind_labels(),
        "kind": kind_labels().get(upload.chosen.get("kind", ""), ""),
        "benchmarks": owned.values_list("slug", "title"),
        "into": next((row.title for row in owned if row.slug == slug), ""),
        "no_worker": any(workers.is_late(row, timezone.now()) for row in waits),
        "parts": [
            (at, kind_labels()[part["kind"]], part["path"])
            for at, part in enumerate(upload.found.get("parts", []))
        ],
    }
    template = "_upload" if request.htmx else "upload"
    return render(request, f"manage/{template}.html", context)


@require_POST
@of_own_upload
def upload_change(request: UserRequest, upload: Upload) -> HttpResponse:
    """Check the files again with other choices."""
    if not queue.change(upload, _choices(request, upload)):
        messages.error(request, _("This upload is in work or imported already."))
    ring(wake_uploads)
    return redirect("upload-detail", upload.pk)


@require_POST
@of_own_upload
def upload_import(request: UserRequest, upload: Upload) -> HttpResponse:
    """Import what the preview shows; other choices are checked first."""
    chosen = _choices(request, upload)
    title = {"title": chosen.pop("title", upload.chosen.get("title"))}
    if upload.is_previewed and upload.chosen | chosen != upload.chosen:
        queue.change(upload, chosen | title)
        messages.info(
            request,
            _("You changed how to read the files, so they are checked again first."),
        )
    elif not queue.accept(upload, title):
        messages.error(request, _("This upload is in work or imported already."))
    ring(wake_uploads)
    return redirect("upload-detail", upload.pk)


def _choices(request: UserRequest, upload: Upload) -> dict[str, object]:
    """Return the choices in the form; what is wrong stays as it was."""
    given = request.POST
    chosen: dict[str, object] = {}
    kind = given.get("kind", "")
    if kind in Upload.KINDS:
        chosen["kind"] = kind
    slug = given.get("benchmark", "")
    if not slug or _owned(request, slug):
        chosen["benchmark"] = slug
    title = given.get("title", "").strip()
    if title:
        chosen["title"] = title[:LONGEST_TITLE]
    chosen["method"] = given.get("method", "").strip()[:LONGEST_METHOD]
    for name in ("create", "skip", "replace"):
        chosen[name] = name in given
    low, high = (_number(given.get(name, "")) for name in ("low", "high"))
    if low is not None and high is not None and LOWEST <= low < high <= HIGHEST:
        chosen |= {"low": low, "high": high}
    return chosen


def _number(text: str) -> int | None:
    sign, digits = (-1, text[1:]) if text.startswith("-") else (1, text)
    number = whole_number(digits)
    return None if number in (None, -1) else sign * (number or 0)


@require_POST
@of_own_upload
def upload_discard(request: UserRequest, upload: Upload) -> HttpResponse:
    """Remove the files of an upload that is not imported."""
    if queue.discard(upload):
        messages.success(request, _("The upload was discarded. Nothing was imported."))
    else:
        messages.error(request, _("This upload is imported already."))
    return redirect("upload-start")


@require_POST
@of_own_upload
def upload_continue(request: UserRequest, upload: Upload) -> HttpResponse:
    """Check a further part of the same files."""
    following = queue.go_on(upload, whole_number(request.POST.get("at", "")) or 0)
    if following is None:
        messages.error(request, _("This part is in work or imported already."))
        return redirect("upload-detail", upload.pk)
    ring(wake_uploads)
    return redirect("upload-detail", following.pk)


@require_safe
@of_own_upload
def upload_picture(
    request: UserRequest, upload: Upload, number: int
) -> HttpResponseBase:
    """Send a picture of the preview, drawn by the server."""
    path = storage.thumbs_folder(upload) / f"{number}.webp"
    if not path.is_file():
        raise Http404
    return FileResponse(path.open("rb"), content_type="image/webp")
