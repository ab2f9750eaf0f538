"""Signals, on answers small enough to be worked out by hand."""

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


def test_nothing_judged_leaves_every_signal_undefined_with_a_reason():
    signals = measure([])
    assert tuple(signals) == SIGNALS
    for one in signals.values():
        assert one.value is None
        assert one.n == 0
        assert one.detail


def test_a_purpose_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="'practice' is none of real, training"):
        rated(1, purpose="practice")


# -- time ------------------------------------------------------------------------------


def test_seconds_per_unit_and_per_shot_leave_out_what_was_not_measured():
    units = [rated(1, seconds=s, shots=4) for s in (10, 20, 60, None)]
    assert signal("seconds_per_unit", *units).value == 20
    per_shot = signal("seconds_per_shot", *units)
    assert per_shot.value == 5
    assert per_shot.observations == (2.5, 5, 15)
    assert per_shot.n == 3


def test_a_unit_that_took_no_time_is_not_left_out():
    units = [rated(1, seconds=s) for s in (0, 0, 20)]
    assert signal("seconds_per_unit", *units).observations == (0, 0, 20)


def test_shots_are_seen_after_a_glance():
    seen = rated(1, in_sight=(0.5, 3, 0.49, 0))
    other = rated(1, in_sight=(2, 2))
    unknown = rated(1, seconds=9)
    found = signal("shots_seen", seen, unknown, other)
    assert (found.value, found.n, found.observations) == (0.75, 2, (0.5, 1.0))
    assert signal("shots_seen", seen, glance=2.5).value == 0.25
    assert signal("shots_seen", unknown).value is None
    assert signal("shots_seen", rated(1, in_sight=())).value is None


def test_in_an_overview_each_shot_is_in_sight_all_the_time():
    overview = rated(1, shots=16, seconds=4, in_sight=(3,) * 16)
    steps = rated(1, shots=4, seconds=6, in_sight=(2, 2, 1, 0))
    unmeasured = rated(1, shots=4, seconds=2)
    found = signal("seconds_in_sight", overview, steps, unmeasured, rated(1))
    assert (found.observations, found.value) == ((3, 1.25, 0.5), 1.25)
    assert signal("seconds_in_sight", rated(1)).value is None


def test_times_that_are_missing_and_that_cannot_be_are_counted_apart():
    faults = ("", "missing", "missing", "impossible", None)
    units = [rated(1, seconds=9, time_problem=fault) for fault in faults]
    missing, impossible = signal("no_time", *units), signal("impossible_time", *units)
    assert (missing.value, missing.n) == (0.5, 4)  # of one nobody asked for it
    assert (impossible.value, impossible.n) == (0.25, 4)
    assert signal("no_time", rated(1, seconds=9)).value is None


# -- the same answers again ------------------------------------------------------------


def test_straight_line_compares_all_questions_with_the_unit_before():
    rows = [(3, 3), (3, 3), (3, 2), (3, 2), (3, 2), (2, 3)]
    found = signal("straight_line", *(rated(*row) for row in rows))
    # 3 of 5 steps repeat; the longest run is the three (3, 2).
    assert found.value == pytest.approx(3 / 5)
    assert found.n == 5
    assert found.detail == "longest run: 3 units"


def test_one_question_is_not_a_straight_line_but_the_same_answer():
    units = [rated(v) for v in (4, 4, 4, 1)]
    assert signal("straight_line", *units).value is None
    found = signal("same_answer", *units)
    assert (found.value, found.n) == (pytest.approx(2 / 3), 3)


def test_units_with_different_questions_are_not_compared():
    one, other = (
        JudgedUnit("real", {"x": 1, "y": 1}),
        JudgedUnit("real", {"x": 1, "z": 1}),
    )
    assert signal("straight_line", one, other).value is None


def test_pressing_left_is_a_straight_line_whichever_output_stands_there():
    units = [chosen("a", "a", left=True), chosen("b", "b", left=False)]
    assert signal("straight_line", *units).value == 1
    units = [chosen("a", "a", left=True), chosen("a", "a", left=False)]
    assert signal("straight_line", *units).value == 0


def test_choices_from_elsewhere_without_sides_are_no_straight_line():
    units = [chosen("a", "b", left=None)] * 3
    assert signal("straight_line", *units).value is None
    assert signal("flat", *units).value is None
    # Ties have no side to know.
    assert signal("straight_line", *[chosen("tie", "tie", left=None)] * 3).value == 1


def test_flat_is_one_value_in_all_questions():
    found = signal("flat", rated(3, 3), rated(3, 1), rated(0, 0), rated(2))
    assert (found.value, found.n) == (pytest.approx(2 / 3), 3)


