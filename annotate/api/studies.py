"""Studies: set up, listed, changed, deleted."""

import json
from collections.abc import Callable
from datetime import date
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404, HttpResponse, HttpResponseBase
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request

from annotate.access.permissions import (
    can_create,
    can_delete,
    check_benchmark_of,
    get_benchmark_for,
    get_study_for,
    visible_studies,
)
from annotate.api import fields
from annotate.api.base import AccountView, StudyView, attachment, refuse_unknown
from annotate.api.operations import operation, show_operation
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
    languages = fields.JSONField(
        read_only=True, help_text="ratings per item by language"
    )
    Meta = fields.meta(
        Study,
        "slug title benchmark outputs_at_once template state assignment redundancy "
        "rounds languages session_size seed created_at archived_at",
    )


class QuestionSerializer(serializers.ModelSerializer):
    title = fields.CharField(source="full_title")
    Meta = fields.meta(Question, "key kind title scale_min scale_max")


class StudyDetailSerializer(StudySerializer):
    deadline = fields.SerializerMethodField(help_text="the last day")
    goals = fields.DictField(child=fields.FloatField(allow_null=True))
    methods = fields.texts(source="method_names")
    questions = QuestionSerializer(many=True)
    text_version = fields.IntegerField()
    Meta = fields.meta(
        Study, "deadline goals methods questions text_version", StudySerializer
    )

    def get_deadline(self, study: Study) -> date | None:
        return deadline.day_of(study)


class SetupBody(fields.Body):
    study_file = fields.CharField(
        required=False, max_length=LONGEST, help_text="the study file, as YAML"
    )
    definition = fields.JSONField(
        required=False, help_text="the study file's content, instead of its text"
    )
    annotators = fields.IntegerField(
        default=0, min_value=0, max_value=10_000, help_text="of a planned study"
    )
    annotators_by_language = fields.DictField(
        child=fields.IntegerField(min_value=0, max_value=10_000), required=False
    )
    methods = fields.texts(200, default=list, help_text="[]: all")
    stories = fields.texts(200, default=list, help_text="[]: all")


class NewStudyBody(SetupBody):
    benchmark = fields.SlugField(max_length=80)
    slug = fields.SlugField(max_length=80, help_text="its web address name")
    copy_of = fields.SlugField(
        required=False, help_text="the study whose next version this is"
    )
    dry_run = fields.BooleanField(default=False, help_text="plan it, and store nothing")


class OutlineSerializer(serializers.Serializer):
    items = fields.SerializerMethodField()
    ratings = fields.IntegerField(source="slots")
    sittings = fields.IntegerField(source="sessions")
    people = fields.counts()
    hours = fields.FloatField()
    notes = fields.texts()
    balance = fields.SerializerMethodField(help_text="of a planned study")

    def get_items(self, draft: Draft) -> int:
        return len(draft.units)

    def get_balance(self, draft: Draft) -> dict[str, Any] | None:
        return draft.plan.balance.as_dict() if draft.plan else None


class PlanSerializer(serializers.ModelSerializer):
    study = fields.SerializerMethodField(help_text="when it is stored")
    balance = fields.DictField()
    Meta = fields.meta(StudyPlan, "id action state step error study balance")

    def get_study(self, plan: StudyPlan) -> str | None:
        is_stored = plan.action != plan.Action.CHECK and plan.state == plan.State.DONE
        return str(plan.chosen["slug"]) if is_stored else None


class StudyQuery(fields.Query):
    archived = fields.BooleanField(default=False)


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


class PlanningView(AccountView):
    """A view that plans studies, large ones by a worker."""

    def create(self, setup: Setup, before: Study | None = None) -> HttpResponseBase:
        """Store a draft study, or queue its plan."""
        draft = outline(setup)
        if draft.needs_worker or draft.draws_long:
            return self.plan(setup, StudyPlan.Action.CREATE, before)
        study = drafting.create(setup, self.user, before)
        self.locate("study", study.slug)
        return self.reply(study, StudyDetailSerializer, 201)

    def plan(
        self, setup: Setup, action: StudyPlan.Action, study: Study | None = None
    ) -> HttpResponseBase:
        """Leave a plan to a worker."""
        plan = plan_queue.ask(setup, action, self.user, study)
        self.queue(plan_studies.delay, "plan", plan.pk)
        return self.reply(plan, PlanSerializer, 202)


