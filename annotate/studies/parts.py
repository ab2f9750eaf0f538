"""The parts of a study definition, and what they ask of each other.

Titles and descriptions are those of the form.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

from django.utils.translation import gettext_noop as _
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    model_validator,
)
from pydantic_core import PydanticCustomError

from analysis.problems import InputError
from analysis.rankings.composite_weights import check_composites
from annotate.kinds.base import Kind
from annotate.kinds.question import DEGRADATIONS
from annotate.models.studies import LETTERS
from annotate.schema import (
    Count,
    Name,
    Names,
    Number,
    Part,
    Path,
    Problem,
    Share,
    Switch,
    Text,
    Texts,
    no_truth,
    one_of,
    refuse,
    says,
    some,
)

if TYPE_CHECKING:
    from annotate.studies.definition import StudyDefinition

# Seconds for which anybody can be asked to look at a picture.
MOST_SECONDS = 60
UNITS = _("A list in YAML: - {story: '01', method: A, expected: {KEY: [3, 4]}}")

EverySet = Literal["all", "ring"]


class StorySample(Part):
    """So many random stories, from each value of the tag `by` in proportion."""

    number: Count = Field(
        1,
        title=_("Draw so many stories at random"),
        description=_("Empty: all of those above."),
    )
    by: Text = Field("", title=_("In proportion to the tag"))


def _as_sample(value: Any) -> Any:
    is_whole = isinstance(value, dict | StorySample) or value is None
    return value if is_whole else {"number": value}


Sample = Annotated[
    StorySample,
    BeforeValidator(_as_sample, json_schema_input_type=int | StorySample),
]


class CellPairs(Part):
    """So many pairs of methods for each combination of the tags `by`."""

    number: Count = Field(1, title=_("Pairs for each combination"))
    by: Names


def _form_of_sets(value: Any) -> str:
    if isinstance(value, dict | CellPairs):
        return "<cells>"
    return "<listed>" if isinstance(value, list | tuple) else "<every>"


Listed = Annotated[
    tuple[Annotated[tuple[Name, ...], says("write methods, such as [A, B]")], ...],
    BeforeValidator(some),
]
Sets = Annotated[
    Annotated[EverySet, Tag("<every>")] | Annotated[Listed, Tag("<listed>")],
    Discriminator(_form_of_sets),
    says("write all, ring, or a list of sets such as [[A, B, C]]"),
]
Pairs = Annotated[
    Annotated[EverySet, Tag("<every>")]
    | Annotated[Listed, Tag("<listed>")]
    | Annotated[CellPairs, Tag("<cells>")],
    Discriminator(_form_of_sets),
]


class Subset(Part):
    """Some stories whose units are judged more often than the others'."""

    redundancy: Count = Field(3, title=_("Answers a unit of these"))
    stories: Sample


class KnownUnit(Part):
    """A unit whose right answers are known.

    A range, a method's name or `tie`, or the names of methods in their order.
    """

    story: Name
    method: Name | None = Field(None, exclude=True)
    methods: tuple[Name, ...] = ()
    expected: Annotated[
        dict[Text, Any],
        Field(min_length=1),
        says("say which answers are expected: {KEY: ...}"),
    ]
    feedback: Texts = {}

    @model_validator(mode="after")
    def _has_methods(self) -> Self:
        """Take `method: A` for `methods: [A]`."""
        if self.method:
            object.__setattr__(self, "methods", (self.method,))
            object.__setattr__(self, "method", None)
        if not self.methods:
            refuse([Problem([], "name a method, or methods: [A, B]")])
        return self


Known = tuple[KnownUnit, ...]


class Training(Part):
    """Units to begin with, and which share of the answers must be as expected."""

    pass_mark: Share = Field(
        0.7,
        title=_("Pass mark"),
        description=_("The share of answers that must be as expected."),
    )
    attempts: Count = Field(2, title=_("Attempts"))
    twins: Number = Field(
        0,
        title=_("Training stories made worse on purpose"),
        description=_(
            "Made for questions that say which degradation makes their answer worse, "
            "and shown beside their originals, or after them where stories are judged "
            "one at a time. Empty, and no units below: no training."
        ),
        exclude_if=lambda number: not number,
    )
    units: Known = Field((), title=_("Further training units"), description=UNITS)


class Checks(Part):
    """How many slots of a session check the annotator, and of which kinds."""

    whole: ClassVar[bool] = True

    per_session: Number = Field(
        0, title=_("Checks in a session"), description=_("0: nobody is checked.")
    )
    kinds: tuple[str, ...] = Field(Kind.controls, title=_("Kinds of checks"))
    degradations: tuple[
        Annotated[str, AfterValidator(partial(one_of, DEGRADATIONS))], ...
    ] = Field((), title=_("How copies are degraded"))
    share: Share = Field(0.2, title=_("Share of units with a degraded copy"))
    gold: Known = Field((), title=_("Gold units"), description=UNITS)


class Adaptive(Part):
    """Pairs chosen by what they tell about the ranking, until its top is separated."""

    top: Count = Field(
        3,
        title=_("Methods at the top"),
        description=_("It ends when these are separated from the rest."),
    )
    confidence: Share = Field(0.95, title=_("Confidence"))
    least: Count = Field(30, title=_("Least answers for each method"))
    explore: Share = Field(0.2, title=_("Share chosen at random"))
    question: Text = Field("", title=_("Question that ranks"))


