"""The parts of a study definition; titles and descriptions are those of the form."""

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
    no_truth,
    one_of,
    refusal,
    refuse,
    says,
    some,
)

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


def problems_of_composites(
    error: InputError, path: Path | None = None, *, is_located: bool = True
) -> Iterator[Problem]:
    """Yield the problems of composites, with their lines if these are of the file."""
    for one in error.problems:
        told = filter(None, [one.column, one.value, f"expected {one.expected}"])
        yield Problem(path or [], ": ".join(told), one.line if is_located else None)


def _as_composites(value: Any) -> tuple[Composite, ...]:
    """Read a block of YAML, whose nodes know their lines, or a mapping."""
    if isinstance(value, tuple):
        return value
    is_block = isinstance(value, yaml.Node)
    try:
        block = value if is_block else yaml.compose(json.dumps(value, default=str))
    except TypeError as error:  # of keys that are lists or mappings
        raise refusal("write texts as keys") from error
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
