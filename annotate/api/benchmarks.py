"""Benchmarks: what is judged, and who may use it."""

from typing import Any

from django.db.models import Count, Q, QuerySet
from django.shortcuts import get_object_or_404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import get_benchmark_for, visible_benchmarks
from annotate.api.base import (
    AccountView,
    Body,
    Listed,
    Query,
    asked,
    created,
    read,
)
from evalcore import members
from evalcore.members import Role
from evalcore.models import Benchmark, BenchmarkMember, Method, Output, Story


class BenchmarkSerializer(serializers.ModelSerializer):
    stories = serializers.IntegerField(source="stories_count")
    methods = serializers.IntegerField(source="methods_count")

    class Meta:
        model = Benchmark
        fields = ("slug", "title", "source", "created_at", "stories", "methods")


class BenchmarkView(AccountView):
    """A view of one benchmark, which owners change."""

    def benchmark(self) -> Benchmark:
        is_safe = self.request.method == "GET"
        role = None if is_safe else "owner"
        return get_benchmark_for(self.request.user, self.kwargs["slug"], role)

    def rows(self) -> QuerySet[Benchmark]:
        return (
            visible_benchmarks(self.request.user)
            .order_by("title", "pk")
            .annotate(
                stories_count=Count("stories", distinct=True),
                methods_count=Count("stories__outputs__method", distinct=True),
            )
        )


class BenchmarkList(Listed, BenchmarkView):
    @extend_schema(
        operation_id="list_benchmarks",
        tags=["benchmarks"],
        responses=BenchmarkSerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List the benchmarks that you can plan studies with."""
        return self.page(self.rows(), BenchmarkSerializer)


class OneBenchmark(BenchmarkView):
    @extend_schema(
        operation_id="get_benchmark", tags=["benchmarks"], responses=BenchmarkSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return one benchmark."""
        row = self.rows().get(pk=self.benchmark().pk)
        return Response(BenchmarkSerializer(row).data)


class ShotSerializer(serializers.Serializer):
    number = serializers.IntegerField()
    text = serializers.DictField()
    start_seconds = serializers.FloatField(allow_null=True)
    end_seconds = serializers.FloatField(allow_null=True)


class StorySerializer(serializers.ModelSerializer):
    tags = serializers.JSONField()
    shots = ShotSerializer(many=True)

    class Meta:
        model = Story
        fields = ("key", "title", "tags", "shots")


class StoryList(Listed, BenchmarkView):
    @extend_schema(
        operation_id="list_stories",
        tags=["benchmarks"],
        responses=StorySerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the stories with their shots and tags."""
        rows = self.benchmark().stories.order_by("key").prefetch_related("shots")
        return self.page(rows, StorySerializer)


class MethodSerializer(serializers.ModelSerializer):
    outputs = serializers.IntegerField(source="n")

    class Meta:
        model = Method
        fields = ("name", "family", "outputs")


class MethodList(Listed, BenchmarkView):
    @extend_schema(
        operation_id="list_methods",
        tags=["benchmarks"],
        responses=MethodSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the methods with their numbers of outputs."""
        outputs = Q(outputs__in=_outputs(self.benchmark()))
        rows = Method.objects.annotate(n=Count("outputs", filter=outputs))
        return self.page(rows.filter(n__gt=0).order_by("name"), MethodSerializer)


def _outputs(benchmark: Benchmark) -> QuerySet[Output]:
    return Output.objects.filter(story__benchmark=benchmark)


class OutputSerializer(serializers.ModelSerializer):
    story = serializers.CharField(source="story.key")
    method = serializers.CharField(source="method.name")
    pictures = serializers.IntegerField(source="n")
    has_video = serializers.SerializerMethodField()

    class Meta:
        model = Output
        fields = ("id", "story", "method", "mode", "language", "pictures", "has_video")

    def get_has_video(self, output: Output) -> bool:
        return output.video_id is not None


class OutputQuery(Query):
    story = serializers.CharField(required=False, max_length=200)
    method = serializers.CharField(required=False, max_length=200)


class OutputList(Listed, BenchmarkView):
    @extend_schema(
        operation_id="list_outputs",
        tags=["benchmarks"],
        parameters=[OutputQuery],
        responses=OutputSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the outputs of methods."""
        given, rows = asked(OutputQuery, request), _outputs(self.benchmark())
        if story := given.get("story"):
            rows = rows.filter(story__key=story)
        if method := given.get("method"):
            rows = rows.filter(method__name=method)
        pictures = Count("frames", filter=Q(frames__media__isnull=False))
        rows = rows.select_related("story", "method").annotate(n=pictures)
        return self.page(
            rows.order_by("story__key", "method__name", "pk"), OutputSerializer
        )


class BenchmarkMemberSerializer(serializers.ModelSerializer):
    name = serializers.CharField(source="user.username")

    class Meta:
        model = BenchmarkMember
        fields = ("id", "name", "role")


class BenchmarkMemberBody(Body):
    name = serializers.CharField(max_length=150)
    role = serializers.ChoiceField(Role.choices, default=Role.MEMBER)


class BenchmarkMembers(Listed, BenchmarkView):
    @extend_schema(
        operation_id="list_benchmark_members",
        tags=["benchmarks"],
        responses=BenchmarkMemberSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the members and owners of a benchmark."""
        rows = self.benchmark().members.select_related("user").order_by("pk")
        return self.page(rows, BenchmarkMemberSerializer)

    @extend_schema(
        operation_id="add_benchmark_member",
        tags=["benchmarks"],
        request=BenchmarkMemberBody,
        responses={201: BenchmarkMemberSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add a member, or make a member an owner; owners may."""
        benchmark, given = self.benchmark(), read(BenchmarkMemberBody, request)
        row = members.add(benchmark, members.account(given["name"]), given["role"])
        shown = BenchmarkMemberSerializer(row).data
        return created(shown, "api-benchmark-member", slug, row.pk)


class OneBenchmarkMember(BenchmarkView):
    @extend_schema(
        operation_id="remove_benchmark_member",
        tags=["benchmarks"],
        responses={204: None},
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Remove a member, who keeps their studies; owners may."""
        benchmark = self.benchmark()
        rows: Any = benchmark.members.select_related("user")
        member = get_object_or_404(rows, pk=pk)
        members.remove(benchmark, member.user, leave_an_owner=True)
        return Response(status=204)
