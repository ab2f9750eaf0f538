"""What a study definition holds, each value right by itself."""

import json
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

import yaml
from django.utils.translation import gettext_noop as _
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    TypeAdapter,
    WithJsonSchema,
)

from analysis.problems import InputError
from analysis.rankings.composite_weights import Composite, composites_in
from annotate.kinds.base import Kind
from annotate.kinds.question import DegradableQuestion, Scale
from annotate.kinds.registry import AnyQuestion, kinds_named
from annotate.quality_rules.rules import Rule, parse_rules
from annotate.schema import (
    Count,
    Number,
    Part,
    Problem,
    Text,
    Texts,
    refusal,
    refuse,
    some,
)
from annotate.schema import Path as Steps
from annotate.studies.parts import (
    Adaptive,
    CellPairs,
    Checks,
    Consent,
    Pairs,
    Presentation,
    Sample,
    Sets,
    Subset,
    Training,
)

Assignment = Literal["planned", "open"]


def problems_of_composites(
    error: InputError, path: Steps | None = None, *, is_located: bool = True
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


class StudyFields(Part):
    """Everything about a study but the benchmark and its outputs.

    `kind` and `scale` are those of the questions that do not say their own: read, they
    stand with the questions.
    """

    name: str = Field("study", exclude=True)
    title: Text = Field("", title=_("Title"))
    kind: str | None = None
    scale: Scale | None = None
    outputs: Count = 1
    assignment: Assignment = Field("planned", title=_("Who comes"))
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
