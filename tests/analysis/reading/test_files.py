"""Files of every kind: how large they may be, and what their lines say."""

import functools
import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.problems import InputError
from analysis.reading import files
from analysis.reading.files import read_file
from analysis.reading.inputs import read_ratings, read_scores
from analysis.reading.wide_tables import left_out_columns

HEAD = "story,method,dimension,annotator,rating\n"


def complaints(path, read=read_file):
    with pytest.raises(InputError) as caught:
        read(path)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_of_two_gigabytes_is_refused_before_it_is_read(tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    with path.open("wb") as file:
        file.truncate(2**31)  # takes no room on the disk
    (problem,) = complaints(path)
    assert problem == (
        f"{path}: 2,148 MB: expected a file of at most 512 MB, in parts if need be"
    )


def test_a_parquet_file_with_too_many_rows_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    pd.DataFrame({"story": ["s"] * 11}).to_parquet(path)
    monkeypatch.setattr(files, "LARGEST_TABLE", 10)
    (problem,) = complaints(path)
    assert problem == (
        "r.parquet: 11 rows: expected at most 10 rows, in parts if need be"
    )


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_file_with_too_many_columns_is_refused_at_once(tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    row = dict.fromkeys([f"c{i}" for i in range(1001)], 1)
    if suffix == ".parquet":
        pd.DataFrame([row]).to_parquet(path)
    elif suffix == ".jsonl":
        path.write_text(json.dumps(row))
    else:
        path.write_text(",".join(row) + "\n" + ",".join("1" * 1001) + "\n")
    assert complaints(path) == [f"r{suffix}:1: expected at most 1,000 columns"]


def test_a_thousand_columns_are_read(tmp_path):
    path = tmp_path / "r.csv"
    header = ",".join(f"c{i}" for i in range(1000))
    path.write_text(header + "\n" + ",".join("1" * 1000) + "\n")
    assert read_file(path).shape == (1, 1000)


def test_a_file_that_begins_with_an_empty_line_lacks_its_header(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("\n" + HEAD + "s,m,d,a,1\n")
    assert complaints(path) == ["r.csv:1: expected the names of the columns"]


@pytest.mark.parametrize("story", [["s"], {"name": "s"}])
def test_lists_and_records_are_no_names(tmp_path, story):
    path = tmp_path / "r.jsonl"
    row = {"story": story, "method": "m", "dimension": "d", "annotator": "a"}
    path.write_text(json.dumps({**row, "rating": 1}))
    (problem,) = complaints(path, read_ratings)
    assert problem == (
        f"r.jsonl:1: story: {story}: expected text, no list, record or bytes"
    )


def test_bytes_are_no_names(tmp_path):
    path = tmp_path / "r.parquet"
    row = {"story": b"s", "method": "m", "dimension": "d", "annotator": "a"}
    pd.DataFrame([{**row, "rating": 1}]).to_parquet(path)
    (problem,) = complaints(path, read_ratings)
    assert problem.startswith("r.parquet:2: story: b's': expected text, no list")


def test_bytes_that_are_no_text_come_before_other_mistakes(tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(b'a,b\n1,"x"y\n' + b"1,2\n" * 9000 + b"\xff,2\n")
    (problem,) = complaints(path)
    assert problem.startswith("r.csv:9003: byte 36,012 (0xff): expected UTF-8 text")


def test_half_a_letter_in_json_is_no_text(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"story": 1}\n{"story": "\xff"}\n')
    (problem,) = complaints(path)
    assert problem.startswith("r.jsonl:2: byte 25 (0xff): expected UTF-8 text")


def test_json_rows_need_not_have_the_same_columns(tmp_path):
    path = tmp_path / "r.jsonl"
    rows = [{"b": 1, "a": "x"}, {"c": None}, {"a": "x", "d": 2.5}]
    path.write_text("\n\n".join(json.dumps(row) for row in rows) + "\r\n")
    frame = read_file(path)
    assert frame.columns.tolist() == ["b", "a", "c", "d"]
    assert frame.index.tolist() == [1, 3, 5]
    assert frame.fillna("").to_numpy().tolist() == [
        [1, "x", "", ""],
        ["", "", "", ""],
        ["", "x", "", 2.5],
    ]


def test_a_list_in_a_json_cell_is_named(tmp_path):
    path = tmp_path / "r.jsonl"
    row = {"story": "s", "method": "m", "dimension": "d", "annotator": "a"}
    path.write_text(json.dumps(row | {"rating": [1, 2]}))
    (problem,) = complaints(path, read_ratings)
    assert problem.startswith("r.jsonl:1: rating: [1, 2]: expected a number")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_wide_table_is_the_same_in_every_kind_of_file(tmp_path, suffix):
    rows = pd.DataFrame({"method": ["a", "b"], "k": [1.5, None], "j": [2.0, 1.0]})
    path = tmp_path / f"s{suffix}"
    if suffix == ".csv":
        rows.to_csv(path, index=False)
    elif suffix == ".jsonl":
        rows.to_json(path, orient="records", lines=True)
    else:
        rows.to_parquet(path)
    found = read_scores(path, wide=True)
    assert found[["method", "metric", "score"]].to_numpy().tolist() == [
        ["a", "k", 1.5],
        ["a", "j", 2.0],
        ["b", "j", 1.0],
    ]


def test_columns_of_a_wide_table_that_are_no_numbers_can_be_told(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("method,plot,look\na,1,two\nb,2,three\n")
    assert left_out_columns(read_ratings(path, wide=True)) == ("look",)


def test_typed_columns_of_parquet_are_checked_like_text(tmp_path):
    path = tmp_path / "r.parquet"
    frame = pd.DataFrame(
        {
            "story": pd.Categorical(["s", "s", "t"]),
            "method": [1, 1, 2],
            "dimension": "d",
            "annotator": ["a", "b", None],
            "rating": [1, 2, 9],
            "round": [1.0, 2.0, None],
            "is_gold": [True, False, False],
        }
    )
    frame.to_parquet(path)
    with pytest.raises(InputError) as caught:
        read_ratings(path, scale=(0, 4))
    assert list(map(str, caught.value.problems)) == [
        "r.parquet:4: annotator: (empty): expected a name",
        "r.parquet:4: rating: 9: expected a value from 0 to 4",
    ]
    frame[:2].to_parquet(path)
    found = read_ratings(path)
    assert found["method"].tolist() == ["1", "1"]
    assert found["round"].tolist() == ["1", "2"]
    assert found["is_gold"].tolist() == [True, False]


def test_numbers_whose_sums_or_squares_are_infinite_are_refused(tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("story,method,metric,score\ns,m,k,2e300\ns,n,k,1e300\n")
    assert complaints(path, read_scores) == [
        "s.csv:2: score: 2e300: expected a number from -1e+300 to 1e+300"
    ]
    path.write_text("method,k\nm,2e300\nn,1e300\n")
    assert complaints(path, functools.partial(read_scores, wide=True)) == [
        "s.csv:2: k: 2e300: expected a number from -1e+300 to 1e+300"
    ]
    path.write_text(
        "story,method,dimension,annotator,rating\ns,m,d,a,2e100\ns,n,d,a,1e99\n"
    )
    assert complaints(path, read_ratings) == [
        "s.csv:2: rating: 2e100: expected a number from -1e+100 to 1e+100"
    ]


def test_a_parquet_file_whose_text_is_no_utf_8_is_refused(tmp_path):
    path = tmp_path / "r.parquet"
    pd.DataFrame({"story": ["a wood"]}).to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes().replace(b"a wood", b"a \x98ood"))
    (problem,) = complaints(path)
    assert problem.startswith("r.parquet: expected a Parquet file (")
    assert "UTF" in problem


def test_a_parquet_file_whose_notes_for_pandas_are_broken_is_refused(tmp_path):
    path = tmp_path / "r.parquet"
    table = pa.Table.from_pandas(pd.DataFrame({"story": ["a wood"]}))
    notes = json.loads(table.schema.metadata[b"pandas"])
    del notes["column_indexes"][0]["name"]
    pq.write_table(table.replace_schema_metadata({"pandas": json.dumps(notes)}), path)
    (problem,) = complaints(path)
    assert problem.startswith("r.parquet: expected a Parquet file (")
