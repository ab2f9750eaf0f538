"""Ratings of a study: listed, shown with their answers, left out."""

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.base import Body, Listed, Query, StudyView, asked, read
from annotate.api.refusals import Refused
from annotate.coverage import slot_list
from annotate.kinds.registry import tables_of
from annotate.models import Exclusion, Purpose, Slot
from annotate.quality import exclusion, follow_up
from annotate.responses.analysis_views import named_views


class RatedSlotSerializer(serializers.ModelSerializer):
    story = serializers.CharField(source="unit.story.key")
    methods = serializers.ListField(
        child=serializers.CharField(), source="unit.methods"
    )
    item = serializers.IntegerField(source="unit_id")
    person = serializers.CharField(
        source="annotator.name", default=None, allow_null=True
    )

    class Meta:
        model = Slot
        fields: tuple[str, ...] = (
            "code",
            "item",
            "story",
            "methods",
            "person",
            "purpose",
            "state",
            "round",
            "session",
            "started_at",
            "submitted_at",
            "seconds",
        )


class AnswerSerializer(serializers.Serializer):
    question = serializers.CharField()
    person = serializers.CharField()
    value = serializers.SerializerMethodField()
    shot = serializers.IntegerField(allow_null=True)
    revision = serializers.IntegerField()
    is_current = serializers.BooleanField()
    created_at = serializers.DateTimeField()

    @extend_schema_field({"type": ["integer", "string"]})
    def get_value(self, row: dict[str, Any]) -> Any:
        return row["value"]


class ExclusionSerializer(serializers.ModelSerializer):
    slot = serializers.CharField(source="slot.code")
    author = serializers.CharField(
        source="author.username", default=None, allow_null=True
    )
    views = serializers.SlugRelatedField(
        slug_field="key", many=True, read_only=True, help_text="hidden from these"
    )

    class Meta:
        model = Exclusion
        fields = (
            "id",
            "slot",
            "rule",
            "reason",
            "author",
            "created_at",
            "undone_at",
            "views",
        )


class SlotDetailSerializer(RatedSlotSerializer):
    answers = serializers.SerializerMethodField()
    comments = serializers.SerializerMethodField()
    exclusions = ExclusionSerializer(many=True)

    class Meta(RatedSlotSerializer.Meta):
        fields: tuple[str, ...] = (
            *RatedSlotSerializer.Meta.fields,
            "answers",
            "comments",
            "exclusions",
        )

    @extend_schema_field(AnswerSerializer(many=True))
    def get_answers(self, slot: Slot) -> Any:
        found = []
        for model in tables_of(slot.study):
            rows = model.objects.filter(slot=slot).order_by("pk")
            for row in rows.select_related("question", "annotator"):
                found.append(
                    {
                        "question": row.question.key,
                        "person": row.annotator.name,
                        "value": row.value,
                        "shot": getattr(row, "shot", None) or None,
                        "revision": row.revision,
                        "is_current": row.is_current,
                        "created_at": row.created_at,
                    }
                )
        return AnswerSerializer(found, many=True).data

    def get_comments(self, slot: Slot) -> list[str]:
        return [one.text for one in slot.story_comments.all() if one.text]


class SlotQuery(Query):
    method = serializers.CharField(required=False, max_length=200)
    story = serializers.CharField(required=False, max_length=200)
    annotator = serializers.CharField(required=False, max_length=100)
    state = serializers.ChoiceField(Slot.State.values, required=False)
    session = serializers.IntegerField(required=False, min_value=1, max_value=99_999)
    part = serializers.ChoiceField([*slot_list.PARTS], required=False)
    disputed = serializers.CharField(
        required=False, max_length=100, help_text="items that a question divides most"
    )


class SlotList(Listed, StudyView):
    @extend_schema(
        operation_id="list_slots",
        tags=["ratings"],
        parameters=[SlotQuery],
        responses=RatedSlotSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the ratings (slots) of the study, planned and submitted ones."""
        key = asked(SlotQuery, request).get("disputed")
        if key and slot_list.disputed(self.study, key) is None:
            raise Refused({"disputed": f"The study has no question {key}."})
        rows = slot_list.filtered(self.study, request.query_params)
        return self.page(rows, RatedSlotSerializer)


class OfSlot(StudyView):
    def slot(self, code: str) -> Slot:
        slots = self.study.slots.select_related("study", "annotator", "unit__story")
        return get_object_or_404(slots, code=code)

    def shown(self, code: str) -> Response:
        return Response(SlotDetailSerializer(self.slot(code)).data)


class SlotDetail(OfSlot):
    @extend_schema(
        operation_id="get_slot", tags=["ratings"], responses=SlotDetailSerializer
    )
    def get(self, request: Request, slug: str, code: str) -> Response:
        """Return a rating with every revision of its answers."""
        return self.shown(code)


class ExcludeBody(Body):
    reason = serializers.CharField(max_length=exclusion.LONGEST_REASON)
    views = serializers.ListField(
        child=serializers.CharField(max_length=40),
        required=False,
        help_text="keys of filters beside main; all if not given",
    )


class SlotExclude(OfSlot):
    @extend_schema(
        operation_id="exclude_slot",
        tags=["ratings"],
        request=ExcludeBody,
        responses=SlotDetailSerializer,
    )
    def post(self, request: Request, slug: str, code: str) -> Response:
        """Leave a submitted rating out, with a reason."""
        slot, given = self.slot(code), read(ExcludeBody, request)
        views = None
        if "views" in given:
            views = list(named_views(self.study).filter(key__in=given["views"]))
            unknown = {*given["views"]} - {view.key for view in views}
            if unknown:
                raise Refused({"views": f"The study has no filter {min(unknown)}."})
        exclusion.exclude(
            slot, reason=given["reason"], author=request.user, views=views
        )
        return self.shown(code)


class SlotRestore(OfSlot):
    @extend_schema(
        operation_id="restore_slot",
        tags=["ratings"],
        request=None,
        responses=SlotDetailSerializer,
    )
    def post(self, request: Request, slug: str, code: str) -> Response:
        """Count a rating again that was left out."""
        in_force = Exclusion.objects.filter(
            slot__study=self.study, undone_at__isnull=True
        )
        row = get_object_or_404(in_force, slot__code=code)
        exclusion.undo(row, author=request.user)
        return self.shown(code)


class HandedOutSerializer(serializers.Serializer):
    changed = serializers.BooleanField()


class UnitHandOut(StudyView):
    @extend_schema(
        operation_id="offer_item_again",
        tags=["ratings"],
        request=None,
        responses=HandedOutSerializer,
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Offer an item to others again that several people skipped."""
        unit = get_object_or_404(self.study.units, pk=pk)
        if unit.purpose != Purpose.REAL:
            raise Http404
        changed = follow_up.hand_out_again(unit, user=request.user)
        return Response({"changed": bool(changed)})
