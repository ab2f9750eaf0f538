"""One rule for what is a number, whichever way a table comes in."""

import json

import pandas as pd
import pytest

from analysis.problems import InputError
from analysis.reading.inputs import read_scores

HEAD = {"story": "s", "method": "m", "metric": "k"}
PLAIN = "a number such as 3 or 0.75, without separators"
# Cells as programs write them, with the number or the message.
CELLS = {
    "\u00a00.5\u00a0": 0.5,
    "nan": None,
    "NaN": None,
    "": None,
    "\uff14": f"\uff14 (U+FF14): expected {PLAIN}",
    "5\uff0e5": f"5\uff0e5 (U+FF0E): expected {PLAIN}",
    "\u22120.12": f"\u22120.12 (U+2212): expected {PLAIN}",
    "0\u200b.5": f"0\\u200b.5 (U+200B): expected {PLAIN}",
    "1_000": f"1_000: expected {PLAIN}",
    "inf": f"inf: expected {PLAIN}",
    "N/A": "N/A: expected a number, or an empty cell for none",
    "true": "true: expected a number: 1 for true, 0 for false",
}


def csv(folder, cell):
    path = folder / "t.csv"
    path.write_text(f"story,method,metric,score\ns,m,k,{cell}\ns2,m,k,1\n", "utf-8")
    return path


def jsonl(folder, cell):
    path = folder / "t.jsonl"
    rows = [HEAD | {"score": cell}, HEAD | {"story": "s2", "score": 1}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def frame(_folder, cell):
    rows = [HEAD | {"score": cell}, HEAD | {"story": "s2", "score": 1}]
    return pd.DataFrame(rows).astype({"score": object})


def outcome(table):
    """Return the score of the first row, None for none, or the message."""
    try:
        scores = read_scores(table).set_index("story")["score"]
    except InputError as error:
        return str(error).partition(": score: ")[2]
    return scores.get("s")


@pytest.mark.parametrize("kind", [csv, jsonl, frame])
@pytest.mark.parametrize(("cell", "expected"), CELLS.items())
def test_number_is_read_alike_from_every_kind_of_table(tmp_path, kind, cell, expected):
    assert outcome(kind(tmp_path, cell)) == expected


def test_wide_column_of_fullwidth_digits_is_refused_not_left_out():
    """A column of only such digits is read as numbers."""
    wide = pd.DataFrame({"method": ["x", "y"], "cids": ["\uff14", "\u22121"]})
    with pytest.raises(InputError) as caught:
        read_scores(wide, wide=True)
    assert ["U+FF14" in line or "U+2212" in line for line in caught.value.lines()] == [
        True,
        True,
    ]
