"""The part of a study definition about crowd platforms: codes, addresses and pay."""

import re
from typing import Annotated, Any, Literal, Self

from django.utils.translation import gettext_noop as _
from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from annotate.models.people import new_completion_code
from annotate.people.outcomes import Outcome
from annotate.people.platforms import platform_named, problem_of_address
from annotate.schema import (
    Count,
    Part,
    Problem,
    Switch,
    Text,
    refusal,
    refuse,
    refuse_boolean,
    says,
)

CODE = re.compile(r"[A-Za-z0-9_-]{1,64}")
CURRENCY = re.compile(r"[A-Z]{3}")
# More is a typing error in every currency of the platforms.
LEAST_PAY, MOST_PAY = 0.01, 10_000


def _as_code(text: str) -> str:
    if text and not CODE.fullmatch(text):
        raise refusal("write 1 to 64 letters, digits, - or _")
    return text


def _as_currency(text: str) -> str:
    if text and not CURRENCY.fullmatch(text):
        raise refusal("write a currency in three letters, such as GBP")
    return text


class Ending(Part):
    """The code of an outcome, and the address that hands it in."""

    code: Annotated[Text, AfterValidator(_as_code)] = Field(
        "", title=_("Code"), description=_("Empty: one is made.")
    )
    url: Text = Field(
        "",
        title=_("Completion address"),
        description=_("Empty: the platform's address with the code."),
    )


class Outcomes(Part):
    """The endings of a study, one for each outcome."""

    completed: Ending = Ending()
    no_consent: Ending = Ending()
    failed: Ending = Ending()
    no_work: Ending = Ending()
    stopped: Ending = Ending()


Pay = Annotated[
    float,
    BeforeValidator(refuse_boolean),
    Field(ge=LEAST_PAY, le=MOST_PAY),
    says(f"write an amount from {LEAST_PAY} to {MOST_PAY}"),
]


class Recruitment(Part):
    """Crowd platform, codes, advertised time and pay of a study."""

    platform: Literal["prolific", "mturk", "sona", "codes"] | None = Field(
        None,
        title=_("Crowd platform"),
        description=_(
            "Without one, and with codes, each person gets a completion code of "
            "their own."
        ),
    )
    require_id: Switch = Field(
        False,
        title=_("Require the platform's ID"),
        description=_("People without an ID in the link see what to do."),
        exclude_if=lambda required: not required,
    )
    outcomes: Outcomes = Outcomes()
    minutes: Count | None = Field(
        None,
        title=_("Advertised minutes"),
        description=_("For one person, with instructions and training."),
    )
    pay_per_hour: Pay | None = Field(None, title=_("Pay per hour"))
    currency: Annotated[Text, AfterValidator(_as_currency)] = Field(
        "", title=_("Currency"), description=_("In three letters, such as GBP.")
    )

    @model_validator(mode="after")
    def _suit_each_other(self) -> Self:
        """Refuse foreign addresses, and the code of completed work elsewhere."""
        refuse(self._problems())
        return self

    def stored(self) -> dict[str, Any]:
        """Return the values for a study, with a new code for each outcome without."""
        data: dict[str, Any] = self.model_dump()
        if platform_named(self.platform or "").has_shared_codes:
            outcomes = data.setdefault("outcomes", {})
            for name in Outcome:
                ending = outcomes.setdefault(str(name), {})
                ending.setdefault("code", new_completion_code())
        return data

    def _problems(self) -> list[Problem]:
        platform = platform_named(self.platform or "")
        problems = []
        for name in Outcome:
            ending: Ending = getattr(self.outcomes, name)
            path = ["outcomes", str(name)]
            if ending.url and (text := problem_of_address(platform, ending.url)):
                problems.append(Problem([*path, "url"], text))
            if ending.code and not platform.has_shared_codes:
                text = "only a platform with one code for everybody has codes here"
                problems.append(Problem([*path, "code"], text))
            is_other = name != Outcome.COMPLETED
            if is_other and ending.code and ending.code == self.outcomes.completed.code:
                text = "write another code than that of completed work"
                problems.append(Problem([*path, "code"], text))
        return problems
