"""Signals of answers that are small enough for values by hand."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotate.quality_rules.judged import JudgedUnit, Signal
from annotate.quality_rules.signals import SIGNALS, measure, upper_tail

SCALES = {"look": (0, 4), "text": (0, 4)}


def rated(look=None, text=None, purpose="real", **fields) -> JudgedUnit:
    given = {"look": look, "text": text}
    answers = {name: value for name, value in given.items() if value is not None}
    return JudgedUnit(purpose, answers, **fields)


def chosen(*values, left=True, purpose="real", **fields) -> JudgedUnit:
    answers = {f"c{index}": value for index, value in enumerate(values)}
    return JudgedUnit(purpose, answers, a_is_left=left, **fields)


def signal(name: str, *units: JudgedUnit, **options) -> Signal:
    return measure(units, scales=SCALES, **options)[name]


def test_signals_without_units_are_undefined_with_reason():
    signals = measure([])
    assert tuple(signals) == SIGNALS
    for one in signals.values():
        assert one.value is None
        assert one.n == 0
        assert one.detail


def test_unknown_purpose_is_refused():
    with pytest.raises(ValueError, match="'practice' is not one of real, training"):
        rated(1, purpose="practice")


def gold(value, **expected) -> JudgedUnit:
    return rated(value, purpose="gold", expected=expected)


def repeated(*now, **earlier) -> JudgedUnit:
    return rated(*now, purpose="repeat", earlier=earlier)


def twin(*now, **earlier) -> JudgedUnit:
    return rated(*now, purpose="twin", earlier=earlier)


def in_rows(*rows) -> list[JudgedUnit]:
    return [rated(*row) for row in rows]


PER_SHOT = [rated(1, seconds=s, shots=4) for s in (10, 20, 60, None)]
NO_TIME = [rated(1, seconds=0), rated(1, seconds=0), rated(1, seconds=20)]
SEEN = [rated(1, in_sight=(0.5, 3, 0.49, 0)), rated(1), rated(1, in_sight=(2, 2))]
IN_SIGHT = [
    rated(1, shots=16, seconds=4, in_sight=(3,) * 16),  # an overview
    rated(1, shots=4, seconds=6, in_sight=(2, 2, 1, 0)),
    rated(1, shots=4, seconds=2),
    rated(1),
]
SIDES = [
    *(chosen("a"), chosen("a"), chosen("b", left=False), chosen("b")),
    *(chosen("tie"), chosen("a", "b")),
]
EXPECTED = {
    "look": {"purpose": "gold", "expected": {"look": (4, 4)}},
    "both": {"purpose": "gold", "expected": {"look": (4, 4), "text": (0, 1)}},
}
VOTES = [("a", 1.0), ("b", 1.0), ("tie", 0.0), ("b", 1 / 3), ("a", 0.5), ("a", 0.6)]
PAIRS = [(1, 3), (2, 4), (0, 1), (3, 3), (4, 2)]


@pytest.mark.parametrize(
    ("name", "units", "value", "observations"),
    [
        # What was not measured is left out, and no time at all is a time.
        ("seconds_per_unit", PER_SHOT, 20, (10, 20, 60)),
        ("seconds_per_shot", PER_SHOT, 5, (2.5, 5, 15)),
        ("seconds_per_unit", NO_TIME, 0, (0, 0, 20)),
        ("shots_seen", SEEN, 0.75, (0.5, 1)),
        ("seconds_in_sight", IN_SIGHT, 1.25, (3, 1.25, 0.5)),
        ("straight_line", in_rows((3, 3), (3, 3), (3, 2), (3, 2)), 2 / 3, (1, 0, 1)),
        ("same_answer", in_rows((4,), (4,), (4,), (1,)), 2 / 3, (1, 1, 0)),
        ("flat", in_rows((3, 3), (3, 1), (0, 0), (2,)), 2 / 3, (1, 0, 1)),
        # Choices count as seen, by side.
        ("straight_line", [chosen("a", "a"), chosen("b", "b", left=False)], 1, (1,)),
        ("straight_line", [chosen("a", "a"), chosen("a", "a", left=False)], 0, (0,)),
        # Ties have no side.
        ("straight_line", [chosen("tie", "tie", left=None)] * 2, 1, (1,)),
        # left, left, left, right; a tie; as many left as right: 3.5 / 5 - 0.5
        ("side_bias", SIDES, 0.2, (1, 1, 1, 0, 0.5)),
        ("gold", [gold(v, look=(2, 3)) for v in (1, 2, 3, 4)], 0.5, (0, 1, 1, 0)),
        # Units have equal weights; questions without an answer do not count.
        (
            "gold",
            [rated(4, 4, **EXPECTED["both"]), rated(4, 4, **EXPECTED["look"])],
            0.75,
            (0.5, 1),
        ),
        (
            "gold",
            [chosen(v, purpose="gold", expected={"c0": "a"}) for v in ("a", "b")],
            0.5,
            (1, 0),
        ),
        # 2/4 and 0; 4/4
        (
            "repeat",
            [repeated(4, 2, look=2, text=2), repeated(0, look=4)],
            0.625,
            (0.25, 1),
        ),
        # The equal pair is not lower, and counts.
        ("twin", [twin(t, look=o) for t, o in PAIRS], 3 / 5, (1, 1, 1, 0, 0)),
        ("twin", [twin(1, 4, look=3, text=4)], 0.5, (0.5,)),
        # .5 and .6 are no clear majority.
        (
            "majority",
            [chosen(own, rest={"c0": share}) for own, share in VOTES],
            2.5 / 4,
            (1, 0, 0.5, 1),
        ),
    ],
)
def test_signal_has_value_by_hand(name, units, value, observations):
    found = signal(name, *units)
    assert found.value == pytest.approx(value)
    assert found.observations == pytest.approx(observations)
    assert found.n == len(observations)


@pytest.mark.parametrize(
    ("name", "units"),
    [
        ("shots_seen", [rated(1, seconds=9), rated(1, in_sight=())]),
        ("seconds_in_sight", [rated(1)]),
        ("no_time", [rated(1, seconds=9)]),
        ("straight_line", in_rows((4,), (4,))),
        (
            "straight_line",
            [JudgedUnit("real", {"x": 1, y: 1}) for y in ("y", "z")],
        ),
        ("straight_line", [chosen("a", "b", left=None)] * 3),
        ("flat", [chosen("a", "b", left=None)] * 3),
        ("side_bias", [chosen("tie")]),
        ("side_bias", [chosen("a", left=None)]),
        ("twin", [chosen("a", purpose="twin", earlier={"c0": "b"})]),
        ("twin", [repeated(1, look=3)]),
    ],
)
def test_signal_is_undefined_without_comparable_units(name, units):
    assert signal(name, *units).value is None


@pytest.mark.parametrize(
    ("name", "units", "detail"),
    [
        ("straight_line", in_rows((3, 2), (3, 2), (3, 2), (2, 3)), "longest run: 3 u"),
        # Three of four to one side: 2 * (4 + 1) / 16.
        ("side_bias", SIDES, "70% left; exact two-sided p = 0.62"),
        # The criteria of a unit are one look: 2 / 2^5, not 2 / 2^25.
        ("side_bias", [chosen(*"aaaaa")] * 5, "100% left; exact two-sided p = 0.062"),
        ("gold", [gold(2, look=(2, 3)), gold(4, look=(2, 3))], "1 of 2 units"),
        ("repeat", [repeated(4, 2, look=2, text=2)], "1 of 2 answers the same"),
        # Without the equal pair 3 of 4 are lower: (4 + 1) / 16.
        (
            "twin",
            [twin(t, look=o) for t, o in PAIRS],
            "3 pairs lower, 1 higher; one-sided sign test p = 0.31",
        ),
        (
            "agreement",
            [rated(3, rest={"look": float(v)}) for v in range(5)],
            "the own ratings never vary",
        ),
        (
            "agreement",
            [rated(v, rest={"look": 2.0}) for v in range(5)],
            "the others' ratings never vary",
        ),
    ],
)
def test_signal_detail_describes_observations(name, units, detail):
    assert signal(name, *units).detail.startswith(detail)


def test_glance_sets_time_in_sight():
    assert signal("shots_seen", SEEN[0], glance=2.5).value == 0.25


def test_missing_and_impossible_times_are_separate():
    faults = ("", "missing", "missing", "impossible", None)
    units = [rated(1, seconds=9, time_problem=fault) for fault in faults]
    missing, impossible = signal("no_time", *units), signal("impossible_time", *units)
    assert (missing.value, missing.n) == (0.5, 4)  # of one nobody asked for it
    assert (impossible.value, impossible.n) == (0.25, 4)


def test_training_counts_for_training_signal_only():
    training = [
        rated(0, 1, purpose="training", seconds=1, expected={"look": (4, 4)})
    ] * 5
    signals = measure([*training, rated(2, 2, seconds=30), gold(4, look=(4, 4))])
    assert signals["straight_line"].value is None
    assert signals["seconds_per_unit"].value == 30
    assert signals["flat"].n == 1
    assert signals["skips"].n == 2
    assert (signals["training"].value, signals["gold"].value) == (0, 1)


@pytest.mark.parametrize(
    ("successes", "n", "tail"),
    [(0, 0, 1), (0, 4, 1), (3, 4, 5 / 16), (9, 10, 11 / 1024)],
)
def test_upper_tail(successes, n, tail):
    assert upper_tail(successes, n) == tail


choices = st.lists(
    st.tuples(st.lists(st.sampled_from(["a", "b", "tie"]), min_size=1), st.booleans()),
    min_size=1,
    max_size=20,
)


@given(choices)
def test_side_bias_mirrors_when_sides_swap(units):
    seen = [chosen(*values, left=left) for values, left in units]
    swapped = [replace(unit, a_is_left=not unit.a_is_left) for unit in seen]
    one, other = signal("side_bias", *seen), signal("side_bias", *swapped)
    assert one.n == other.n
    if one.value is not None:
        assert one.value == pytest.approx(other.value)
        mirrored = [1 - share for share in other.observations]
        assert one.observations == pytest.approx(mirrored)


ratings = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@given(ratings, st.integers(0, 4), st.integers(0, 4))
def test_wider_tolerance_never_lowers_gold(values, low, high):
    low, high = min(low, high), max(low, high)

    def share(low, high):
        expected = {"look": (low, high)}
        units = [rated(v, purpose="gold", expected=expected) for v in values]
        return signal("gold", *units).value

    assert share(low, high) <= share(low - 1, high)
    assert share(low, high) <= share(low, high + 1)
    assert share(0, 4) == 1


@pytest.mark.parametrize(
    ("now", "then", "moved"),
    [
        ("a", "a", 0),
        ("a", "b", 1),
        ("a", "tie", 0.5),
        ("tie", "both_bad", 0.5),
        ("both_bad", "b", 0.5),
        ("both_bad", "both_bad", 0),
    ],
)
def test_repeated_choices_differ_by_half_steps(now, then, moved):
    unit = chosen(now, purpose="repeat", earlier={"c0": then})
    assert signal("repeat", unit).value == moved


def test_repeat_ignores_rating_without_scale():
    unit = rated(4, purpose="repeat", earlier={"look": 0})
    assert measure([unit])["repeat"].value is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_repeat_is_symmetric(pairs):
    there = [rated(a, purpose="repeat", earlier={"look": b}) for a, b in pairs]
    back = [rated(b, purpose="repeat", earlier={"look": a}) for a, b in pairs]
    assert signal("repeat", *there).value == signal("repeat", *back).value


@pytest.mark.parametrize(
    ("choices", "value"),
    [("aa", 1.0), ("ab", 0.5), ("at", 0.5), ("bb", 0.0), ("tt", 0.0)],
)
def test_degraded_copy_is_lower_when_original_is_chosen(choices, value):
    given = ["tie" if choice == "t" else choice for choice in choices]
    unit = chosen(*given, purpose="twin", expected={"c0": "a", "c1": "a"})
    found = signal("twin", unit)
    assert (found.value, found.n) == (value, 1)


def test_agreement_by_hand():
    pairs = [(0, 1.0), (1, 0.0), (2, 2.0), (3, 4.0), (4, 3.0)]
    units = [rated(own, rest={"look": rest}) for own, rest in pairs]
    found = signal("agreement", *units)
    # Deviations -2 -1 0 1 2 and -1 -2 0 2 1: products 2 + 2 + 2 + 2, squares 10 and 10.
    assert found.value == pytest.approx(0.8)
    assert found.n == 5


def test_question_difficulty_does_not_create_agreement():
    own = [(1, 3), (0, 4), (1, 4), (0, 3), (1, 3)]
    others = [(0, 4), (1, 3), (0, 3), (1, 4), (0, 4)]
    units = [
        rated(*mine, rest={"look": look, "text": text})
        for mine, (look, text) in zip(own, others, strict=True)
    ]
    # Inside each question the order is reversed; pooled without centring r is +.8.
    assert signal("agreement", *units).value == pytest.approx(-1)


def test_agreement_needs_five_units():
    units = [rated(v, rest={"look": float(v)}) for v in (0, 1, 2, 3)]
    few = signal("agreement", *units)
    assert (few.value, few.n) == (None, 4)


means = st.integers(0, 40).map(lambda tenths: tenths / 10)
several = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4), means, means),
    min_size=5,
    max_size=20,
)


def as_units(rows):
    return [rated(a, b, rest={"look": c, "text": d}) for a, b, c, d in rows]


@given(several, st.integers(0, 2), st.permutations(range(5)))
def test_severity_and_order_do_not_change_agreement(rows, severity, order):
    found = signal("agreement", *as_units(rows))
    severe = [(a + severity, b + severity, c, d) for a, b, c, d in rows]
    moved = [severe[i] for i in order] + severe[5:]
    other = signal("agreement", *as_units(moved))
    assert other.n == found.n
    assert other.value == (
        None if found.value is None else pytest.approx(found.value, abs=1e-6)
    )


# -- all of them -----------------------------------------------------------------------


@given(st.permutations(range(6)))
def test_only_repetition_signals_depend_on_order(order):
    units = [
        rated(1, 3, purpose="gold", expected={"look": (0, 1)}, seconds=9),
        rated(2, 2, purpose="repeat", earlier={"look": 4, "text": 2}, seconds=20),
        rated(0, 1, purpose="twin", earlier={"look": 2, "text": 1}, seconds=4),
        *(rated(v, 4 - v, rest={"look": float(v), "text": 1.0 + v}) for v in (1, 3, 4)),
    ]
    units += units[3:5]
    before = measure(units, scales=SCALES, skipped=1)
    after = measure([units[i] for i in order] + units[6:], scales=SCALES, skipped=1)
    for name in set(SIGNALS) - {"straight_line", "same_answer"}:
        assert after[name].n == before[name].n
        assert (after[name].value is None) == (before[name].value is None)
        if before[name].value is not None:
            assert after[name].value == pytest.approx(before[name].value)
    assert before["agreement"].value is not None
