"""Serializers of what annotators read and send."""

import re
from typing import Any

from rest_framework import serializers

from annotate.api.base import Body
from annotate.kinds.registry import KINDS
from annotate.models import Skip
from annotate.people.outcomes import Outcome
from annotate.responses.writing import LONGEST_COMMENT

WANTED = [kind.wanted for kind in KINDS.values()]
LONGEST_REASON = Skip._meta.get_field("comment").max_length
SIDES = "`only`; `left`, `right`; or `1` to `5`"

# What somebody does next.
NEXT = (
    "consent",
    "instructions",
    "training",
    "story",
    "break",
    "warning",
    "wait",
    "done",
    "stopped",
)


def _texts(**about: Any) -> serializers.DictField:
    return serializers.DictField(child=serializers.CharField(), **about)


class OptionSerializer(serializers.Serializer):
    value = serializers.CharField()
    label = serializers.CharField()


class ExampleSerializer(serializers.Serializer):
    fault = serializers.CharField(help_text="what is wrong in `bad`")
    good = serializers.ListField(child=serializers.CharField())
    bad = serializers.ListField(child=serializers.CharField())


class QuestionSerializer(serializers.Serializer):
    key = serializers.CharField()
    kind = serializers.ChoiceField([*KINDS])
    title = serializers.CharField()
    text = serializers.CharField()
    options = OptionSerializer(many=True, help_text="none for free texts")
    is_required = serializers.BooleanField()
    of_shots = serializers.BooleanField(
        help_text="a box of a checklist, which applies to every shot; its answers are "
        "in `ticked`"
    )


class ExplainedQuestionSerializer(QuestionSerializer):
    example = ExampleSerializer(
        allow_null=True, help_text="addresses of pictures, and of a worse copy"
    )


class InstructionsSerializer(serializers.Serializer):
    text = serializers.CharField()
    questions = ExplainedQuestionSerializer(many=True)


class AskedSerializer(QuestionSerializer):
    answer = serializers.CharField(allow_blank=True)


class CharacterSerializer(serializers.Serializer):
    name = serializers.CharField()
    description = serializers.CharField(allow_blank=True)
    pictures = serializers.ListField(child=serializers.CharField())


class TakenShotSerializer(serializers.Serializer):
    number = serializers.IntegerField()
    texts = _texts()
    pictures = _texts(help_text=f"address of each picture, by side ({SIDES})")
    characters = serializers.ListField(
        child=serializers.IntegerField(),
        help_text="places of those on stage in the story's `characters`, from 0",
    )
    comments = _texts(
        required=False, help_text="by side, in studies that take comments on shots"
    )


class VideoSerializer(serializers.Serializer):
    address = serializers.CharField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    frame_rate = serializers.FloatField()
    duration = serializers.FloatField(help_text="seconds")


class CaptionSerializer(serializers.Serializer):
    number = serializers.IntegerField()
    start = serializers.FloatField(help_text="seconds")
    end = serializers.FloatField()
    texts = _texts()
    is_estimated = serializers.BooleanField()


class TakenStorySerializer(serializers.Serializer):
    code = serializers.CharField()
    session = serializers.IntegerField()
    lease_until = serializers.DateTimeField(allow_null=True)
    is_submitted = serializers.BooleanField()
    questions = AskedSerializer(many=True)
    shots = TakenShotSerializer(many=True)
    characters = CharacterSerializer(many=True)
    videos = serializers.DictField(child=VideoSerializer(), help_text="by side")
    captions = CaptionSerializer(many=True, help_text="of videos")
    conditioning = serializers.FloatField(
        allow_null=True, help_text="seconds of the video that were given"
    )
    ticked = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField()),
        required=False,
        help_text="for checklists: the boxes ticked so far, by shot number",
    )
    comment = serializers.CharField(
        required=False, allow_blank=True, help_text="in studies that take comments"
    )
    can_skip = serializers.BooleanField()
    skip_needs_comment = serializers.BooleanField()


class PaceSerializer(serializers.Serializer):
    session = serializers.IntegerField(help_text="the sitting")
    sessions = serializers.IntegerField(help_text="0 if not known")
    number = serializers.IntegerField(help_text="of the next story in the sitting")
    size = serializers.IntegerField(help_text="stories of the sitting")
    submitted = serializers.IntegerField()
    left = serializers.IntegerField()
    minutes = serializers.IntegerField(allow_null=True, help_text="for what is left")


class CompletionSerializer(serializers.Serializer):
    outcome = serializers.ChoiceField([one.value for one in Outcome])
    judged = serializers.IntegerField(help_text="submitted stories")
    code = serializers.CharField(allow_blank=True)
    address = serializers.CharField(
        allow_blank=True, help_text="hands the code in on the platform"
    )
    platform = serializers.CharField(allow_blank=True)
    assignment = serializers.CharField(
        allow_blank=True, help_text="if given, post it to `address` with the code"
    )


class MarkSerializer(serializers.Serializer):
    question = serializers.CharField(source="question.key")
    given = serializers.CharField(source="given_words")
    expected = serializers.CharField(source="expected_words")
    is_right = serializers.BooleanField(source="right")


class FeedbackSerializer(serializers.Serializer):
    marks = MarkSerializer(many=True)
    not_marked = serializers.ListField(child=serializers.CharField())
    explanation = serializers.CharField(allow_blank=True)
    right = serializers.IntegerField(help_text="of this round")
    needed = serializers.IntegerField()
    is_over = serializers.BooleanField()
    passed = serializers.BooleanField()


