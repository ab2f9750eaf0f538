"""Filters (analysis views) of a study, and its exclusions."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.base import Body, Listed, StudyView, created, read
from annotate.api.refusals import Refused
from annotate.api.slots import ExclusionSerializer
from annotate.responses import analysis_views

LARGEST = 2**63 - 1


class ViewSerializer(serializers.Serializer):
    key = serializers.CharField(source="view.key")
    title = serializers.CharField()
    ratings = serializers.IntegerField(source="slots")
    excluded = serializers.IntegerField()
    answers = serializers.IntegerField()
    people = serializers.IntegerField(source="annotators")


class ViewBody(Body):
    key = serializers.SlugField(max_length=analysis_views.LONGEST_KEY)
    title = serializers.CharField(max_length=analysis_views.LONGEST_TITLE)


class ViewList(Listed, StudyView):
    @extend_schema(
        operation_id="list_filters",
        tags=["filters"],
        responses=ViewSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the filters with their counts."""
        return self.page(analysis_views.overview(self.study), ViewSerializer)

    @extend_schema(
        operation_id="add_filter",
        tags=["filters"],
        request=ViewBody,
        responses={201: ViewSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a filter; every exclusion in force hides its answers from it."""
        given = read(ViewBody, request)
        view = analysis_views.add_view(self.study, author=request.user, **given)
        counts = analysis_views.overview(self.study)
        (row,) = (one for one in counts if one.view.pk == view.pk)
        return created(ViewSerializer(row).data, "api-views", slug)


class ExclusionList(Listed, StudyView):
    @extend_schema(
        operation_id="list_exclusions",
        tags=["filters"],
        responses=ExclusionSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the exclusions in force."""
        rows = analysis_views.in_force(self.study).select_related("slot", "author")
        return self.page(rows.prefetch_related("views"), ExclusionSerializer)


class ChosenBody(Body):
    exclusions = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=LARGEST),
        max_length=1000,
        help_text="ids of exclusions",
    )
    views = serializers.ListField(
        child=serializers.CharField(max_length=40),
        help_text="keys of the filters, beside main, that they hide answers from",
    )


class ChangedSerializer(serializers.Serializer):
    changed = serializers.IntegerField()


class ExclusionViews(StudyView):
    @extend_schema(
        operation_id="choose_filters",
        tags=["filters"],
        request=ChosenBody,
        responses=ChangedSerializer,
    )
    def put(self, request: Request, slug: str) -> Response:
        """Choose from which filters exclusions hide their answers."""
        given = read(ChosenBody, request)
        known = {view.key for view in analysis_views.named_views(self.study)}
        if unknown := sorted({*given["views"]} - known):
            raise Refused({"views": f"The study has no filter {unknown[0]}."})
        chosen = {pk: set(given["views"]) for pk in given["exclusions"]}
        rows = analysis_views.in_force(self.study).filter(pk__in=chosen)
        found = set(rows.values_list("pk", flat=True))
        if missing := sorted(chosen.keys() - found):
            raise Refused({"exclusions": f"No exclusion {missing[0]} is in force."})
        n = analysis_views.choose_views(self.study, chosen, author=request.user)
        return Response({"changed": n})
