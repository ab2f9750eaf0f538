"""CSV files as spreadsheets and people write them."""

import csv

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.problems import InputError
from analysis.reading.files import read_csv
from analysis.reading.inputs import read_ratings
from tests.analysis.reading.test_inputs import HEAD

ODD = [
    "",
    " ",
    "a",
    "NA",
    "nan",
    "None",
    "1e5",
    " 007 ",
    "true",
    "'",
    "'=1",
    "''-",
    "x,y",
    'q"q',
    '"',
    '""',
    "two\nlines",
    "two\r\nlines",
    "\n",
    "e\u0301",
    "狐狸",
    "\u2028",
    "\u00a0",
    "\ufeff",
    "1,000",
]
CELLS = st.sampled_from([*ODD, "\r", "three\rlines"]) | st.text(max_size=4)


def plain(cell):
    return quoted(cell) if set(cell) & set(',"\r\n') else cell


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"'


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_every_cell_is_read_as_it_stands(tmp_path_factory, data):
    width = data.draw(st.integers(2, 4))
    cells = CELLS.filter(lambda cell: cell.isprintable() or cell in ODD)
    row = st.lists(cells, min_size=width, max_size=width)
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    write = data.draw(st.sampled_from([plain, quoted]))
    end = data.draw(st.sampled_from(["\n", "\r\n", "\r"]))
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8-sig"]))
    header = [f"c{i}" for i in range(width)]
    lines = [",".join(map(write, one)) for one in [header, *rows]]
    if data.draw(st.booleans()):
        lines.insert(data.draw(st.integers(1, len(lines))), "")
    path = tmp_path_factory.getbasetemp() / "t.csv"
    path.write_text(end.join(lines), encoding=encoding, newline="")
    frame = read_csv(path)
    assert list(frame.columns) == header
    assert frame.to_numpy().tolist() == rows
    assert frame.index.is_monotonic_increasing


@pytest.mark.parametrize(
    ("data", "line"),
    [
        (b"a,a\n1,2\n", 1),
        (b"a,b\n1,2,3\n", 2),
        (b"a,b\n1\n", 2),
        (b'a,b\n1,"x"y\n', 2),
        (b'a,b\n1,"x\n', 2),
        (b"a,b\n1,\xff\n", 2),
        (b"a,b\n1," + b"x" * (csv.field_size_limit() + 1) + b"\n", 2),
    ],
)
def test_what_is_no_table_is_named_with_its_line(tmp_path, data, line):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_csv(path)
    assert [problem.line for problem in caught.value.problems] == [line]


def test_lines_after_a_quoted_break_and_an_empty_line_are_the_files_own(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(f'comment,{HEAD}"a\nb",s,m,d,R1,1\n\nx,s,m,d,R2,bad\n')
    with pytest.raises(InputError) as caught:
        read_ratings(path)
    assert [problem.line for problem in caught.value.problems] == [5]
