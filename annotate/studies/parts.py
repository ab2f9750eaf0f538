"""Parts of a study definition, with the titles and descriptions of the form."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, Self

import yaml
from django.utils.translation import gettext_noop as _
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)

from analysis.problems import InputError
from analysis.rankings.composite_weights import Composite, composites_in
from annotate.kinds.base import Kind
from annotate.kinds.question import DEGRADATIONS, Scale
from annotate.quality_rules.rules import Rule, parse_rules
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
    one_of,
    refusal,
    refuse,
    refuse_boolean,
    refuse_empty,
    says,
)

# The longest time in seconds for which a study can require a view of a picture.
MOST_SECONDS = 60
UNITS = _("YAML list: - {story: '01', method: A, expected: {KEY: [3, 4]}}")

EverySet = Literal["all", "ring"]


class StorySample(Part):
    """A random sample of stories, stratified by the values of the tag `by`."""

    number: Count = Field(
        1,
        title=_("Number of random stories"),
        description=_("Leave empty for all stories above."),
    )
    by: Text = Field("", title=_("Stratified by tag"))


class DrawnSample(StorySample):
    """A random sample of the stories that are rated, with known probabilities."""

    number: Count = Field(
        title=_("Number of random stories"),
        description=_("Leave empty for all stories above."),
    )
    spread_of: Text = Field(
        "",
        title=_("Prefer stories where methods differ by this metric"),
        description=_(
            "Stories on which this metric's scores of the methods differ more are "
            "drawn more often. Reports take the probabilities into account."
        ),
    )


def _as_sample(value: Any) -> Any:
    is_whole = isinstance(value, dict | StorySample) or value is None
    return value if is_whole else {"number": value}


Sample = Annotated[
    StorySample,
    BeforeValidator(_as_sample, json_schema_input_type=int | StorySample),
]
Drawn = Annotated[
    DrawnSample,
    BeforeValidator(_as_sample, json_schema_input_type=int | DrawnSample),
]
# Metrics that a method was trained on or chosen by, by the method's name.
TrainedOn = dict[Name, Names]


class CellPairs(Part):
    """A number of pairs of methods for each combination of the tags `by`."""

    number: Count = Field(1, title=_("Pairs per combination"))
    by: Names


def _form_of_sets(value: Any) -> str:
    if isinstance(value, dict | CellPairs):
        return "<cells>"
    return "<listed>" if isinstance(value, list | tuple) else "<every>"


Listed = Annotated[
    tuple[Annotated[tuple[Name, ...], says("write methods, such as [A, B]")], ...],
    BeforeValidator(refuse_empty),
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
    """Stories whose units get more ratings than the others."""

    redundancy: Count = Field(3, title=_("Ratings per item for these stories"))
    stories: Sample


class KnownUnit(Part):
    """A unit with a known answer to each question in `expected`.

    An answer is a range, a method's name or `tie`, or methods in their order.
    """

    story: Name
    method: Name | None = Field(None, exclude=True)
    methods: tuple[Name, ...] = ()
    expected: Annotated[
        dict[Text, Any],
        Field(min_length=1),
        says("write the expected answers: {KEY: ...}"),
    ]
    feedback: Texts = {}

    @model_validator(mode="after")
    def _has_methods(self) -> Self:
        """Read `method: A` as `methods: [A]`."""
        if self.method:
            object.__setattr__(self, "methods", (self.method,))
            object.__setattr__(self, "method", None)
        if not self.methods:
            refuse([Problem([], "write a method, or methods: [A, B]")])
        return self


Known = tuple[KnownUnit, ...]


class Training(Part):
    """Training units, and the share of answers that must be correct."""

    pass_mark: Share = Field(
        0.7,
        title=_("Pass mark"),
        description=_("Share of answers that must be correct."),
    )
    attempts: Count = Field(2, title=_("Attempts"))
    per_round: Number = Field(
        0,
        title=_("Training items per round"),
        description=_(
            "Empty: all. With fewer, a repeated round takes others first. A copy and "
            "its original count as one."
        ),
        exclude_if=lambda number: not number,
    )
    twins: Number = Field(
        0,
        title=_("Degraded copies in training"),
        description=_(
            "Made for questions with a degradation. Each copy appears beside its "
            "original, or after it if stories are rated one at a time. There is no "
            "training if this and the next field are empty."
        ),
        exclude_if=lambda number: not number,
    )
    units: Known = Field((), title=_("More training items"), description=UNITS)


class Checks(Part):
    """Number and kinds of the slots in a session that check the annotator."""

    whole: ClassVar[bool] = True

    per_session: Number = Field(
        0, title=_("Checks per sitting"), description=_("0: no checks.")
    )
    kinds: tuple[str, ...] = Field(Kind.controls, title=_("Kinds of checks"))
    degradations: tuple[
        Annotated[str, AfterValidator(partial(one_of, DEGRADATIONS))], ...
    ] = Field((), title=_("Kinds of degradation"))
    share: Share = Field(0.2, title=_("Share of items with a degraded copy"))
    gold: Known = Field((), title=_("Known-answer checks"), description=UNITS)


class Adaptive(Part):
    """Adaptive selection of pairs, until the top of the ranking is separated."""

    top: Count = Field(
        3,
        title=_("Number of top methods"),
        description=_("Collection stops when these are separated from the rest."),
    )
    confidence: Share = Field(0.95, title=_("Confidence"))
    least: Count = Field(30, title=_("Minimum answers per method"))
    explore: Share = Field(0.2, title=_("Share of pairs chosen at random"))
    question: Text = Field("", title=_("Question for the ranking"))


Seconds = Annotated[
    float,
    BeforeValidator(refuse_boolean),
    Field(ge=0, le=MOST_SECONDS),
    says(f"write a number of seconds from 0 to {MOST_SECONDS}"),
]


class Presentation(Part):
    """Options for the presentation of stories."""

    same_size: Switch = Field(
        True,
        title=_("Show all pictures and videos in one size"),
        description=_("Borders are added, so that resolution reveals no method."),
    )
    overview: Switch = Field(
        False,
        title=_("Show all shots at once first"),
        description=_("Annotators can change to one shot at a time."),
    )
    must_watch: Switch = Field(True, title=_("Require videos to be watched to the end"))
    must_see: Seconds = Field(
        0.0,
        title=_("Seconds that each picture must be in view"),
        description=_("0: no minimum. Shots count one by one or all in the overview."),
    )
    comments: Switch = Field(False, title=_("Allow comments on stories"))
    shot_comments: Switch = Field(False, title=_("Allow comments on single shots"))
    shuffle_questions: Switch = Field(
        False, title=_("Ask each annotator the questions in a different order")
    )
    skip_share: Share = Field(
        0.25,
        title=_("Share of a sitting that may be skipped without a reason"),
        description=_("Annotators who skip more must give a reason. 0: always."),
    )


class Consent(Part, extra="allow"):
    """The consent text in each language, and its version."""

    __pydantic_extra__: dict[str, Text]
    version: Text = Field("1", title=_("Version of the consent text"))

    @property
    def texts(self) -> dict[str, str]:
        return dict(self.model_extra or {})


Half = Annotated[
    float,
    BeforeValidator(refuse_boolean),
    Field(ge=0.001, le=100, allow_inf_nan=False),
    says("write a number from 0.001 to 100"),
]
HalfOfShare = Annotated[
    float,
    BeforeValidator(refuse_boolean),
    Field(ge=0.001, le=0.49, allow_inf_nan=False),
    says("write a number from 0.001 to 0.49"),
]


class Goals(Part):
    """Precision at which a study has enough answers."""

    mean: Half | None = Field(
        None,
        title=_("Means within ±"),
        description=_("Half-width on the scale of the ratings, such as 0.2."),
    )
    win_rate: HalfOfShare | None = Field(
        None,
        title=_("Win rates within ±"),
        description=_("For comparisons: half-width of shares, such as 0.05."),
    )
    top: Count | None = Field(
        None,
        title=_("Best methods to separate"),
        description=_("Number of best methods, such as 3."),
    )
    correlation: HalfOfShare | None = Field(
        None,
        title=_("Correlation with metrics within ±"),
        description=_("Half-width of Pearson's correlation, such as 0.1."),
    )


# The goals of ratings on a scale, and those of comparisons and rankings.
GOALS_OF_RATINGS = ("mean", "top", "correlation")
GOALS_OF_COMPARISONS = ("win_rate", "top")


def goals_of(kind: Kind) -> tuple[str, ...]:
    """Return the goals that a kind's questions can have."""
    if kind.of_shots or not kind.is_counted:
        return ()
    return GOALS_OF_RATINGS if kind.is_numeric else GOALS_OF_COMPARISONS


