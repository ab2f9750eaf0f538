"""Questions of a study file: the fields that all kinds share."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from annotate.schema import (
    Key,
    Names,
    Part,
    Problem,
    Share,
    Text,
    Texts,
    refusal,
    refuse,
    says,
)

Degradation = Literal[
    "", "shuffled", "foreign_shot", "repeated_shot", "blurred", "swapped_characters"
]
DEGRADATIONS: tuple[str, ...] = tuple(filter(None, get_args(Degradation)))
WIDEST_SCALE = 100
# The order of fields in a file; fields of a single kind come last.
ORDER = (
    "key",
    "kind",
    "category",
    "metric",
    "epsilon",
    "degradation",
    "scale",
    "title",
    "text",
    "help",
    "anchors",
    "stories",
    "allow_tie",
)
# The columns of a stored question that hold a text in each language.
COLUMNS = {
    "title": "titles",
    "text": "texts",
    "help": "help_texts",
    "category": "categories",
}


def _whole(value: Any) -> Any:
    if isinstance(value, bool | float):
        raise refusal("write a whole number")
    return value


def _ordered(scale: tuple[int, int]) -> tuple[int, int]:
    low, high = scale
    if not low < high <= low + WIDEST_SCALE:
        raise refusal("write the lowest value first")
    return scale


Whole = Annotated[int, BeforeValidator(_whole)]
Scale = Annotated[
    tuple[Whole, Whole],
    AfterValidator(_ordered),
    says(
        "write the lowest and the highest value, such as [0, 4], at most "
        f"{WIDEST_SCALE} apart"
    ),
]


class QuestionDefinition(Part):
    """One dimension or criterion, or one label of a checklist.

    `stories` restricts it to stories with one of the values of a tag:
    `{"angle": ("TR",)}`; a story without the tag is asked about, too. The metric may
    be `epsilon` worse than an annotator and still take the place of one.
    """

    key: Key
    kind: str
    title: Texts = {}
    text: Texts = {}
    help: Texts = {}
    metric: Text = ""
    epsilon: Share | None = None
    stories: dict[Text, Names] = {}

    @model_validator(mode="after")
    def _named(self) -> Self:
        if not self.title:
            title = {"en": self.key.replace("_", " ").capitalize()}
            object.__setattr__(self, "title", title)
        return self

    @model_validator(mode="after")
    def _epsilon_of_a_metric(self) -> Self:
        if self.epsilon is not None and not self.metric:
            text = "only a declared metric has an epsilon; write metric, too"
            refuse([Problem(["epsilon"], text)])
        return self

    @model_serializer(mode="wrap")
    def _filled(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        keys = [*ORDER, *(key for key in data if key not in ORDER)]
        return {key: data[key] for key in keys if data.get(key) not in (None, "", {})}

    def rows(self) -> list[dict[str, Any]]:
        """Return the fields of each stored question that this one becomes."""
        return [{COLUMNS.get(name, name): value for name, value in self}]

    def known_answer(
        self, value: Any, methods: Sequence[str]
    ) -> tuple[int, int] | tuple[str, ...] | str:
        """Return a declared right answer, or raise an error that says what is valid."""
        raise refusal(f"no answer to a {self.kind} is known beforehand")


class DegradableQuestion(QuestionDefinition):
    """A question whose answer a `degradation` makes worse."""

    degradation: Degradation = ""

    def alone(self) -> list[int]:
        """Return the range of right ratings for a degraded copy shown alone."""
        raise NotImplementedError(f"{self.kind} compares outputs")