class StudyList(PlanningView):
    def check_token(self, request: Request, study: Study | None = None) -> None:
        """Accept a token of one study, which sees this one in the list."""
        is_list = request.method == "GET"
        only = getattr(request.auth, "study", None) if is_list else None
        super().check_token(request, study or only)

    def check_change(self) -> None:
        if not can_create(self.user):
            raise PermissionDenied("Only managers can set up studies.")

    @operation("list_studies", StudySerializer, query=StudyQuery, many=True)
    def get(self, given: dict[str, Any]) -> QuerySet[Study]:
        """List the studies that you can see, newest first."""
        rows = visible_studies(self.user).select_related("benchmark")
        token = self.request.auth
        if isinstance(token, ApiToken) and token.study_id:
            rows = rows.filter(pk=token.study_id)
        return rows.filter(archived_at__isnull=not given["archived"])

    @operation(
        "create_study",
        StudyDetailSerializer,
        takes=NewStudyBody,
        status=201,
        other={200: OutlineSerializer, 202: PlanSerializer},
        examples=[EXAMPLE],
    )
    def post(self, given: dict[str, Any]) -> HttpResponseBase:
        """Set up a draft study from a study file.

        A large one is planned by a worker: 202, and the address of its plan. With
        `dry_run` the reply (200) says what the study would be.
        """
        benchmark = get_benchmark_for(self.user, given["benchmark"])
        setup = _setup(given, given["slug"], benchmark)
        before = None
        if slug := given.get("copy_of"):
            before = get_study_for(self.user, slug, "manager")
        if not given["dry_run"]:
            return self.create(setup, before)
        draft = outline(setup)
        if draft.needs_worker:
            return self.plan(setup, StudyPlan.Action.CHECK)
        return self.reply(with_plan(draft), OutlineSerializer)


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


class Plan(AccountView):
    get = show_operation(
        "get_plan", PlanSerializer, "Return a plan of yours that a worker makes."
    )

    def rows(self) -> QuerySet[StudyPlan]:
        return StudyPlan.objects.filter(created_by=self.user)

    @operation("cancel_plan")
    def delete(self) -> None:
        """Cancel a plan that is not finished."""
        StudyPlan.cancel_all(self.rows().filter(pk=self.row().pk))


class SettingsBody(fields.Body):
    title = fields.CharField(required=False, max_length=200)
    deadline = fields.DateField(
        required=False, allow_null=True, help_text="the last day; null: none"
    )
    goals = fields.DictField(
        required=False,
        child=fields.FloatField(min_value=0),
        help_text=f"precision asked for: {', '.join(Goals.model_fields)}; {{}}: none",
    )

    def validate_goals(self, given: dict[str, float]) -> dict[str, str]:
        if unknown := sorted(given.keys() - Goals.model_fields.keys()):
            raise serializers.ValidationError(f"Unknown goal {unknown[0]}.")
        return {key: f"{value:g}" for key, value in given.items()}


class DeleteQuery(fields.Query):
    confirm = fields.CharField(help_text="the study's slug once more")


