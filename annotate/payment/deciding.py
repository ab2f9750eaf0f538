"""Decide about the pay of several annotators at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from functools import partial

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.models import Annotator, Event, Payment, User
from annotate.models.payments import NOTHING
from annotate.payment.rules import PayError, bonus
from annotate.payment.table import PersonRow
from evalcore.models import most_letters

LONGEST_REASON = most_letters(Payment, "reason")
Decision = Payment.Decision


@dataclass(frozen=True)
class Terms:
    """Decision, bonus and payment of one person."""

    decision: str = Decision.NONE
    reason: str = ""
    bonus: Decimal = NOTHING
    paid_at: datetime | None = None

    @property
    def details(self) -> dict[str, object]:
        """Return the terms for the log."""
        return {
            "pay": self.decision or None,
            "reason": self.reason,
            "bonus": str(self.bonus) if self.bonus else "",
            "paid": self.paid_at is not None,
        }


class _UnchangedError(ValueError):
    """A person whose pay stays as it is; the message says why."""


@dataclass(frozen=True)
class Decided:
    """Number of people decided about, and the reasons of the others."""

    changed: int
    unchanged: tuple[tuple[str, str], ...]  # name and reason


Change = Callable[[PersonRow, Terms], Terms]


def approve(rows: Sequence[PersonRow], *, user: User | None) -> Decided:
    """Approve what these people have done."""
    return _decide(rows, partial(_judged, decision=Decision.APPROVE), user)


def reject(rows: Sequence[PersonRow], reason: str, *, user: User | None) -> Decided:
    """Reject what these people have done, with a reason; a bonus goes with it."""
    reason = reason.strip()
    if not reason:
        raise PayError(_("Please give a reason. Platforms show it to the person."))
    if len(reason) > LONGEST_REASON:
        text = _("A reason can have at most %(n)d characters.")
        raise PayError(text % {"n": LONGEST_REASON})
    change = partial(_judged, decision=Decision.REJECT, reason=reason)
    return _decide(rows, change, user)


def give_bonus(
    rows: Sequence[PersonRow], rule: str, amount: Decimal, *, user: User | None
) -> Decided:
    """Set the bonus of these people by a rule; it replaces an earlier bonus."""

    def change(row: PersonRow, terms: Terms) -> Terms:
        _check_open(row, terms)
        if terms.decision == Decision.REJECT:
            raise _UnchangedError(_("rejected"))
        return replace(terms, bonus=bonus(rule, amount, row))

    return _decide(rows, change, user)


def mark_paid(rows: Sequence[PersonRow], *, user: User | None) -> Decided:
    """Record that these people were paid what was decided."""
    now = timezone.now()

    def change(row: PersonRow, terms: Terms) -> Terms:
        if terms.decision != Decision.APPROVE and not terms.bonus:
            raise _UnchangedError(_("not approved, and no bonus"))
        return replace(terms, paid_at=terms.paid_at or now)

    return _decide(rows, change, user)


def take_back(rows: Sequence[PersonRow], *, user: User | None) -> Decided:
    """Take back what was decided about these people."""
    return _decide(rows, lambda _row, _terms: Terms(), user)


def _judged(row: PersonRow, terms: Terms, decision: str, reason: str = "") -> Terms:
    _check_open(row, terms)
    if decision == Decision.REJECT:
        return Terms(decision, reason)
    return replace(terms, decision=decision, reason=reason)


def _check_open(row: PersonRow, terms: Terms) -> None:
    """Refuse people who did not begin, and those who are paid."""
    if row.annotator.consented_at is None and not row.work.stories:
        raise _UnchangedError(_("has not started"))
    if terms.paid_at is not None:
        raise _UnchangedError(_("already paid"))


@transaction.atomic
def _decide(rows: Sequence[PersonRow], change: Change, user: User | None) -> Decided:
    """Change the pay of each person, with a line in the log where it differs."""
    by_pk = {row.annotator.pk: row for row in rows}
    locked = Annotator.objects.select_for_update(no_key=True).filter(pk__in=by_pk)
    people = list(locked.order_by("pk"))
    stored = {
        payment.annotator_id: payment
        for payment in Payment.objects.filter(annotator__in=by_pk)
    }
    now = timezone.now()
    payments, events, unchanged = [], [], []
    for person in people:
        payment = stored.get(person.pk) or Payment(annotator=person)
        before = Terms(payment.decision, payment.reason, payment.bonus, payment.paid_at)
        try:
            after = change(by_pk[person.pk], before)
        except _UnchangedError as error:
            unchanged.append((person.name, str(error)))
            continue
        if after == before:
            continue
        for name, value in vars(after).items():
            setattr(payment, name, value)
        payment.decided_at, payment.decided_by = now, user
        payments.append(payment)
        events.append(_event(person, after, user))
    Payment.objects.bulk_create(
        payments,
        update_conflicts=True,
        unique_fields=["annotator"],
        update_fields=[*vars(Terms()), "decided_at", "decided_by"],
    )
    Event.objects.bulk_create(events)
    return Decided(len(people) - len(unchanged), tuple(unchanged))


def _event(person: Annotator, terms: Terms, user: User | None) -> Event:
    return Event(
        study_id=person.study_id,
        kind=Event.Kind.PAYMENT_DECIDED,
        annotator=person,
        user=user,
        details=terms.details,
    )
