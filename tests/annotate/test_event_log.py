"""Random actions in random order: no promise breaks, and the log has them all."""

from datetime import timedelta

import pytest
from django.db import transaction
from django.http import Http404
from django.utils import timezone
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from annotate.assignment import choosing
from annotate.audit_log import as_of_event
from annotate.audit_log.verifying import problems
from annotate.kinds.base import AnswerError, SlotTakenError
from annotate.models import (
    Annotator,
    Choice,
    Event,
    Exclusion,
    Rating,
    Slot,
    Study,
    Unit,
)
from annotate.pages.annotator.slot import get_slot
from annotate.people import inviting, outcomes
from annotate.quality import exclusion
from annotate.responses import giving_back, leasing
from tests import answering
from tests.cases import slow
from tests.pressure.grids import add_people, deal_out, make_grid
from tests.working import end_leases

PEOPLE = 4
WHO = st.integers(0, PEOPLE - 1)
WHICH = st.integers(0, 1000)
REFUSALS = (SlotTakenError, AnswerError, Http404)


def pick(rows, number):
    return rows[number % len(rows)] if rows else None


class Crowd(RuleBasedStateMachine):
    """A few people, their browsers with old pages, a manager, and a clock."""

    slug = "trial"
    clock: list
    # Most promises stay broken once they are, and looking at all of them takes long.
    looks_after_each_step = False

    def __init__(self):
        super().__init__()
        self.block = transaction.atomic()
        self.block.__enter__()
        self.clock[0] = timedelta()
        self.study = Study.objects.get(slug=self.slug)
        self.people = list(self.study.annotators.order_by("pk"))
        self.pages = [[] for _ in self.people]
        self.acknowledged = {}
        self.skipped = set()
        self.reopened = False

    def teardown(self):
        try:
            assert problems(self.study) == []
        finally:
            transaction.set_rollback(True)
            self.block.__exit__(None, None, None)

    def person(self, who):
        return Annotator.objects.select_related("study").get(pk=self.people[who].pk)

    @rule(who=WHO)
    def take(self, who):
        taken = choosing.next_for(self.person(who)).slot
        if taken is not None:
            assert (who, taken.unit_id) not in self.skipped
            self.pages[who].append(taken.code)

    @rule(who=WHO)
    def look(self, who):
        person = self.person(who)
        seen = choosing.next_step(person)
        working = leasing.may_work(person)
        assert (seen.kind == choosing.Next.STOPPED) == (not working)
        assert (seen.kind == choosing.Next.WORK) == (seen.slot is not None)
        assert (seen.kind == choosing.Next.TAKEN) == (seen.minutes > 0)

    @rule(who=WHO, which=WHICH)
    def heartbeat(self, who, which):
        if code := pick(self.pages[who], which):
            leasing.heartbeat(Slot.objects.get(code=code), self.person(who))

    @rule(who=WHO, which=WHICH, value=st.integers(0, 4))
    def answer(self, who, which, value):
        self.send(who, pick(self.pages[who], which), value)

    @rule(who=WHO, value=st.integers(0, 4))
    def answer_and_submit(self, who, value):
        self.submit(who, -1, value)

    @rule(who=WHO, which=WHICH, value=st.integers(0, 4))
    def submit(self, who, which, value):
        slot = self.send(who, pick(self.pages[who], which), value)
        if slot is None:
            return
        try:
            answering.submit(slot=slot, annotator=self.person(who))
        except REFUSALS:
            return
        self.acknowledged[slot.pk] = self.stored(slot)

    def send(self, who, code, value):
        """Answer as a page does that was opened before; return the slot if it took."""
        if code is None:
            return None
        person = self.person(who)
        if not leasing.may_work(person):
            return None  # the page says so before it looks for the slot
        try:
            slot = get_slot(person, code, late=True)
            answering.record_answer(
                slot=slot,
                annotator=person,
                question=self.study.questions.get(),
                value=["left", "right", "tie"][value % 3]
                if self.study.is_side_by_side
                else value,
            )
        except REFUSALS:
            return None
        if slot.pk in self.acknowledged:
            self.acknowledged[slot.pk] = self.stored(slot)
        return slot

    def stored(self, slot):
        model = Choice if self.study.is_side_by_side else Rating
        answer = model.objects.filter(slot=slot, annotator=slot.annotator_id)
        return answer.get(is_current=True).value

    @rule(who=WHO, which=WHICH)
    def skip(self, who, which):
        code = pick(self.pages[who], which)
        slot = Slot.objects.filter(code=code, annotator=self.people[who]).first()
        if slot is None:
            return
        try:
            giving_back.skip(slot, self.person(who), reason="unclear")
        except REFUSALS:
            return
        self.skipped.add((who, slot.unit_id))

    @rule(minutes=st.sampled_from([-90, -10, 5, 20, 31, 31, 90]))
    def time_passes(self, minutes):
        self.clock[0] += timedelta(minutes=minutes)
        giving_back.release_expired()
        late = Slot.objects.filter(state="leased", lease_until__lt=timezone.now())
        assert not late.exists()

    @rule(who=WHO)
    def stop(self, who):
        outcomes.finish_if_done(self.person(who), wanted=True)

    @rule(who=WHO, revoked=st.booleans())
    def revoke_or_pause(self, who, revoked):
        person = self.person(who)
        if revoked:
            inviting.revoke(person)
        elif person.state == Annotator.State.ACTIVE:
            Annotator.objects.filter(pk=person.pk).update(state="paused")

    @rule(who=WHO)
    def resume(self, who):
        paused = Annotator.objects.filter(pk=self.people[who].pk, state="paused")
        paused.update(state="active")

    @precondition(lambda self: self.acknowledged)
    @rule(which=WHICH)
    def exclude(self, which):
        done = list(self.study.slots.filter(state="submitted").order_by("pk"))
        if slot := pick(done, which):
            exclusion.exclude(slot, reason="x", author=None)
            self.reopened = True

    @precondition(lambda self: self.reopened)
    @rule(which=WHICH)
    def undo(self, which):
        rows = Exclusion.objects.filter(undone_at__isnull=True).order_by("pk")
        if row := pick(list(rows), which):
            exclusion.undo(row, author=None)

    @precondition(lambda self: self.skipped)
    @rule()
    def look_at_what_was_set_aside(self):
        self.study.units.update(set_aside_at=None)
        self.reopened = True  # what was set aside is behind the others

    @precondition(lambda self: self.looks_after_each_step)
    @invariant()
    def every_promise_holds(self):
        assert problems(self.study) == []

    @invariant()
    def nothing_acknowledged_is_lost(self):
        for pk, value in self.acknowledged.items():
            slot = Slot.objects.get(pk=pk)
            assert slot.state in ("submitted", "excluded")
            assert self.stored(slot) == value

    @invariant()
    def units_stay_within_two(self):
        if not self.study.is_open or self.reopened:
            return
        units = self.study.units.filter(purpose="real", set_aside_at__isnull=True)
        counts = units.values_list("submitted", flat=True)
        assert max(counts, default=0) - min(counts, default=0) <= 2


