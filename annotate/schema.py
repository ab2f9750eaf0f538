"""Types of the study schema, each with a correction for wrong values."""

from collections.abc import Callable, Collection, Iterable
from datetime import date
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    SerializerFunctionWrapHandler,
    WrapValidator,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError

from analysis.problems import Problems, WordedProblem, without_numbers


def _(text: str) -> str:
    """Mark a text that the set-up form translates."""
    return text


# In bytes. A study file of a hundred questions in two languages has 60 kB.
LONGEST = 256_000

# Keys and indexes that lead to a value.
Path = list[str | int]
# Corrections for errors that no type below describes itself.
MESSAGES = {
    "missing": _("is missing"),
    "model_type": _("write key: value pairs here"),
    "model_attributes_type": _("write key: value pairs here"),
    "dict_type": _("write key: value pairs here"),
    "dataclass_type": _("write key: value pairs here"),
    "tuple_type": _("write a list"),
    "list_type": _("write a list"),
    "string_type": _("write text"),
}
# The largest count, and the largest other whole number, that a column holds.
MOST, LARGEST = 2**31 - 1, 2**63 - 1


class DefinitionError(ValueError):
    """An error in a study file; the message names file, line and column.

    `path` leads to the value, and `reason` says what to write. `further` holds the
    other errors of the same file, which the message lists too.
    """

    def __init__(
        self,
        file: str,
        place: tuple[int, int] | int | None,
        reason: str,
        path: Path | None = None,
    ) -> None:
        line, column = place if isinstance(place, tuple) else (place, None)
        self.line = line
        self.path = path or []
        self.reason = reason
        where = ".".join(str(step) for step in self.path)
        at = ":".join(str(one) for one in (file, line, column) if one)
        self.further: list[DefinitionError] = []
        super().__init__(": ".join(filter(None, (at, where, reason))))
        self.problem = WordedProblem(
            self.args[0], without_numbers(f"{where}: {reason}")
        )

    def __str__(self) -> str:
        return "\n".join(Problems(one.problem for one in self.each()).lines())

    def each(self) -> "list[DefinitionError]":
        return [self, *self.further]


class Problem(NamedTuple):
    """A wrong value and its correction; `line` if only the value's reader knows it."""

    path: Path
    text: str
    line: int | None = None


def refusal(text: str, line: int | None = None) -> PydanticCustomError:
    """Return the error that a validator raises about its value."""
    return PydanticCustomError("refused", "{reason}", {"reason": text, "line": line})


def refuse(problems: Iterable[Problem]) -> None:
    """Raise all problems as one error, if there are any."""
    details = [
        InitErrorDetails(
            type=refusal(one.text, one.line), loc=tuple(one.path), input=None
        )
        for one in problems
    ]
    if details:
        raise ValidationError.from_exception_data("study", details)


def problems_of(error: ValidationError) -> list[Problem]:
    """Return the problems of an error, in plain words."""
    problems = []
    for one in error.errors(include_url=False, include_input=False):
        context = one.get("ctx", {})
        path: Path = [step for step in one["loc"] if step != "[key]"]
        if one["type"] == "union_tag_invalid":
            path.append(context["discriminator"].strip("'"))
        text = _text(one["type"], one["msg"], context)
        problems.append(Problem(path, text, context.get("line")))
    return problems


def _text(kind: str, message: str, context: dict[str, Any]) -> str:
    expected = context.get("expected_tags") or context.get("expected")
    if expected:
        return write_one_of(plain_list(expected))
    return str(context.get("reason") or MESSAGES.get(kind, message))


def plain_list(expected: str) -> list[str]:
    """Return the names of "'a', 'b'" or "'a' or 'b'"."""
    names = expected.replace(" or ", ", ").replace("'", "").split(", ")
    return [*filter(None, names)]


def write_one_of(names: Iterable[str]) -> str:
    """Return the correction that names the possible values."""
    return f"write one of {', '.join(names)}"


