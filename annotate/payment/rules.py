"""Bonus by a rule: the same for everybody, per story, or per passed check."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import pgettext_lazy

from annotate.payment.table import PASSED, PersonRow
from annotate.quality.monitoring import signals_of

CENT = Decimal("0.01")
MOST = Decimal(10_000)
AMOUNT = re.compile(r"\d{1,5}([.,]\d{1,2})?", re.ASCII)


class PayError(ValueError):
    """Invalid request about pay; the message says why."""


class BonusRule(models.TextChoices):
    """Unit of work that earns an amount."""

    STORY = "story", pgettext_lazy("bonus", "for each story")
    CHECK = "check", pgettext_lazy("bonus", "for each passed check")
    FIXED = "fixed", pgettext_lazy("bonus", "for each person")


def read_amount(text: str) -> Decimal:
    """Parse an amount of money with at most two decimals."""
    text = text.strip()
    if not AMOUNT.fullmatch(text) or Decimal(text.replace(",", ".")) > MOST:
        raise PayError(
            _("Enter an amount from 0 to %(most)d, such as 1.50.") % {"most": MOST}
        )
    return Decimal(text.replace(",", ".")).quantize(CENT)


def bonus_signals(rows: Sequence[PersonRow]) -> list[PersonRow]:
    """Return the rows with checks as of now; stored ones may be a minute old."""
    return [
        replace(row, signals=_measured(row)) if row.work.checks else row for row in rows
    ]


def _measured(row: PersonRow) -> dict[str, object]:
    signals = signals_of(row.annotator, rules=())
    return {"checks": {name: (signals[name].value, signals[name].n) for name in PASSED}}


def bonus(rule: str, amount: Decimal, row: PersonRow) -> Decimal:
    """Return the bonus of a person; stories that are left out earn none."""
    if rule not in BonusRule.values:
        raise PayError(_("Please choose what the bonus is for."))
    times = {
        BonusRule.FIXED: 1,
        BonusRule.STORY: row.work.counted,
        BonusRule.CHECK: row.checks_passed,
    }[BonusRule(rule)]
    total = amount * times
    if total > MOST:
        text = _("The bonus of %(name)s would be %(total)s; the most is %(most)d.")
        names = {"name": row.annotator.name, "total": total, "most": MOST}
        raise PayError(text % names)
    return total
