"""Benchmarks: what is judged, and who may use it."""

from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpResponseBase
from drf_spectacular.utils import OpenApiParameter
from rest_framework import serializers
from rest_framework.request import Request

from annotate.access.permissions import get_benchmark_for, visible_benchmarks
from annotate.api import fields
from annotate.api.base import SAFE, AccountView, attachment
from annotate.api.operations import list_operation, operation, show_operation
from evalcore import members
from evalcore.exporting import export_questionnaires
from evalcore.members import Role
from evalcore.models import Benchmark, BenchmarkMember, Method, Output, Story


class BenchmarkSerializer(serializers.ModelSerializer):
    stories = fields.IntegerField(source="stories_count")
    methods = fields.IntegerField(source="methods_count")
    Meta = fields.meta(Benchmark, "slug title source created_at stories methods")


class Benchmarks(AccountView):
    def rows(self) -> QuerySet[Benchmark]:
        return (
            visible_benchmarks(self.user)
            .order_by("title", "pk")
            .annotate(
                stories_count=Count("stories", distinct=True),
                methods_count=Count("stories__outputs__method", distinct=True),
            )
        )


class BenchmarkList(Benchmarks):
    get = list_operation(
        "list_benchmarks",
        BenchmarkSerializer,
        "List the benchmarks that you can plan studies with.",
    )


class OneBenchmark(Benchmarks):
    get = show_operation("get_benchmark", BenchmarkSerializer, "Return one benchmark.")

    def row(self, **of: Any) -> Any:
        found = get_benchmark_for(self.user, self.kwargs["slug"])
        return self.rows().get(pk=found.pk)


class OfBenchmark(AccountView):
    """A view of one benchmark, which owners change."""

    benchmark: Benchmark

    def check_access(self, request: Request) -> None:
        super().check_access(request)
        role = None if request.method in SAFE else "owner"
        self.benchmark = get_benchmark_for(request.user, self.kwargs["slug"], role)

    def outputs(self) -> QuerySet[Output]:
        return Output.objects.filter(story__benchmark=self.benchmark)


class ShotSerializer(serializers.Serializer):
    number = fields.IntegerField()
    text = fields.DictField()
    start_seconds = fields.FloatField(allow_null=True)
    end_seconds = fields.FloatField(allow_null=True)


class StorySerializer(serializers.ModelSerializer):
    tags = fields.JSONField()
    shots = ShotSerializer(many=True)
    Meta = fields.meta(Story, "key title tags shots")


class StoryList(OfBenchmark):
    get = list_operation(
        "list_stories", StorySerializer, "List the stories with their shots and tags."
    )

    def rows(self) -> QuerySet[Story]:
        return self.benchmark.stories.order_by("key").prefetch_related("shots")


class MethodSerializer(serializers.ModelSerializer):
    outputs = fields.IntegerField(source="n")
    Meta = fields.meta(Method, "name family outputs")


class MethodList(OfBenchmark):
    get = list_operation(
        "list_methods",
        MethodSerializer,
        "List the methods with their numbers of outputs.",
    )

    def rows(self) -> QuerySet[Method]:
        n = Count("outputs", filter=Q(outputs__in=self.outputs()))
        return Method.objects.annotate(n=n).filter(n__gt=0).order_by("name")


class OutputSerializer(serializers.ModelSerializer):
    story = fields.CharField(source="story.key")
    method = fields.CharField(source="method.name")
    pictures = fields.IntegerField(source="n")
    has_video = fields.SerializerMethodField()
    Meta = fields.meta(Output, "id story method mode language pictures has_video")

    def get_has_video(self, output: Output) -> bool:
        return output.video_id is not None


class OutputQuery(fields.Query):
    story = fields.CharField(required=False, max_length=200, source="story__key")
    method = fields.CharField(required=False, max_length=200, source="method__name")


class OutputList(OfBenchmark):
    @operation("list_outputs", OutputSerializer, query=OutputQuery, many=True)
    def get(self, given: dict[str, Any]) -> QuerySet[Output]:
        """List the outputs of methods."""
        pictures = Count("frames", filter=Q(frames__media__isnull=False))
        rows = self.outputs().filter(**given).select_related("story", "method")
        return rows.annotate(n=pictures).order_by("story__key", "method__name", "pk")


KIND = OpenApiParameter("kind", str, "path", enum=["csv", "jsonl"])


class Questionnaires(OfBenchmark):
    @operation("download_questionnaires", "text/csv text/jsonl", parameters=[KIND])
    def get(self) -> HttpResponseBase:
        """Download the questionnaires of the prompts, with their authors."""
        kind = self.kwargs["kind"]
        text = export_questionnaires(self.benchmark).get(f"questionnaires.{kind}")
        if text is None:
            raise Http404
        name = f"{self.benchmark.slug}-questionnaires.{kind}"
        return attachment(name, text, f"text/{kind}; charset=utf-8")


class BenchmarkMemberSerializer(serializers.ModelSerializer):
    name = fields.CharField(source="user.username")
    Meta = fields.meta(BenchmarkMember, "id name role")


class BenchmarkMemberBody(fields.Body):
    name = fields.CharField(max_length=150)
    role = fields.ChoiceField(Role.choices, default=Role.MEMBER)


class OfMembers(OfBenchmark):
    def rows(self) -> QuerySet[BenchmarkMember]:
        return self.benchmark.members.select_related("user").order_by("pk")


class BenchmarkMembers(OfMembers):
    get = list_operation(
        "list_benchmark_members",
        BenchmarkMemberSerializer,
        "List the members and owners of a benchmark.",
    )

    @operation(
        "add_benchmark_member",
        BenchmarkMemberSerializer,
        takes=BenchmarkMemberBody,
        status=201,
    )
    def post(self, given: dict[str, Any]) -> BenchmarkMember:
        """Add a member, or make a member an owner; owners may."""
        user = members.account(given["name"])
        row = members.add(self.benchmark, user, given["role"])
        self.locate("benchmark-member", self.benchmark.slug, row.pk)
        return row


class OneBenchmarkMember(OfMembers):
    @operation("remove_benchmark_member")
    def delete(self) -> None:
        """Remove a member, who keeps their studies; owners may."""
        members.remove(self.benchmark, self.row().user, leave_an_owner=True)
