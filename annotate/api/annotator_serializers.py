"""Serializers of what annotators read and send."""

import re
from typing import Any

from rest_framework import serializers

from annotate.api import fields
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


def _texts(**about: Any) -> fields.DictField:
    return fields.DictField(child=fields.CharField(), **about)


class OptionSerializer(serializers.Serializer):
    value = fields.CharField()
    label = fields.CharField()


class ExampleSerializer(serializers.Serializer):
    fault = fields.CharField(help_text="what is wrong in `bad`")
    good = fields.ListField(child=fields.CharField())
    bad = fields.ListField(child=fields.CharField())


class QuestionSerializer(serializers.Serializer):
    key = fields.CharField()
    kind = fields.ChoiceField([*KINDS])
    title = fields.CharField()
    text = fields.CharField()
    options = OptionSerializer(many=True, help_text="none for free texts")
    is_required = fields.BooleanField()
    allow_tie = fields.BooleanField(
        help_text="outputs can be equally good; in rankings, as in `2=3>1`"
    )
    of_shots = fields.BooleanField(
        help_text="a box of a checklist, which applies to every shot; its answers are "
        "in `ticked`"
    )


class ExplainedQuestionSerializer(QuestionSerializer):
    example = ExampleSerializer(
        allow_null=True, help_text="addresses of pictures, and of a worse copy"
    )


class InstructionsSerializer(serializers.Serializer):
    text = fields.CharField()
    questions = ExplainedQuestionSerializer(many=True)


class AskedSerializer(QuestionSerializer):
    answer = fields.CharField(allow_blank=True)


class CharacterSerializer(serializers.Serializer):
    name = fields.CharField()
    description = fields.CharField(allow_blank=True)
    pictures = fields.ListField(child=fields.CharField())


class TakenShotSerializer(serializers.Serializer):
    number = fields.IntegerField()
    texts = _texts()
    pictures = _texts(help_text=f"address of each picture, by side ({SIDES})")
    characters = fields.ListField(
        child=fields.IntegerField(),
        help_text="places of those on stage in the story's `characters`, from 0",
    )
    comments = _texts(
        required=False, help_text="by side, in studies that take comments on shots"
    )


class VideoSerializer(serializers.Serializer):
    address = fields.CharField()
    width = fields.IntegerField()
    height = fields.IntegerField()
    frame_rate = fields.FloatField()
    duration = fields.FloatField(help_text="seconds")


class CaptionSerializer(serializers.Serializer):
    number = fields.IntegerField()
    start = fields.FloatField(help_text="seconds")
    end = fields.FloatField()
    texts = _texts()
    is_estimated = fields.BooleanField()


class TakenStorySerializer(serializers.Serializer):
    code = fields.CharField()
    session = fields.IntegerField()
    lease_until = fields.DateTimeField(allow_null=True)
    is_submitted = fields.BooleanField()
    questions = AskedSerializer(many=True)
    shots = TakenShotSerializer(many=True)
    characters = CharacterSerializer(many=True)
    videos = fields.DictField(child=VideoSerializer(), help_text="by side")
    captions = CaptionSerializer(many=True, help_text="of videos")
    conditioning = fields.FloatField(
        allow_null=True, help_text="seconds of the video that were given"
    )
    ticked = fields.DictField(
        child=fields.ListField(child=fields.CharField()),
        required=False,
        help_text="for checklists: the boxes ticked so far, by shot number",
    )
    comment = fields.CharField(
        required=False, allow_blank=True, help_text="in studies that take comments"
    )
    can_skip = fields.BooleanField()
    skip_needs_comment = fields.BooleanField()


class PaceSerializer(serializers.Serializer):
    session = fields.IntegerField(help_text="the sitting")
    sessions = fields.IntegerField(help_text="0 if not known")
    number = fields.IntegerField(help_text="of the next story in the sitting")
    size = fields.IntegerField(help_text="stories of the sitting")
    submitted = fields.IntegerField()
    left = fields.IntegerField()
    minutes = fields.IntegerField(allow_null=True, help_text="for what is left")


class CompletionSerializer(serializers.Serializer):
    outcome = fields.ChoiceField([one.value for one in Outcome])
    judged = fields.IntegerField(help_text="submitted stories")
    code = fields.CharField(allow_blank=True)
    address = fields.CharField(
        allow_blank=True, help_text="hands the code in on the platform"
    )
    platform = fields.CharField(allow_blank=True)
    assignment = fields.CharField(
        allow_blank=True, help_text="if given, post it to `address` with the code"
    )


class MarkSerializer(serializers.Serializer):
    question = fields.CharField(source="question.key")
    given = fields.CharField(source="given_words")
    expected = fields.CharField(source="expected_words")
    is_right = fields.BooleanField(source="right")