def problems_of_composites(
    error: InputError, path: Path | None = None, *, is_located: bool = True
) -> Iterator[Problem]:
    """Yield the problems of composites, with lines if the error is `is_located`."""
    for one in error.problems:
        parts = filter(None, [one.column, one.value, f"expected {one.expected}"])
        yield Problem(path or [], ": ".join(parts), one.line if is_located else None)


def _as_composites(value: Any) -> tuple[Composite, ...]:
    """Read composites from YAML nodes, which know their lines, or from a mapping."""
    if isinstance(value, tuple):
        return value
    is_block = isinstance(value, yaml.Node)
    try:
        block = value if is_block else yaml.compose(json.dumps(value, default=str))
    except TypeError as error:  # Keys are lists or mappings.
        raise refusal("write text as keys") from error
    assert isinstance(block, yaml.Node)  # JSON is never empty
    try:
        return composites_in(block, "")
    except InputError as error:
        refuse(problems_of_composites(error, is_located=is_block))
        raise


def _checked_rules(value: Any) -> Any:
    parse_rules(value)
    return value or []


Rules = Annotated[
    Any,
    AfterValidator(_checked_rules),
    WithJsonSchema(
        {
            "anyOf": [
                {"const": "default"},
                {"type": "array", "items": TypeAdapter(Rule).json_schema()},
            ]
        }
    ),
]
Composites = Annotated[
    tuple[Any, ...],
    BeforeValidator(_as_composites),
    WithJsonSchema({"type": "object"}),
]


def is_scale(value: Any) -> bool:
    try:
        TypeAdapter(Scale).validate_python(value)
    except ValidationError:
        return False
    return True
