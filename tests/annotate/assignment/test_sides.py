"""Slots that nobody has seen change sides when somebody leaves; seen ones do not."""

from collections import Counter

import pytest

from annotate.audit_log.verifying import problems
from annotate.models import Choice, Slot, Study
from annotate.studies import lifecycle
from annotate.studies.changing import redistribute
from annotate.studies.planning import plan_study
from tests.annotate.studies.test_extending import definition, work
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db

METHODS = ("Alder", "Birch", "Cedar", "Dogwood", "Elm")


@pytest.fixture
def study():
    """Ten pairs in eight stories, three answers each; everybody did eight of 40."""
    planned = plan_study(
        definition("choice", redundancy=3),
        benchmark=make_benchmark(stories=8, shots=1, methods=METHODS),
        slug="small",
        annotators=6,
    )
    lifecycle.launch(planned)
    for person in planned.annotators.all():
        work(person, 8)
    return Study.objects.get(pk=planned.pk)


def sides(study, **which):
    slots = study.slots.filter(annotator__isnull=False, **which)
    return dict(slots.values_list("pk", "a_is_left"))


def leans(study):
    """Return left minus right of each unit, and of each person's methods."""
    of_unit, of_method = Counter(), Counter()
    for slot in study.slots.filter(annotator__isnull=False):
        first, second = slot.unit.methods
        step = 1 if slot.a_is_left else -1
        of_unit[slot.unit_id] += step
        of_method[slot.annotator.name, first] += step
        of_method[slot.annotator.name, second] -= step
    return of_unit, of_method


@pytest.mark.slow
def test_everybody_who_goes_on_stays_balanced(study):
    leaving = study.annotators.first()
    redistribute(study, annotators=[leaving])
    of_unit, of_method = leans(study)
    assert max(map(abs, of_unit.values())) <= 1
    others = {k: v for k, v in of_method.items() if k[0] != leaving.name}
    assert len(others) == 25
    assert max(map(abs, others.values())) <= 1
    assert max(map(abs, of_method.values())) == study_report(study)
    assert problems(study) == []


def study_report(study):
    return Study.objects.get(pk=study.pk).balance_report["left_spread_method"]


@pytest.mark.slow
def test_what_may_have_been_seen_stays_as_it_is(study):
    """A session that is begun is in the browser already, sides and all."""
    leaving, drafting = study.annotators.all()[:2]
    going_on = study.slots.exclude(annotator=leaving)
    submitted = going_on.filter(state="submitted").values_list("annotator", "session")
    begun = set(submitted)
    seen = [s for s in going_on if (s.annotator_id, s.session) in begun]
    assert any(slot.state == "open" for slot in seen)
    going_on.filter(pk__in=[slot.pk for slot in seen]).update(a_is_left=True)
    drafts = Slot.objects.filter(annotator=drafting, session__gte=5)
    drafts.update(a_is_left=False)
    question, drafted = study.questions.get(), list(drafts)
    Choice.objects.bulk_create(
        Choice(
            slot=draft,
            question=question,
            annotator=drafting,
            value="a",
            a_is_left=False,
            is_current=True,
        )
        for draft in drafted
    )
    before = sides(study)
    redistribute(study, annotators=[leaving])
    after = sides(study)
    assert all(after[slot.pk] for slot in seen)
    assert not any(after[draft.pk] for draft in drafted)
    kept = going_on.filter(pk__in=before, session__gte=5)
    assert any(after[slot.pk] != before[slot.pk] for slot in kept)
