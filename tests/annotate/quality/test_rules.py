"""Rules: breaches, false alarms, and refusal of invalid files."""

from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from annotate.quality_rules.findings import finding, sentence
from annotate.quality_rules.judged import JudgedUnit, Signal
from annotate.quality_rules.rules import (
    ACTIONS,
    DEFAULT_RULES,
    STAKES,
    Breach,
    Rule,
    always_valid_p,
    correlation_p,
    evaluate,
    parse_rules,
)
from annotate.quality_rules.signals import measure
from annotate.schema import problems_of

GOLD = Rule("gold", "gold", "pause", below=0.7, at_least=5)


def shares(name: str, *observations: float) -> dict[str, Signal]:
    value = sum(observations) / len(observations)
    return {name: Signal(name, value, len(observations), "", observations)}


def only(rule: Rule, signals: dict[str, Signal]):
    (breach,) = evaluate([rule], signals)
    return breach


def said(breach: Breach) -> str:
    return sentence(finding(breach))


# -- evaluating ------------------------------------------------------------------------


def test_breach_sentence_has_finding_and_expectation():
    breach = only(GOLD, shares("gold", 1, 0, 0, 0, 0, 0.5))
    assert (breach.value, breach.n, breach.p) == (0.25, 6, None)
    assert said(breach) == (
        "25 % of the answers to 6 known-answer checks were right. "
        "At least 70 % is expected."
    )


@pytest.mark.parametrize(
    ("bound", "observations", "broken"),
    [
        ({"below": 0.5}, (0, 1), False),  # the threshold itself
        ({"below": 0.5}, (0, 0, 1), True),
        ({"above": 0.5}, (0, 1), False),
        ({"above": 0.5}, (0, 1, 1), True),
        ({"below": 0.5, "at_least": 5}, (0, 0, 0, 0), False),
        ({"below": 0.5, "at_least": 5}, (0, 0, 0, 0, 0), True),
    ],
)
def test_rule_breaks_beyond_threshold_with_enough_units(bound, observations, broken):
    rule = Rule("gold", "gold", "note", **bound)
    assert bool(evaluate([rule], shares("gold", *observations))) == broken


def test_undefined_or_missing_signal_breaks_no_rule():
    assert evaluate([GOLD], {"gold": Signal("gold", None, 9, "none")}) == []
    assert evaluate([GOLD], {}) == []


def test_limit_turns_seconds_into_a_share_of_units():
    rule = Rule("fast", "seconds_per_shot", "warn", above=0.5, limit=1.0)
    times = (0.2, 0.5, 0.99, 1.0)
    signal = Signal("seconds_per_shot", 0.745, 4, "", times)
    breach = only(rule, {"seconds_per_shot": signal})
    assert breach.value == 0.75
    assert said(breach) == (
        "3 of 4 stories took less than 1 s per shot. At most 50 % is expected."
    )


def first_warning(*units: JudgedUnit) -> dict[str, int]:
    """Return after how many units each default rule about time is broken."""
    first: dict[str, int] = {}
    for n in range(1, len(units) + 1):
        for breach in evaluate(DEFAULT_RULES, measure(units[:n])):
            first.setdefault(breach.rule.key, n)
    return first


def judged(shots: int, seconds: float, in_sight=None, n: int = 40) -> list[JudgedUnit]:
    return [
        JudgedUnit(
            "real", {"x": i % 5}, shots=shots, seconds=seconds, in_sight=in_sight
        )
        for i in range(n)
    ]


def test_rushing_is_warned_after_three_or_four_units():
    first_only = judged(16, 1.5, (1.5, *[0] * 15))
    assert first_warning(*first_only)["hurried"] == 3
    assert first_warning(*first_only)["unseen"] == 4
    assert first_warning(*first_only)["unseen-often"] == 18
    stops = judged(16, 12, (4, 4, 4, *[0] * 13))
    assert first_warning(*stops)["unseen"] == 4
    assert "hurried" not in first_warning(*stops)


def test_three_seconds_in_overview_do_not_count_as_rushing():
    assert first_warning(*judged(16, 4, (3,) * 16)) == {}
    # Without a report from the page, the overview is unknown.
    assert first_warning(*judged(16, 4))["fast"] == 10


def test_seeing_half_of_the_shots_sometimes_is_not_warned():
    whole, part = (2,) * 10, (2, 2, *[0] * 8)
    units = [
        u
        for _ in range(8)
        for u in (*judged(10, 20, whole, 4), *judged(10, 20, part, 1))
    ]
    assert first_warning(*units) == {}


