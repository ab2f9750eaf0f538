"""Rows of the table of people, read in a number of queries that does not grow."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.db import models
from django.db.models import Avg, Count, Exists, Max, OuterRef, Q, Sum
from django.utils.translation import gettext as _
from django.utils.translation import ngettext, pgettext_lazy

from annotate.models import (
    CHECKS,
    PICTURE_REPLACED,
    Annotator,
    Event,
    Exclusion,
    Flag,
    Invitation,
    Payment,
    Purpose,
    Slot,
    Snapshot,
    Study,
)
from annotate.people.outcomes import CompletionCode, given_codes, last_attempt
from annotate.people.presence import last_seen
from annotate.people.status import Status, statuses
from annotate.responses.timing import measured

SEVERITY = {"exclude": 0, "pause": 1, "warn": 2, "note": 3}
# Checks in which a high share is a good sign.
PASSED = ("gold", "twin")


class Verdict(models.TextChoices):
    """Judgement about the answers of an annotator."""

    NONE = "none", pgettext_lazy("verdict", "no answers")
    GOOD = "good", pgettext_lazy("verdict", "good")
    LOOK = "look", pgettext_lazy("verdict", "look")
    LEAVE_OUT = "leave_out", pgettext_lazy("verdict", "leave out")


@dataclass(frozen=True)
class Work:
    """Counts of an annotator's slots, and the seconds that they took."""

    submitted: int = 0
    planned: int = 0
    surplus: int = 0
    submitted_surplus: int = 0
    checks: int = 0
    left_out: int = 0
    replaced: int = 0  # left out through no fault of theirs: a picture was replaced
    active_seconds: float | None = None  # of all slots, training and checks included
    per_story: float | None = None
    last: datetime | None = None

    @property
    def counted(self) -> int:
        """Return the submitted stories, extra ones included, left out ones not."""
        return self.submitted + self.submitted_surplus + self.replaced

    @property
    def stories(self) -> int:
        """Return the submitted stories, those left out included."""
        return self.counted + self.left_out

    @property
    def minutes(self) -> int | None:
        """Return the active minutes, rounded."""
        return None if self.active_seconds is None else round(self.active_seconds / 60)


@dataclass(frozen=True)
class PersonRow:
    """An annotator with status, work, quality and pay."""

    annotator: Annotator
    status: Status
    work: Work
    signals: Mapping[str, Any]
    flags: tuple[Flag, ...]
    other_name: str  # another annotator on the same device
    code: CompletionCode | None

    @property
    def invitation(self) -> Invitation | None:
        """Return the invitation, if there is one."""
        return getattr(self.annotator, "invitation", None)

    @property
    def payment(self) -> Payment | None:
        """Return the decision about pay, if one was made."""
        return getattr(self.annotator, "payment", None)

    @property
    def visit(self) -> tuple[str, str]:
        """Return the platform's study and attempt: HIT and assignment on MTurk."""
        attempt = last_attempt(self.annotator)
        return (attempt.platform_study, attempt.session) if attempt else ("", "")

    @property
    def token(self) -> str:
        """Return the token of a link that works; else an empty text."""
        invitation = self.invitation
        return invitation.token if invitation and not invitation.revoked_at else ""

    @property
    def last(self) -> datetime | None:
        """Return when the annotator was last seen or last submitted."""
        return last_seen(self.annotator, self.work.last)

    @property
    def rest(self) -> float | None:
        """Return the agreement with the others."""
        return cast("float | None", self.signals.get("rest", [None])[0])

    @property
    def checks(self) -> list[tuple[str, int, int]]:
        """Return kind, percentage and number of each kind of check."""
        return [
            (kind, round(100 * value), n)
            for kind, (value, n) in self.signals.get("checks", {}).items()
            if value is not None
        ]

    @property
    def checks_passed(self) -> int:
        """Return how many known-answer checks and degraded copies were right."""
        return sum(round(value * n) for value, n in self._marked)

    @property
    def checks_marked(self) -> int:
        """Return how many checks have a right answer; repeats have none."""
        return sum(n for _value, n in self._marked)

    @property
    def _marked(self) -> list[tuple[float, int]]:
        checks = self.signals.get("checks", {})
        rows = [checks.get(kind, (None, 0)) for kind in PASSED]
        return [(value, n) for value, n in rows if value is not None]

    @property
    def verdict(self) -> Verdict:
        """Return whether the answers can be used, judged by open findings."""
        if not self.work.stories:
            return Verdict.NONE
        is_out = self.work.left_out == self.work.stories
        if is_out or any(flag.action == Flag.Action.EXCLUDE for flag in self.flags):
            return Verdict.LEAVE_OUT
        return Verdict.LOOK if self.flags or self.other_name else Verdict.GOOD

    @property
    def reasons(self) -> list[str]:
        """Return why the verdict is not good."""
        reasons = [flag.brief for flag in self.flags]
        if self.work.left_out:
            n = self.work.left_out
            text = ngettext("%(n)d story is left out", "%(n)d stories are left out", n)
            reasons.append(text % {"n": n})
        if self.other_name:
            text = _("Opened the link on the device of %(other)s")
            reasons.append(text % {"other": self.other_name})
        return reasons

    @property
    def needs_a_look(self) -> bool:
        """Say whether a manager should look at this person first."""
        is_paid = self.payment is not None and self.payment.paid_at is not None
        is_doubtful = self.verdict in (Verdict.LOOK, Verdict.LEAVE_OUT)
        return not is_paid and (
            is_doubtful or self.status in (Status.LEFT, Status.PAUSED)
        )

    @property
    def is_undecided(self) -> bool:
        """Say whether somebody has ended, and nobody has decided about the pay."""
        decided = self.payment is not None and self.payment.decision
        ended = (Status.FINISHED, Status.FAILED, Status.LEFT)
        return self.status in ended and not decided and self.annotator.erased_at is None

    @property
    def is_due(self) -> bool:
        """Say whether the person is to be paid still."""
        return self.payment is not None and self.payment.is_due


