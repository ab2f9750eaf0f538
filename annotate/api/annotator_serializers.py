"""Serializers of what annotators read and send."""

import re
from typing import Any

from rest_framework import serializers

from annotate.kinds.registry import KINDS

WANTED = [kind.wanted for kind in KINDS.values()]


class ShownQuestionSerializer(serializers.Serializer):
    key = serializers.CharField()
    title = serializers.CharField()
    text = serializers.CharField()
    options = serializers.ListField(child=serializers.CharField())
    answer = serializers.CharField(allow_blank=True)


class ShownShotSerializer(serializers.Serializer):
    number = serializers.IntegerField()
    texts = serializers.DictField(child=serializers.CharField())
    pictures = serializers.DictField(child=serializers.CharField())


class SlotSerializer(serializers.Serializer):
    code = serializers.CharField()
    session = serializers.IntegerField()
    lease_until = serializers.DateTimeField()
    questions = ShownQuestionSerializer(
        many=True,
        help_text="questions of the slot. Boxes of a checklist (label|text and "
        "label|video) are included; they apply to every shot, and their answers are in "
        "`ticked`",
    )
    videos = serializers.DictField(
        child=serializers.CharField(), help_text="address of the video, by side"
    )
    ticked = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="for checklists: the boxes ticked so far, by shot number",
    )
    shots = ShownShotSerializer(many=True)


class AnswersSerializer(serializers.Serializer):
    answers = serializers.DictField(
        child=serializers.CharField(),
        default=dict,
        help_text=f"answer by question key: {'; '.join(filter(None, WANTED))}",
    )
    ticked = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(max_length=80)),
        default=dict,
        help_text="for checklists: the ticked boxes of every shot, by shot number. "
        "Naming a shot confirms that the annotator looked at it and that unticked "
        "boxes do not apply. Send an empty list for a shot without ticks",
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if not self.initial_data.keys() & {"answers", "ticked"}:
            raise serializers.ValidationError({"answers": "This field is required."})
        return given

    def validate_ticked(self, ticked: dict[str, list[str]]) -> dict[int, list[str]]:
        if not all(re.fullmatch("[0-9]{1,6}", number) for number in ticked):
            raise serializers.ValidationError("Use shot numbers as keys.")
        return {int(number): boxes for number, boxes in ticked.items()}

    seconds = serializers.FloatField(
        required=False,
        min_value=0,
        help_text="time spent on the slot, in seconds; limited to the time since the "
        "annotator took it",
    )


class SubmittedSerializer(serializers.Serializer):
    code = serializers.CharField()
    state = serializers.CharField()
