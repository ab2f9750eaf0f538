"""The schema of a study definition, for study files, the set-up form and drafts.

`study_file` reads a definition from YAML; `planning` turns it into a study. The papers'
protocols are included as templates.
"""

from collections.abc import Iterable, Iterator, Sequence
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
from pydantic_core import PydanticCustomError

from analysis.problems import InputError
from analysis.rankings.composite_weights import Composite, check_composites
from annotate.kinds.base import Kind
from annotate.kinds.question import DegradableQuestion, Scale
from annotate.kinds.registry import KINDS, AnyQuestion, kinds_named
from annotate.models.studies import LETTERS
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
)
from annotate.schema import Path as Steps
from annotate.studies.late_parts import LATE_ENTRY, LateEntry, problems_of_late
from annotate.studies.parts import (
    Adaptive,
    CellPairs,
    Checks,
    Composites,
    Consent,
    Drawn,
    Goals,
    KnownUnit,
    Pairs,
    Presentation,
    Rules,
    Sets,
    Subset,
    TrainedOn,
    Training,
    is_scale,
    problems_of_composites,
    problems_of_goals,
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
        description=LATE_ENTRY,
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
            refuse([Problem(["kind"], f"write one of {', '.join(KINDS)}")])
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
        refuse(_problems(self))
        self._put("scale", None)
        if self.outputs > 1:
            self._put(self.sets_key, self.together)
        return self

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


def _problems(study: StudyDefinition) -> Iterator[Problem]:
    """Yield contradictions between the parts of a study."""
    yield from _outputs(study)
    yield from _keys(study)
    yield from _sets(study)
    yield from problems_of_late(study.late_entry, study.outputs)
    yield from _training(study)
    yield from _checks(study)
    yield from _rules(study)
    yield from _adaptive(study)
    yield from _composites(study)
    yield from problems_of_goals(study.goals, study.kinds)


def _outputs(study: StudyDefinition) -> Iterator[Problem]:
    """Compare the number of outputs shown at once with every kind."""
    kinds = study.kinds
    least, most = max(k.least for k in kinds), min(k.most for k in kinds)
    names = ", ".join(kind.name for kind in kinds)
    if not kinds[0].is_counted:
        text = f"add at least one question of a kind other than {kinds[0].name}"
        yield Problem(["questions"], text)
    if least > most:
        text = f"{names} show different numbers of outputs; make two studies"
        yield Problem(["questions"], text)
    elif not least <= study.outputs <= most:
        span = f"{least} to {most}" if least < most else str(least)
        yield Problem(["outputs"], f"write {span} for {names}")
    have_scales = any("scale" in kind.definition.model_fields for kind in kinds)
    if study.scale and not have_scales:
        yield Problem(["scale"], f"a {kinds[0].name} has no scale")


def _keys(study: StudyDefinition) -> Iterator[Problem]:
    keys = [question.key for question in study.questions]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            yield Problem(["questions", index, "key"], f"{key} is used twice")
    kinds = [question.kind for question in study.questions]
    for index, kind in enumerate(kinds):
        if kind in kinds[:index] and KINDS[kind].is_single:
            yield Problem(["questions", index, "kind"], f"ask only one of kind {kind}")


def _sets(study: StudyDefinition) -> Iterator[Problem]:
    wanted = {
        "pairs": (study.pairs, study.outputs == 2, "two"),
        "sets": (study.sets, study.outputs > 2, "three to five"),
    }
    for key, (sets, suits, number) in wanted.items():
        if sets is not None and not suits:
            text = f"only a study that shows {number} outputs at once has {key}"
            yield Problem([key], text)
        for index, one in enumerate(sets if isinstance(sets, tuple) and suits else ()):
            if not len(set(one)) == study.outputs == len(one):
                methods = ", ".join(LETTERS.upper()[: study.outputs])
                text = f"write {study.outputs} methods, such as [{methods}]"
                yield Problem([key, index], text)


def _training(study: StudyDefinition) -> Iterator[Problem]:
    training = study.training
    if training is None:
        return
    if not any(kind.has_known_answers for kind in study.kinds):
        name = study.kinds[0].name
        text = f"a {name} has no known answers to train with; remove training"
        yield Problem(["training"], text)
    elif not (training.units or training.twins):
        text = "write at least one unit, or twins: 3"
        yield Problem(["training", "units"], text)
    elif training.twins and not study.degradable:
        text = "no question names a degradation; add one, or remove twins"
        yield Problem(["training", "twins"], text)
    yield from _known(study, training.units, ["training", "units"])


def _checks(study: StudyDefinition) -> Iterator[Problem]:
    checks, kinds = study.checks, study.kinds
    controls = tuple(dict.fromkeys(c for kind in kinds for c in kind.controls))
    for key, control in (("degradations", "twin"), ("gold", "gold")):
        if getattr(checks, key) and control not in controls:
            text = f"a {kinds[0].name} has only {', '.join(controls)}"
            yield Problem(["checks", key], text)
    for index, kind in enumerate(checks.kinds):
        if kind not in controls:
            text = f"write one of {', '.join(controls)}"
            yield Problem(["checks", "kinds", index], text)
    if "gold" in controls:
        yield from _known(study, checks.gold, ["checks", "gold"])


def _known(
    study: StudyDefinition, units: Sequence[KnownUnit], path: Steps
) -> Iterator[Problem]:
    """Convert known answers to the form of their kind, or refuse them."""
    questions = {question.key: question for question in study.questions}
    for index, unit in enumerate(units):
        for key, value in unit.expected.items():
            at: Steps = [*path, index, "expected", key]
            if key not in questions:
                text = f"no such question; write one of {', '.join(questions)}"
                yield Problem(at, text)
                continue
            try:
                answer = questions[key].known_answer(value, unit.methods)
                unit.expected[key] = answer
            except PydanticCustomError as error:
                yield Problem(at, error.message())


def _rules(study: StudyDefinition) -> Iterator[Problem]:
    known = dict.fromkeys(s for kind in study.kinds for s in kind.signals)
    if isinstance(study.rules, list):
        for index, rule in enumerate(study.rules):
            if rule["signal"] not in known:
                text = f"write one of {', '.join(known)}"
                yield Problem(["rules", index, "signal"], text)


def _adaptive(study: StudyDefinition) -> Iterator[Problem]:
    adaptive = study.adaptive
    if adaptive is None:
        return
    keys = [q.key for q in study.questions if KINDS[q.kind].is_pairwise]
    if study.outputs != 2:
        yield Problem(["adaptive"], "only a study of pairs can be adaptive")
    elif study.assignment != "open":
        text = "adaptive pairs need assignment: open"
        yield Problem(["adaptive"], text)
    elif adaptive.question not in keys:
        yield Problem(["adaptive", "question"], f"write one of {', '.join(keys)}")


def _composites(study: StudyDefinition) -> Iterator[Problem]:
    stored = study.stored_questions
    keys = {row["key"] for row in stored if KINDS[row["kind"]].is_counted}
    try:
        check_composites(study.composites, questions=keys, file="")
    except InputError as error:
        yield from problems_of_composites(error, ["composites"])


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
