"""Agreement relative to the others, and skips of one method."""

import random

import numpy as np
import pytest

from annotate.assignment import choosing
from annotate.quality import follow_up, monitoring
from annotate.quality_rules.findings import finding, headline, sentence
from annotate.quality_rules.judged import JudgedUnit
from annotate.quality_rules.relative_signals import skips_one_method
from annotate.quality_rules.rules import DEFAULT_RULES, evaluate, share_p
from annotate.quality_rules.signals import measure
from benchmarks import random_answers
from tests.working import LIKERT, PAIRWISE, always, join, make_planned, work

RULES = [rule for rule in DEFAULT_RULES if rule.key in ("random", "skips-one")]


def breaches(units=(), **how):
    return evaluate(RULES, measure(units, **how))


def rated(value, *others) -> JudgedUnit:
    return JudgedUnit("real", {"q": value}, others={"q": dict(enumerate(others))})


def agreement(*units):
    return measure(units)["relative_agreement"]


def test_relative_agreement_of_ratings_by_hand():
    """Both others order all three items alike; so does the person, but for one pair."""
    signal = agreement(rated(0, 1, 0), rated(3, 2, 3), rated(2, 4, 4))
    assert signal.observations == (1.0, 0.0)
    assert signal.expected == (1.0, 1.0)
    assert (signal.value, signal.n) == (0.5, 2)


def test_relative_agreement_of_choices_by_hand():
    signal = agreement(rated("b", 1.0, 1.0, 1.0), rated("tie", 1.0, 1.0, 1.0))
    assert signal.observations == (-1.0, 0.0)
    assert signal.expected == (1.0, 1.0)
    assert signal.value == 0.0


def test_relative_agreement_needs_two_others_who_agree():
    assert agreement(rated(0, 1), rated(3, 2)).detail.startswith("too few units")
    split = [rated("a", 1.0, 0.0) for _ in range(30)]
    assert agreement(*split).value is None
    assert breaches(split) == []


@pytest.mark.parametrize("pairs", [True, False])
def test_random_answers_are_found_and_careful_ones_are_not(pairs):
    dice = random.Random(7)

    def item(careful):
        truth = dice.randrange(2 if pairs else 5)
        others = [float(truth)] * 4
        own = truth if careful else dice.randrange(2 if pairs else 5)
        return rated("ba"[own] if pairs else own, *others)

    (breach,) = breaches([item(careful=False) for _ in range(120)])
    assert breach.rule.key == "random"
    assert breaches([item(careful=True) for _ in range(120)]) == []
    assert headline("A01", finding(breach)).startswith(
        "A01 may answer at random: answers to "
    )
    assert "At least 60 % is expected." in sentence(finding(breach))


def test_benchmark_accuses_after_as_many_items_as_the_rule():
    kind = random_answers.Kind(True, "high", 4, 1, power=True)
    for seed in (1, 3):
        made = random_answers.study(kind, np.random.default_rng(seed))
        rows = random_answers.units(kind, made, 0)
        looks = (n for n in range(1, len(rows) + 1) if breaches(rows[:n]))
        assert random_answers.accused_after(rows) == next(looks, np.inf)


def test_same_answers_as_others_are_no_evidence():
    assert share_p([0.5] * 50, [0.5] * 50, 0.6, below=True) == 1.0
    assert share_p([0.0] * 50, [0.0] * 50, 0.6, below=True) == 1.0


def test_method_skipped_most_is_named():
    met = [(["Alder"], True)] * 8 + [(["Birch"], False)] * 20 + [(["Cedar"], False)] * 9
    signal = skips_one_method(met, {"Alder": (0, 48)})
    assert (signal.value, signal.n, signal.about) == (0.98, 8, "Alder")
    (breach,) = breaches(met=met, of_others={"Alder": (0, 48)})
    assert headline("A01", finding(breach)) == (
        "A01 skips one method more than others: of 8 stories with method Alder, the "
        "share skipped is 98 % higher than of other stories, and than others skip."
    )


@pytest.mark.parametrize("of_others", [{}, {"Alder": (2, 2)}, {"Alder": (24, 60)}])
def test_method_that_others_skip_too_is_held_against_nobody(of_others):
    """With no or few others, nobody knows whether it is the method."""
    met = [(["Alder"], at % 2 == 0) for at in range(40)] + [(["Birch"], False)] * 80
    assert breaches(met=met, of_others=of_others) == []
    assert breaches(met=met, of_others={"Alder": (1, 60)})


def test_even_skips_are_about_no_method():
    met = [([name], at % 3 == 0) for at in range(20) for name in ("Alder", "Birch")]
    assert breaches(met=met) == []
    assert skips_one_method([(["Alder"], True)] * 9).value is None


@pytest.mark.slow
@pytest.mark.django_db
def test_server_compares_each_person_with_the_others():
    study = make_planned(PAIRWISE, annotators=4, redundancy=4)
    for name, choice in (("A01", "a"), ("A02", "a"), ("A03", "a"), ("A04", "b")):
        person = join(study, name)
        sides = {choice == "a": "left", choice != "a": "right"}
        work(person, lambda slot, _key, sides=sides: sides[slot.a_is_left])
    signal = monitoring.signals_of(person)["relative_agreement"]
    assert set(signal.expected) == {1.0}
    assert set(signal.observations) == {-1.0}
    assert signal.n == study.units.count()


@pytest.mark.django_db
def test_skips_of_broken_pictures_are_not_held_against_anybody():
    study = make_planned(LIKERT, annotators=2, redundancy=2)
    person = join(study, "A01")
    (first, *_rest) = work(person, always("3"), most=1)
    assert first
    for reason, expected in (("broken", 0), ("unclear", 1)):
        slot = choosing.next_for(person).slot
        follow_up.skip(slot=slot, annotator=person, reason=reason, comment="it is")
        skipped = monitoring.signals_of(person)["skips_one_method"]
        assert sum(skipped.observations) == expected
