"""A study as data: the one schema of study files, the set-up form and drafts.

`study_file` reads one from YAML; `annotate.studies.planning` turns one into a study.
The papers' protocols ship as templates.
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
    Number,
    Part,
    Problem,
    Text,
    Texts,
    is_empty,
    refuse,
    some,
)
from annotate.schema import Path as Steps
from annotate.studies.parts import (
    Adaptive,
    CellPairs,
    Checks,
    Composites,
    Consent,
    KnownUnit,
    Pairs,
    Presentation,
    Rules,
    Sample,
    Sets,
    Subset,
    Training,
    is_scale,
    problems_of_composites,
)

TEMPLATES = Path(__file__).resolve().parent / "protocols"


class StudyDefinition(Part):
    """A study whose parts suit each other."""

    # `kind` and `scale` are those of the questions that do not say their own: read,
    # they stand with the questions.
    name: str = Field("study", exclude=True)
    title: Text = Field("", title=_("Title"))
    kind: str | None = None
    scale: Scale | None = None
    outputs: Count = 1
    assignment: Literal["planned", "open"] = Field("planned", title=_("Who comes"))
    redundancy: Count = Field(
        3,
        title=_("Answers a unit"),
        description=_("How many different people judge each unit."),
    )
    rounds: Count = Field(
        1,
        title=_("Rounds"),
        description=_("How often the same people judge everything."),
    )
    session_size: Count = Field(
        7,
        title=_("Session"),
        description=_("At most so many units in one sitting."),
    )
    cap: Count | None = Field(
        None,
        title=_("Cap"),
        description=_("Most units that one person may judge. Empty: no limit."),
    )
    lease_minutes: Count = Field(
        30,
        title=_("Lease in minutes"),
        description=_("So long a story stays with somebody who does nothing."),
    )
    seed: Number = Field(
        0, title=_("Seed"), description=_("The same seed, the same plan.")
    )
    languages: dict[Text, Count] = {}
    stories: Sample | None = None
    pairs: Pairs | None = None
    sets: Sets | None = None
    subset: Subset | None = None
    adaptive: Adaptive | None = None
    consent: Consent = Consent()
    instructions: Texts = {}
    questions: Annotated[tuple[AnyQuestion, ...], BeforeValidator(some)]
    composites: Composites = Field(
        (),
        title=_("Composites"),
        description=_(
            "YAML, such as: overall: {over: questions, weights: {character: 0.6, "
            "style: 0.4}}. A report treats them as questions, or as metrics."
        ),
    )
    training: Training | None = None
    checks: Checks = Checks()
    rules: Rules = []
    presentation: Presentation = Presentation()

    @model_validator(mode="before")
    @classmethod
    def _tell_questions(cls, data: Any) -> Any:
        """Give the study's kind and scale to questions that do not say their own."""
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
        asked = [one for one in questions if isinstance(one, dict)]
        is_needed = any(one["kind"] is None for one in asked)
        if (is_needed or kind is not None) and str(kind) not in KINDS:
            refuse([Problem(["kind"], f"write one of {', '.join(KINDS)}")])
        for one in asked:
            of_kind = KINDS.get(str(one["kind"]))
            has_scale = of_kind and "scale" in of_kind.definition.model_fields
            if has_scale and scale is not None and "scale" not in one:
                one["scale"] = scale
                if not is_scale(scale):
                    # That is told of the study, and not of each question.
                    one |= {"scale": (0, 1), "anchors": {}}
        return data | {"questions": questions or listed}

    @model_validator(mode="after")
    def _suit_each_other(self) -> Self:
        """Put in what the kinds of questions imply, and refuse what does not suit."""
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
        for key in ("consent", "checks", "presentation"):
            if getattr(self, key) == type(getattr(self, key))():
                del data[key]
        return {k: value for k, value in data.items() if not is_empty(value)}

    # What follows from it

    @property
    def together(self) -> str | tuple[tuple[str, ...], ...] | CellPairs:
        """Return which methods are shown together."""
        return self.pairs or self.sets or "all"

    @property
    def stored_questions(self) -> list[dict[str, Any]]:
        """Return the fields of the questions as stored: two boxes for each label."""
        return [row for question in self.questions for row in question.rows()]

    @property
    def degradable(self) -> tuple[DegradableQuestion, ...]:
        """Return the questions that say which degradation makes their answer worse."""
        return tuple(
            one
            for one in self.questions
            if isinstance(one, DegradableQuestion) and one.degradation
        )

    def without_degradations(self) -> Self:
        """Return a study whose questions are not taught by worse copies."""
        plain = [
            one.with_changes(degradation="") if one in self.degradable else one
            for one in self.questions
        ]
        return self.with_changes(questions=tuple(plain))

    @property
    def answers(self) -> dict[str, int]:
        """Return the answers a unit by language, "" where languages play no part."""
        return dict(self.languages or {"": self.redundancy})

    @property
    def kinds(self) -> list[Kind]:
        return kinds_named(one.kind for one in self.questions)

    @property
    def sets_key(self) -> str:
        """Return what a study file calls the sets of methods that are shown at once."""
        return "pairs" if self.outputs == 2 else "sets"

    @property
    def brief(self) -> str:
        """Return what is asked, and how often, in a few words."""
        kind = self.kinds[0]
        return kind.brief([one for one in self.questions if one.kind == kind.name])

    @property
    def is_of_shots(self) -> bool:
        return any(kind.of_shots for kind in self.kinds)


