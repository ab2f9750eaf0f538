"""Preview of a study, and replacement of wrong pictures."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db.models import QuerySet
from django.http import Http404
from drf_spectacular.types import OpenApiTypes
from rest_framework import serializers

from annotate.api import fields
from annotate.api.annotator_serializers import TakenStorySerializer
from annotate.api.annotator_standing import story
from annotate.api.base import StudyView
from annotate.api.operations import operation
from annotate.api.refusals import Refused
from annotate.api.uploads import BytesParser
from annotate.middleware import LARGEST_BODY
from annotate.presentation.same_size import outputs_of
from annotate.quality import replacing
from annotate.quality.replacing import VIDEO
from annotate.studies import drafting
from annotate.studies.units import PlanningError
from evalcore.models import Output


class Preview(StudyView):
    tag = "studies"
    readers = "manager"

    @operation("preview_study", TakenStorySerializer)
    def get(self) -> dict[str, Any]:
        """Return the first story as annotators will see it; nothing is stored.

        The addresses of pictures open in a browser that is logged in.
        """
        try:
            setup = drafting.as_judged(self.study, drafting.setup_of(self.study))
            with drafting.first_slot(setup, outputs_of(self.study)) as slot:
                person = slot.annotator
                if person is None:
                    raise Http404
                shown = story(person, slot, preview_of=setup.benchmark.slug)
                return {**shown, "session": 1}
        except PlanningError as error:
            raise Http404(str(error)) from error


class PictureParser(BytesParser):
    most = LARGEST_BODY


class PictureQuery(fields.Query):
    shot = fields.IntegerField(
        required=False,
        min_value=1,
        max_value=9999,
        help_text="number of the shot; leave it out for a video",
    )
    dry_run = fields.BooleanField(
        default=False, help_text="say what would change, and change nothing"
    )


class EffectSerializer(serializers.Serializer):
    study = fields.CharField(source="study.slug")
    set_aside = fields.IntegerField(
        source="seen", help_text="ratings that are asked again"
    )
    restarted = fields.IntegerField(
        source="begun", help_text="ratings that begin again"
    )


class ReplacedSerializer(serializers.Serializer):
    studies = EffectSerializer(many=True, help_text="all that show the picture")
    differences = fields.texts(help_text="in size, shape and length")


class OutputPicture(StudyView):
    tag = "ratings"
    parser_classes = (PictureParser,)

    def rows(self) -> QuerySet[Output]:
        return replacing.replaceable_outputs(self.study, self.user)

    @operation(
        "replace_picture",
        ReplacedSerializer,
        query=PictureQuery,
        takes={"application/octet-stream": OpenApiTypes.BINARY},
    )
    def put(self, given: dict[str, Any]) -> dict[str, Any]:
        """Replace a wrong picture or video of an output in every study that shows it.

        Its ratings are set aside and asked again; its scores are forgotten.
        """
        output, sent = self.row(), self.request.data
        shot = given.get("shot", VIDEO)
        if (shot == VIDEO) != bool(output.video_id):
            text = "Name the shot of a picture, and none of a video."
            raise Refused({"shot": text})
        if not isinstance(sent, bytes) or not sent:
            raise Refused({"body": "Send the file of the picture or video."})
        with TemporaryDirectory() as folder:
            path = Path(folder) / "sent"
            path.write_bytes(sent)
            now, new = replacing.offer(output, shot, path, self.user)
        if given["dry_run"]:
            done = replacing.effects(output)
        else:
            old = now.pk if now else ""
            done = replacing.replace(output, shot, now=old, new=new.pk, user=self.user)
        return {"studies": done, "differences": replacing.differences(now, new)}
