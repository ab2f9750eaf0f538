"""Sentences on methods, from rows of ``method_verdicts``."""

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
    """Return all pairs; those named are not distinguishable."""
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


def claim_of(row, pairs=None):
    (claim,) = preferred_claims(pd.DataFrame([row]), pairs, None, 0.95)
    return claim


def test_method_is_preferred_to_all_others():
    shown, text = claim_of(verdict(), comparisons())
    assert shown
    assert text == (
        "q: A is preferred to all 3 others. It wins 70 % [66, 73] against the others "
        "on average, counting ties as half (600 choices). Its least significant "
        "comparison with another has p = 0.03 after Holm adjustment over 6 pairs of "
        "methods; the tests treat stories and annotators as sampled. The others differ "
        "significantly from each other, too."
    )


@pytest.mark.parametrize(
    ("pairs", "n_apart", "ending"),
    [
        (["CD"], 5, "among the others: C and D."),
        (["BC", "CD"], 4, "among the others: B and C, C and D."),
    ],
)
def test_others_without_a_significant_difference_are_named(pairs, n_apart, ending):
    row = verdict(n_apart=n_apart)
    assert claim_of(row, comparisons(*pairs))[1].endswith(ending)


@pytest.mark.parametrize(
    ("pairs", "whom"),
    [(["AB"], "B"), (["AB", "AD"], "B, D"), (["AB", "AC", "CD"], "B, C")],
)
def test_open_first_place_names_the_rivals(pairs, whom):
    row = verdict(verdict="open", reason="not_apart", n_apart=6 - len(pairs))
    shown, text = claim_of(row, comparisons(*pairs))
    assert not shown
    assert text == (
        f"q: A ranks first, but is not significantly better than {whom}. It wins 70 % "
        "[66, 73] against the others on average, counting ties as half (600 choices). "
        f"Significant differences: {6 - len(pairs)} of 6 pairs of methods."
    )


def test_two_methods_have_no_others():
    row = verdict(n_methods=2, n_better=1, n_pairs=1, n_apart=1, drawn="stories")
    assert claim_of(row, comparisons(methods="AB"))[1] == (
        "q: A is preferred to the other one. It wins 70 % [66, 73] against "
        "the others on average, counting ties as half (600 choices). Its least "
        "significant comparison with another has p = 0.03 after Holm adjustment over "
        "1 pair of methods; the tests treat stories as sampled."
    )
    row |= {"verdict": "open", "reason": "not_apart", "n_apart": 0}
    text = claim_of(row, comparisons("AB", methods="AB"))[1]
    assert text.endswith("(600 choices).")


def test_shared_first_place_names_no_method():
    row = verdict(verdict="open", reason="shared", method="", n_better=0, n_apart=4)
    shown, text = claim_of(row, comparisons("AB", "CD"))
    assert not shown
    assert text == (
        "q: no method is first alone. Significant differences: 4 of 6 pairs of methods."
    )


def test_first_method_is_not_shown_when_untested():
    row = verdict(verdict="open", reason="untested", n_pairs=0, low=NAN, high=NAN)
    shown, text = claim_of(row)
    assert not shown
    assert text == (
        "q: A ranks first, without a test. It wins 70 % against the "
        "others on average, counting ties as half (600 choices)."
    )


def top_rows(**changes):
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


def test_set_replaces_an_open_first_place_when_it_is_shown():
    """The Holm-adjusted claim on the first method is another question."""
    rows = pd.DataFrame([verdict(verdict="open", reason="not_apart")])
    ((shown, text),) = preferred_claims(rows, comparisons("AB"), top_rows(), 0.95)
    assert shown
    assert text == (
        "q: the best 2 (A, B) are all ahead of the 2 other methods (p = 0.03, "
        "stories treated as sampled). The two do not differ significantly."
    )
    one = top_rows(size=1, methods="A", n_methods=2)
    ((_, text),) = preferred_claims(rows, comparisons("AB"), one, 0.95)
    assert text.startswith("q: A is ahead of the 1 other method (p = 0.03")


def test_set_follows_a_preferred_method():
    rows = pd.DataFrame([verdict()])
    several = top_rows(size=3, methods="A, C, B", n_inside=3, n_inside_apart=2)
    (_, first), (shown, text) = preferred_claims(rows, comparisons(), several, 0.95)
    assert first.startswith("q: A is preferred to all 3 others")
    assert shown
    assert text.endswith("differences among them: 2 of 3 pairs.")
    two = top_rows(n_inside_apart=1)
    _, (_, text) = preferred_claims(rows, comparisons(), two, 0.95)
    assert text.endswith(" The two differ significantly, too.")


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"methods": ""}, "the best methods cannot be named"),
        ({"p_value": NAN}, "the best methods (A, B) were not tested"),
    ],
)
def test_set_is_open_without_a_test(changes, text):
    table = top_rows(verdict="open", **changes)
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
def test_labels_name_the_shown_share_of_requested_content(low, shown):
    table = labels(recall_low=low)
    ((is_shown, text),) = label_claims(table)
    assert is_shown == shown
    assert text.startswith("Share of the requested content that is shown: 70 %")
    assert "by B, 50 %" in text
    assert [*label_claims(labels(label="pan"))] == []