class FeedbackSerializer(serializers.Serializer):
    marks = MarkSerializer(many=True)
    not_marked = fields.ListField(child=fields.CharField())
    explanation = fields.CharField(allow_blank=True)
    right = fields.IntegerField(help_text="of this round")
    needed = fields.IntegerField()
    is_over = fields.BooleanField()
    passed = fields.BooleanField()


class StandingSerializer(serializers.Serializer):
    """The next step of an annotator, and what belongs to it."""

    next = fields.ChoiceField(
        NEXT,
        help_text="`consent`, `instructions`, `warning`: show `text` and confirm. "
        "`training`, `story`: take the story. `break`: the sitting is over; taking a "
        "story starts the next one. `wait`: nothing is free for `minutes`. `done`: "
        "show `completion`. `stopped`: `reason` and `text` say why",
    )
    annotator = fields.CharField(help_text="the pseudonym")
    study = fields.CharField(help_text="its title")
    text = fields.CharField(allow_blank=True)
    consent_version = fields.CharField(allow_blank=True)
    reason = fields.CharField(allow_blank=True)
    may_return = fields.BooleanField()
    minutes = fields.IntegerField(
        allow_null=True, help_text="null if nothing may become free"
    )
    may_finish = fields.BooleanField()
    may_continue = fields.BooleanField(
        help_text="done, but there are further stories for those who like"
    )
    progress = PaceSerializer(allow_null=True)
    needs_rest = fields.BooleanField()
    completion = CompletionSerializer(allow_null=True)


class TakenSerializer(StandingSerializer):
    story = TakenStorySerializer(allow_null=True)


class SubmittedSerializer(StandingSerializer):
    code = fields.CharField()
    state = fields.CharField()
    feedback = FeedbackSerializer(
        allow_null=True, help_text="the expected answers after a training story"
    )


class JoinedSerializer(StandingSerializer):
    token = fields.CharField(help_text="the secret of the personal link")


class SavedSerializer(serializers.Serializer):
    code = fields.CharField()
    state = fields.CharField()
    lease_until = fields.DateTimeField(allow_null=True)


class JoinSerializer(fields.Body):
    link = fields.CharField(
        max_length=100, help_text="the last part of the public link"
    )
    language = fields.CharField(max_length=10, allow_blank=True, default="")
    parameters = fields.DictField(
        child=fields.CharField(max_length=500, allow_blank=True),
        default=dict,
        help_text="what a platform appends to the link, such as PROLIFIC_PID",
    )
    device = fields.CharField(
        min_length=16,
        max_length=100,
        allow_blank=True,
        default="",
        help_text="a secret of the front end; with it a person of a platform can join "
        "again",
    )


class ConsentSerializer(fields.Body):
    agree = fields.BooleanField()
    version = fields.CharField(
        allow_blank=True, help_text="the `consent_version` of the text that was shown"
    )


class SkipSerializer(fields.Body):
    reason = fields.ChoiceField(Skip.Reason.choices)
    comment = fields.CharField(max_length=LONGEST_REASON, allow_blank=True, default="")


class WithdrawSerializer(fields.Body):
    answers = fields.ChoiceField(
        ["keep", "leave_out"], help_text="what happens to submitted answers"
    )


class ShotPlaceSerializer(fields.Body):
    side = fields.CharField(max_length=10, allow_blank=True, help_text=SIDES)
    shot = fields.IntegerField(min_value=0, max_value=999_999)


class ShotCommentSerializer(ShotPlaceSerializer):
    text = fields.CharField(max_length=LONGEST_COMMENT, allow_blank=True)


class DraftSerializer(fields.Body):
    answers = fields.DictField(
        child=fields.CharField(allow_null=True),
        default=dict,
        help_text="answer by question key, null to take it back: "
        f"{'; '.join(filter(None, WANTED))}",
    )
    ticked = fields.DictField(
        child=fields.ListField(child=fields.CharField(max_length=80)),
        default=dict,
        help_text="for checklists: the ticked boxes of every shot, by shot number. "
        "Naming a shot confirms that the annotator looked at it and that unticked "
        "boxes do not apply. Send an empty list for a shot without ticks",
    )
    comment = fields.CharField(
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
    seconds = fields.FloatField(
        required=False,
        min_value=0,
        help_text="time spent on the story, in seconds; limited to the time since the "
        "annotator took it",
    )
    in_sight = fields.DictField(
        child=fields.FloatField(min_value=0),
        required=False,
        help_text="seconds that each shot was in sight, by shot number",
    )

    def validate_in_sight(self, times: dict[str, float]) -> dict[int, float]:
        if not all(re.fullmatch("[0-9]{1,6}", number) for number in times):
            raise serializers.ValidationError("Use shot numbers as keys.")
        return {int(number): seconds for number, seconds in times.items()}
