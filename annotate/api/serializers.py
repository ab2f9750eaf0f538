"""Serializers of the API."""

from typing import Any

from rest_framework import serializers

from annotate.models import Study


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
