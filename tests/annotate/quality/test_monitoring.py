"""Signals from the database, and rules applied as answers arrive."""

import random
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.assignment import control_slots
from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Flag, Rating, Slot
from annotate.quality import follow_up, monitoring
from annotate.quality_rules.judged import JudgedUnit
from annotate.quality_rules.signals import measure
from tests.annotate.test_concurrency import at_once
from tests.cases import slow
from tests.factories import make_benchmark, make_study
from tests.people import answer_everything
from tests.working import (
    LIKERT,
    PAIRWISE,
    Browser,
    always,
    join,
    make_planned,
    save,
    work,
)

pytestmark = pytest.mark.django_db


def rule(action, key="quick", **how):
    """Return a rule about time in YAML that `quickly` breaks at the third answer."""
    fields = {
        "key": key,
        "signal": "seconds_per_unit",
        "limit": 5,
        "above": 0.5,
        "at_least": 3,
        "action": action,
        **how,
    }
    return f"  - {fields}\n"


def ruled(*rules, kind=LIKERT, **plan):
    text = f"{kind}session_size: 4\nrules:\n{''.join(rules)}"
    return make_planned(text, **{"annotators": 2, "redundancy": 2, **plan})


def quickly(person, most):
    return work(person, always("3"), most=most, seconds=2)


# Signals ------------------------------------------------------------------------------


@pytest.mark.slow
def test_signals_match_hand_made_rows(monkeypatch):
    # The random order depends on the row's id, and so on earlier tests.
    dice = random.Random(1)
    monkeypatch.setattr(
        control_slots, "random", SimpleNamespace(Random=lambda _seed: dice)
    )
    text = (
        LIKERT
        + """
session_size: 2
training: {units: [{story: "04", method: Alder, expected: {character: [3, 4]}}]}
checks:
  per_session: 2
  kinds: [gold, repeat, twin]
  degradations: [blurred]
  share: 1
  gold:
    - {story: "03", method: Birch, expected: {character: [0, 1], beauty: 3}}
    - {story: "04", method: Birch, expected: {character: 3}}
"""
    )
    study = make_planned(
        text,
        benchmark=make_benchmark(stories=4, shots=2),
        annotators=2,
        redundancy=2,
        methods=["Alder", "Cedar"],
    )
    other, person = join(study, "A01"), join(study, "A02")
    answers = iter([3, 4, 3, 2, 1, 0, 4, 2, 3, 1, 0, 2, 4, 4, 1, 3, 2, 0] * 9)

    def given(slot, _key):
        return "4" if slot.purpose == "training" else str(next(answers))

    work(other, given, seconds=11)
    work(person, given, seconds=7)
    skipped = 0
    of_unit = {}
    judged = []
    others = {
        (rating.slot.unit_id, rating.question.key): rating.value
        for rating in Rating.objects.filter(annotator=other, slot__purpose="real")
    }
    for slot in person.slots.filter(submitted_at__isnull=False).order_by(
        "submitted_at"
    ):
        rows = slot.ratings.filter(is_current=True)
        own = {row.question.key: row.value for row in rows}
        earlier = None
        if slot.purpose == "repeat":
            earlier = {
                row.question.key: row.value for row in slot.repeat_of.ratings.all()
            }
        elif slot.purpose == "twin":
            earlier = of_unit[slot.unit.original_id]
        elif slot.purpose == "real":
            of_unit[slot.unit_id] = own
        rest = {
            key: others[slot.unit_id, key]
            for key in own
            if (slot.unit_id, key) in others
        }
        expected = {key: tuple(value) for key, value in slot.unit.expected.items()}
        judged.append(
            JudgedUnit(
                purpose=slot.purpose,
                answers=own,
                shots=2,
                seconds=7.0,
                time_problem="",
                expected=expected if slot.purpose in ("training", "gold") else None,
                earlier=earlier,
                rest=rest if slot.purpose == "real" else None,
            )
        )
    assert {row.purpose for row in judged} == {
        "real",
        "training",
        "gold",
        "repeat",
        "twin",
    }
    expected = measure(
        judged, scales={"character": (0, 4), "beauty": (0, 4)}, skipped=skipped
    )
    found = monitoring.signals_of(study.annotators.get(name="A02"))
    assert found == expected
    assert found["agreement"].value is not None
    assert found["twin"].n > 0


