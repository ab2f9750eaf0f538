"""Studies: set up, listed, changed, deleted."""

import json
from collections.abc import Callable
from datetime import date
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.permissions import (
    can_create,
    can_delete,
    check_benchmark_of,
    get_benchmark_for,
    get_study_for,
    visible_studies,
)
from annotate.api.base import (
    AccountView,
    AnyType,
    Body,
    Listed,
    Query,
    StudyView,
    asked,
    attachment,
    created,
    read,
)
from annotate.api.refusals import Refused
from annotate.models import ApiToken, Question, Study, StudyPlan, User
from annotate.reports import deleting
from annotate.schema import LONGEST, DefinitionError
from annotate.studies import deadline, drafting, goals, lifecycle, plan_queue, rewording
from annotate.studies.definition import StudyDefinition
from annotate.studies.parts import Goals
from annotate.studies.planning import Draft, Setup, outline, with_plan
from annotate.studies.study_file import read_definition
from annotate.studies.units import PlanningError
from annotate.tasks import delete_studies, plan_studies, ring


class StudySerializer(serializers.ModelSerializer):
    benchmark = serializers.SlugRelatedField(slug_field="slug", read_only=True)

    class Meta:
        model = Study
        fields: tuple[str, ...] = (
            "slug",
            "title",
            "benchmark",
            "outputs_at_once",
            "template",
            "state",
            "assignment",
            "redundancy",
            "rounds",
            "languages",
            "session_size",
            "seed",
            "created_at",
            "archived_at",
        )
        extra_kwargs = {"languages": {"help_text": "ratings per item by language"}}


class QuestionSerializer(serializers.ModelSerializer):
    class Meta:
        model = Question
        fields = ("key", "kind", "title", "scale_min", "scale_max")

    title = serializers.CharField(source="full_title")


class StudyDetailSerializer(StudySerializer):
    deadline = serializers.SerializerMethodField(help_text="the last day")
    goals = serializers.DictField(child=serializers.FloatField(allow_null=True))
    methods = serializers.ListField(
        child=serializers.CharField(), source="method_names"
    )
    questions = QuestionSerializer(many=True)
    text_version = serializers.IntegerField()

    class Meta(StudySerializer.Meta):
        fields: tuple[str, ...] = (
            *StudySerializer.Meta.fields,
            "deadline",
            "goals",
            "methods",
            "questions",
            "text_version",
        )

    def get_deadline(self, study: Study) -> date | None:
        return deadline.day_of(study)


def detail(study: Study) -> Any:
    """Return a study as the API shows it."""
    return StudyDetailSerializer(study).data


class SetupBody(Body):
    study_file = serializers.CharField(
        required=False, max_length=LONGEST, help_text="the study file, as YAML"
    )
    definition = serializers.JSONField(
        required=False, help_text="the study file's content, instead of its text"
    )
    annotators = serializers.IntegerField(
        default=0, min_value=0, max_value=10_000, help_text="of a planned study"
    )
    annotators_by_language = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=10_000), required=False
    )
    methods = serializers.ListField(
        child=serializers.CharField(max_length=200), default=list, help_text="[]: all"
    )
    stories = serializers.ListField(
        child=serializers.CharField(max_length=200), default=list, help_text="[]: all"
    )


class NewStudyBody(SetupBody):
    benchmark = serializers.SlugField(max_length=80)
    slug = serializers.SlugField(max_length=80, help_text="its web address name")
    copy_of = serializers.SlugField(
        required=False, help_text="the study whose next version this is"
    )
    dry_run = serializers.BooleanField(
        default=False, help_text="plan it, and store nothing"
    )


class OutlineSerializer(serializers.Serializer):
    items = serializers.SerializerMethodField()
    ratings = serializers.IntegerField(source="slots")
    sittings = serializers.IntegerField(source="sessions")
    people = serializers.DictField(child=serializers.IntegerField())
    hours = serializers.FloatField()
    notes = serializers.ListField(child=serializers.CharField())
    balance = serializers.SerializerMethodField(help_text="of a planned study")

    def get_items(self, draft: Draft) -> int:
        return len(draft.units)

    def get_balance(self, draft: Draft) -> dict[str, Any] | None:
        return draft.plan.balance.as_dict() if draft.plan else None


class PlanSerializer(serializers.ModelSerializer):
    study = serializers.SerializerMethodField(help_text="when it is stored")
    balance = serializers.DictField()

    class Meta:
        model = StudyPlan
        fields = ("id", "action", "state", "step", "error", "study", "balance")

    def get_study(self, plan: StudyPlan) -> str | None:
        is_stored = plan.action != plan.Action.CHECK and plan.state == plan.State.DONE
        return str(plan.chosen["slug"]) if is_stored else None


class StudyQuery(Query):
    archived = serializers.BooleanField(default=False)


EXAMPLE = OpenApiExample(
    "a planned study of ten people",
    {
        "benchmark": "woods",
        "slug": "pilot",
        "annotators": 10,
        "study_file": "title: Pilot\nredundancy: 3\nquestions:\n  - key: style\n"
        "    kind: likert\n    text: How well does the style fit?\n",
    },
    request_only=True,
)