def test_training_is_no_part_of_the_work():
    training = [rated(1, 1, purpose="training", seconds=1)] * 5
    signals = measure([*training, rated(2, 2, seconds=30)])
    assert signals["straight_line"].value is None
    assert signals["seconds_per_unit"].value == 30
    assert signals["flat"].n == 1
    assert signals["skips"].n == 1


# -- sides -----------------------------------------------------------------------------


def test_side_bias_by_hand():
    # left, left, left, right; a tie; one unit with as many left as right
    units = [
        chosen("a"),
        chosen("a"),
        chosen("b", left=False),
        chosen("b"),
        chosen("tie"),
        chosen("a", "b"),
    ]
    found = signal("side_bias", *units)
    assert found.observations == (1, 1, 1, 0, 0.5)
    assert found.value == pytest.approx(0.2)  # 3.5 / 5 - 0.5
    # Three of four to one side: 2 * (4 + 1) / 16.
    assert found.detail == "70% left; exact two-sided p = 0.62"


def test_criteria_of_a_unit_are_one_look_not_five():
    found = signal("side_bias", *[chosen("a", "a", "a", "a", "a")] * 5)
    assert found.n == 5
    assert found.detail.endswith("p = 0.062")  # 2 / 2^5, not 2 / 2^25


@pytest.mark.parametrize("units", [[chosen("tie")], [chosen("a", left=None)]])
def test_side_bias_needs_a_side(units):
    assert signal("side_bias", *units).value is None


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
def test_swapping_the_sides_mirrors_the_bias(units):
    seen = [chosen(*values, left=left) for values, left in units]
    swapped = [replace(unit, a_is_left=not unit.a_is_left) for unit in seen]
    one, other = signal("side_bias", *seen), signal("side_bias", *swapped)
    assert one.n == other.n
    if one.value is not None:
        assert one.value == pytest.approx(other.value)
        mirrored = [1 - share for share in other.observations]
        assert one.observations == pytest.approx(mirrored)


# -- gold and training -----------------------------------------------------------------


def test_gold_accepts_every_rating_of_the_tolerance_and_no_other():
    expected = {"look": (2, 3)}
    units = [rated(v, purpose="gold", expected=expected) for v in (1, 2, 3, 4)]
    found = signal("gold", *units)
    assert found.observations == (0, 1, 1, 0)
    assert found.value == 0.5


def test_each_gold_unit_counts_the_same_whatever_its_questions():
    units = [
        rated(4, 4, purpose="gold", expected={"look": (4, 4), "text": (0, 1)}),
        rated(4, 4, purpose="gold", expected={"look": (4, 4)}),
        rated(4, purpose="gold", expected={"text": (0, 1)}),  # not asked
        rated(4, purpose="gold"),
    ]
    found = signal("gold", *units)
    assert found.observations == (0.5, 1)
    assert found.detail.startswith("1 of 2 units")


def test_a_gold_choice_is_in_the_units_order():
    expected = {"c0": "a"}
    units = [
        chosen(v, left=False, purpose="gold", expected=expected)
        for v in ("a", "b", "tie")
    ]
    assert signal("gold", *units).value == pytest.approx(1 / 3)


def test_training_and_gold_are_apart():
    training = rated(0, purpose="training", expected={"look": (4, 4)})
    gold = rated(4, purpose="gold", expected={"look": (4, 4)})
    assert signal("training", training, gold).value == 0
    assert signal("gold", training, gold).value == 1


ratings = st.lists(st.integers(0, 4), min_size=1, max_size=12)


@given(ratings, st.integers(0, 4), st.integers(0, 4))
def test_a_wider_tolerance_never_lowers_gold(values, low, high):
    low, high = min(low, high), max(low, high)

    def share(low, high):
        expected = {"look": (low, high)}
        units = [rated(v, purpose="gold", expected=expected) for v in values]
        return signal("gold", *units).value

    assert share(low, high) <= share(low - 1, high)
    assert share(low, high) <= share(low, high + 1)
    assert share(0, 4) == 1


# -- repeats and twins -----------------------------------------------------------------


def test_repeat_is_the_mean_difference_in_parts_of_the_scale():
    units = [
        rated(4, 2, purpose="repeat", earlier={"look": 2, "text": 2}),  # 2/4 and 0
        rated(0, purpose="repeat", earlier={"look": 4, "text": 1}),  # 1
    ]
    found = signal("repeat", *units)
    assert found.observations == (0.25, 1)
    assert found.value == pytest.approx(0.625)
    assert found.detail == "1 of 3 answers the same"


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
def test_choices_move_by_half_steps(now, then, moved):
    unit = chosen(now, purpose="repeat", earlier={"c0": then})
    assert signal("repeat", unit).value == moved


