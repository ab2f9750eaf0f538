"""What a kind of question has to say; `registry` lists the kinds that there are."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.utils.functional import Promise

from annotate.kinds.question import QuestionDefinition
from annotate.models import Answer, Question, Slot, Study
from annotate.quality_rules.signals import SIGNALS, is_right

if TYPE_CHECKING:
    import pandas as pd

# An answer, as somebody gave it or as it is stored.
Value = int | str
# What was read, and what is to be written: of a file, or of a table.
Row = Mapping[str, Any]
Fields = dict[str, Any]
# value, label, key on the keyboard
Option = tuple[str, str, str]


class AnswerError(ValueError):
    """The answer cannot be stored; the message says why, for the annotator."""


class NotNowError(AnswerError):
    """The answer may be stored at another time."""


class NotYetError(AnswerError):
    """Something is to be done before this story; the message says what."""


class BadAnswerError(AnswerError):
    """The question has no such answer."""


class SlotTakenError(Exception):
    """Somebody else holds the slot, or it is closed."""


def form_field(question: Question) -> str:
    """Return the name of a question's fields, told from the form's own by its begin."""
    return f"q:{question.key}"


class Kind(ABC):
    """A kind of question."""

    # As it is stored with the question and stands in study files.
    name: ClassVar[str]
    # Where lists name it: the lower, the earlier.
    place: ClassVar[int]
    # What a study file says of its questions.
    definition: ClassVar[type[QuestionDefinition]]
    # How many outputs are shown at once.
    least: ClassVar[int] = 1
    most: ClassVar[int] = 1
    # Where its answers are stored, and the table that researchers get.
    model: ClassVar[type[Answer]]
    table: ClassVar[str] = "ratings"
    # Whether reports, agreement, checks and leaderboards use its answers.
    is_counted: ClassVar[bool] = True
    # Whether its answers are numbers that each rate one output.
    is_numeric: ClassVar[bool] = False
    # Whether its answers prefer one output of a pair.
    is_pairwise: ClassVar[bool] = False
    # Whether it is asked of every shot by itself.
    of_shots: ClassVar[bool] = False
    # Whether its values have no order.
    is_nominal: ClassVar[bool] = False
    # Whether annotators answer in words of their own, which are erased with comments.
    is_free_text: ClassVar[bool] = False
    # Whether its questions may be left open, unless their `anchors` say `required`.
    is_optional: ClassVar[bool] = False
    # Whether an answer can be known beforehand, as training and gold need it.
    has_known_answers: ClassVar[bool] = True
    # Which slots may check annotators by it.
    controls: ClassVar[tuple[str, ...]] = ("gold", "repeat", "twin")
    # What its answers can say of how they were given.
    signals: ClassVar[tuple[str, ...]] = SIGNALS
    # The signal that holds an annotator against the others.
    compares: ClassVar[str] = "agreement"
    # How long it takes to answer, as an assumption for planning.
    seconds: ClassVar[int] = 7
    # Of its table: before and after those about the slot, from the story on.
    columns: ClassVar[tuple[str, ...]]
    more_columns: ClassVar[tuple[str, ...]] = ()
    # What `rows` needs of an answer beside value, question and slot.
    fields_read: ClassVar[tuple[str, ...]] = ()
    # What lists of studies call it, and the page where a study is set up.
    title: ClassVar[Promise]
    phrase: ClassVar[Promise]
    # What somebody is asked to do, as the heading of the page.
    heading: ClassVar[Promise]
    # What a template of so many questions (`n`) asks, of one scale or of none.
    asks: ClassVar[Promise]
    # How it is asked, what answers it on the page, and by which keys.
    template: ClassVar[str] = "rate/_questions.html"
    scripts: ClassVar[tuple[str, ...]] = ("question", "numbers")
    keys_template: ClassVar[str]
    # What a program sends as an answer.
    wanted: ClassVar[str]
    # How its options lie, as a class of the stylesheet.
    options_class: ClassVar[str] = ""

    @property
    def numbers_of_outputs(self) -> tuple[str, ...]:
        """Return how many outputs may be shown at once, as texts."""
        return tuple(map(str, range(self.least, self.most + 1)))

    # Answering

    @abstractmethod
    def fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the fields of an answer's row.

        Raises
        ------
        annotate.kinds.base.BadAnswerError
            The question has no such answer.
        """

    def stored_fields(self, slot: Slot, question: Question, value: Value) -> Fields:
        """Return the same for an answer in the unit's order, given elsewhere."""
        return self.fields(slot, question, value)

    def posted(self, question: Question, form: Mapping[str, str]) -> str | None:
        """Return what a form without a script holds; None: nothing, empty: no more."""
        return form.get(form_field(question)) or None

    # Showing

    def brief(self, questions: Sequence[QuestionDefinition]) -> str:
        """Return what a template of these questions asks."""
        return str(self.asks % {"n": len(questions)})

    @abstractmethod
    def options(self, slot: Slot, question: Question) -> tuple[Option, ...]:
        """Return what can be answered."""

    def example(self, slot: Slot, question: Question) -> str:
        """Return an answer as somebody could give it."""
        return self.options(slot, question)[0][0]

    def labels(self) -> list[str]:
        return []

    def as_displayed(self, slot: Slot, value: Value) -> str:
        """Return a stored answer as the annotator saw it."""
        return str(value)

    @abstractmethod
    def text_for_annotator(
        self, slot: Slot, question: Question, values: Sequence[Value]
    ) -> str:
        """Return an answer as the page says it, or the range of the right ones."""

    @abstractmethod
    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        """Return a stored answer in words, as managers read it."""

    def is_right(self, value: Value, expected: Sequence[int] | str) -> bool:
        """Say whether an answer is as a training or gold unit expects it."""
        return is_right(value, expected)

    # Verifying

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Name a study's stored answers to questions of this kind that cannot be."""
        return iter(())

    # Exporting

    @abstractmethod
    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return an answer's cells of its own columns; methods as in the unit."""

    def checked(self, frame: "pd.DataFrame", *, file: str) -> "pd.DataFrame":
        """Return the table of answers that count, checked as a file would be."""
        from analysis.reading import inputs

        checked: pd.DataFrame = getattr(inputs, f"check_{self.table}")(frame, file=file)
        return checked

    # Statistics

    def judgements(self, key: str, value: Value) -> dict[str, Value]:
        """Return the judgements that an answer to a question consists of, by name."""
        return {key: value}

    def numeric_value(self, judgement: Value) -> float:
        """Return the number whose mean is what people say of a unit."""
        return float(judgement)

    def worth(self, value: Value, place: int) -> float:
        """Return what an answer says of one of the unit's outputs; more is better."""
        return self.numeric_value(value)

    def agreement_value(self, judgement: Value) -> float:
        """Return a judgement as a number, for agreement."""
        return float(judgement)