class StudyDetail(StudyView):
    in_archive = True
    get = show_operation(
        "get_study",
        StudyDetailSerializer,
        "Return a study with its settings and questions.",
    )

    def row(self, **of: Any) -> Study:
        return self.study

    def check_change(self) -> None:
        is_deleted = self.request.method == "DELETE"
        if is_deleted and not can_delete(self.user, self.study):
            raise PermissionDenied(
                "Only an owner of the benchmark who manages the study may delete it."
            )

    @operation("change_study", StudyDetailSerializer, takes=SettingsBody)
    def patch(self, given: dict[str, Any]) -> Study:
        """Change the title, the deadline or the goals."""
        self.refuse_archived()
        if "title" in given:
            rewording.rename(self.study, given["title"], user=self.user)
        if "deadline" in given:
            deadline.move(self.study, given["deadline"], user=self.user)
        if "goals" in given:
            goals.set_goals(self.study, given["goals"], self.user)
        self.study.refresh_from_db()
        return self.study

    @operation("delete_study", query=DeleteQuery, other={202: None})
    def delete(self, given: dict[str, Any]) -> HttpResponseBase | None:
        """Delete a draft or closed study with its answers, log and reports.

        A worker deletes a large one (202).
        """
        if deleting.ask_to_delete(self.study, given["confirm"], user=self.user):
            return None
        ring(delete_studies.delay)
        return HttpResponse(status=202)


CHANGES: dict[str, Callable[[Study, User], Study]] = {
    "launch": lifecycle.launch,
    "pause": lifecycle.pause,
    "resume": lifecycle.launch,
    "close": lifecycle.close,
    "archive": lifecycle.archive,
    "restore": lifecycle.restore,
}


class StateBody(fields.Body):
    do = fields.ChoiceField([*CHANGES], help_text="restore: out of the archive")


class StudyState(StudyView):
    in_archive = True

    @operation("change_state", StudyDetailSerializer, takes=StateBody)
    def post(self, given: dict[str, Any]) -> Study:
        """Launch, pause, resume, close, archive or restore the study."""
        return CHANGES[given["do"]](self.study, self.user)


class StudyFile(PlanningView, StudyView):
    def check_change(self) -> None:
        check_benchmark_of(self.user, self.study)

    @operation("download_study_file", "application/yaml")
    def get(self) -> HttpResponseBase:
        """Download the study file of the study as it is now."""
        try:
            text = drafting.file_of(self.study)
        except PlanningError as error:
            raise Http404(str(error)) from error
        return attachment(f"{self.study.slug}.yaml", text, "application/yaml")

    @operation(
        "replace_draft",
        StudyDetailSerializer,
        takes=SetupBody,
        other={202: PlanSerializer},
    )
    def put(self, given: dict[str, Any]) -> HttpResponseBase | Study:
        """Plan a draft again that nobody has a link to."""
        lifecycle.check_editable(self.study)
        setup = _setup(given, self.study.slug, self.study.benchmark)
        draft = outline(setup)
        if draft.needs_worker or draft.draws_long:
            return self.plan(setup, StudyPlan.Action.EDIT, self.study)
        return drafting.replace(self.study, setup, self.user)


class TextSerializer(serializers.Serializer):
    name = fields.CharField()
    text = fields.CharField(allow_blank=True)
    label = fields.CharField()
    language = fields.CharField()


class TextsSerializer(serializers.Serializer):
    version = fields.IntegerField()
    texts = TextSerializer(many=True)


class TextsBody(fields.Body):
    version = fields.IntegerField(
        min_value=1, max_value=2**31 - 1, help_text="that you have read"
    )
    texts = fields.DictField(
        child=fields.CharField(allow_blank=True), help_text="new texts, by name"
    )


class StudyTexts(StudyView):
    readers = "manager"
    get = show_operation(
        "get_texts",
        TextsSerializer,
        "Return the texts that can be corrected while the study runs.",
    )

    def row(self, **of: Any) -> dict[str, Any]:
        rows = rewording.wordings(self.study)
        return {"version": self.study.text_version, "texts": rows}

    @operation("correct_texts", TextsSerializer, takes=TextsBody)
    def patch(self, given: dict[str, Any]) -> dict[str, Any]:
        """Correct texts; annotators see them from the next page on."""
        known = [one.name for one in rewording.wordings(self.study)]
        new = given["texts"]
        refuse_unknown(new, known, "texts", "The study has no text {}.")
        version = given["version"]
        rewording.reword(self.study, new, version=version, user=self.user)
        return self.row()
