"""The schema of a study definition, for study files, the set-up form and drafts.

`study_file` reads a definition from YAML; `planning` turns it into a study. The papers'
protocols are included as templates.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from django.utils.translation import gettext_noop as _
from pydantic import (
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from analysis.rankings.composite_weights import Composite
from annotate.kinds.base import Kind
from annotate.kinds.question import DegradableQuestion, Scale
from annotate.kinds.registry import KINDS, AnyQuestion, kinds_named
from annotate.schema import (
    Count,
    Day,
    Number,
    Part,
    Problem,
    Text,
    Texts,
    is_empty,
    refuse,
    refuse_empty,
    write_one_of,
)
from annotate.studies import contradictions
from annotate.studies.late_units import LateEntry
from annotate.studies.parts import (
    Adaptive,
    CellPairs,
    Checks,
    Composites,
    Consent,
    Drawn,
    Goals,
    Pairs,
    Presentation,
    Rules,
    Sets,
    Subset,
    TrainedOn,
    Training,
    is_scale,
)
from annotate.studies.recruitment import Recruitment

TEMPLATES = Path(__file__).resolve().parent / "protocols"


class StudyDefinition(Part):
    """A study definition whose parts are consistent."""

    # `kind` and `scale` are defaults, which validation copies into the questions.
    name: str = Field("study", exclude=True)
    title: Text = Field("", title=_("Title"))
    kind: str | None = None
    scale: Scale | None = None
    outputs: Count = 1
    assignment: Literal["planned", "open"] = Field("planned", title=_("Assignment"))
    redundancy: Count = Field(
        3,
        title=_("Ratings per item"),
        description=_("Number of different people who rate each item."),
    )
    rounds: Count = Field(
        1,
        title=_("Rounds"),
        description=_("Number of times that the same people rate each item."),
    )
    session_size: Count = Field(
        7,
        title=_("Stories per sitting"),
        description=_("Maximum number of items in one sitting."),
    )
    cap: Count | None = Field(
        None,
        title=_("Most stories per person"),
        description=_("Leave empty for no limit."),
    )
    lease_minutes: Count = Field(
        30,
        title=_("Inactivity timeout in minutes"),
        description=_("A story is released after this time without activity."),
    )
    deadline: Day | None = Field(
        None,
        title=_("Deadline"),
        description=_("Last day for answers. It can be moved while the study runs."),
    )
    seed: Number = Field(
        0,
        title=_("Seed"),
        description=_(
            "The same seed gives the same plan. To draw stories, 0 makes one of the "
            "study's name."
        ),
    )
    languages: dict[Text, Count] = {}
    stories: Drawn | None = None
    pairs: Pairs | None = None
    sets: Sets | None = None
    subset: Subset | None = None
    late_entry: LateEntry | None = Field(
        None,
        title=_("Late method and linking items"),
        description=_(
            "YAML, such as: {method: C, linking: [{story: '01', methods: [A]}]}"
        ),
    )
    adaptive: Adaptive | None = None
    consent: Consent = Consent()
    instructions: Texts = {}
    questions: Annotated[tuple[AnyQuestion, ...], BeforeValidator(refuse_empty)]
    composites: Composites = Field(
        (),
        title=_("Composites"),
        description=_(
            "YAML, such as: overall: {over: questions, weights: {character: 0.6, "
            "style: 0.4}}. Reports treat composites as questions or as metrics."
        ),
    )
    trained_on: TrainedOn = Field(
        {},
        title=_("Metrics that shaped a method"),
        description=_(
            "YAML, such as: UNO: [clip_i]. The metrics that a method was trained on "
            "or chosen by. Reports mark their scores of this method."
        ),
    )
    training: Training | None = None
    checks: Checks = Checks()
    rules: Rules = []
    presentation: Presentation = Presentation()
    recruitment: Recruitment = Recruitment()
    goals: Goals = Goals()

    @model_validator(mode="before")
    @classmethod
    def _fill_questions(cls, data: Any) -> Any:
        """Copy the study's kind and scale into questions that have none."""
        if not isinstance(data, dict):
            return data
        listed = data.get("questions")
        kind, scale = data.get("kind"), data.get("scale")
        questions = [
            {"kind": kind} | {k: v for k, v in one.items() if v is not None}
            if isinstance(one, dict)
            else one
            for one in (listed if isinstance(listed, list | tuple) else ())
        ]
        mappings = [one for one in questions if isinstance(one, dict)]
        is_needed = any(one["kind"] is None for one in mappings)
        if (is_needed or kind is not None) and str(kind) not in KINDS:
            refuse([Problem(["kind"], write_one_of(KINDS))])
        for one in mappings:
            of_kind = KINDS.get(str(one["kind"]))
            has_scale = of_kind and "scale" in of_kind.definition.model_fields
            if has_scale and scale is not None and "scale" not in one:
                one["scale"] = scale
                if not is_scale(scale):
                    # The error is reported for the study, not for each question.
                    one |= {"scale": (0, 1), "anchors": {}}
        return data | {"questions": questions or listed}

    @model_validator(mode="after")
    def _suit_each_other(self) -> Self:
        """Set values that the kinds of questions imply, and refuse contradictions."""
        kinds = self.kinds
        self._put("title", self.title or self.name)
        self._put("kind", kinds[0].name if len(kinds) == 1 else None)
        if "outputs" not in self.model_fields_set:
            self._put("outputs", max(kind.least for kind in kinds))
        if "kinds" not in self.checks.model_fields_set:
            controls = dict.fromkeys(c for kind in kinds for c in kind.controls)
            self._put("checks", self.checks.with_changes(kinds=tuple(controls)))
        if self.adaptive and not self.adaptive.question:
            pairs = (q.key for q in self.questions if KINDS[q.kind].is_pairwise)
            first = next(pairs, self.questions[0].key)
            self._put("adaptive", self.adaptive.with_changes(question=first))
        refuse(self._problems())
        self._put("scale", None)
        if self.outputs > 1:
            self._put(self.sets_key, self.together)
        return self

    def _problems(self) -> Iterator[Problem]:
        """Yield contradictions between the parts of the study."""
        kinds, questions, outputs = self.kinds, self.questions, self.outputs
        stored = self.stored_questions
        keys = {row["key"] for row in stored if KINDS[row["kind"]].is_counted}
        yield from contradictions.of_outputs(outputs, self.scale, kinds)
        yield from contradictions.of_questions(questions)
        yield from contradictions.of_sets(self.pairs, self.sets, outputs)
        yield from contradictions.of_late_entry(self.late_entry, outputs)
        yield from contradictions.of_training(self.training, questions, kinds)
        yield from contradictions.of_checks(self.checks, questions, kinds)
        yield from contradictions.of_rules(self.rules, kinds)
        yield from contradictions.of_adaptive(
            self.adaptive, questions, outputs, self.assignment
        )
        yield from contradictions.of_composites(self.composites, keys)
        yield from contradictions.of_goals(self.goals, kinds)

    def _put(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    @model_serializer(mode="wrap")
    def _filled(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        data["composites"] = composites_data(self.composites)
        if self.outputs == max(kind.least for kind in self.kinds):
            del data["outputs"]
        if self.kind:
            for question in data["questions"]:
                del question["kind"]
        for key in ("consent", "checks", "presentation", "recruitment"):
            if getattr(self, key) == type(getattr(self, key))():
                del data[key]
        return {k: value for k, value in data.items() if not is_empty(value)}

    # Derived values

    @property
    def together(self) -> str | tuple[tuple[str, ...], ...] | CellPairs:
        """Return the sets of methods that are shown together."""
        return self.pairs or self.sets or "all"

    @property
    def stored_questions(self) -> list[dict[str, Any]]:
        """Return the fields of the stored questions: two boxes for each label."""
        return [row for question in self.questions for row in question.rows()]

    @property
    def degradable(self) -> tuple[DegradableQuestion, ...]:
        """Return the questions that name a degradation."""
        return tuple(
            one
            for one in self.questions
            if isinstance(one, DegradableQuestion) and one.degradation
        )

    def without_degradations(self) -> Self:
        """Return the same study without the degradations of its questions."""
        plain = [
            one.with_changes(degradation="") if one in self.degradable else one
            for one in self.questions
        ]
        return self.with_changes(questions=tuple(plain))

    @property
    def answers(self) -> dict[str, int]:
        """Return the answers per unit by language, "" if the study has no languages."""
        return dict(self.languages or {"": self.redundancy})

    @property
    def kinds(self) -> list[Kind]:
        return kinds_named(one.kind for one in self.questions)

    @property
    def sets_key(self) -> str:
        """Return the key of the sets of methods in a study file."""
        return "pairs" if self.outputs == 2 else "sets"

    @property
    def brief(self) -> str:
        """Return a short description of the questions."""
        kind = self.kinds[0]
        return kind.brief([one for one in self.questions if one.kind == kind.name])

    @property
    def is_of_shots(self) -> bool:
        return any(kind.of_shots for kind in self.kinds)


def composites_data(composites: Iterable[Composite]) -> dict[str, Any]:
    """Return composites by name, as in a study file."""
    return {
        one.name: {
            "over": one.over,
            **({} if one.kind == "mean" else {"kind": one.kind}),
            "weights": dict(one.parts),
        }
        for one in composites
    }


def template_names() -> list[str]:
    return sorted(path.stem for path in TEMPLATES.glob("*.yaml"))