def people_rows(
    study: Study,
    now: datetime | None = None,
    *,
    signals: Mapping[str, Any] | None = None,
    with_codes: bool = True,
) -> list[PersonRow]:
    """Return a row for each annotator; first those that need a look, then by name."""
    people = list(
        study.annotators.select_related("invitation", "payment")
        .prefetch_related("visits")
        .order_by("name")
    )
    for person in people:
        person.study = study
    status_of = statuses(people, now)
    work = work_of(study)
    flags: dict[int, list[Flag]] = defaultdict(list)
    for flag in Flag.objects.filter(annotator__study=study, resolved_at__isnull=True):
        flags[flag.annotator_id].append(flag)
    if signals is None:
        snapshot = Snapshot.objects.filter(study=study).first()
        signals = snapshot.data.get("signals", {}) if snapshot else {}
    codes = given_codes(study) if with_codes else {}
    other_names = dict(
        study.events.filter(kind=Event.Kind.SECOND_LINK)
        .order_by("pk")
        .values_list("annotator", "details__on_the_device_of")
    )
    rows = []
    for person in people:
        worst_first = sorted(flags[person.pk], key=lambda flag: SEVERITY[flag.action])
        rows.append(
            PersonRow(
                person,
                status_of[person.pk],
                work.get(person.pk, Work()),
                signals.get(str(person.pk), {}),
                tuple(worst_first),
                other_names.get(person.pk) or "",
                codes.get(person.pk),
            )
        )
    return sorted(rows, key=lambda row: not row.needs_a_look)


def work_of(study: Study) -> dict[int, Work]:
    """Return the work of each annotator who has slots."""
    state = Slot.State
    wanted, is_in = Q(ordinal__isnull=False), Q(state=state.SUBMITTED)
    surplus = Q(ordinal__isnull=True, purpose=Purpose.REAL)
    is_left_out = Q(state=state.EXCLUDED, purpose=Purpose.REAL)
    of_picture = Exclusion.objects.filter(
        slot=OuterRef("pk"), undone_at__isnull=True, rule=PICTURE_REPLACED
    )
    is_submitted = Q(submitted_at__isnull=False)
    rows = (
        study.slots.filter(annotator__isnull=False)
        .annotate(saw_old=Exists(of_picture))
        .order_by()
        .values("annotator")
        .annotate(
            submitted=Count("pk", filter=wanted & is_in),
            planned=Count("pk", filter=wanted & ~Q(state=state.EXCLUDED)),
            surplus=Count("pk", filter=surplus),
            submitted_surplus=Count("pk", filter=surplus & is_in),
            checks=Count("pk", filter=Q(purpose__in=CHECKS) & is_in),
            left_out=Count("pk", filter=is_left_out & Q(saw_old=False)),
            replaced=Count("pk", filter=is_left_out & Q(saw_old=True)),
            active_seconds=Sum(measured(), filter=is_submitted),
            per_story=Avg(measured(), filter=is_submitted & Q(purpose=Purpose.REAL)),
            last=Max("submitted_at"),
        )
    )
    return {row.pop("annotator"): Work(**row) for row in rows}