class StandingSerializer(serializers.Serializer):
    """The next step of an annotator, and what belongs to it."""

    next = serializers.ChoiceField(
        NEXT,
        help_text="`consent`, `instructions`, `warning`: show `text` and confirm. "
        "`training`, `story`: take the story. `break`: the sitting is over; taking a "
        "story starts the next one. `wait`: nothing is free for `minutes`. `done`: "
        "show `completion`. `stopped`: `reason` and `text` say why",
    )
    annotator = serializers.CharField(help_text="the pseudonym")
    study = serializers.CharField(help_text="its title")
    text = serializers.CharField(allow_blank=True)
    consent_version = serializers.CharField(allow_blank=True)
    reason = serializers.CharField(allow_blank=True)
    may_return = serializers.BooleanField()
    minutes = serializers.IntegerField(
        allow_null=True, help_text="null if nothing may become free"
    )
    may_finish = serializers.BooleanField()
    may_continue = serializers.BooleanField(
        help_text="done, but there are further stories for those who like"
    )
    progress = PaceSerializer(allow_null=True)
    needs_rest = serializers.BooleanField()
    completion = CompletionSerializer(allow_null=True)


class TakenSerializer(StandingSerializer):
    story = TakenStorySerializer(allow_null=True)


class SubmittedSerializer(StandingSerializer):
    code = serializers.CharField()
    state = serializers.CharField()
    feedback = FeedbackSerializer(
        allow_null=True, help_text="the expected answers after a training story"
    )


class JoinedSerializer(StandingSerializer):
    token = serializers.CharField(help_text="the secret of the personal link")


class SavedSerializer(serializers.Serializer):
    code = serializers.CharField()
    state = serializers.CharField()
    lease_until = serializers.DateTimeField(allow_null=True)


class JoinSerializer(Body):
    link = serializers.CharField(
        max_length=100, help_text="the last part of the public link"
    )
    language = serializers.CharField(max_length=10, allow_blank=True, default="")
    parameters = serializers.DictField(
        child=serializers.CharField(max_length=500, allow_blank=True),
        default=dict,
        help_text="what a platform appends to the link, such as PROLIFIC_PID",
    )
    device = serializers.CharField(
        min_length=16,
        max_length=100,
        allow_blank=True,
        default="",
        help_text="a secret of the front end; with it a person of a platform can join "
        "again",
    )


class ConsentSerializer(Body):
    agree = serializers.BooleanField()
    version = serializers.CharField(
        allow_blank=True, help_text="the `consent_version` of the text that was shown"
    )


class SkipSerializer(Body):
    reason = serializers.ChoiceField(Skip.Reason.choices)
    comment = serializers.CharField(
        max_length=LONGEST_REASON, allow_blank=True, default=""
    )


class WithdrawSerializer(Body):
    answers = serializers.ChoiceField(
        ["keep", "leave_out"], help_text="what happens to submitted answers"
    )


class ShotPlaceSerializer(Body):
    side = serializers.CharField(max_length=10, allow_blank=True, help_text=SIDES)
    shot = serializers.IntegerField(min_value=0, max_value=999_999)


class ShotCommentSerializer(ShotPlaceSerializer):
    text = serializers.CharField(max_length=LONGEST_COMMENT, allow_blank=True)


class DraftSerializer(Body):
    answers = serializers.DictField(
        child=serializers.CharField(allow_null=True),
        default=dict,
        help_text="answer by question key, null to take it back: "
        f"{'; '.join(filter(None, WANTED))}",
    )
    ticked = serializers.DictField(
        child=serializers.ListField(child=serializers.CharField(max_length=80)),
        default=dict,
        help_text="for checklists: the ticked boxes of every shot, by shot number. "
        "Naming a shot confirms that the annotator looked at it and that unticked "
        "boxes do not apply. Send an empty list for a shot without ticks",
    )
    comment = serializers.CharField(
        required=False, allow_blank=True, max_length=LONGEST_COMMENT
    )
    shot_comments = ShotCommentSerializer(many=True, default=list)
    faults = ShotPlaceSerializer(
        many=True,
        default=list,
        help_text="pictures or videos that do not show: a shot of a side, shot 0 for "
        "its video, or an empty side for a character's picture",
    )

    def validate_ticked(self, ticked: dict[str, list[str]]) -> dict[int, list[str]]:
        if not all(re.fullmatch("[0-9]{1,6}", number) for number in ticked):
            raise serializers.ValidationError("Use shot numbers as keys.")
        return {int(number): boxes for number, boxes in ticked.items()}


class AnswersSerializer(DraftSerializer):
    seconds = serializers.FloatField(
        required=False,
        min_value=0,
        help_text="time spent on the story, in seconds; limited to the time since the "
        "annotator took it",
    )
    in_sight = serializers.DictField(
        child=serializers.FloatField(min_value=0),
        required=False,
        help_text="seconds that each shot was in sight, by shot number",
    )

    def validate_in_sight(self, times: dict[str, float]) -> dict[int, float]:
        if not all(re.fullmatch("[0-9]{1,6}", number) for number in times):
            raise serializers.ValidationError("Use shot numbers as keys.")
        return {int(number): seconds for number, seconds in times.items()}
