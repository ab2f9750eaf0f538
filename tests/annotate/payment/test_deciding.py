"""Decisions about pay: who is left unchanged, what the log keeps, what they cost."""

from decimal import Decimal

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from annotate.kinds.registry import kind_of
from annotate.models import Event, Payment, Slot, Unit
from annotate.payment import deciding
from annotate.payment.costs import costs
from annotate.payment.rules import PayError, bonus, bonus_signals, read_amount
from annotate.payment.table import Verdict, people_rows
from annotate.quality import exclusion
from tests.annotate.payment.crowd import RECRUITMENT, crowd_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return crowd_study()


def rows(study, *numbers):
    names = {f"A{number:02}" for number in numbers}
    found = people_rows(study)
    return [row for row in found if row.annotator.name in names] if numbers else found


def terms(study):
    fields = ("annotator__name", "decision", "reason", "bonus")
    return list(Payment.objects.order_by("annotator__name").values_list(*fields))


def test_approval_leaves_people_who_did_not_start_unchanged(study):
    done = deciding.approve(rows(study), user=None)
    assert done.changed == 17
    assert {name for name, _why in done.unchanged} == {"A18", "A19", "A20"}
    assert Payment.objects.filter(decision="approve").count() == 17


@pytest.mark.slow
def test_repeated_decision_is_logged_once(study):
    for _press in range(2):
        deciding.approve(rows(study, 1, 2), user=None)
    events = Event.objects.filter(kind=Event.Kind.PAYMENT_DECIDED)
    assert sorted(event.annotator.name for event in events) == ["A01", "A02"]
    assert events[0].details["pay"] == "approve"


def test_paid_people_keep_their_decision_until_it_is_undone(study):
    deciding.approve(rows(study, 1), user=None)
    assert deciding.mark_paid(rows(study, 1, 2), user=None).unchanged == (
        ("A02", "not approved, and no bonus"),
    )
    done = deciding.reject(rows(study, 1, 2), "Too fast", user=None)
    assert done.unchanged == (("A01", "already paid"),)
    assert terms(study) == [
        ("A01", "approve", "", Decimal(0)),
        ("A02", "reject", "Too fast", Decimal(0)),
    ]
    deciding.take_back(rows(study, 1), user=None)
    payment = Payment.objects.get(annotator__name="A01")
    assert (payment.decision, payment.paid_at) == ("", None)


def test_rejection_needs_a_reason_and_takes_the_bonus(study):
    deciding.give_bonus(rows(study, 1), "fixed", Decimal("1.50"), user=None)
    with pytest.raises(PayError, match="reason"):
        deciding.reject(rows(study, 1), "  ", user=None)
    with pytest.raises(PayError, match="at most 300"):
        deciding.reject(rows(study, 1), "x" * 301, user=None)
    deciding.reject(rows(study, 1), "Same answer everywhere", user=None)
    assert terms(study) == [("A01", "reject", "Same answer everywhere", Decimal(0))]
    done = deciding.give_bonus(rows(study, 1), "fixed", Decimal(1), user=None)
    assert done.unchanged == (("A01", "rejected"),)


def test_bonus_per_story_counts_no_stories_left_out(study):
    first = study.slots.filter(annotator__name="A01").first()
    exclusion.exclude(first, reason="asleep", author=None)
    (row,) = rows(study, 1)
    assert (row.work.stories, row.work.counted) == (6, 5)
    assert bonus("story", Decimal("0.10"), row) == Decimal("0.50")


@pytest.mark.slow
def test_bonus_per_check_counts_right_known_answers_as_of_now(study):
    """Two known-answer checks, one answered right; no snapshot was taken."""
    ann = study.annotators.get(name="A01")
    shown = study.units.filter(purpose="real")
    now = timezone.now()
    question = study.questions.first()
    for number, right in enumerate(([3, 4], [0, 1])):
        unit = Unit.objects.create(
            study=study,
            story=shown[number].story,
            purpose="gold",
            output_a=shown[number].output_a,
            expected={question.key: right},
        )
        slot = Slot.objects.create(
            study=study,
            unit=unit,
            annotator=ann,
            purpose="gold",
            state="submitted",
            submitted_at=now,
            started_at=now,
            round=number + 1,
        )
        fields = kind_of(question).stored_fields(slot, question, 3)
        slot.ratings.create(question=question, annotator=ann, **fields)
    (row,) = bonus_signals(rows(study, 1))
    row.signals["checks"]["repeat"] = (0.0, 1)
    assert (row.checks_marked, row.checks_passed) == (2, 1)
    assert bonus("check", Decimal("0.25"), row) == Decimal("0.25")


@pytest.mark.parametrize(
    "text", ["", "-1", "1.234", "1e3", "١", "12000", "1 000", "=1"]
)
def test_invalid_amount_is_refused(text):
    with pytest.raises(PayError, match="such as"):
        read_amount(text)


def test_amount_takes_comma_and_point():
    assert read_amount(" 1,5 ") == read_amount("1.50") == Decimal("1.50")


CONTRADICTORY = [
    {"decision": "reject"},
    {"decision": "approve", "reason": "why"},
    {"decision": "reject", "reason": "why", "bonus": 1},
    {"bonus": -1},
    {"paid_at": timezone.now()},
    {"decision": "maybe"},
]


def test_database_refuses_contradictory_payments(study):
    person, now = study.annotators.first(), timezone.now()
    for fields in CONTRADICTORY:
        with pytest.raises(IntegrityError), transaction.atomic():
            Payment.objects.create(annotator=person, decided_at=now, **fields)


def test_verdicts_follow_open_findings_and_exclusions(study):
    verdicts = {row.annotator.name: row.verdict for row in rows(study)}
    assert verdicts["A01"] == Verdict.GOOD
    assert verdicts["A07"] == Verdict.LOOK
    assert verdicts["A08"] == Verdict.LEAVE_OUT
    assert verdicts["A18"] == Verdict.NONE
    ann = study.annotators.get(name="A02")
    exclusion.exclude_annotator(ann, reason="random", author=None)
    assert rows(study, 2)[0].verdict == Verdict.LEAVE_OUT
    assert rows(study, 7)[0].reasons == ["3 of 6 stories took less than 4 s"]


def test_costs_by_hand(study):
    """Ten minutes at 9.00 an hour are 1.50 a person.

    Eight finished, five work, one trains: 14 people. Everybody does six of 120
    ratings; 66 are in, the six at work still do 5 * 3 + 6 = 21, and 33 need six people.
    """
    found = costs(study)
    assert found.currency == "GBP"
    assert (found.spent, found.committed) == (Decimal("0.00"), Decimal("21.00"))
    assert found.to_finish == Decimal("9.00")
    assert found.median_minutes == 7.0  # 6 stories of 70 s
    deciding.approve(rows(study, 1, 2), user=None)
    deciding.reject(rows(study, 3), "asleep", user=None)
    deciding.give_bonus(rows(study, 1, 14), "fixed", Decimal("0.50"), user=None)
    found = costs(study)
    # 2 * 1.50 + 0.50; 11 others at work or undecided, and a bonus of one who left.
    assert (found.spent, found.committed) == (Decimal("3.50"), Decimal("17.00"))


@pytest.mark.slow
def test_costs_use_measured_minutes_or_are_unknown(study):
    study.recruitment = {"pay_per_hour": 12}
    # Without a platform, two days away are no leaving: 16 people, 7 minutes each.
    assert costs(study).committed == Decimal("22.40")
    study.recruitment = RECRUITMENT | {"pay_per_hour": None}
    assert costs(study) is None
