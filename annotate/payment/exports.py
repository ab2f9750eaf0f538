"""Files of the table of people: for a spreadsheet, and for crowd platforms.

Prolific takes pasted lines: participant ids to approve, and `id,amount` for bonuses.
Mechanical Turk takes back its results file, with an X in `Approve` or a reason in
`Reject`; its bonuses are sent by `SendBonus`, whose parameters name the columns.
"""

import re
from collections.abc import Callable, Iterable, Sequence

from django.utils.translation import gettext_lazy as _

from annotate.models import Payment
from annotate.payment.table import PersonRow
from annotate.spreadsheet import csv_text

Link = Callable[[str], str]
Decision = Payment.Decision
# Platforms know people by letters and digits; an e-mail is somebody else's list.
PLATFORM_ID = re.compile(r"[A-Za-z0-9]{1,100}")
COLUMNS = (
    "annotator",
    "person",
    "status",
    "stories",
    "planned",
    "minutes",
    "checks_passed",
    "checks",
    "agreement",
    "verdict",
    "reason",
    "completion_code",
    "outcome",
    "decision",
    "decision_reason",
    "bonus",
    "currency",
    "paid",
    "link",
    "note",
    "language",
    "cap",
)
REVIEW = ("HITId", "AssignmentId", "WorkerId", "Approve", "Reject")
BONUS = ("WorkerId", "AssignmentId", "BonusAmount", "Reason")


def everybody(rows: Iterable[PersonRow], link: Link) -> str:
    """Return the whole table as CSV; `link` returns the address for a token."""
    return csv_text(COLUMNS, [_cells(row, link) for row in rows])


def _cells(row: PersonRow, link: Link) -> Sequence[object]:
    person, payment, code = row.annotator, row.payment or Payment(), row.code
    return (
        person.name,
        person.external_id,
        row.status.value,
        row.work.stories,
        row.work.planned,
        "" if row.work.minutes is None else row.work.minutes,
        row.checks_passed,
        row.checks_marked,
        "" if row.rest is None else row.rest,
        row.verdict.value,
        "; ".join(row.reasons),
        code.code if code else "",
        code.outcome if code else "",
        payment.decision,
        payment.reason,
        payment.bonus or "",
        person.study.recruitment.get("currency", ""),
        payment.paid_at.isoformat(timespec="seconds") if payment.paid_at else "",
        link(row.token) if row.token else "",
        row.invitation.note if row.invitation else "",
        person.language,
        person.cap or "",
    )


def unpaid(rows: Iterable[PersonRow], decision: str) -> list[tuple[PersonRow, Payment]]:
    """Return the people with this decision who have a platform's id and no pay yet."""
    return [
        (row, row.payment)
        for row in rows
        if row.payment is not None
        if row.payment.decision == decision and row.payment.paid_at is None
        if PLATFORM_ID.fullmatch(row.annotator.external_id)
    ]


def prolific_approve(rows: Sequence[PersonRow], _link: Link) -> str:
    """Return the participant ids to approve, one a line."""
    ids = [row.annotator.external_id for row, _p in unpaid(rows, Decision.APPROVE)]
    return "".join(f"{one}\n" for one in ids)


def prolific_bonus(rows: Sequence[PersonRow], _link: Link) -> str:
    """Return a line `id,amount` for each bonus; Prolific pays each line once more."""
    return "".join(
        f"{row.annotator.external_id},{payment.bonus}\n"
        for row, payment in _with_bonus(rows)
    )


def mturk_review(rows: Sequence[PersonRow], _link: Link) -> str:
    """Return the approvals and rejections as Mechanical Turk's results file."""
    approved = [(row, "X", "") for row, _p in unpaid(rows, Decision.APPROVE)]
    rejected = [(row, "", p.reason) for row, p in unpaid(rows, Decision.REJECT)]
    return csv_text(
        REVIEW,
        [
            (*row.visit, row.annotator.external_id, *marks)
            for row, *marks in (*approved, *rejected)
        ],
    )


def mturk_bonus(rows: Sequence[PersonRow], _link: Link) -> str:
    """Return the bonuses by worker and assignment, in dollars."""
    return csv_text(
        BONUS,
        [
            (
                row.annotator.external_id,
                row.visit[1],
                payment.bonus,
                _("Bonus for your work"),
            )
            for row, payment in _with_bonus(rows)
        ],
    )


def _with_bonus(rows: Iterable[PersonRow]) -> list[tuple[PersonRow, Payment]]:
    paid = (*unpaid(rows, Decision.APPROVE), *unpaid(rows, Decision.NONE))
    return [(row, payment) for row, payment in paid if payment.bonus]


PLATFORM_FILES = {
    "prolific": ("prolific-approve", "prolific-bonus"),
    "mturk": ("mturk-review", "mturk-bonus"),
}
# Each file's label and contents, by its name.
FILES = {
    "people": (_("Table of people (CSV)"), everybody),
    "prolific-approve": (_("IDs to approve (Prolific)"), prolific_approve),
    "prolific-bonus": (_("Bonuses (Prolific)"), prolific_bonus),
    "mturk-review": (_("Approvals and rejections (MTurk)"), mturk_review),
    "mturk-bonus": (_("Bonuses (MTurk)"), mturk_bonus),
}