Seconds = Annotated[
    float,
    BeforeValidator(no_truth),
    Field(ge=0, le=MOST_SECONDS),
    says(f"write a number of seconds from 0 to {MOST_SECONDS}"),
]


class Presentation(Part):
    """How stories are shown."""

    same_size: Switch = Field(
        True,
        title=_("All pictures and videos in one size"),
        description=_("Edges are added, so that resolution gives no method away."),
    )
    must_watch: Switch = Field(
        True, title=_("Videos are seen to the end before answers count")
    )
    must_see: Seconds = Field(
        0.0,
        title=_("Seconds for which each picture is in sight before answers count"),
        description=_("0: at once. One shot after the other, or all in the overview."),
    )
    comments: Switch = Field(
        False, title=_("Annotators may write a comment on a story")
    )
    shot_comments: Switch = Field(
        False, title=_("Annotators may write a comment on a single shot")
    )
    shuffle_questions: Switch = Field(
        False, title=_("Each annotator is asked the questions in another order")
    )
    skip_share: Share = Field(
        0.25,
        title=_("Share of a sitting that may be skipped without words"),
        description=_("Whoever skips more has to say why. 0: every time."),
    )


class Consent(Part, extra="allow"):
    """The text that annotators agree to in each language, and its version."""

    __pydantic_extra__: dict[str, Text]
    version: Text = Field("1", title=_("Version of the consent text"))

    @property
    def texts(self) -> dict[str, str]:
        return dict(self.model_extra or {})


# What they ask of each other

Problems = Iterator[Problem]


def problems_of_parts(study: "StudyDefinition") -> Problems:
    """Yield what does not suit the rest of a study."""
    yield from _outputs(study)
    yield from _keys(study)
    yield from _sets(study)
    yield from _training(study)
    yield from _checks(study)
    yield from _rules(study)
    yield from _adaptive(study)
    yield from _composites(study)


def _outputs(study: "StudyDefinition") -> Problems:
    """Hold the number of outputs shown at once against every kind."""
    kinds = study.kinds
    least, most = max(k.least for k in kinds), min(k.most for k in kinds)
    names = ", ".join(kind.name for kind in kinds)
    if least > most:
        told = f"{names}: not asked of equally many outputs; make it two studies"
        yield Problem(["questions"], told)
    elif not least <= study.outputs <= most:
        span = f"{least} to {most}" if least < most else str(least)
        yield Problem(["outputs"], f"write {span} for {names}")
    have_scales = any("scale" in kind.definition.model_fields for kind in kinds)
    if study.scale and not have_scales:
        yield Problem(["scale"], f"a {kinds[0].name} has no scale")


def _keys(study: "StudyDefinition") -> Problems:
    keys = [question.key for question in study.questions]
    for index, key in enumerate(keys):
        if key in keys[:index]:
            yield Problem(["questions", index, "key"], f"{key} is used twice")


def _sets(study: "StudyDefinition") -> Problems:
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


def _training(study: "StudyDefinition") -> Problems:
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


def _checks(study: "StudyDefinition") -> Problems:
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
    study: "StudyDefinition", units: Sequence[KnownUnit], path: Path
) -> Problems:
    """Put answers that are known in the form of their kind, or refuse them."""
    questions = {question.key: question for question in study.questions}
    for index, unit in enumerate(units):
        for key, value in unit.expected.items():
            at: Path = [*path, index, "expected", key]
            if key not in questions:
                told = f"no such question; there are {', '.join(questions)}"
                yield Problem(at, told)
                continue
            try:
                answer = questions[key].known_answer(value, unit.methods)
                unit.expected[key] = answer
            except PydanticCustomError as error:
                yield Problem(at, error.message())


def _rules(study: "StudyDefinition") -> Problems:
    known = dict.fromkeys(s for kind in study.kinds for s in kind.signals)
    if isinstance(study.rules, list):
        for index, rule in enumerate(study.rules):
            if rule["signal"] not in known:
                told = f"write one of {', '.join(known)}"
                yield Problem(["rules", index, "signal"], told)


def _adaptive(study: "StudyDefinition") -> Problems:
    adaptive = study.adaptive
    if adaptive is None:
        return
    keys = [question.key for question in study.questions]
    if study.outputs != 2:
        yield Problem(["adaptive"], "only pairs can be chosen adaptively")
    elif study.assignment != "open":
        told = "pairs are chosen as annotators ask for them: write assignment: open"
        yield Problem(["adaptive"], told)
    elif adaptive.question not in keys:
        yield Problem(["adaptive", "question"], f"write one of {', '.join(keys)}")


def _composites(study: "StudyDefinition") -> Problems:
    keys = {row["key"] for row in study.stored_questions}
    try:
        check_composites(study.composites, questions=keys, file="")
    except InputError as error:
        yield from problems_of_composites(error, ["composites"])


def problems_of_composites(
    error: InputError, path: Path | None = None, *, is_located: bool = True
) -> Problems:
    """Yield the problems of composites, with their lines if these are of the file."""
    for one in error.problems:
        told = filter(None, [one.column, one.value, f"expected {one.expected}"])
        yield Problem(path or [], ": ".join(told), one.line if is_located else None)
