"""Ratings of a study: listed, shown with their answers, left out, filtered."""

from typing import Any

from django.db.models import QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from annotate.api import fields
from annotate.api.base import StudyView, refuse_unknown
from annotate.api.operations import list_operation, operation, show_operation
from annotate.api.refusals import Refused
from annotate.coverage import slot_list
from annotate.kinds.registry import tables_of
from annotate.models import Exclusion, Purpose, Slot
from annotate.quality import exclusion, follow_up
from annotate.responses import analysis_views

NO_FILTER = "The study has no filter {}."


class RatedSlotSerializer(serializers.ModelSerializer):
    story = fields.CharField(source="unit.story.key")
    methods = fields.texts(source="unit.methods")
    item = fields.IntegerField(source="unit_id")
    person = fields.text_or_null("annotator.name")
    Meta = fields.meta(
        Slot,
        "code item story methods person purpose state round session started_at "
        "submitted_at seconds",
    )


class AnswerSerializer(serializers.Serializer):
    question = fields.CharField(source="question.key")
    person = fields.CharField(source="annotator.name")
    value = fields.SerializerMethodField()
    shot = fields.SerializerMethodField()
    revision = fields.IntegerField()
    is_current = fields.BooleanField()
    created_at = fields.DateTimeField()

    @extend_schema_field({"type": ["integer", "string"]})
    def get_value(self, row: Any) -> Any:
        return row.value

    def get_shot(self, row: Any) -> int | None:
        return getattr(row, "shot", None) or None


class ExclusionSerializer(serializers.ModelSerializer):
    slot = fields.CharField(source="slot.code")
    author = fields.text_or_null("author.username")
    views = serializers.SlugRelatedField(
        slug_field="key", many=True, read_only=True, help_text="hidden from these"
    )
    Meta = fields.meta(
        Exclusion, "id slot rule reason author created_at undone_at views"
    )


class SlotDetailSerializer(RatedSlotSerializer):
    answers = fields.SerializerMethodField()
    comments = fields.SerializerMethodField()
    exclusions = ExclusionSerializer(many=True)
    Meta = fields.meta(Slot, "answers comments exclusions", RatedSlotSerializer)

    @extend_schema_field(AnswerSerializer(many=True))
    def get_answers(self, slot: Slot) -> Any:
        rows = [
            row
            for table in tables_of(slot.study)
            for row in table.objects.filter(slot=slot)
            .order_by("pk")
            .select_related("question", "annotator")
        ]
        return AnswerSerializer(rows, many=True).data

    def get_comments(self, slot: Slot) -> list[str]:
        return [one.text for one in slot.story_comments.all() if one.text]


class SlotQuery(fields.Query):
    method = fields.CharField(required=False, max_length=200)
    story = fields.CharField(required=False, max_length=200)
    annotator = fields.CharField(required=False, max_length=100)
    state = fields.ChoiceField(Slot.State.values, required=False)
    session = fields.IntegerField(required=False, min_value=1, max_value=99_999)
    part = fields.ChoiceField([*slot_list.PARTS], required=False)
    disputed = fields.CharField(
        required=False, max_length=100, help_text="items that a question divides most"
    )


class SlotList(StudyView):
    @operation("list_slots", RatedSlotSerializer, query=SlotQuery, many=True)
    def get(self, given: dict[str, Any]) -> Any:
        """List the ratings (slots) of the study, planned and submitted ones."""
        key = given.get("disputed")
        if key and slot_list.disputed(self.study, key) is None:
            raise Refused({"disputed": f"The study has no question {key}."})
        return slot_list.filtered(self.study, self.request.query_params)


class OfSlot(StudyView):
    def row(self, **of: Any) -> Slot:
        slots = self.study.slots.select_related("study", "annotator", "unit__story")
        return get_object_or_404(slots, code=self.kwargs["code"])

    def check_row(self) -> None:
        self.row()


class SlotDetail(OfSlot):
    get = show_operation(
        "get_slot",
        SlotDetailSerializer,
        "Return a rating with every revision of its answers.",
    )


