"""Workbooks as people have them."""

import datetime
import re
import zipfile

import openpyxl
import pytest

from analysis.problems import InputError
from analysis.reading import workbooks
from analysis.reading.inputs import read_choices, read_ratings, read_scores

RATINGS = ["story", "method", "dimension", "annotator", "rating"]
SCORES = ["story", "method", "metric", "score"]


def saved(path, **sheets):
    """Write rows of cells as sheets."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def told(read, path, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return str(caught.value).splitlines()


def test_cells_of_every_kind(tmp_path):
    day = datetime.datetime(2026, 5, 3)
    rows = [
        [*RATINGS, "is_gold", "submitted_at", "comment"],
        [1, "m", "d", "a", 3, True, day, None],
        ["02", "m", "d", "a", "4", False, day.replace(hour=5), "two\nlines"],
        [],
        [" s ", "m", "d", "a", " 2,5 ", None, datetime.time(5, 6), "=x"],
        ["", None, None, None, None, None, None, None],
        [None] * 8,
    ]
    rows[4][7] = "x"
    found = read_ratings(saved(tmp_path / "r.xlsx", Sheet=rows))
    assert found.index.tolist() == [2, 3, 5]
    assert found["story"].tolist() == ["1", "02", "s"]
    assert found["rating"].tolist() == [3, 4, 2.5]
    assert found["is_gold"].tolist() == [True, False, False]
    assert found["submitted_at"].tolist() == [
        "2026-05-03",
        "2026-05-03T05:00:00",
        "05:06:00",
    ]


def test_problems_name_the_row(tmp_path):
    rows = [RATINGS, ["s", "m", "d", "a", 3], [], ["s", "m", "d", "b", "x"]]
    rows.append(["s", "m", "d", "c", datetime.date(2026, 5, 1)])
    assert told(read_ratings, saved(tmp_path / "r.xlsx", A=rows)) == [
        "r.xlsx:4: rating: x: expected a number such as 3 or 0.75, without separators",
        "r.xlsx:5: rating: 2026-05-01: expected a number such as 3 or 0.75, without "
        "separators",
    ]


def test_sheet_with_the_columns_is_found(tmp_path):
    path = saved(
        tmp_path / "study.xlsx",
        Notes=[["what we did"]],
        Empty=[],
        People=[RATINGS, ["s", "m", "d", "a", 3]],
        Machines=[SCORES, ["s", "m", "k", 0.5]],
    )
    assert read_ratings(path)["rating"].tolist() == [3]
    assert read_scores(path)["score"].tolist() == [0.5]


def test_several_sheets_that_could_be_meant_are_listed(tmp_path):
    rows = [[RATINGS, ["s", "m", "d", "a", n]] for n in (3, 4)]
    path = saved(tmp_path / "r.xlsx", Pilot=rows[0], Main=rows[1], Notes=[["x"]])
    assert told(read_ratings, path) == [
        "r.xlsx: expected the name of a sheet behind that of the file, as in "
        "r.xlsx#Pilot; Pilot, Main have the columns story, method, dimension, "
        "annotator, rating"
    ]
    named = tmp_path / "r.xlsx#Main"
    assert read_ratings(named)["rating"].tolist() == [4]
    assert told(read_ratings, tmp_path / "r.xlsx#Mein") == [
        "r.xlsx: Mein: expected one of its sheets: Pilot, Main, Notes"
    ]
    assert told(read_ratings, named, scale=(1, 3)) == [
        "r.xlsx#Main:2: rating: 4: expected a value from 1 to 3"
    ]
    assert told(read_choices, path)[0].startswith(
        "r.xlsx: expected a sheet with the columns story, method_a, method_b, "
        "criterion, annotator, choice; Pilot has story, method, dimension"
    )


def test_workbook_problem_lists_columns_of_single_sheet(tmp_path):
    path = saved(tmp_path / "r.xlsx", A=[["story", "Methode"], ["s", "m"]], B=[])
    assert told(read_ratings, path)[0] == (
        "r.xlsx:1: method: expected a column of this name; found story, Methode"
    )


def test_formulas_are_what_they_came_to(tmp_path):
    path = saved(tmp_path / "s.xlsx", A=[SCORES, ["s", "m", "k", "=1/4"]])
    with zipfile.ZipFile(path) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    assert told(read_scores, path) == [
        "s.xlsx:2: score: expected a value, not a formula that was never calculated: "
        "save it in a spreadsheet"
    ]
    # As a spreadsheet saves it, with its value.
    parts[sheet] = parts[sheet].replace(b"<v />", b"<v>0.25</v>")
    parts[sheet] = parts[sheet].replace(b"<v></v>", b"<v>0.25</v>")
    with zipfile.ZipFile(path, "w") as packed:
        for name, data in parts.items():
            packed.writestr(name, data)
    assert read_scores(path)["score"].tolist() == [0.25]


@pytest.mark.parametrize("rows", [[], [RATINGS], [RATINGS, [], [None]]])
def test_sheet_without_rows(tmp_path, rows):
    path = saved(tmp_path / "r.xlsx", A=rows)
    assert told(read_ratings, path) == [
        "r.xlsx:1: expected at least one row below the header"
    ]


def test_file_that_is_no_workbook_is_refused(tmp_path):
    path = saved(tmp_path / "r.xlsx", A=[RATINGS, ["s", "m", "d", "a", 3]])
    whole = path.read_bytes()
    for data in (b"", b"story,method\n", whole[: len(whole) // 2]):
        path.write_bytes(data)
        (problem,) = told(read_ratings, path)
        assert problem.startswith("r.xlsx: expected an .xlsx workbook (")
    locked = re.sub(rb"(PK\x01\x02.{4}).", b"\\1\x01", whole, flags=re.DOTALL)
    path.write_bytes(locked)
    assert "required for extraction" in told(read_ratings, path)[0]
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("a", "b")
    assert told(read_ratings, path)[0].startswith("r.xlsx: expected an .xlsx workbook")


def test_workbook_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    path = saved(tmp_path / "r.xlsx", A=[RATINGS, ["s", "m", "d", "a", 3]])
    monkeypatch.setattr(workbooks, "LARGEST_UNPACKED", 1000)
    assert "MB when unpacked" in told(read_ratings, path)[0]