def one_open(study):
    add_people(study, PEOPLE)


def planned_with_one_more(study):
    deal_out(study, add_people(study, PEOPLE - 1))
    add_people(study, 1)


KINDS = {
    "open": (one_open, {}),
    "open with checks": (one_open, {"checks": {"per_session": 1}}),
    "open pairs": (one_open, {"kind": "choice", "methods": 3}),
    "planned": (planned_with_one_more, {"assignment": "planned"}),
    "planned in rounds": (
        planned_with_one_more,
        {"assignment": "planned", "rounds": 2, "checks": {"per_session": 1}},
    ),
}


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize(
    "kind",
    ["open pairs", "planned in rounds", *slow("open", "open with checks", "planned")],
)
def test_random_events_keep_the_study_consistent(kind, monkeypatch):
    people, fields = KINDS[kind]
    study = make_grid(
        "trial",
        **{"stories": 3, "methods": 2, "redundancy": 3, "session_size": 2} | fields,
    )
    people(study)
    gold = study.units.first()
    if study.checks:
        Unit.objects.create(
            study=study,
            story=gold.story,
            output_a=gold.output_a,
            purpose="gold",
            expected={"quality": [1, 3]},
        )
    clock, real = [timedelta()], timezone.now
    monkeypatch.setattr(timezone, "now", lambda: real() + clock[0])
    known = {"clock": clock, "looks_after_each_step": kind == "planned in rounds"}
    machine = type("Machine", (Crowd,), known)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=5,
            # Finding a shorter way to fail would take longer than a test may.
            phases=[Phase.generate],
            stateful_step_count=30,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.django_db
def test_events_cannot_be_changed():
    study = make_grid("trial", stories=2, methods=2, redundancy=2)
    event = study.events.first()
    event.kind = Event.Kind.STUDY_CLOSED
    with pytest.raises(TypeError, match="never changed"):
        event.save()
    with pytest.raises(TypeError, match="never changed"):
        study.events.update(kind=Event.Kind.STUDY_CLOSED)
    assert not study.events.filter(kind=Event.Kind.STUDY_CLOSED).exists()


@pytest.mark.django_db
def test_log_with_a_gap_is_found():
    study = make_grid("trial", stories=2, methods=2, redundancy=2)
    person, other = add_people(study, 2)
    slot = choosing.next_for(person).slot
    assert list(as_of_event.problems(study)) == []
    Slot.objects.filter(pk=slot.pk).update(annotator=other)
    assert any("but the log says" in text for text in as_of_event.problems(study))
    Slot.objects.filter(pk=slot.pk).update(annotator=person)
    Event.objects.filter(slot=slot).delete()
    assert any("but the log says" in text for text in as_of_event.problems(study))


@pytest.mark.django_db
def test_slot_that_changes_annotator_without_release_is_found():
    study = make_grid("trial", stories=2, methods=2, redundancy=2)
    person, other = add_people(study, 2)
    slot = choosing.next_for(person).slot
    end_leases()
    Event.objects.filter(kind="lease expired").delete()
    leasing.take(slot, other)
    assert any("was leased" in text for text in as_of_event.problems(study))
    assert any(
        "belonged to another annotator" in text for text in as_of_event.problems(study)
    )
