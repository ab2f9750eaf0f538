"""Pages that replace a wrong picture or video of an output."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.contrib import messages
from django.core import signing
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.cache import never_cache

from annotate.middleware import LARGEST_BODY
from annotate.models import Study
from annotate.pages.annotator.media_files import send_file, send_picture
from annotate.pages.study_views import (
    UserRequest,
    render_page,
    study_page,
    whole_number,
)
from annotate.quality import replacing
from annotate.quality.replacing import VIDEO, ReplacingError
from evalcore import media
from evalcore.models import MediaFile, Output
from evalcore.video.storing import video_rendition_path

SALT = "replacement"
# A form may carry some more than the file.
MOST_MB = LARGEST_BODY // 2**20 - 1
OFFER_SECONDS = 24 * 3600


@never_cache
@study_page("GET", "HEAD", "POST", role="manager")
def output_replace(request: UserRequest, study: Study, pk: int) -> HttpResponseBase:
    """Choose a file for a picture, compare it with the old one, and accept it."""
    output = _output(request, study, pk)
    if request.method != "POST":
        return _page(request, study, output)
    try:
        if "offer" in request.POST:
            return _accept(request, study, output)
        return _compare(request, study, output)
    except ReplacingError as error:
        return _page(request, study, output, 422, error=str(error))


def _output(request: UserRequest, study: Study, pk: int) -> Output:
    """Return an original output of the study whose pictures the user may change."""
    return get_object_or_404(replacing.replaceable_outputs(study, request.user), pk=pk)


def _page(
    request: UserRequest, study: Study, output: Output, status: int = 200, **more: Any
) -> HttpResponse:
    effects = replacing.effects(output)
    chosen = whole_number((request.POST or request.GET).get("shot", ""))
    return render_page(
        request,
        study,
        "manage/replace.html",
        status,
        output=output,
        frames=output.frames.select_related("media"),
        chosen=chosen,
        effects=effects,
        seen=any(effect.seen for effect in effects),
        refusal=replacing.refusal(request.user, effects),
        most_mb=MOST_MB,
        **more,
    )


def _shot(request: UserRequest, output: Output) -> int:
    if output.video_id:
        return VIDEO
    shot = whole_number(request.POST.get("shot", ""))
    if not shot:
        raise ReplacingError(_("Choose the picture that is wrong."))
    return shot


def _compare(request: UserRequest, study: Study, output: Output) -> HttpResponse:
    """Store the sent file, and show it beside the old one."""
    shot = _shot(request, output)
    sent = request.FILES.get("file")
    if not isinstance(sent, UploadedFile):
        raise ReplacingError(_("Choose a file."))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "sent"
        with path.open("wb") as stream:
            stream.writelines(sent.chunks())
        now, new = replacing.offer(output, shot, path, request.user)
    offer = signing.dumps([output.pk, shot, now.pk if now else "", new.pk], salt=SALT)
    return _page(
        request,
        study,
        output,
        now=now,
        new=new,
        offer=offer,
        shot=shot,
        frame=output.frames.filter(number=shot).first(),
        differences=replacing.differences(now, new),
    )


def _accept(request: UserRequest, study: Study, output: Output) -> HttpResponseBase:
    shot, now, new = _offered(output, request.POST["offer"])
    done = replacing.replace(output, shot, now=now, new=new, user=request.user)
    seen = sum(effect.seen for effect in done)
    text = ngettext(
        "Replaced. %(n)d rating of the old one is set aside and asked again.",
        "Replaced. %(n)d ratings of the old one are set aside and asked again.",
        seen,
    )
    messages.success(request, text % {"n": seen} if seen else _("Replaced."))
    query = urlencode({"story": output.story.key, "method": output.method.name})
    return redirect(f"{reverse('output-detail', args=[study.slug])}?{query}")


def _offered(output: Output, offer: str) -> tuple[int, str, str]:
    """Return the shot and the old and new files of a comparison that was shown."""
    try:
        key, shot, now, new = signing.loads(offer, salt=SALT, max_age=OFFER_SECONDS)
    except signing.BadSignature as error:
        raise ReplacingError(
            _("This page is too old. Choose the file again.")
        ) from error
    if key != output.pk:
        raise Http404
    return shot, now, new


@study_page(role="manager")
def output_offered(
    request: UserRequest, study: Study, pk: int, offer: str
) -> HttpResponseBase:
    """Send the file that was chosen but is not shown anywhere yet."""
    output = _output(request, study, pk)
    try:
        _shot, _now, new = _offered(output, offer)
    except ReplacingError as error:
        raise Http404 from error
    stored = get_object_or_404(MediaFile, pk=new)
    if stored.content_type.startswith("video/"):
        return send_file(request, video_rendition_path(stored), "video/mp4")
    return send_picture(request, media.rendition_path(stored, "display"))