class ExcludeBody(fields.Body):
    reason = fields.CharField(max_length=exclusion.LONGEST_REASON)
    views = fields.texts(
        40, required=False, help_text="keys of filters beside main; all if not given"
    )


class SlotExclude(OfSlot):
    @operation("exclude_slot", SlotDetailSerializer, takes=ExcludeBody)
    def post(self, given: dict[str, Any]) -> Slot:
        """Leave a submitted rating out, with a reason."""
        slot, views = self.row(), None
        if "views" in given:
            named = analysis_views.named_views(self.study)
            views = list(named.filter(key__in=given["views"]))
            keys = [view.key for view in views]
            refuse_unknown(given["views"], keys, "views", NO_FILTER)
        exclusion.exclude(slot, reason=given["reason"], author=self.user, views=views)
        return self.row()


class SlotRestore(OfSlot):
    @operation("restore_slot", SlotDetailSerializer)
    def post(self) -> Slot:
        """Count a rating again that was left out."""
        in_force = Exclusion.objects.filter(
            slot__study=self.study, undone_at__isnull=True
        )
        row = get_object_or_404(in_force, slot__code=self.kwargs["code"])
        exclusion.undo(row, author=self.user)
        return self.row()


class HandedOutSerializer(serializers.Serializer):
    changed = fields.BooleanField()


class UnitHandOut(StudyView):
    def rows(self) -> Any:
        return self.study.units.filter(purpose=Purpose.REAL)

    @operation("offer_item_again", HandedOutSerializer)
    def post(self) -> dict[str, bool]:
        """Offer an item to others again that several people skipped."""
        changed = follow_up.hand_out_again(self.row(), user=self.user)
        return {"changed": bool(changed)}


class ViewSerializer(serializers.Serializer):
    key = fields.CharField(source="view.key")
    title = fields.CharField()
    ratings = fields.IntegerField(source="slots")
    excluded = fields.IntegerField()
    answers = fields.IntegerField()
    people = fields.IntegerField(source="annotators")


class ViewBody(fields.Body):
    key = fields.SlugField(max_length=analysis_views.LONGEST_KEY)
    title = fields.CharField(max_length=analysis_views.LONGEST_TITLE)


class ViewList(StudyView):
    tag = "filters"
    get = list_operation(
        "list_filters", ViewSerializer, "List the filters with their counts."
    )

    def rows(self) -> Any:
        return analysis_views.overview(self.study)

    @operation("add_filter", ViewSerializer, takes=ViewBody, status=201)
    def post(self, given: dict[str, Any]) -> Any:
        """Add a filter; every exclusion in force hides its answers from it."""
        view = analysis_views.add_view(self.study, author=self.user, **given)
        self.locate("views", self.study.slug)
        return next(one for one in self.rows() if one.view.pk == view.pk)


class OfExclusions(StudyView):
    tag = "filters"

    def rows(self) -> QuerySet[Exclusion]:
        rows = analysis_views.in_force(self.study).select_related("slot", "author")
        return rows.prefetch_related("views")


class ExclusionList(OfExclusions):
    get = list_operation(
        "list_exclusions", ExclusionSerializer, "List the exclusions in force."
    )


class ChosenBody(fields.Body):
    exclusions = fields.ids(max_length=1000, help_text="ids of exclusions")
    views = fields.texts(
        40, help_text="keys of the filters, beside main, that they hide answers from"
    )


class ChangedSerializer(serializers.Serializer):
    changed = fields.IntegerField()


class ExclusionViews(OfExclusions):
    @operation("choose_filters", ChangedSerializer, takes=ChosenBody)
    def put(self, given: dict[str, Any]) -> dict[str, int]:
        """Choose from which filters exclusions hide their answers."""
        views = {*given["views"]}
        known = [view.key for view in analysis_views.named_views(self.study)]
        refuse_unknown(views, known, "views", NO_FILTER)
        chosen = dict.fromkeys(given["exclusions"], views)
        found = self.rows().filter(pk__in=chosen).values_list("pk", flat=True)
        text = "No exclusion {} is in force."
        refuse_unknown(chosen, found, "exclusions", text)
        n = analysis_views.choose_views(self.study, chosen, author=self.user)
        return {"changed": n}
