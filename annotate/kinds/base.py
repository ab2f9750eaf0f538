"""Interface of question kinds; `registry` lists them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from django.utils.functional import Promise

from annotate.kinds.question import QuestionDefinition
from annotate.models import Answer, Question, Slot, Study
from annotate.quality_rules.signals import SIGNALS, is_right

if TYPE_CHECKING:
    import pandas as pd

# An answer as it is sent or stored.
Value = int | str
# Fields that are read from or written to a file or table.
Row = Mapping[str, Any]
Fields = dict[str, Any]
# value, label, key on the keyboard
Option = tuple[str, str, str]


class AnswerError(ValueError):
    """The answer cannot be stored; the message tells the annotator why."""


class NotNowError(AnswerError):
    """The answer may be stored at another time."""


class NotYetError(AnswerError):
    """The annotator has to do something else first; the message says what."""


class BadAnswerError(AnswerError):
    """The question has no such answer."""


class SlotTakenError(Exception):
    """The slot is closed or held by another annotator."""


def form_field(question: Question) -> str:
    """Return the name of a question's form fields, with their own prefix."""
    return f"q:{question.key}"


class Kind(ABC):
    """A kind of question."""

    # The kind's name in the database and in study files.
    name: ClassVar[str]
    # Lists are sorted by this number.
    place: ClassVar[int]
    # The schema of its questions in a study file.
    definition: ClassVar[type[QuestionDefinition]]
    # The numbers of outputs that are shown at once.
    least: ClassVar[int] = 1
    most: ClassVar[int] = 1
    # The model of its answers, and the name of the exported table.
    model: ClassVar[type[Answer]]
    table: ClassVar[str] = "ratings"
    # A second exported table with a row for each part of an answer, and its columns.
    parts_table: ClassVar[str] = ""
    parts_columns: ClassVar[tuple[str, ...]] = ()
    # Whether agreement, checks and leaderboards use its answers as those to outputs.
    is_counted: ClassVar[bool] = True
    # Whether each answer is a number that rates one output.
    is_numeric: ClassVar[bool] = False
    # Whether its answers prefer one output of a pair.
    is_pairwise: ClassVar[bool] = False
    # Whether each shot is asked about separately.
    of_shots: ClassVar[bool] = False
    # Whether its values are unordered.
    is_nominal: ClassVar[bool] = False
    # Whether answers are too various to be cached, and drafts overwrite each other.
    is_open_ended: ClassVar[bool] = False
    # Whether a study can have only one such question.
    is_single: ClassVar[bool] = False
    # Whether its outputs must be pictures.
    needs_pictures: ClassVar[bool] = False
    # Whether answers are free text, which is erased together with comments.
    is_free_text: ClassVar[bool] = False
    # Whether its questions are optional unless their `anchors` say `required`.
    is_optional: ClassVar[bool] = False
    # Whether a right answer can be declared, as training and gold units need it.
    has_known_answers: ClassVar[bool] = True
    # The purposes of slots that can check annotators with this kind.
    controls: ClassVar[tuple[str, ...]] = ("gold", "repeat", "twin")
    # The quality signals that its answers provide.
    signals: ClassVar[tuple[str, ...]] = SIGNALS
    # The signal that compares an annotator with the others.
    compares: ClassVar[str] = "agreement"
    # The assumed time for an answer, for planning.
    seconds: ClassVar[int] = 7
    # Columns of its table before and after those about the slot.
    columns: ClassVar[tuple[str, ...]]
    more_columns: ClassVar[tuple[str, ...]] = ()
    # Fields that `rows` needs beside value, question and slot.
    fields_read: ClassVar[tuple[str, ...]] = ()
    # Its name in lists of studies and in the set-up form.
    title: ClassVar[Promise]
    phrase: ClassVar[Promise]
    # The annotator's task, as the heading of the page.
    heading: ClassVar[Promise]
    # The summary of a protocol with `n` such questions.
    asks: ClassVar[Promise]
    # Its template, its scripts, and the template of its keyboard shortcuts.
    template: ClassVar[str] = "rate/_questions.html"
    scripts: ClassVar[tuple[str, ...]] = ("question", "numbers")
    keys_template: ClassVar[str]
    # The answer that an API client sends, in words.
    wanted: ClassVar[str]
    # The CSS class that lays its options out.
    options_class: ClassVar[str] = ""

    @property
    def numbers_of_outputs(self) -> tuple[str, ...]:
        """Return the allowed numbers of outputs shown at once, as texts."""
        return tuple(map(str, range(self.least, self.most + 1)))

    @property
    def tables(self) -> tuple[str, ...]:
        """Return the names of its exported tables."""
        return tuple(filter(None, (self.table, self.parts_table)))

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
        """Return the fields of an imported answer, which has the unit's order."""
        return self.fields(slot, question, value)

    def posted(self, question: Question, form: Mapping[str, str]) -> str | None:
        """Return the answer in a posted form; None: no field, empty: cleared."""
        return form.get(form_field(question)) or None

    # Showing

    def brief(self, questions: Sequence[QuestionDefinition]) -> str:
        """Return a one-line summary of these questions."""
        return str(self.asks % {"n": len(questions)})

    @abstractmethod
    def options(self, slot: Slot, question: Question) -> tuple[Option, ...]:
        """Return the possible answers with their labels and keys."""

    def example(self, slot: Slot, question: Question) -> str:
        """Return an example of an answer."""
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
        """Return an answer, or the range of right answers, in the words of the page."""

    @abstractmethod
    def text_for_manager(self, slot: Slot, question: Question, value: Value) -> str:
        """Return a stored answer in words for managers."""

    def is_right(self, value: Value, expected: Sequence[int] | str) -> bool:
        """Return whether an answer is the one that a training or gold unit expects."""
        return is_right(value, expected)

    # Verifying

    def invalid_answers(self, study: Study) -> Iterator[str]:
        """Describe a study's stored answers to such questions that are invalid."""
        return iter(())

    # Exporting

    @abstractmethod
    def rows(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return an answer's cells in the kind's columns; methods as in the unit."""

    def parts(self, answer: Row, methods: Sequence[str]) -> list[Fields]:
        """Return the rows of `parts_table` for an answer."""
        return []

    def dimension_titles(self, question: Question) -> dict[str, str]:
        """Return the titles of the dimensions that a question has in reports."""
        return {question.key: question.full_title}

    def checked(self, frame: "pd.DataFrame", *, file: str) -> "pd.DataFrame":
        """Return the table of counted answers, validated like a file."""
        from analysis.reading import inputs

        checked: pd.DataFrame = getattr(inputs, f"check_{self.table}")(frame, file=file)
        return checked

    # Statistics

    def judgements(self, key: str, value: Value) -> dict[str, Value]:
        """Return the judgements that an answer consists of, by name."""
        return {key: value}

    def numeric_value(self, judgement: Value) -> float:
        """Return an answer as a number, to be averaged over a unit's answers."""
        return float(judgement)

    def worth(self, value: Value, place: int) -> float:
        """Return how an answer rates one of the unit's outputs; more is better."""
        return self.numeric_value(value)

    def agreement_value(self, judgement: Value) -> float:
        """Return a judgement as a number for agreement statistics."""
        return float(judgement)
