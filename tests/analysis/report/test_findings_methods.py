"""What sentences say of methods, from rows of ``method_verdicts``."""

import pandas as pd
import pytest

from analysis.report.findings_methods import label_claims, preferred_claims

NAN = float("nan")


def verdict(**changes):
    row = {
        "question": "q",
        "source": "choices",
        "part": 1,
        "method": "A",
        "statistic": "win_rate",
        "value": 0.7,
        "low": 0.66,
        "high": 0.73,
        "n": 600,
        "n_methods": 4,
        "n_better": 3,
        "n_pairs": 6,
        "n_apart": 6,
        "p_adjusted": 0.03,
        "drawn": "stories+annotators",
        "verdict": "preferred",
        "reason": "",
    }
    return row | changes


def comparisons(*pairs, methods="ABCD", **changes):
    """All pairs; those named are not told apart."""
    rows = [
        {
            "question": "q",
            "source": "choices",
            "part": 1,
            "method_a": a,
            "method_b": b,
            "p_adjusted": 0.2 if a + b in pairs else 0.01,
        }
        | changes
        for i, a in enumerate(methods)
        for b in methods[i + 1 :]
    ]
    return pd.DataFrame(rows)


def told(row, pairs=None):
    (claim,) = preferred_claims(pd.DataFrame([row]), pairs, None, 0.95)
    return claim


def test_method_is_preferred_to_all_others():
    shown, text = told(verdict(), comparisons())
    assert shown
    assert text == (
        "q: A is preferred to all 3 others: it wins 70 % [66, 73] against the "
        "others on average, ties being half (600 answers), p = 0.03 adjusted over 6 "
        "pairs of methods, for other stories and annotators; the others are told "
        "apart, too."
    )


@pytest.mark.parametrize(
    ("pairs", "n_apart", "ending"),
    [
        (["CD"], 5, "; not distinguishable among the others: C and D."),
        (["BC", "CD"], 4, "; not distinguishable among the others: B and C, C and D."),
    ],
)
def test_others_that_are_not_told_apart_are_named(pairs, n_apart, ending):
    row = verdict(n_apart=n_apart)
    assert told(row, comparisons(*pairs))[1].endswith(ending)


@pytest.mark.parametrize(
    ("pairs", "whom"),
    [(["AB"], "B"), (["AB", "AD"], "B, D"), (["AB", "AC", "CD"], "B, C")],
)
def test_open_first_place_names_the_rivals(pairs, whom):
    row = verdict(verdict="open", reason="not_apart", n_apart=6 - len(pairs))
    shown, text = told(row, comparisons(*pairs))
    assert not shown
    assert text == (
        f"q: A ranks first, but not distinguishably from {whom}: it wins 70 % [66, 73] "
        "against the others on average, ties being half (600 answers); "
        f"of 6 pairs of methods {6 - len(pairs)} are told apart."
    )


def test_two_methods():
    row = verdict(n_methods=2, n_better=1, n_pairs=1, n_apart=1, drawn="stories")
    assert told(row, comparisons(methods="AB"))[1] == (
        "q: A is preferred to the other one: it wins 70 % [66, 73] against "
        "the others on average, ties being half (600 answers), p = 0.03 adjusted over "
        "1 pair of methods, for other stories."
    )
    row |= {"verdict": "open", "reason": "not_apart", "n_apart": 0}
    text = told(row, comparisons("AB", methods="AB"))[1]
    assert text.endswith("(600 answers).")


def test_nobody_stands_first_alone():
    row = verdict(verdict="open", reason="shared", method="", n_better=0, n_apart=4)
    shown, text = told(row, comparisons("AB", "CD"))
    assert not shown
    assert text == (
        "q: no method stands first alone; of 6 pairs of methods 4 are told apart."
    )


def test_without_a_test_nothing_is_shown():
    row = verdict(verdict="open", reason="untested", n_pairs=0, low=NAN, high=NAN)
    shown, text = told(row)
    assert not shown
    assert text == (
        "q: A ranks first, without a test: it wins 70 % against the "
        "others on average, ties being half (600 answers)."
    )


def asked(**changes):
    row = {
        "question": "q",
        "source": "choices",
        "part": 1,
        "size": 2,
        "methods": "A, B",
        "n_methods": 4,
        "p_value": 0.03,
        "level": 0.05,
        "n_inside": 1,
        "n_inside_apart": 0,
        "drawn": "stories",
        "verdict": "apart",
    }
    return pd.DataFrame([row | changes])


def test_set_that_is_shown_is_the_answer():
    """What Holm would say of its first method is another question, not told beside."""
    rows = pd.DataFrame([verdict(verdict="open", reason="not_apart")])
    ((shown, text),) = preferred_claims(rows, comparisons("AB"), asked(), 0.95)
    assert shown
    assert text == (
        "q: the best 2, A, B, are all ahead of the 2 other methods (p = 0.03, for "
        "other stories); the two are not told apart."
    )
    one = asked(size=1, methods="A", n_methods=2)
    ((_, text),) = preferred_claims(rows, comparisons("AB"), one, 0.95)
    assert text.startswith("q: A is ahead of the 1 other method (p = 0.03")


def test_set_stands_behind_a_method_that_is_preferred():
    rows = pd.DataFrame([verdict()])
    several = asked(size=3, methods="A, C, B", n_inside=3, n_inside_apart=2)
    (_, first), (shown, text) = preferred_claims(rows, comparisons(), several, 0.95)
    assert first.startswith("q: A is preferred to all 3 others")
    assert shown
    assert text.endswith("; among them 2 of 3 pairs are told apart.")
    two = asked(n_inside_apart=1)
    _, (_, text) = preferred_claims(rows, comparisons(), two, 0.95)
    assert text.endswith("; the two are told apart, too.")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"methods": ""}, "no 2 methods stand before all others, since some share"),
        ({"p_value": NAN}, "whether the best 2, A, B, are the best has no test"),
    ],
)
def test_set_without_a_test_says_so(changes, text):
    table = asked(verdict="open", **changes)
    _, (shown, found) = preferred_claims(
        pd.DataFrame([verdict()]), comparisons(), table, 0.95
    )
    assert not shown
    assert text in found


def labels(**changes):
    row = {"label": "all labels", "recall": 0.5, "recall_low": 0.4, "recall_high": 0.6}
    rows = [row | {"method": m, "recall": r} for m, r in (("A", 0.5), ("B", 0.7))]
    return pd.DataFrame(rows).assign(**changes)


@pytest.mark.parametrize(("low", "shown"), [(0.4, True), (NAN, False)])
def test_how_much_of_the_text_is_shown(low, shown):
    table = labels(recall_low=low)
    ((is_shown, text),) = label_claims(table)
    assert is_shown == shown
    assert text.startswith("Of what the text asks for is shown: 70 %")
    assert "by B, 50 %" in text
    assert [*label_claims(labels(label="pan"))] == []