def test_signals_of_pairs_use_sides():
    study = make_planned(PAIRWISE + "session_size: 4\n", annotators=2, redundancy=2)
    person = join(study, "A01")
    work(person, always("left"))
    found = monitoring.signals_of(person)
    assert found["side_bias"].value == 0.5
    assert found["straight_line"].value == 1
    assert found["majority"].value is None, "nobody else has judged yet"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("choice", "value"),
    [("original", 1.0), ("twin", 0.0), ("tie", 0.0)],
)
def test_degraded_copy_beside_original_counts(choice, value):
    text = (
        PAIRWISE
        + """
session_size: 2
checks: {per_session: 1, kinds: [twin], degradations: [blurred], share: 1}
"""
    )
    study = make_planned(text, annotators=2, redundancy=2)
    person = join(study, "A01")

    def given(slot, _key):
        if choice == "tie":
            return "tie"
        return "left" if (choice == "original") == slot.a_is_left else "right"

    work(person, given, most=5)
    twins = person.slots.filter(purpose="twin", state="submitted").count()
    assert twins in (1, 2), "one or two sessions had begun"
    found = monitoring.signals_of(person)["twin"]
    assert (found.value, found.n) == (value, twins)
    assert monitoring.signals_of(person)["gold"].value is None


def test_shot_counts_as_seen_after_required_time():
    study = make_planned(
        f"{LIKERT}presentation: {{must_see: 2}}\n", annotators=1, redundancy=1
    )
    person = join(study, "A01")
    quickly(person, 1)
    person.slots.filter(state="submitted").update(in_sight={"1": 1.5, "2": 2, "3": 0})
    found = monitoring.signals_of(person)
    assert found["shots_seen"].observations == (pytest.approx(1 / 3),)
    assert found["seconds_in_sight"].observations == (pytest.approx(3.5 / 3),)
    person.study.presentation["must_see"] = 0
    assert monitoring.signals_of(person)["shots_seen"].value == pytest.approx(2 / 3)


def test_signals_use_last_round_of_passed_training():
    text = (
        LIKERT
        + """
session_size: 4
training:
  attempts: 3
  units:
    - {story: "01", method: Alder, expected: {character: 4}}
    - {story: "02", method: Alder, expected: {character: 4}}
rules:
  - {key: training, signal: training, below: 0.6, at_least: 2, action: pause}
"""
    )
    study = make_planned(text, annotators=1, redundancy=1)
    person = join(study, "A01")
    work(person, always("0"), most=2)
    person = join(study, "A01")
    assert monitoring.signals_of(person)["training"].value is None
    assert person.training_attempts == 1
    assert not Flag.objects.exists(), "a second attempt is not spoilt by the first"
    work(person, always("4"), most=3)
    found = monitoring.signals_of(join(study, "A01"))["training"]
    assert (found.value, found.n) == (1.0, 2)


# Actions ------------------------------------------------------------------------------


def test_warning_is_shown_once_before_next_story(client):
    study = ruled(rule("warn", message="Slow down, please."))
    person = join(study, "A01")
    quickly(person, 2)
    browser = Browser(client, person)
    browser.post(browser.address("pause"))
    assert "/story/" in browser.at, "two are too few for the rule"
    assert browser.fill(character="3", beauty="3") == browser.address("warning")
    assert "Slow down, please." in browser.text()
    assert Flag.objects.get().shown_at is None
    assert "/story/" in browser.post(browser.at)
    assert Flag.objects.get().shown_at is not None
    assert browser.get(browser.address("warning"))["Location"] == browser.address(
        "entry"
    )
    for _ in range(3):
        browser.fill(character="3", beauty="3")
        if browser.at.endswith("/pause/"):
            browser.post(browser.at)
        assert "/story/" in browser.at


def test_pause_blocks_pages_and_api_until_flag_is_resolved(client):
    study = ruled(rule("pause", message="We saw very short times."))
    person = join(study, "A01")
    browser = Browser(client, person)
    browser.post(browser.address("pause"))
    at = browser.at
    quickly(person, 3)
    assert study.annotators.get(name="A01").state == Annotator.State.PAUSED
    page = browser.get(browser.address("entry"))
    assert page.status_code == 403
    assert "Your work is paused" in page.content.decode()
    assert "We saw very short times." in page.content.decode()
    script = save(client, at, character="3")
    assert script.status_code == 403
    headers = {"Authorization": f"Invitation {browser.token}"}
    assert client.post(reverse("api-slot"), headers=headers).status_code == 409
    slot = person.slots.filter(state="open").first()
    sent = {"answers": {"character": "3", "beauty": "3"}}
    refused = client.post(
        reverse("api-submit", args=[slot.code]),
        sent,
        headers=headers,
        content_type="application/json",
    )
    assert refused.status_code == 409
    assert study.events.filter(kind="annotator paused").count() == 1
    monitoring.resolve(Flag.objects.get(), user=None)
    Annotator.objects.filter(pk=person.pk).update(state="active")
    assert browser.get(browser.address("entry")).status_code == 302
    quickly(person, 1)
    assert study.annotators.get(name="A01").state == Annotator.State.ACTIVE
    assert problems(study) == []