class StudyList(Listed, AccountView):
    def check_token(self, request: Request, study: Study | None = None) -> None:
        """Accept a token of one study, which sees this one in the list."""
        is_list = request.method == "GET"
        only = getattr(request.auth, "study", None) if is_list else None
        super().check_token(request, study or only)

    def rows(self, archived: bool) -> QuerySet[Study]:
        rows = visible_studies(self.request.user).select_related("benchmark")
        token = self.request.auth
        if isinstance(token, ApiToken) and token.study_id:
            rows = rows.filter(pk=token.study_id)
        return rows.filter(archived_at__isnull=not archived)

    @extend_schema(
        operation_id="list_studies",
        tags=["studies"],
        parameters=[StudyQuery],
        responses=StudySerializer(many=True),
    )
    def get(self, request: Request) -> Response:
        """List the studies that you can see, newest first."""
        return self.page(self.rows(**asked(StudyQuery, request)), StudySerializer)

    @extend_schema(
        operation_id="create_study",
        tags=["studies"],
        request=NewStudyBody,
        responses={
            200: OutlineSerializer,
            201: StudyDetailSerializer,
            202: PlanSerializer,
        },
        examples=[EXAMPLE],
    )
    def post(self, request: Request) -> Response:
        """Set up a draft study from a study file.

        A large one is planned by a worker: 202, and the address of its plan. With
        `dry_run` the reply (200) says what the study would be.
        """
        if not can_create(request.user):
            raise PermissionDenied("Only managers can set up studies.")
        given = read(NewStudyBody, request)
        benchmark = get_benchmark_for(request.user, given["benchmark"])
        setup = _setup(given, given["slug"], benchmark)
        before = None
        if slug := given.get("copy_of"):
            before = get_study_for(request.user, slug, "manager")
        if given["dry_run"]:
            return _planned(setup, request)
        draft = outline(setup)
        if draft.needs_worker or draft.draws_long:
            return queued(setup, StudyPlan.Action.CREATE, request, before)
        study = drafting.create(setup, request.user, before)
        return created(detail(study), "api-study", study.slug)


def _setup(given: dict[str, Any], slug: str, benchmark: Any) -> Setup:
    definition = _definition(given)
    people = given.get("annotators_by_language") or given["annotators"]
    methods, stories = tuple(given["methods"]), tuple(given["stories"])
    return Setup(slug, benchmark, definition, people, methods, stories)


def _definition(given: dict[str, Any]) -> StudyDefinition:
    if ("study_file" in given) == ("definition" in given):
        raise Refused({"study_file": "Send study_file or definition, one of the two."})
    if "study_file" in given:
        return read_definition(given["study_file"], file="study_file", name="study")
    if not isinstance(given["definition"], dict):
        raise DefinitionError("definition", None, "write key: value pairs here")
    text = json.dumps(given["definition"])
    return read_definition(text, file="definition", name="study")


def _planned(setup: Setup, request: Request) -> Response:
    draft = outline(setup)
    if draft.needs_worker:
        return queued(setup, StudyPlan.Action.CHECK, request)
    shown = OutlineSerializer(with_plan(draft)).data
    return Response(shown)


def queued(
    setup: Setup,
    action: StudyPlan.Action,
    request: Request,
    study: Study | None = None,
) -> Response:
    """Leave a plan to a worker."""
    plan = plan_queue.ask(setup, action, request.user, study)
    ring(plan_studies.delay)
    return created(PlanSerializer(plan).data, "api-plan", plan.pk, status=202)


class Plan(AccountView):
    def plan(self, pk: int) -> StudyPlan:
        return get_object_or_404(StudyPlan, pk=pk, created_by=self.request.user)

    @extend_schema(operation_id="get_plan", tags=["studies"], responses=PlanSerializer)
    def get(self, request: Request, pk: int) -> Response:
        """Return a plan of yours that a worker makes."""
        return Response(PlanSerializer(self.plan(pk)).data)

    @extend_schema(operation_id="cancel_plan", tags=["studies"], responses={204: None})
    def delete(self, request: Request, pk: int) -> Response:
        """Cancel a plan that is not finished."""
        StudyPlan.cancel_all(StudyPlan.objects.filter(pk=self.plan(pk).pk))
        return Response(status=204)


class SettingsBody(Body):
    title = serializers.CharField(required=False, max_length=200)
    deadline = serializers.DateField(
        required=False, allow_null=True, help_text="the last day; null: none"
    )
    goals = serializers.DictField(
        required=False,
        child=serializers.FloatField(min_value=0),
        help_text=f"precision asked for: {', '.join(Goals.model_fields)}; {{}}: none",
    )

    def validate_goals(self, given: dict[str, float]) -> dict[str, str]:
        if unknown := sorted(given.keys() - Goals.model_fields.keys()):
            raise serializers.ValidationError(f"Unknown goal {unknown[0]}.")
        return {key: f"{value:g}" for key, value in given.items()}


