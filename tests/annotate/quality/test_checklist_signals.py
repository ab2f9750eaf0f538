"""Quality signals of checklist ticks."""

import pytest

from annotate.quality_rules.checklist_signals import TickedShot, measure_boxes


def measured(*shots: TickedShot):
    return measure_boxes(shots)


def test_blank_shots_are_counted():
    signal = measured(
        TickedShot(frozenset()), TickedShot(frozenset("a")), TickedShot(frozenset())
    )["ticks_flat"]
    assert (signal.value, signal.n) == (pytest.approx(2 / 3), 3)
    assert signal.observations == (1, 0, 1)


@pytest.mark.parametrize(
    ("now", "then", "value"),
    [
        ("ab", "ab", 0),
        ("ab", "bc", 2 / 3),  # one of three in common
        ("a", "", 1),
        ("a", "abcd", 3 / 4),
    ],
)
def test_repeats_compare_ticks(now, then, value):
    signal = measured(TickedShot(frozenset(now), frozenset(then)))["ticks_repeat"]
    assert (signal.value, signal.n) == (pytest.approx(value), 1)


def test_empty_boxes_do_not_count_as_agreement():
    # Of 68 boxes 60 are empty in any case.
    signal = measured(TickedShot(frozenset(), frozenset()), TickedShot(frozenset("a")))[
        "ticks_repeat"
    ]
    assert (signal.value, signal.n) == (None, 0)


def test_agreement_uses_shares_of_others():
    rest = [{"a": i % 2, "b": i % 2 / 2, "c": 0, "d": 0} for i in range(8)]
    shots = [
        TickedShot(frozenset("ab" if i % 2 else "c"), rest=rest[i]) for i in range(8)
    ]
    signal = measured(*shots)["ticks_agreement"]
    assert signal.n == 8
    assert signal.value == pytest.approx(0.6**0.5)
    against = [
        TickedShot(frozenset("c" if i % 2 else "ab"), rest=rest[i]) for i in range(8)
    ]
    assert measured(*against)["ticks_agreement"].value == pytest.approx(-(0.6**0.5))
    assert measured(*[TickedShot(frozenset("a"))] * 8)["ticks_agreement"].value is None
