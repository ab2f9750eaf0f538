"""Adaptive studies in the database: choice, log, stopping."""

import math
import random
from collections import Counter

import numpy as np
import pytest

from annotate.assignment import adaptive, adaptive_pairs, choosing
from annotate.assignment.designs.shown_sides import ShownSides
from annotate.audit_log.verifying import problems
from annotate.models import Annotator, Slot, Study
from annotate.responses import late
from evalcore.models import Method
from tests.factories import make_benchmark
from tests.working import (
    PAIRWISE,
    Browser,
    answer,
    end_leases,
    join,
    make_planned,
    sessions_of,
    work,
)

pytestmark = pytest.mark.django_db

METHODS = ("Alder", "Birch", "Cedar", "Dogwood")
ABILITY = {"Alder": 3.0, "Birch": 0.5, "Cedar": 0.0, "Dogwood": -0.5}
ADAPTIVE = """
assignment: open
session_size: 4
adaptive: {top: 1, confidence: 0.9, least: 8, explore: 0.3}
"""


def planned(redundancy):
    benchmark = make_benchmark(stories=5, shots=1, methods=METHODS)
    return make_planned(PAIRWISE + ADAPTIVE, benchmark=benchmark, redundancy=redundancy)


@pytest.fixture
def study():
    return planned(3)


@pytest.fixture(autouse=True)
def seeded(monkeypatch):
    """Draw the same pairs in every run."""
    dice = np.random.default_rng(7)
    monkeypatch.setattr(np.random, "default_rng", lambda *_seed: dice)
    random.seed(7)


def judged(dice, ability=ABILITY):
    """Choose at random according to the true abilities."""

    def given(slot, _question):
        a, b = slot.unit.output_a.method.name, slot.unit.output_b.method.name
        wins = dice.random() < 1 / (1 + math.exp(ability[b] - ability[a]))
        return "left" if wins == slot.a_is_left else "right"

    return given


def leans(study):
    """Return left minus right of each unit, and of each pair of methods."""
    units, pairs = Counter(), Counter()
    begun = study.slots.filter(annotator__isnull=False, purpose="real")
    for slot in begun.select_related("unit__output_a", "unit__output_b"):
        step = 1 if slot.a_is_left else -1
        units[slot.unit_id] += step
        pairs[slot.unit.output_a.method_id, slot.unit.output_b.method_id] += step
    return units, pairs


@pytest.mark.slow
def test_adaptive_study_runs_to_its_end():
    # With fewer answers per pair, an unlucky draw may use up all slots before the end.
    study, dice = planned(6), random.Random(1)
    while not Study.objects.get().adaptive.get("stopped"):
        person = join(study)
        done = work(person, judged(dice), most=12)
        assert done, "the study stops before it runs out of slots"
        units, pairs = leans(study)
        assert max(map(abs, units.values())) <= 1
        assert max(map(abs, pairs.values())) <= 1
        for slots in sessions_of(person).values():
            assert len({slot.unit.story_id for slot in slots}) == len(slots)
    stopped = study.events.get(kind="stop rule met")
    alder = study.units.filter(output_a__method__name="Alder").first()
    assert stopped.details["methods"] == [alder.output_a.method_id]
    assert study.slots.filter(state="submitted").count() < study.slots.count()
    assert problems(study) == []


@pytest.mark.slow
def test_stop_requires_a_separated_leaderboard(study, monkeypatch):
    """With few people and stories the stopping rule alone is not enough."""
    monkeypatch.setattr(adaptive.StopRule, "holds", lambda *_given: True)
    work(join(study), judged(random.Random(4)), most=6)
    best = adaptive_pairs.best_methods(study, adaptive_pairs.answers(study), 1)
    assert not best.p_value <= 0.2 / adaptive.CAUTION
    assert choosing.next_slot(join(study)) is not None
    assert not Study.objects.get().adaptive.get("stopped")


@pytest.mark.slow
@pytest.mark.postgresql
def test_every_choice_is_logged_with_its_probability(study):
    done = work(join(study), judged(random.Random(2)), most=8)
    taken = {
        event.slot_id: event.details for event in study.events.filter(kind="slot taken")
    }
    for slot in Slot.objects.filter(pk__in=[slot.pk for slot in done]):
        assert 0 < slot.probability <= 1
        assert taken[slot.pk]["probability"] == slot.probability
        assert taken[slot.pk]["alternatives"] == slot.alternatives
        # Exploration gives .3 to all open pairs equally, so that none is excluded.
        assert slot.probability >= 0.3 / 6 / 5 / 3


@pytest.mark.postgresql
def test_probabilities_of_open_slots_sum_to_one(study, monkeypatch):
    """For one choice, the probabilities of all possible slots sum to one."""
    person = join(study)
    work(person, judged(random.Random(4)), most=3)
    seen = {}
    pick = adaptive.pick

    def spy(gain, free, rng, **how):
        chances = adaptive.probabilities(gain, free.sum(axis=2), **how)
        stories = (free > 0).sum(axis=2)
        seen["sum"] = sum(
            chances[i, j] / stories[i, j] / n * n
            for (i, j, _s), n in np.ndenumerate(free)
            if n
        )
        seen["open"] = int(np.triu(free.sum(axis=2), 1).sum())
        return pick(gain, free, rng, **how)

    monkeypatch.setattr(adaptive, "pick", spy)
    slot = choosing.next_slot(person)
    assert seen["sum"] == pytest.approx(1)
    assert slot.alternatives == seen["open"]


@pytest.mark.slow
def test_stop_gives_everybody_a_code(client, study):
    first, second = join(study), join(study)
    slot = choosing.next_for(second).slot
    work(first, judged(random.Random(5)), most=12)
    study.refresh_from_db()
    study.adaptive |= {"least": 0, "top": len(METHODS)}
    study.save()
    assert choosing.next_slot(first) is None
    study.refresh_from_db()
    assert study.adaptive["stopped"]
    browser = Browser(client, first)
    page = browser.text(browser.address("done"))
    assert first.completion_code in page
    own = choosing.next_for(second).slot
    assert own.pk == slot.pk, "what was begun is finished"
    answer(own, second, judged(random.Random(6)))
    assert choosing.next_step(second).kind == choosing.Next.DONE
    assert set(study.annotators.values_list("state", flat=True)) == {
        Annotator.State.FINISHED
    }
    assert study.events.filter(kind="stop rule met").count() == 1
    assert problems(study) == []


def test_adaptive_side_is_the_one_seen_less(study):
    """Before any answer, a left and a right slot of each unit keep it within one."""
    free = choosing.free_slots(join(study))
    order = list(Method.objects.order_by("name").values_list("pk", flat=True))
    for a_is_left in (True, False):
        sides = ShownSides()
        for i, first in enumerate(order):
            for second in order[i + 1 :]:
                sides.add((first, second), not a_is_left, times=5)
        for _ in range(8):
            chosen = adaptive_pairs.choose(study, free, sides)
            assert chosen.a_is_left == a_is_left


def test_expired_slot_keeps_its_probability(study):
    person = join(study)
    slot = choosing.next_for(person).slot
    assert slot.probability is not None
    end_leases()
    again = late.regain(person, slot.code, late=True)
    again.refresh_from_db()
    assert again.pk == slot.pk
    assert (again.probability, again.alternatives) == (
        pytest.approx(slot.probability),
        slot.alternatives,
    )