class DeleteQuery(Query):
    confirm = serializers.CharField(help_text="the study's slug once more")


class StudyDetail(StudyView):
    in_archive = True

    @extend_schema(
        operation_id="get_study", tags=["studies"], responses=StudyDetailSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return a study with its settings and questions."""
        return Response(detail(self.study))

    @extend_schema(
        operation_id="change_study",
        tags=["studies"],
        request=SettingsBody,
        responses=StudyDetailSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Change the title, the deadline or the goals."""
        self.refuse_archived()
        given = read(SettingsBody, request)
        if "title" in given:
            rewording.rename(self.study, given["title"], user=request.user)
        if "deadline" in given:
            deadline.move(self.study, given["deadline"], user=request.user)
        if "goals" in given:
            goals.set_goals(self.study, given["goals"], request.user)
        self.study.refresh_from_db()
        return Response(detail(self.study))

    @extend_schema(
        operation_id="delete_study",
        tags=["studies"],
        parameters=[DeleteQuery],
        responses={202: None, 204: None},
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Delete a draft or closed study with its answers, log and reports.

        A worker deletes a large one (202).
        """
        if not can_delete(request.user, self.study):
            raise PermissionDenied(
                "Only an owner of the benchmark who manages the study may delete it."
            )
        confirm = asked(DeleteQuery, request)["confirm"]
        if deleting.ask_to_delete(self.study, confirm, user=request.user):
            return Response(status=204)
        ring(delete_studies.delay)
        return Response(status=202)


CHANGES: dict[str, Callable[[Study, User], Study]] = {
    "launch": lifecycle.launch,
    "pause": lifecycle.pause,
    "resume": lifecycle.launch,
    "close": lifecycle.close,
    "archive": lifecycle.archive,
    "restore": lifecycle.restore,
}


class StateBody(Body):
    do = serializers.ChoiceField([*CHANGES], help_text="restore: out of the archive")


class StudyState(StudyView):
    in_archive = True

    @extend_schema(
        operation_id="change_state",
        tags=["studies"],
        request=StateBody,
        responses=StudyDetailSerializer,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Launch, pause, resume, close, archive or restore the study."""
        change = read(StateBody, request)["do"]
        return Response(detail(CHANGES[change](self.study, request.user)))


class StudyFile(StudyView):
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="download_study_file",
        tags=["studies"],
        responses={(200, "application/yaml"): OpenApiTypes.ANY},
    )
    def get(self, request: Request, slug: str) -> HttpResponseBase:
        """Download the study file of the study as it is now."""
        try:
            text = drafting.file_of(self.study)
        except PlanningError as error:
            raise Http404(str(error)) from error
        return attachment(f"{slug}.yaml", text, "application/yaml")

    @extend_schema(
        operation_id="replace_draft",
        tags=["studies"],
        request=SetupBody,
        responses={200: StudyDetailSerializer, 202: PlanSerializer},
    )
    def put(self, request: Request, slug: str) -> Response:
        """Plan a draft again that nobody has a link to."""
        check_benchmark_of(request.user, self.study)
        lifecycle.check_editable(self.study)
        setup = _setup(read(SetupBody, request), slug, self.study.benchmark)
        draft = outline(setup)
        if draft.needs_worker or draft.draws_long:
            return queued(setup, StudyPlan.Action.EDIT, request, self.study)
        return Response(detail(drafting.replace(self.study, setup, request.user)))


class TextSerializer(serializers.Serializer):
    name = serializers.CharField()
    text = serializers.CharField(allow_blank=True)
    label = serializers.CharField()
    language = serializers.CharField()


class TextsSerializer(serializers.Serializer):
    version = serializers.IntegerField()
    texts = TextSerializer(many=True)


class TextsBody(Body):
    version = serializers.IntegerField(
        min_value=1, max_value=2**31 - 1, help_text="that you have read"
    )
    texts = serializers.DictField(
        child=serializers.CharField(allow_blank=True), help_text="new texts, by name"
    )


class StudyTexts(StudyView):
    readers = "manager"

    def texts(self) -> Response:
        rows = rewording.wordings(self.study)
        found = {"version": self.study.text_version, "texts": rows}
        return Response(TextsSerializer(found).data)

    @extend_schema(
        operation_id="get_texts", tags=["studies"], responses=TextsSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the texts that can be corrected while the study runs."""
        return self.texts()

    @extend_schema(
        operation_id="correct_texts",
        tags=["studies"],
        request=TextsBody,
        responses=TextsSerializer,
    )
    def patch(self, request: Request, slug: str) -> Response:
        """Correct texts; annotators see them from the next page on."""
        given = read(TextsBody, request)
        known = {one.name for one in rewording.wordings(self.study)}
        if unknown := sorted(given["texts"].keys() - known):
            raise Refused({"texts": f"The study has no text {unknown[0]}."})
        rewording.reword(
            self.study, given["texts"], version=given["version"], user=request.user
        )
        return self.texts()
