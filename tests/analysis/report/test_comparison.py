"""Comparison of two reports."""

from analysis.report.comparison import compared

VERDICT = {
    "question": "q",
    "metric": "k",
    "role": "exploratory",
    "source": "ratings",
    "level": "pairs",
    "statistic": "ppa_half",
    "value": 0.7,
    "verdict": "above chance",
    "leads": True,
}


def report(*changes, run=(), notes=()):
    rows = {"seed": "0", "view": "main", "date": "1", "command": "x"} | dict(run)
    return {
        "notes": list(notes),
        "tables": {
            "verdicts": [VERDICT | change for change in changes],
            "run": [{"key": key, "value": value} for key, value in rows.items()],
        },
    }


def test_verdicts_are_ordered_by_change():
    before = report(
        {"metric": "a", "leads": False},
        {"metric": "b"},
        {"metric": "c", "statistic": "acc_eq", "leads": False},
        {"metric": "d"},
        {"metric": "gone"},
        {"metric": "random", "role": "baseline"},
    )
    after = report(
        {"metric": "a", "leads": False, "value": 0.9},
        {"metric": "b"},
        {
            "metric": "c",
            "statistic": "acc_eq",
            "leads": False,
            "verdict": "below chance",
        },
        {"metric": "d", "role": "declared"},
        {"metric": "new", "verdict": "cannot be told"},
        {"metric": "random", "role": "baseline", "verdict": "below chance"},
    )
    found = compared(before, after)
    order = [one.metric for one in found.verdicts]
    assert order == ["d", "c", "gone", "new", "b", "a"]
    assert [one.is_changed for one in found.verdicts] == [True] * 2 + [False] * 4
    # What only one report has is no change.
    assert found.n_changed == 2
    assert [one.metric for one in found.verdicts if one.is_single] == ["gone", "new"]


def test_run_has_the_differing_inputs_and_options():
    before = report(run={"view": "strict", "sha256 of scores": "ab"}.items())
    after = report(run={"date": "2", "command": "y", "sha256 of ratings": "cd"}.items())
    assert compared(before, after).run == (
        ("view", "strict", "main"),
        ("sha256 of scores", "ab", ""),
        ("sha256 of ratings", "", "cd"),
    )
    assert compared(before, before).run == ()
