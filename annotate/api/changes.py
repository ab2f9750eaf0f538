"""Changes of a running study: more, less, other people; new and late methods."""

from typing import Any

from django.db.models import F, Q, Sum
from django.http import HttpResponseBase
from django.utils.translation import gettext as _
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import can_use_benchmark, check_benchmark_of, owns
from annotate.api import fields
from annotate.api.base import StudyView, refuse_unknown
from annotate.api.operations import operation
from annotate.api.studies import PlanningView, PlanSerializer, StudyDetailSerializer
from annotate.api.uploads import UploadSerializer
from annotate.models import Purpose, Study
from annotate.models.units import OUTPUTS
from annotate.studies import changing, extending, late_entry, new_method
from annotate.uploads import receiving

FILE = "outputs.zip"
LONGEST_NAME = 200


class Names(fields.Body):
    methods = fields.texts(LONGEST_NAME, default=list)
    stories = fields.texts(LONGEST_NAME, default=list)
    dry_run = fields.BooleanField(
        default=False, help_text="say what would change, and store nothing"
    )


def _number(most: int, text: str) -> fields.IntegerField:
    return fields.IntegerField(
        required=False, min_value=0, max_value=most, help_text=text
    )


def _by_language(most: int) -> fields.DictField:
    child = fields.IntegerField(min_value=0, max_value=most)
    return fields.DictField(
        child=child, required=False, help_text="of a study with languages"
    )


class ExtendBody(Names):
    annotators = _number(extending.MOST_PEOPLE, "people to add")
    annotators_by_language = _by_language(extending.MOST_PEOPLE)
    redundancy = _number(extending.MOST_ANSWERS, "ratings per item from now on")
    redundancy_by_language = _by_language(extending.MOST_ANSWERS)


class ExtensionSerializer(serializers.Serializer):
    items = fields.IntegerField(source="units")
    ratings = fields.IntegerField(source="slots")
    people = fields.texts()
    shares = fields.counts()
    moved = fields.IntegerField()
    free = fields.IntegerField()
    redundancy = fields.IntegerField()


class Extend(StudyView):
    @operation("extend_study", ExtensionSerializer, takes=ExtendBody)
    def post(self, given: dict[str, Any]) -> extending.Extension:
        """Add methods, stories, ratings or people to a running study."""
        methods, stories = given["methods"], given["stories"]
        gone_methods, gone_stories = changing.withdrawn_names(self.study)
        if {*methods} - gone_methods or {*stories} - gone_stories:
            check_benchmark_of(self.user, self.study)
        return extending.extend(
            self.study,
            methods=methods,
            stories=stories,
            annotators=_either(given, "annotators") or 0,
            redundancy=_either(given, "redundancy"),
            user=self.user,
            only_shown=not can_use_benchmark(self.user, self.study),
            dry_run=given["dry_run"],
        )


def _either(given: dict[str, Any], name: str) -> Any:
    return given.get(f"{name}_by_language", given.get(name))


class WithdrawalSerializer(serializers.Serializer):
    items = fields.IntegerField(source="units")
    ratings = fields.IntegerField(source="slots")
    kept = fields.IntegerField(help_text="ratings that were started or submitted")


class Withdraw(StudyView):
    @operation("withdraw_items", WithdrawalSerializer, takes=Names)
    def post(self, given: dict[str, Any]) -> changing.Withdrawal:
        """Withdraw methods or stories; answers stay."""
        return changing.withdraw_units(self.study, user=self.user, **given)


class RedistributeBody(fields.Body):
    people = fields.texts(LONGEST_NAME, default=list)
    dry_run = fields.BooleanField(default=False)


class RedistributionSerializer(serializers.Serializer):
    given_up = fields.counts()
    shares = fields.counts()
    free = fields.IntegerField()


class Redistribute(StudyView):
    @operation("redistribute_work", RedistributionSerializer, takes=RedistributeBody)
    def post(self, given: dict[str, Any]) -> changing.Redistribution:
        """Give the unfinished work of people who left to others."""
        people = self.study.annotators.filter(name__in=given["people"])
        names = [person.name for person in people]
        refuse_unknown(given["people"], names, "people", "Nobody is called {}.")
        return changing.redistribute(
            self.study, annotators=people, user=self.user, dry_run=given["dry_run"]
        )


class LateEntryBody(fields.Body):
    method = fields.CharField(max_length=LONGEST_NAME)
    linking = fields.IntegerField(
        required=False, min_value=1, max_value=10**6, help_text="items rated again"
    )
    annotators = _number(extending.MOST_PEOPLE, "as many as before if not given")
    annotators_by_language = _by_language(extending.MOST_PEOPLE)
    dry_run = fields.BooleanField(default=False)