def test_a_rating_without_a_scale_does_not_move():
    unit = rated(4, purpose="repeat", earlier={"look": 0})
    assert measure([unit])["repeat"].value is None


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_moving_there_is_as_far_as_moving_back(pairs):
    there = [rated(a, purpose="repeat", earlier={"look": b}) for a, b in pairs]
    back = [rated(b, purpose="repeat", earlier={"look": a}) for a, b in pairs]
    assert signal("repeat", *there).value == signal("repeat", *back).value


def test_twin_is_paired():
    pairs = [(1, 3), (2, 4), (0, 1), (3, 3), (4, 2)]
    units = [rated(t, purpose="twin", earlier={"look": o}) for t, o in pairs]
    found = signal("twin", *units)
    assert found.value == pytest.approx(3 / 5)  # the tie is not lower, and counts
    assert found.n == 5
    # Without the tie 3 of 4 are lower: (4 + 1) / 16.
    assert found.detail == "3 pairs lower, 1 higher; one-sided sign test p = 0.31"


def test_twin_averages_the_questions_of_a_pair():
    unit = rated(1, 4, purpose="twin", earlier={"look": 3, "text": 4})
    found = signal("twin", unit)
    assert found.value == 0.5
    assert found.detail.startswith("1 pairs lower, 0 higher")


def test_twins_of_choices_are_left_out():
    unit = chosen("a", purpose="twin", earlier={"c0": "b"})
    assert signal("twin", unit).value is None


@pytest.mark.parametrize(
    ("choices", "value"),
    [("aa", 1.0), ("ab", 0.5), ("at", 0.5), ("bb", 0.0), ("tt", 0.0)],
)
def test_a_twin_beside_its_original_is_lower_where_the_original_is_chosen(
    choices, value
):
    given = ["tie" if choice == "t" else choice for choice in choices]
    unit = chosen(*given, purpose="twin", expected={"c0": "a", "c1": "a"})
    found = signal("twin", unit)
    assert (found.value, found.n) == (value, 1)


def test_a_repeat_is_no_twin():
    unit = rated(1, purpose="repeat", earlier={"look": 3})
    assert signal("twin", unit).value is None


# -- the others ------------------------------------------------------------------------


def test_agreement_by_hand():
    pairs = [(0, 1.0), (1, 0.0), (2, 2.0), (3, 4.0), (4, 3.0)]
    units = [rated(own, rest={"look": rest}) for own, rest in pairs]
    found = signal("agreement", *units)
    # Deviations -2 -1 0 1 2 and -1 -2 0 2 1: products 2 + 2 + 2 + 2, squares 10 and 10.
    assert found.value == pytest.approx(0.8)
    assert found.n == 5


def test_questions_of_different_difficulty_are_no_agreement():
    own = [(1, 3), (0, 4), (1, 4), (0, 3), (1, 3)]
    others = [(0, 4), (1, 3), (0, 3), (1, 4), (0, 4)]
    units = [
        rated(*mine, rest={"look": look, "text": text})
        for mine, (look, text) in zip(own, others, strict=True)
    ]
    # Inside each question the order is reversed; pooled without centring r is +.8.
    assert signal("agreement", *units).value == pytest.approx(-1)


def test_agreement_needs_units_and_variance():
    units = [rated(v, rest={"look": float(v)}) for v in (0, 1, 2, 3)]
    few = signal("agreement", *units)
    assert (few.value, few.n) == (None, 4)
    constant = [rated(3, rest={"look": float(v)}) for v in range(5)]
    assert signal("agreement", *constant).detail == "the own ratings never vary"
    agreed = [rated(v, rest={"look": 2.0}) for v in range(5)]
    assert signal("agreement", *agreed).detail == "the others' ratings never vary"


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


def test_majority_by_hand():
    votes = [("a", 1.0), ("b", 1.0), ("tie", 0.0), ("b", 1 / 3), ("a", 0.5), ("a", 0.6)]
    units = [chosen(own, rest={"c0": share}) for own, share in votes]
    found = signal("majority", *units)
    # .5 and .6 are no clear majority.
    assert found.observations == (1, 0, 0.5, 1)
    assert found.value == pytest.approx(2.5 / 4)


def test_naming_the_outputs_the_other_way_round_changes_no_majority():
    other = {"a": "b", "b": "a", "tie": "tie"}
    votes = [("a", 0.9), ("b", 0.8), ("tie", 0.1), ("a", 0.2)]
    one = signal("majority", *(chosen(c, rest={"c0": v}) for c, v in votes))
    two = signal("majority", *(chosen(other[c], rest={"c0": 1 - v}) for c, v in votes))
    assert one.value == two.value == pytest.approx((1 + 0 + 0.5 + 0) / 4)


# -- all of them -----------------------------------------------------------------------


@given(st.permutations(range(6)))
def test_only_runs_depend_on_the_order(order):
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