def test_exclusion_by_rule_reopens_slots(client):
    study = ruled(rule("exclude"), rule("pause", key="later"))
    person = join(study, "A01")
    done = quickly(person, 50)
    assert len(done) == 3
    slots = study.slots.filter(pk__in=[slot.pk for slot in done])
    assert set(slots.values_list("state", flat=True)) == {"excluded"}
    rows = [slot.exclusions.get() for slot in slots]
    assert {row.rule for row in rows} == {"quick"}
    assert {row.author for row in rows} == {None}
    assert all("took less than 5 s" in row.reason for row in rows)
    reopened = study.slots.filter(annotator=None, state="open", ordinal__isnull=False)
    assert reopened.count() == 12, "three excluded, nine never begun"
    assert study.annotators.get(name="A01").state == Annotator.State.REVOKED
    assert Browser(client, person).get().status_code == 410
    assert sorted(Flag.objects.values_list("rule", flat=True)) == ["later", "quick"]
    assert problems(study) == []


# Once, and again ----------------------------------------------------------------------


def test_flag_is_raised_again_after_half_as_many_more_answers():
    study = ruled(rule("note"), redundancy=1, annotators=1)
    person = join(study, "A01")
    quickly(person, 4)
    flag = Flag.objects.get()
    assert flag.n == 3
    monitoring.resolve(flag, user=None)
    assert study.events.filter(kind="flag resolved").count() == 1
    monitoring.resolve(flag, user=None)
    assert study.events.filter(kind="flag resolved").count() == 1
    monitoring.check_rules(person)
    assert Flag.objects.count() == 1, "4 are less than 1.5 times 3"
    quickly(person, 1)
    assert list(Flag.objects.values_list("n", flat=True)) == [5, 3]
    quickly(person, 1)
    assert Flag.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_concurrent_submissions_raise_one_flag():
    study = ruled(rule("pause"), rule("note", key="other"))
    person = join(study, "A01")
    slots = list(person.slots.order_by("position")[:5])
    now = timezone.now()
    Slot.objects.filter(pk__in=[slot.pk for slot in slots]).update(
        state="submitted", started_at=now, submitted_at=now, seconds=1
    )
    at_once(lambda _i: monitoring.check_rules(join(study, "A01")), range(4))
    assert sorted(Flag.objects.values_list("rule", flat=True)) == ["other", "quick"]
    assert study.events.filter(kind="flag raised").count() == 2


@pytest.mark.slow
def test_comparison_with_others_runs_every_few_answers():
    odd = "  - {key: odd, signal: agreement, below: 0, action: note}\n"
    study = ruled(odd)
    first, contrary = join(study, "A01"), join(study, "A02")
    work(first, lambda slot, _question: str(slot.unit_id % 5))
    raised = []
    for number in range(1, 12):
        work(contrary, lambda slot, _question: str(4 - slot.unit_id % 5), most=1)
        if Flag.objects.filter(rule="odd", annotator=contrary).delete()[0]:
            raised.append(number)
    assert raised == [5, 10]


# Cost ---------------------------------------------------------------------------------


def test_check_rules_has_constant_number_of_queries():
    def queries(slots):
        study = make_study(
            benchmark=make_benchmark(
                slug=f"b{slots}",
                stories=slots,
                pictures=False,
                methods=("Alder", "Birch"),
            ),
            slug=f"s{slots}",
            consented=True,
            rules="default",
        )
        answer_everything(study)
        person = study.annotators.select_related("study").first()
        with CaptureQueriesContext(connection) as seen:
            monitoring.signals_of(person)
        return len(seen)

    assert queries(1) == queries(10) <= 7


@pytest.mark.parametrize("first", ["pause", *slow("exclude")])
def test_answer_that_breaks_two_rules_excludes(first):
    second = {"pause": "exclude", "exclude": "pause"}[first]
    study = ruled(rule(first, "first"), rule(second, "second"))
    person = join(study, "A01")
    quickly(person, 4)
    assert study.annotators.get(pk=person.pk).state == "revoked"
    excluded = study.slots.filter(state="excluded")
    assert excluded.count() == person.flags.get(action="exclude").n
    assert problems(study) == []


@pytest.mark.slow
def test_resuming_restores_finished_state_after_pause_by_rule():
    study = ruled(rule("pause", at_least=12))
    person = join(study, "A01")
    assert len(quickly(person, 100)) == 12
    person.refresh_from_db()
    assert person.state == "paused"
    assert person.finished_at is not None
    follow_up.resume(person)
    assert study.annotators.get(pk=person.pk).state == "finished"