def _problems(study: StudyDefinition) -> Iterator[Problem]:
    """Yield what does not suit the rest of a study."""
    yield from _outputs(study)
    yield from _keys(study)
    yield from _sets(study)
    yield from _training(study)
    yield from _checks(study)
    yield from _rules(study)
    yield from _adaptive(study)
    yield from _composites(study)


def _outputs(study: StudyDefinition) -> Iterator[Problem]:
    """Hold the number of outputs shown at once against every kind."""
    kinds = study.kinds
    least, most = max(k.least for k in kinds), min(k.most for k in kinds)
    names = ", ".join(kind.name for kind in kinds)
    if not kinds[0].is_counted:
        told = f"ask at least one question that is no {kinds[0].name}"
        yield Problem(["questions"], told)
    if least > most:
        told = f"{names}: not asked of equally many outputs; make it two studies"
        yield Problem(["questions"], told)
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


def _sets(study: StudyDefinition) -> Iterator[Problem]:
    wanted = {
        "pairs": (study.pairs, study.outputs == 2, "two"),
        "sets": (study.sets, study.outputs > 2, "three to five"),
    }
    for key, (sets, suits, number) in wanted.items():
        if sets is not None and not suits:
            told = f"only a study of {number} outputs at once has {key}"
            yield Problem([key], told)
        for index, one in enumerate(sets if isinstance(sets, tuple) and suits else ()):
            if not len(set(one)) == study.outputs == len(one):
                methods = ", ".join(LETTERS.upper()[: study.outputs])
                told = f"write {study.outputs} methods, such as [{methods}]"
                yield Problem([key, index], told)


def _training(study: StudyDefinition) -> Iterator[Problem]:
    training = study.training
    if training is None:
        return
    if not any(kind.has_known_answers for kind in study.kinds):
        name = study.kinds[0].name
        told = f"a {name} has no known answers to train with; leave it out"
        yield Problem(["training"], told)
    elif not (training.units or training.twins):
        told = "write at least one unit, or twins: 3"
        yield Problem(["training", "units"], told)
    elif training.twins and not study.degradable:
        told = "no question says which degradation makes its answer worse"
        yield Problem(["training", "twins"], told)
    yield from _known(study, training.units, ["training", "units"])


def _checks(study: StudyDefinition) -> Iterator[Problem]:
    checks, kinds = study.checks, study.kinds
    controls = tuple(dict.fromkeys(c for kind in kinds for c in kind.controls))
    for key, control in (("degradations", "twin"), ("gold", "gold")):
        if getattr(checks, key) and control not in controls:
            told = f"a {kinds[0].name} has only {', '.join(controls)}"
            yield Problem(["checks", key], told)
    for index, kind in enumerate(checks.kinds):
        if kind not in controls:
            told = f"write one of {', '.join(controls)}"
            yield Problem(["checks", "kinds", index], told)
    if "gold" in controls:
        yield from _known(study, checks.gold, ["checks", "gold"])


def _known(
    study: StudyDefinition, units: Sequence[KnownUnit], path: Steps
) -> Iterator[Problem]:
    """Put answers that are known in the form of their kind, or refuse them."""
    questions = {question.key: question for question in study.questions}
    for index, unit in enumerate(units):
        for key, value in unit.expected.items():
            at: Steps = [*path, index, "expected", key]
            if key not in questions:
                told = f"no such question; there are {', '.join(questions)}"
                yield Problem(at, told)
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
                told = f"write one of {', '.join(known)}"
                yield Problem(["rules", index, "signal"], told)


def _adaptive(study: StudyDefinition) -> Iterator[Problem]:
    adaptive = study.adaptive
    if adaptive is None:
        return
    keys = [q.key for q in study.questions if KINDS[q.kind].is_pairwise]
    if study.outputs != 2:
        yield Problem(["adaptive"], "only pairs can be chosen adaptively")
    elif study.assignment != "open":
        told = "pairs are chosen as annotators ask for them: write assignment: open"
        yield Problem(["adaptive"], told)
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
    """Return composites by their names, as a file has them."""
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
