"""Titles in sentences and figures, keys in tables."""

import json

import pandas as pd
import pytest

from analysis.commands.alignment import align
from analysis.options import AlignOptions
from analysis.report.tables import Titles, apart, titled
from analysis.report.writing import run_table, write_report


def test_titles_replace_keys_and_equal_ones_keep_the_key():
    frame = pd.DataFrame(
        {
            "dimension": ["d", "e"],
            "metric_a": ["k", "l"],
            "metric_b": ["m", "k"],
            "method": ["k", "d"],
        }
    )
    titles = Titles({"d": "Depth", "e": ""}, {"k": "Same", "l": "Same", "m": "Other"})
    found = titled(frame, apart([frame], titles))
    assert found["dimension"].tolist() == ["Depth", "e"]
    assert found["metric_a"].tolist() == ["Same (k)", "Same (l)"]
    assert found["metric_b"].tolist() == ["Other", "Same (k)"]
    assert found["method"].tolist() == ["k", "d"]
    pd.testing.assert_frame_equal(titled(frame, Titles()), frame)


def test_titles_replace_keys_of_questions_among_the_parts_of_a_meta_analysis():
    parts = pd.DataFrame({"over": ["questions", "studies"], "part": ["d", "d"]})
    assert titled(parts, Titles({"d": "Depth"}))["part"].tolist() == ["Depth", "d"]


def test_title_equal_to_another_key_keeps_its_key():
    frame = pd.DataFrame({"question": ["look", "Overall"], "metric": ["m", "m"]})
    titles = apart([frame], Titles({"look": "Overall"}))
    found = titled(frame, titles)
    assert found["question"].tolist() == ["Overall (look)", "Overall"]


@pytest.mark.slow
def test_report_has_titles_and_its_tables_have_keys(tmp_path):
    cells = [(f"s{s}", f"m{m}", s, m) for s in range(6) for m in range(6)]
    ratings = pd.DataFrame(
        [
            (s, m, "q_1", a, (i + j + k) % 5)
            for s, m, i, j in cells
            for k, a in enumerate("AB")
        ],
        columns=["story", "method", "dimension", "annotator", "rating"],
    )
    scores = pd.DataFrame(
        [(s, m, "k_1", float((i + j) % 5)) for s, m, i, j in cells],
        columns=["story", "method", "metric", "score"],
    )
    options = AlignOptions(resamples=9)
    run = run_table(
        options, hashes={}, date="2026", command="", resample_default="stories"
    )
    write_report(
        align(ratings=ratings, scores=scores, options=options),
        out=tmp_path,
        title="T",
        run=run,
        titles=Titles({"q_1": "How deep?"}, {"k_1": "Depth of field"}),
    )
    content = json.loads((tmp_path / "report.json").read_text())
    said = " ".join((*content["claims"], *content["limits"]))
    assert "How deep?: Depth of field (the only explored metric)" in said
    assert "q_1" not in said
    assert "k_1" not in said
    assert {row["question"] for row in content["tables"]["verdicts"]} == {"q_1"}
    page = (tmp_path / "report.html").read_text().partition("<script>")[0]
    head, _, tables = page.partition('id="tables"')
    assert "q_1" not in head
    assert "k_1" not in head
    assert "k_1" in tables
