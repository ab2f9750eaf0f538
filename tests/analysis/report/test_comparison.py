"""Two reports side by side: what changed, and nothing that did not."""

from analysis.report.comparison import compared

VERDICT = {
    "question": "q",
    "metric": "k",
    "role": "exploratory",
    "source": "ratings",
    "level": "pairs",
    "statistic": "ppa_half",
    "value": 0.7,
    "verdict": "agrees",
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


def test_changed_verdicts_stand_first_then_those_that_lead():
    before = report(
        {"metric": "a", "leads": False},
        {"metric": "b"},
        {"metric": "c", "statistic": "acc_eq", "leads": False},
        {"metric": "gone"},
        {"metric": "random", "role": "baseline"},
    )
    after = report(
        {"metric": "a", "leads": False, "value": 0.9},
        {"metric": "b"},
        {"metric": "c", "statistic": "acc_eq", "leads": False, "verdict": "does not"},
        {"metric": "new", "verdict": "cannot be told"},
        {"metric": "random", "role": "baseline", "verdict": "does not"},
    )
    found = compared(before, after)
    assert [one.metric for one in found.verdicts] == ["gone", "new", "c", "b", "a"]
    assert [one.is_changed for one in found.verdicts] == [True] * 3 + [False] * 2
    assert found.n_changed == 3
    gone, new = found.verdicts[:2]
    assert (gone.after, new.before) == (None, None)


def test_what_was_read_and_asked_stands_where_it_differs():
    before = report(run={"view": "strict", "sha256 of scores": "ab"}.items())
    after = report(run={"date": "2", "command": "y", "sha256 of ratings": "cd"}.items())
    assert compared(before, after).run == (
        ("view", "strict", "main"),
        ("sha256 of scores", "ab", ""),
        ("sha256 of ratings", "", "cd"),
    )
    assert compared(before, before).run == ()


def test_remarks_of_the_one_only():
    found = compared(report(notes=["x", "y"]), report(notes=["y", "z"]))
    assert found.notes == (("x",), ("z",))


def test_a_report_without_verdicts_has_none():
    bare = {"notes": [], "tables": {"run": []}}
    assert compared(bare, bare).verdicts == ()
