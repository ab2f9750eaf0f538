"""Changes of a running study: more, less, other people; a late method."""

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import can_use_benchmark, check_benchmark_of
from annotate.api.base import Body, StudyView, created, read
from annotate.api.refusals import Refused
from annotate.api.studies import (
    PlanSerializer,
    StudyDetailSerializer,
    detail,
    queued,
)
from annotate.models import StudyPlan
from annotate.studies import changing, drafting, extending, late_entry
from annotate.studies.planning import outline


def _name() -> serializers.CharField:
    return serializers.CharField(max_length=200)


class Names(Body):
    methods = serializers.ListField(child=_name(), default=list)
    stories = serializers.ListField(child=_name(), default=list)
    dry_run = serializers.BooleanField(
        default=False, help_text="say what would change, and store nothing"
    )


def _number(most: int, text: str) -> serializers.IntegerField:
    return serializers.IntegerField(
        required=False, min_value=0, max_value=most, help_text=text
    )


def _by_language(most: int) -> serializers.DictField:
    child = serializers.IntegerField(min_value=0, max_value=most)
    return serializers.DictField(
        child=child, required=False, help_text="of a study with languages"
    )


class ExtendBody(Names):
    annotators = _number(extending.MOST_PEOPLE, "people to add")
    annotators_by_language = _by_language(extending.MOST_PEOPLE)
    redundancy = _number(extending.MOST_ANSWERS, "ratings per item from now on")
    redundancy_by_language = _by_language(extending.MOST_ANSWERS)


class ExtensionSerializer(serializers.Serializer):
    items = serializers.IntegerField(source="units")
    ratings = serializers.IntegerField(source="slots")
    people = serializers.ListField(child=serializers.CharField())
    shares = serializers.DictField(child=serializers.IntegerField())
    moved = serializers.IntegerField()
    free = serializers.IntegerField()
    redundancy = serializers.IntegerField()


class Extend(StudyView):
    @extend_schema(
        operation_id="extend_study",
        tags=["changes"],
        request=ExtendBody,
        responses=ExtensionSerializer,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add methods, stories, ratings or people to a running study."""
        given = read(ExtendBody, request)
        gone_methods, gone_stories = changing.withdrawn_names(self.study)
        is_new = {*given["methods"]} - gone_methods or {
            *given["stories"]
        } - gone_stories
        if is_new:
            check_benchmark_of(request.user, self.study)
        done = extending.extend(
            self.study,
            methods=given["methods"],
            stories=given["stories"],
            annotators=_either(given, "annotators") or 0,
            redundancy=_either(given, "redundancy"),
            user=request.user,
            only_shown=not can_use_benchmark(request.user, self.study),
            dry_run=given["dry_run"],
        )
        return Response(ExtensionSerializer(done).data)


def _either(given: dict[str, Any], name: str) -> Any:
    return given.get(f"{name}_by_language", given.get(name))


class WithdrawalSerializer(serializers.Serializer):
    items = serializers.IntegerField(source="units")
    ratings = serializers.IntegerField(source="slots")
    kept = serializers.IntegerField(help_text="ratings that were started or submitted")


class Withdraw(StudyView):
    @extend_schema(
        operation_id="withdraw_items",
        tags=["changes"],
        request=Names,
        responses=WithdrawalSerializer,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Withdraw methods or stories; answers stay."""
        given = read(Names, request)
        done = changing.withdraw_units(self.study, user=request.user, **given)
        return Response(WithdrawalSerializer(done).data)


class RedistributeBody(Body):
    people = serializers.ListField(child=_name(), default=list)
    dry_run = serializers.BooleanField(default=False)


class RedistributionSerializer(serializers.Serializer):
    given_up = serializers.DictField(child=serializers.IntegerField())
    shares = serializers.DictField(child=serializers.IntegerField())
    free = serializers.IntegerField()


class Redistribute(StudyView):
    @extend_schema(
        operation_id="redistribute_work",
        tags=["changes"],
        request=RedistributeBody,
        responses=RedistributionSerializer,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Give the unfinished work of people who left to others."""
        given = read(RedistributeBody, request)
        people = self.study.annotators.filter(name__in=given["people"])
        names = {person.name for person in people}
        if unknown := sorted({*given["people"]} - names):
            raise Refused({"people": f"Nobody is called {unknown[0]}."})
        done = changing.redistribute(
            self.study, annotators=people, user=request.user, dry_run=given["dry_run"]
        )
        return Response(RedistributionSerializer(done).data)


class LateEntryBody(Body):
    method = _name()
    linking = serializers.IntegerField(
        required=False, min_value=1, max_value=10**6, help_text="items rated again"
    )
    annotators = _number(extending.MOST_PEOPLE, "as many as before if not given")
    annotators_by_language = _by_language(extending.MOST_PEOPLE)
    dry_run = serializers.BooleanField(default=False)


class ChoiceSerializer(serializers.Serializer):
    linking = serializers.IntegerField()
    ratings = serializers.IntegerField()
    minutes = serializers.FloatField()
    extra = serializers.FloatField(allow_null=True, help_text="error that it adds")


class ProposalSerializer(serializers.Serializer):
    slug = serializers.CharField(source="setup.slug")
    method = serializers.CharField()
    stories = serializers.IntegerField()
    suggested = serializers.IntegerField()
    chosen = ChoiceSerializer()
    others = ChoiceSerializer(many=True)


class LateEntry(StudyView):
    readers = "manager"

    @extend_schema(
        operation_id="list_late_methods",
        tags=["changes"],
        responses=serializers.ListSerializer(child=serializers.CharField()),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List methods that a closed study can be continued with."""
        check_benchmark_of(request.user, self.study)
        return Response(late_entry.candidates(self.study))

    @extend_schema(
        operation_id="add_late_method",
        tags=["changes"],
        request=LateEntryBody,
        responses={
            200: ProposalSerializer,
            201: StudyDetailSerializer,
            202: PlanSerializer,
        },
    )
    def post(self, request: Request, slug: str) -> Response:
        """Set up the study that continues a closed one with a late method."""
        check_benchmark_of(request.user, self.study)
        given = read(LateEntryBody, request)
        people: int | Mapping[str, int] | None = _either(given, "annotators")
        proposal = late_entry.propose(
            self.study,
            given["method"],
            linking=given.get("linking"),
            annotators=None if self.study.is_open else people,
        )
        if given["dry_run"]:
            return Response(ProposalSerializer(proposal).data)
        if outline(proposal.setup).needs_worker:
            return queued(proposal.setup, StudyPlan.Action.CREATE, request)
        study = drafting.create(proposal.setup, request.user)
        return created(detail(study), "api-study", study.slug)
