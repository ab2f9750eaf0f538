"""Orientation, majorities and win rates."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.reading.choices import (
    annotator_votes,
    majority,
    ordered_choices,
    win_rates,
)

COLUMNS = ["story", "method_a", "method_b", "criterion", "annotator", "choice"]
answers = st.lists(st.sampled_from(["a", "b", "tie", "both_bad"]), min_size=1)


def rows_of(choices, story="s", a="x", b="y"):
    rows = [(story, a, b, "q", f"r{i}", choice) for i, choice in enumerate(choices)]
    return pd.DataFrame(rows, columns=COLUMNS)


def test_win_rates_by_votes_and_by_majority():
    table = win_rates(
        pd.concat(
            [
                rows_of(["a", "a", "b"], "s1"),
                rows_of(["a", "b", "tie"], "s2"),
                rows_of(["both_bad", "both_bad", "b"], "s3"),
                rows_of(["tie", "tie", "b"], "s4"),
            ]
        )
    )
    assert table.to_dict("records") == [
        {
            "criterion": "q",
            "method_a": "x",
            "method_b": "y",
            "wins_a": 3,
            "ties": 3,
            "wins_b": 4,
            "majority_wins_a": 1,
            "majority_ties": 3,
            "majority_wins_b": 0,
            "n_stories": 4,
        }
    ]


@given(answers)
def test_turning_a_row_around_changes_nothing(choices):
    turned = [{"a": "b", "b": "a"}.get(choice, choice) for choice in choices]
    plain, swapped = rows_of(choices), rows_of(turned, a="y", b="x")
    pd.testing.assert_frame_equal(
        ordered_choices(plain), ordered_choices(swapped), check_dtype=False
    )


@given(st.lists(st.integers(0, 6), min_size=4, max_size=4))
def test_a_majority_is_more_than_half(votes):
    verdict = majority(np.array(votes, float))
    total = sum(votes)
    assert (verdict == 1) == (2 * votes[0] > total)
    assert (verdict == -1) == (2 * votes[1] > total)


def test_votes_by_annotator():
    rows = pd.concat([rows_of(["a", "b", "a"]), rows_of(["tie"], "t")])
    pairs, sparse = annotator_votes(rows)
    assert pairs["story"].tolist() == ["s", "t"]
    votes = sparse.toarray().reshape(3, 2, 4)
    assert votes[:, 0].tolist() == [[1, 0, 0, 0], [0, 1, 0, 0], [1, 0, 0, 0]]
    assert votes[:, 1].tolist() == [[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]


# StoryBench, table 3 (people) and table 5 (metrics) on story continuation of Oops-CSV:
# whether a metric prefers the model with more wins. Three pairs in their order there
# (ZS against Cont-ST, Gen-ST against Cont-ST, ZS against Cont-MT); the fourth model has
# no automatic scores. "=" marks a tie of people.
SIGNS = {
    "standard": {
        "fid": "++- ++= +++ +++ +++",
        "fvd": "++- ++= +++ +++ +++",
        "sim": "++- ++= +++ +++ +++",
        "vtm": "--+ --= --- --- ---",
        "pqa": "-++ -+= -+- -+- -+-",
    },
    # With CLIP and InternVideo, FVD prefers the zero-shot model (its section E.2).
    "clip_internvideo": {
        "fid": "++- ++= +++ +++ +++",
        "fvd": "-++ -+= -+- -+- -+-",
        "sim": "++- ++= +++ +++ +++",
        "vtm": "--+ --= --- --- ---",
        "pqa": "-++ -+= -+- -+- -+-",
    },
}
CRITERIA = (
    "visual_quality",
    "text_adherence",
    "entity_consistency",
    "background_consistency",
    "action_realism",
)
LOWER = ("fid", "fvd")


def storybench_votes(folder):
    """One answer a per cent: 100 people a pair and criterion, as the table has them."""
    table = pd.read_csv(folder / "storybench_oops_story_continuation_human.csv")
    answer = np.repeat(
        np.tile(["a", "tie", "b"], len(table)),
        table[["left_wins_pct", "tie_pct", "right_wins_pct"]].to_numpy(int).reshape(-1),
    )
    total = table[["left_wins_pct", "tie_pct", "right_wins_pct"]].sum(axis=1)
    assert (total == 100).all()
    rows = table.loc[table.index.repeat(100), ["left", "right", "criterion"]]
    rows = rows.rename(columns={"left": "method_a", "right": "method_b"})
    people = np.tile([f"r{i:02d}" for i in range(100)], len(table))
    return ordered_choices(
        rows.assign(story="s", annotator=people, choice=answer).reset_index(drop=True)
    )


@pytest.mark.shared
@pytest.mark.parametrize("features", sorted(SIGNS))
def test_storybench_signs(shared, features):
    rates = win_rates(storybench_votes(shared / "published"))
    auto = pd.read_csv(shared / "published/storybench_automatic_metrics.csv")
    here = (auto["task"] == "story_continuation") & (auto["dataset"] == "Oops-CSV")
    auto = auto[here & (auto["features"] == features)].set_index("model")
    pairs = [
        ("Phenaki-Cont-ST", "Phenaki-Gen-ZS"),
        ("Phenaki-Cont-ST", "Phenaki-Gen-ST"),
        ("Phenaki-Cont-MT", "Phenaki-Gen-ZS"),
    ]
    rates = rates.set_index(["criterion", "method_a", "method_b"])
    assert len(rates) == 20
    for metric, signs in SIGNS[features].items():
        found = []
        for criterion in CRITERIA:
            word = ""
            for a, b in pairs:
                row = rates.loc[criterion, a, b]
                people = np.sign(row["wins_a"] - row["wins_b"])
                sign = -1 if metric in LOWER else 1
                scores = sign * np.sign(auto.loc[a, metric] - auto.loc[b, metric])
                word += "=" if people == 0 else "+" if scores == people else "-"
            found.append(word)
        assert " ".join(found) == signs, metric


@pytest.mark.shared
def test_vistar_averages_follow_from_its_accuracies(shared):
    """VISTAR, table 2: all metrics lie above 75 %; the text gives the averages."""
    table = pd.read_csv(shared / "published/vistar_ppa.csv")
    means = table.groupby("class")["ppa_pct"].mean().round(1)
    assert means.to_dict() == {"deterministic": 80.8, "hwpq": 85.9}
    assert (table["ppa_pct"] > 75).all()
