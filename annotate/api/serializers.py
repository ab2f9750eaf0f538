"""Serializers of the API."""

import re
from typing import Any

from rest_framework import serializers
from rest_framework.authtoken import serializers as authtoken

from annotate.kinds.registry import KINDS
from annotate.models import Study

WANTED = [kind.wanted for kind in KINDS.values()]


class AuthTokenSerializer(authtoken.AuthTokenSerializer):
    def __repr__(self) -> str:
        """Return no password: reports of errors show local variables."""
        return f"<{type(self).__name__}>"


class StudySerializer(serializers.ModelSerializer):
    benchmark = serializers.SlugRelatedField(slug_field="slug", read_only=True)

    class Meta:
        model = Study
        fields = (
            "slug",
            "title",
            "benchmark",
            "outputs_at_once",
            "template",
            "state",
            "redundancy",
            "rounds",
            "session_size",
            "seed",
            "created_at",
        )


class CellSerializer(serializers.Serializer):
    methods = serializers.ListField(child=serializers.CharField())
    story = serializers.CharField()
    submitted = serializers.IntegerField(source="done")
    leased = serializers.IntegerField()
    wanted = serializers.IntegerField()


def _date(source: str) -> serializers.DateTimeField:
    return serializers.DateTimeField(
        source=f"outlook.forecast.{source}", allow_null=True
    )


class CoverageSerializer(serializers.Serializer):
    submitted = serializers.IntegerField(source="totals.submitted")
    wanted = serializers.IntegerField(source="totals.wanted")
    leased = serializers.IntegerField(source="totals.leased")
    open = serializers.IntegerField(source="totals.open")
    excluded = serializers.IntegerField(source="totals.excluded")
    surplus = serializers.IntegerField(source="totals.surplus")
    expected_end = _date("median")
    earliest_end = _date("early")
    latest_end = _date("late")
    waiting = serializers.IntegerField(
        source="outlook.waiting.slots",
        help_text="slots that the expected dates do not include",
    )
    outlook = serializers.CharField(
        source="outlook.text", help_text="the current pace, or why there is no date yet"
    )
    cells = CellSerializer(many=True)


class AsGiven(serializers.Field):
    """A cell as sent, checked later by the reader of files."""

    def to_internal_value(self, data: Any) -> Any:
        return data


class ScoreField(AsGiven, serializers.FloatField):
    """A score, as a cell of a file has it."""


class ShotField(AsGiven, serializers.IntegerField):
    """The number of a shot, as a cell of a file has it."""


class DirectionField(AsGiven, serializers.BooleanField):
    """Direction of a metric, as a cell of a file has it."""


class ScoreRowSerializer(serializers.Serializer):
    story = serializers.CharField(allow_blank=True, default="")
    method = serializers.CharField()
    metric = serializers.CharField()
    score = ScoreField(allow_null=True)
    shot = ShotField(required=False, allow_null=True)
    higher_is_better = DirectionField(required=False, allow_null=True)
    metric_version = serializers.CharField(allow_blank=True, default="")
    profile = serializers.CharField(allow_blank=True, default="")
    backend = serializers.CharField(allow_blank=True, default="")
    weights = serializers.RegexField("^[0-9a-f]{8}$", allow_blank=True, default="")
    precision = serializers.CharField(allow_blank=True, default="")
    judge = serializers.CharField(allow_blank=True, default="")
    judge_version = serializers.CharField(allow_blank=True, default="")
    settings = serializers.CharField(allow_blank=True, default="")
    identity = serializers.CharField(
        allow_blank=True,
        default="",
        help_text="hash over the columns before it; checked if given",
    )
    computed_at = serializers.CharField(
        allow_blank=True, default="", help_text="ISO 8601; without a zone UTC"
    )


class ScoresSerializer(serializers.Serializer):
    scores = ScoreRowSerializer(many=True, allow_empty=False)
    replace = serializers.BooleanField(default=False)


class SummarySerializer(serializers.Serializer):
    rows = serializers.IntegerField()
    created = serializers.IntegerField()
    replaced = serializers.IntegerField()
    guessed = serializers.ListField(
        child=serializers.CharField(),
        help_text="metrics assumed to be higher-is-better, as the request does not say",
    )
    turned = serializers.ListField(
        child=serializers.CharField(),
        help_text="metrics assumed to be lower-is-better because of their names",
    )


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