class ChoiceSerializer(serializers.Serializer):
    linking = fields.IntegerField()
    ratings = fields.IntegerField()
    minutes = fields.FloatField()
    extra = fields.FloatField(allow_null=True, help_text="error that it adds")


class ProposalSerializer(serializers.Serializer):
    slug = fields.CharField(source="setup.slug")
    method = fields.CharField()
    stories = fields.IntegerField()
    suggested = fields.IntegerField()
    chosen = ChoiceSerializer()
    others = ChoiceSerializer(many=True)


class LateEntry(PlanningView, StudyView):
    readers = "manager"

    def check_access(self, request: Request) -> None:
        super().check_access(request)
        check_benchmark_of(request.user, self.study)

    @operation(
        "list_late_methods", serializers.ListSerializer(child=fields.CharField())
    )
    def get(self) -> Response:
        """List methods that a closed study can be continued with."""
        return Response(late_entry.candidates(self.study))

    @operation(
        "add_late_method",
        StudyDetailSerializer,
        takes=LateEntryBody,
        status=201,
        other={200: ProposalSerializer, 202: PlanSerializer},
    )
    def post(self, given: dict[str, Any]) -> HttpResponseBase:
        """Set up the study that continues a closed one with a late method."""
        proposal = late_entry.propose(
            self.study,
            given["method"],
            linking=given.get("linking"),
            annotators=None if self.study.is_open else _either(given, "annotators"),
        )
        if given["dry_run"]:
            return self.reply(proposal, ProposalSerializer)
        return self.create(proposal.setup)


class StudyMethodSerializer(serializers.Serializer):
    method = fields.CharField()
    items = fields.IntegerField(help_text="outputs, pairs or sets that show it")
    wanted = fields.IntegerField(help_text="ratings that these items need")
    submitted = fields.IntegerField(help_text="ratings that they have")
    is_withdrawn = fields.BooleanField()


class NewMethodBody(fields.Body):
    method = fields.CharField(max_length=LONGEST_NAME)
    against = fields.texts(
        LONGEST_NAME,
        default=list,
        help_text="side by side: the methods to compare it with; empty: as the study "
        "pairs its methods",
    )
    bytes = fields.IntegerField(
        required=False,
        min_value=1,
        help_text="size of a zip with a folder of pictures, or a video, for every "
        "story of the study. Without it, the outputs were imported before",
    )


METHODS = StudyMethodSerializer(many=True)


class MethodList(StudyView):
    """The methods of a study."""

    scope = "write"

    @operation("list_study_methods", METHODS)
    def get(self) -> Response:
        """Return the methods with their numbers of ratings."""
        return Response(_methods(self.study))

    @operation(
        "add_method",
        METHODS,
        takes=NewMethodBody,
        status=201,
        other={202: UploadSerializer},
    )
    def post(self, given: dict[str, Any]) -> Any:
        """Let a new method join a running study.

        Outputs that were imported before join at once (201). With `bytes`, send the zip
        in parts to the upload in `Location`; then it is imported and joins, or nothing
        is stored (202).
        """
        study, user = self.study, self.user
        method, against = given["method"], given["against"]
        check_benchmark_of(user, study)
        if "bytes" not in given:
            new_method.join_method(study, method, against=against, user=user)
            self.locate("methods", study.slug)
            return Response(_methods(study), status=201)
        new_method.check_new(study, method)
        if not owns(user, study.benchmark):
            text = _("Only an owner of this benchmark may do that.")
            self.permission_denied(self.request, text)
        upload = receiving.begin(
            user,
            f"{method}.zip",
            [[FILE, given["bytes"], 0]],
            chosen={
                "kind": "outputs",
                "path": "",
                "benchmark": study.benchmark.slug,
                "title": study.benchmark.title,
                "method": method,
                "create": False,
                "skip": False,
                "replace": False,
                "low": 0,
                "high": 4,
                "joins": study.slug,
                "against": against,
            },
        )
        self.locate("upload", upload.pk)
        return self.reply(upload, UploadSerializer, 202)


def _methods(study: Study) -> list[dict[str, Any]]:
    """Return the methods of a study with their items and ratings."""
    gone, _stories = changing.withdrawn_names(study)
    units = study.units.filter(purpose=Purpose.REAL)
    rows = []
    for name in study.method_names:
        shown = Q()
        for output in OUTPUTS:
            shown |= Q(**{f"{output}__method__name": name})
        own = units.filter(shown)
        sums = own.aggregate(
            wanted=Sum(F("redundancy") * study.rounds, default=0),
            submitted=Sum("submitted", default=0),
        )
        row = {"method": name, "items": own.count(), "is_withdrawn": name in gone}
        rows.append(row | sums)
    return rows