def test_chance_requires_evidence():
    rule = Rule("line", "straight_line", "warn", above=0.5, chance=0.01)
    few, many = (
        shares("straight_line", *[1.0] * 6),
        shares("straight_line", *[1.0] * 20),
    )
    assert evaluate([rule], few) == []
    breach = only(rule, many)
    assert 1e-5 < breach.p < 1e-4
    assert said(breach).endswith("by chance is at most 1 in 10,000.")


@pytest.mark.parametrize("side", [0.0, 1.0])
def test_side_bias_flags_both_sides(side):
    rule = Rule("side", "side_bias", "warn", above=0.1, chance=0.01)
    signal = Signal("side_bias", 0.5, 25, "", (side,) * 25)
    breach = only(rule, {"side_bias": signal})
    one_side = always_valid_p([0.0] * 25, 0.4, below=True)
    assert breach.p == pytest.approx(2 * one_side)


def test_finding_formats_correlation():
    rule = Rule("rest", "agreement", "note", below=0.3, chance=0.05)
    breach = only(rule, {"agreement": Signal("agreement", -0.2, 80)})
    assert said(breach).startswith("Ratings of 80 stories correlate -0.20 with")
    assert "At least 0.30 is expected" in said(breach)
    assert evaluate([rule], {"agreement": Signal("agreement", -0.2, 10)}) == []


