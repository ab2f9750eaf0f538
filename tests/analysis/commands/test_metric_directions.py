"""Wide tables of published numbers: directions by name, and means counted once."""

import pandas as pd
import pytest

import analysis
from analysis.__main__ import main

# ViStoryBench's Lite table, appendix E.2, and its user study, appendix G.
TWELVE = [
    "csd_cross",
    "csd_self",
    "cids_cross",
    "cids_self",
    "pa_scene",
    "pa_shot",
    "pa_character_interaction",
    "pa_individual_action",
    "occm",
    "inception_score",
    "aesthetic",
    "copy_paste",
]
BY_NAME = "Lower is taken to be better for copy_paste, by the name alone."


@pytest.fixture
def aligned(shared, tmp_path, capsys):
    """Report the published tables; return those of the report, and its remarks."""
    folder = shared / "published"

    def run(*extra, scores=folder / "vistorybench_lite_metrics.csv"):
        people = folder / "vistorybench_user_study.csv"
        given = ["--ratings", people, "--scores", scores, "--wide", *extra]
        common = ["--resamples", "0", "--images", "none", "--out", tmp_path / "out"]
        status = main(["align", *map(str, [*given, *common])])
        if status:
            return capsys.readouterr().err
        page = (tmp_path / "out/report.json").read_text("utf-8")
        return (lambda name: pd.read_csv(tmp_path / f"out/tables/{name}.csv")), page

    return run


def ranks(tables, name="average rank"):
    own = tables("composites").query("composite == @name").set_index("method")
    assert set(own["n_parts"]) == {int(own["n_parts"].iloc[0])}
    return own["value"], int(own["n_parts"].iloc[0])


@pytest.mark.slow
@pytest.mark.shared
def test_vistorybenchs_leaderboard_turns_copy_paste_and_counts_parts_once(
    aligned, shared
):
    """Ranked by pandas from the same table: twelve metrics, copy_paste turned."""
    tables, page = aligned()
    lite = pd.read_csv(shared / "published/vistorybench_lite_metrics.csv")
    lite = lite.set_index("method")[TWELVE]
    lite["copy_paste"] *= -1
    expected = lite.rank(ascending=False).mean(axis=1)
    value, n_parts = ranks(tables)
    assert n_parts == 12
    assert value.to_dict() == pytest.approx(expected.to_dict())
    assert BY_NAME in page
    assert "average rank: pa_average contains pa_scene, pa_shot, " in page
    # The table of benchmarks/results/checks-of-real-data.md.
    places = tables("composites").set_index("method")["rank"]
    shown = ["Gemini-2.5", "Sora2 (img ref)", "StoryDiffusion (text only)"]
    assert places[shown].tolist() == [1, 3, 13]


@pytest.mark.shared
def test_direction_asked_for_twice_or_of_no_metric_is_refused(aligned):
    both = aligned("--higher-is-better", "occm", "--lower-is-better", "occm")
    assert both == "--higher-is-better: 'occm': expected lower or higher\n"
    assert aligned("--higher-is-better", "ocm").startswith(
        "--higher-is-better: 'ocm': expected some of aesthetic, "
    )


CELLS = pd.DataFrame({"story": [*"aaabbb"], "method": [*"xyzxyz"]})
FID = CELLS.assign(metric="FID", score=[9.0, 6, 3, 8, 5, 4])


MANY = pd.DataFrame({"story": [*"abcd"] * 4, "method": sorted([*"wxyz"] * 4)})
VALUES = [1, 2, 2, 3, 2, 3, 3, 4, 3, 4, 4, 5, 4, 5, 5, 6]


@pytest.mark.parametrize(
    ("direction", "sign", "expected"),
    [
        (None, -1, "higher being taken as better: is lower better? Set "),
        (False, 1, "lower being taken as better: is higher better? Set "),
        (None, 1, ""),
        (False, -1, ""),
    ],
)
@pytest.mark.parametrize("of_choices", [True, False])
def test_metric_opposed_to_people_gets_a_hint(direction, sign, expected, of_choices):
    """The scores are people's values, or the reverse: Spearman's rho is 1 or -1."""
    scores = MANY.assign(metric="m-x", score=[sign * v for v in VALUES])
    if direction is not None:
        scores["higher_is_better"] = direction
    if of_choices:
        both = MANY.assign(v=VALUES).merge(MANY.assign(v=VALUES), on="story")
        both = both[both["method_x"] < both["method_y"]]
        people = {
            "choices": pd.DataFrame(
                {
                    "story": both["story"],
                    "method_a": both["method_x"],
                    "method_b": both["method_y"],
                    "criterion": "look",
                    "annotator": "Ann",
                    "choice": ["b" if d > 0 else "a" for d in both.v_y - both.v_x],
                }
            )
        }
    else:
        rated = MANY.assign(dimension="look", annotator="Ann", rating=VALUES)
        people = {"ratings": rated}
    report = analysis.align(
        **people,
        scores=scores,
        resamples=0,
        levels=("pooled",),
        coefficients=("spearman",),
    )
    hints = [note for note in report.notes if " correlates " in note]
    assert len(hints) == bool(expected)
    if expected:
        assert hints[0].startswith("m-x correlates -")
        assert f"with people (look), {expected}" in hints[0]


@pytest.mark.slow
@pytest.mark.shared
def test_lpips_and_niqe_are_turned_in_a_table_without_directions(shared):
    """Spearman's rho with higher_is_better=false is given beside the tables."""
    folder = shared / "cases/03-lower-better-lpips/a02-lower-better"
    report = analysis.align(
        ratings=folder / "ratings.csv", scores=folder / "scores.csv", resamples=0
    )
    found = report["correlations"].query(
        "coefficient == 'spearman' & level == 'method'"
    )
    value = found.set_index("metric")["value"]
    assert value[["LPIPS", "NIQE"]].round(2).tolist() == [0.97, 0.97]
    assert any("for FID, LPIPS, NIQE, by the name alone" in n for n in report.notes)
