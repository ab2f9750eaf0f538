"""Ids and times in wide exports."""

import numpy as np
import pandas as pd
import pytest

import analysis
from analysis.reading.inputs import is_id_or_time

ROWS = np.arange(12.0)
# Names as Label Studio, Qualtrics, MTurk, Prolific and pandas write them.
IDS = ["id", "annotation_id", "ResponseId", "HITId", "uuid", "Unnamed: 0", "", "index"]
TIMES = ["lead_time", "created_at", "WorkTimeInSeconds", "Duration (in seconds)"]
QUESTIONS = ["quality", "identity", "Video quality", "time consistency", "idea", "Q1"]


@pytest.mark.parametrize("name", IDS)
def test_id_is_known_by_its_name(name):
    assert is_id_or_time(name, ROWS % 5, of_answers=False)


@pytest.mark.parametrize("name", TIMES)
def test_time_is_known_by_its_name(name):
    assert is_id_or_time(name, ROWS % 5 + 0.25, of_answers=False)


@pytest.mark.parametrize("name", QUESTIONS)
def test_question_is_no_id(name):
    assert not is_id_or_time(name, ROWS % 5, of_answers=True)


def test_whole_numbers_that_rise_with_every_row_are_ids_among_answers():
    assert is_id_or_time("n", ROWS * 3 + 100, of_answers=True)
    assert not is_id_or_time("n", ROWS * 3 + 100, of_answers=False)
    assert not is_id_or_time("n", ROWS[:9], of_answers=True)
    assert not is_id_or_time("n", np.repeat(ROWS, 2), of_answers=True)


EXPORT = pd.DataFrame(
    [
        (100 + i, 30 + i // 3, story, method, f"R{i % 3}", 9.5 + i, 1 + i % 5)
        for i, (story, method) in enumerate(
            (story, method) for story in "ab" for method in "xyz" for _ in range(3)
        )
    ],
    columns=[
        "annotation_id",
        "id",
        "story",
        "method",
        "annotator",
        "lead_time",
        "quality",
    ],
)


@pytest.mark.parametrize("is_file", [True, False])
def test_ids_and_times_are_left_out_by_name(tmp_path, is_file):
    table = EXPORT
    if is_file:
        table = tmp_path / "export.csv"
        EXPORT.to_csv(table, index=False)
    report = analysis.agreement(ratings=table, wide=True, resamples=0)
    assert set(report["agreement"]["question"]) == {"quality"}
    assert report.notes[0] == (
        "Columns of ratings that look like ids or times are left out: annotation_id, "
        "id, lead_time. --value-columns takes them in."
    )


def test_value_columns_are_questions_whatever_they_are_called():
    report = analysis.agreement(
        ratings=EXPORT, wide=True, value_columns="lead_time", resamples=0
    )
    assert set(report["agreement"]["question"]) == {"lead_time", "quality"}
    assert "ids or times are left out: annotation_id, id." in report.notes[0]


def test_table_of_ids_alone_says_what_was_left_out():
    with pytest.raises(ValueError, match=r"beside ids and times \(annotation_id, id"):
        analysis.agreement(ratings=EXPORT.drop(columns="quality"), wide=True)
