"""Files of every kind: how large they may be, and what their lines say."""

import json

import pandas as pd
import pytest

from analysis.problems import InputError
from analysis.reading import files
from analysis.reading.files import read_file
from analysis.reading.inputs import read_ratings


def complaints(path, read=read_file):
    with pytest.raises(InputError) as caught:
        read(path)
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_file_of_two_gigabytes_is_refused_before_it_is_read(tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    with path.open("wb") as file:
        file.truncate(2**31)  # takes no room on the disk
    (problem,) = complaints(path)
    assert problem == (
        f"{path}: 2,148 MB: expected a file of at most 512 MB, in parts if need be"
    )


def test_parquet_file_with_too_many_rows_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "r.parquet"
    pd.DataFrame({"story": ["s"] * 11}).to_parquet(path)
    monkeypatch.setattr(files, "LARGEST_TABLE", 10)
    (problem,) = complaints(path)
    assert problem == (
        "r.parquet: 11 rows: expected at most 10 rows, in parts if need be"
    )


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_file_with_too_many_columns_is_refused_at_once(tmp_path, suffix):
    path = tmp_path / f"r{suffix}"
    row = dict.fromkeys([f"c{i}" for i in range(1001)], 1)
    if suffix == ".parquet":
        pd.DataFrame([row]).to_parquet(path)
    elif suffix == ".jsonl":
        path.write_text(json.dumps(row))
    else:
        path.write_text(",".join(row) + "\n" + ",".join("1" * 1001) + "\n")
    assert complaints(path) == [f"r{suffix}:1: expected at most 1,000 columns"]


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


def test_parquet_file_whose_text_is_no_utf_8_is_refused(tmp_path):
    path = tmp_path / "r.parquet"
    pd.DataFrame({"story": ["a wood"]}).to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes().replace(b"a wood", b"a \x98ood"))
    (problem,) = complaints(path)
    assert problem.startswith("r.parquet: expected a Parquet file (")
    assert "UTF" in problem