def says(text: str) -> WrapValidator:
    """Return a validator that refuses every wrong value with this text."""

    def check(value: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(value)
        except ValidationError as error:
            raise refusal(text) from error

    return WrapValidator(check)


class Part(BaseModel):
    """A part of a study; empty values are not written, unless it is `whole`."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    whole: ClassVar[bool] = False

    @model_validator(mode="wrap")
    @classmethod
    def _refuse_unknown_keys(
        cls, data: Any, handler: ModelWrapValidatorHandler[Self]
    ) -> Self:
        """Treat a key without a value as absent, and refuse unknown keys."""
        if not isinstance(data, dict):
            return handler(data)
        given = {key: value for key, value in data.items() if value is not None}
        if cls.model_config.get("extra") == "allow":
            return handler(given)
        known = cls.model_fields
        expected = ", ".join(sorted(known.keys() - {"name"}))
        text = f"unknown key; expected {expected}"
        problems = [Problem([key], text) for key in given if key not in known]
        try:
            made = handler({key: given[key] for key in given if key in known})
        except ValidationError as error:
            if not problems:
                raise
            problems += problems_of(error)
        refuse(problems)
        return made

    @model_serializer(mode="wrap")
    def _filled(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        data: dict[str, Any] = handler(self)
        if self.whole:
            return data
        return {key: value for key, value in data.items() if not is_empty(value)}

    def with_changes(self, **changes: object) -> Self:
        """Return a copy with changed values, which are not validated."""
        return self.model_copy(update=changes)


def one_of(known: Collection[str], value: Any) -> Any:
    """Return a value, or refuse one that is not known."""
    if value not in known:
        raise refusal(write_one_of(known))
    return value


def is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, str | dict | list | tuple) and not value)


def refuse_boolean(value: Any) -> Any:
    if isinstance(value, bool):
        raise refusal(_("write a number"))
    return value


def _refuse_number(value: Any) -> Any:
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise refusal(_("write true or false"))
    return value


def _refuse_other_than_text(value: Any) -> Any:
    if not isinstance(value, str | date):
        raise refusal(_("write a day, such as 2026-12-31"))
    return value


def _as_text(value: Any) -> str:
    """Return a single value as text, as it is written."""
    if isinstance(value, bool):
        raise refusal(f'write text, such as "{str(value).lower()}" in quotes')
    if not isinstance(value, str | int | float):
        raise refusal(_("write text"))
    return str(value)


def _as_texts(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    return {} if value is None else {"en": _as_text(value)}


def refuse_empty(value: Any) -> Any:
    """Refuse an empty list."""
    if isinstance(value, list | tuple) and not value:
        raise refusal(_("write a list with at least one entry"))
    return value


def _as_names(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


def _as_key(text: str) -> str:
    if not text.replace("_", "").replace("-", "").isalnum():
        raise refusal(_("write letters, digits, _ and - only"))
    return text


Text = Annotated[
    str, BeforeValidator(_as_text, json_schema_input_type=str | int | float)
]
Name = Annotated[Text, Field(min_length=1)]
Key = Annotated[Text, AfterValidator(_as_key)]
Names = Annotated[
    tuple[Name, ...],
    BeforeValidator(refuse_empty),
    BeforeValidator(_as_names, json_schema_input_type=str | list[str]),
    says(_("write a name, or a list of names")),
]
# One English text, or one text for each language.
Texts = Annotated[
    dict[Text, Text],
    BeforeValidator(_as_texts, json_schema_input_type=str | dict[str, str]),
    says(_("write text, or {en: ..., zh: ...}")),
]
Switch = Annotated[
    bool, BeforeValidator(_refuse_number), says(_("write true or false"))
]
Number = Annotated[
    int,
    BeforeValidator(refuse_boolean),
    Field(ge=0, le=LARGEST),
    says(_("write a whole number of at least 0")),
]
Count = Annotated[
    int,
    BeforeValidator(refuse_boolean),
    Field(ge=1, le=MOST),
    says(_("write a whole number of at least 1")),
]
Day = Annotated[
    date,
    BeforeValidator(_refuse_other_than_text, json_schema_input_type=date),
    says(_("write a day, such as 2026-12-31")),
]
Share = Annotated[
    float,
    BeforeValidator(refuse_boolean),
    Field(ge=0, le=1),
    says(_("write a number from 0 to 1")),
]