def test_default_rules_pause_straight_liners_only():
    straight = [JudgedUnit("real", {"x": 3, "y": 3}, seconds=40) for _ in range(40)]
    careful = [
        JudgedUnit("real", {"x": i % 5, "y": i // 5 % 5}, seconds=40) for i in range(40)
    ]
    found = evaluate(DEFAULT_RULES, measure(straight))
    assert {b.rule.key for b in found} == {
        "straight-line",
        "straight-line-long",
        "flat",
    }
    assert "pause" in {breach.rule.action for breach in found}
    assert evaluate(DEFAULT_RULES, measure(careful)) == []


# -- evidence that is valid after every unit -------------------------------------------


def test_p_value_of_one_observation_by_hand():
    # The stakes are shares of 1 / (1 - m) = 2: the capital is the mean of 1 + share.
    capital = 1 + sum(STAKES) / len(STAKES)
    assert always_valid_p([0.0], 0.5, below=True) == pytest.approx(1 / capital)
    assert always_valid_p([1.0], 0.5, below=False) == pytest.approx(1 / capital)
    assert always_valid_p([1.0], 0.5, below=True) == 1
    assert always_valid_p([], 0.5, below=True) == 1


@pytest.mark.parametrize("threshold", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("alpha", [0.2, 0.05])
def test_false_alarms_over_all_looks_stay_below_chance(threshold, alpha):
    """Enumerate the sequences of 11 answers of an annotator at the threshold."""

    @cache
    def convinced(ones: int, n: int) -> bool:
        seen = [1.0] * ones + [0.0] * (n - ones)
        return always_valid_p(seen, threshold, below=True) <= alpha

    accused = 0.0
    for sequence in product((0, 1), repeat=11):
        if any(convinced(sum(sequence[:n]), n) for n in range(1, 12)):
            ones = sum(sequence)
            accused += threshold**ones * (1 - threshold) ** (11 - ones)
    assert accused <= alpha
    if threshold >= 0.5:
        assert accused > alpha / 20  # and it is no test that never accuses


bounded = st.lists(st.sampled_from([0, 1 / 3, 0.5, 2 / 3, 1]), max_size=40)
threshold = st.floats(0.05, 0.95)


@given(bounded, threshold, st.randoms(use_true_random=False))
def test_p_value_ignores_order_of_observations(observations, m, dice):
    shuffled = list(observations)
    dice.shuffle(shuffled)
    p = always_valid_p(observations, m, below=True)
    assert always_valid_p(shuffled, m, below=True) == pytest.approx(p)


@given(bounded, threshold)
def test_above_mirrors_below(observations, m):
    mirrored = [1 - x for x in observations]
    p = always_valid_p(observations, m, below=True)
    assert always_valid_p(mirrored, 1 - m, below=False) == pytest.approx(p)


@given(bounded, threshold)
def test_worse_answer_lowers_p_value(observations, m):
    p = always_valid_p(observations, m, below=True)
    assert 0 < p <= 1
    assert always_valid_p([*observations, 0], m, below=True) <= p * (1 + 1e-9)
    assert always_valid_p([*observations, 1], m, below=True) >= p * (1 - 1e-9)


@pytest.mark.parametrize("m", [0, 1])
def test_extreme_thresholds_give_p_values(m):
    assert always_valid_p([0.0] * 3000, m, below=True) <= 1
    assert always_valid_p([1.0] * 3000, m, below=True) == 1


def test_correlation_p_value_by_hand():
    # z(.5) = .5493; (100 * .5493)^2 / 208 = 14.507; sqrt(4 / 104) e^14.507 = 391,600
    assert correlation_p(0.0, 103, 0.5, below=True) == pytest.approx(2.553e-6, rel=0.01)
    assert correlation_p(0.0, 103, -0.5, below=False) == pytest.approx(
        correlation_p(0.0, 103, 0.5, below=True)
    )


def test_good_correlation_or_three_units_are_no_evidence():
    assert correlation_p(0.5, 1000, 0.5, below=True) == 1
    assert correlation_p(0.9, 1000, 0.5, below=True) == 1
    assert correlation_p(-1.0, 3, 0.5, below=True) == 1
    assert correlation_p(-1.0, 300, 0.5, below=True) < 1e-9


# -- reading ---------------------------------------------------------------------------

RULE = {"key": "gold", "signal": "gold", "below": 0.7, "action": "pause"}
FAST = {"key": "f", "signal": "seconds_per_unit", "above": 0.5, "action": "note"}
SEEN = FAST | {"signal": "shots_seen"}


@pytest.mark.parametrize(
    ("data", "path", "message"),
    [
        ("strict", [], "write default, or a list of rules"),
        ({"gold": 1}, [], "write default, or a list of rules"),
        ([RULE, "gold"], [1], "write key: value pairs here"),
        ([RULE, RULE], [1, "key"], "gold is used twice"),
        (
            [RULE | {"treshold": 1}],
            [0, "treshold"],
            "unknown key; expected key, signal,",
        ),
        ([RULE | {"signal": "speed"}], [0, "signal"], "one of seconds_per_unit, "),
        ([RULE | {"signal": ["gold"]}], [0, "signal"], "one of seconds_per_unit, "),
        ([RULE | {"action": "ban"}], [0, "action"], f"one of {', '.join(ACTIONS)}"),
        ([{"key": "g", "signal": "gold", "below": 1}], [0, "action"], "is missing"),
        ([{"key": "g", "below": 1, "action": "note"}], [0, "signal"], "is missing"),
        (
            [{k: v for k, v in RULE.items() if k != "key"}],
            [0, "key"],
            "is missing",
        ),
        ([RULE | {"key": "a b"}], [0, "key"], "write letters"),
        ([RULE | {"above": 0.2}], [0], "either above or below"),
        (
            [{k: v for k, v in RULE.items() if k != "below"}],
            [0],
            "either above or below",
        ),
        ([RULE | {"below": 70}], [0, "below"], "write a number from 0 up to 1"),
        ([RULE | {"below": True}], [0, "below"], "write a number"),
        ([RULE | {"below": float("nan")}], [0, "below"], "write a number"),
        ([RULE | {"signal": "side_bias", "below": 0.6}], [0, "below"], "up to 0.5"),
        (
            [RULE | {"signal": "agreement", "below": -2}],
            [0, "below"],
            "from -1 up to 1",
        ),
        ([RULE | {"at_least": 0}], [0, "at_least"], "a whole number of at least 1"),
        ([RULE | {"at_least": 2.5}], [0, "at_least"], "a whole number of at least 1"),
        ([RULE | {"limit": 3}], [0, "limit"], "gold has no limit"),
        ([FAST], [0], "seconds_per_unit needs limit, in seconds"),
        ([SEEN], [0], "shots_seen needs limit, a share of the shots"),
        ([SEEN | {"limit": 2}], [0, "limit"], "write a number above 0 up to 1"),
        ([FAST | {"limit": 0}], [0, "limit"], "write a number above 0"),
        ([RULE | {"chance": 0}], [0, "chance"], "write a number above 0 up to 0.5"),
        ([RULE | {"chance": 0.6}], [0, "chance"], "write a number above 0 up to 0.5"),
        ([RULE | {"message": 3}], [0, "message"], "write a text"),
    ],
)
def test_invalid_rule_is_refused_with_its_path(data, path, message):
    with pytest.raises(ValidationError) as caught:
        parse_rules(data)
    (problem,) = problems_of(caught.value)
    assert problem.path == path
    assert message in problem.text
