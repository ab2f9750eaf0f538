"""CSV files as spreadsheets and people write them."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.problems import InputError
from analysis.reading.csv_files import read_csv
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
    assert frame.to_numpy().tolist() == [one for one in rows if any(one)]
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
def test_csv_problem_names_the_line(tmp_path, data, line):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_csv(path)
    assert [problem.line for problem in caught.value.problems] == [line]


ROWS = HEAD + '"s,1",m,"d;\n\t1",R1,3\n\ns,m,d,R1,bad\n'


def separated(text, mark):
    """Write a table of commas with another separator, as a spreadsheet does."""
    rows = csv.reader(io.StringIO(text, newline=""))
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=mark).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize(
    ("mark", "suffix"), [(",", ".tsv"), (";", ".csv"), ("\t", ".txt"), (",", ".CSV")]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_separator_and_encoding_are_found(tmp_path, mark, encoding, suffix):
    path = tmp_path / f"r{suffix}"
    path.write_text(separated(ROWS, mark), encoding=encoding, newline="")
    with pytest.raises(InputError) as caught:
        read_ratings(path)
    # The row begins on line 5, since a cell above it has a break.
    (problem,) = caught.value.problems
    assert (problem.line, problem.column, problem.value) == (5, "rating", "bad")
    path.write_text(separated(ROWS.replace("bad", "4"), mark), encoding, newline="")
    found = read_ratings(path)
    assert found["story"].tolist() == ["s,1", "s"]
    assert found["dimension"].tolist() == ["d;\n\t1", "d"]
    assert found["rating"].tolist() == [3, 4]


@pytest.mark.parametrize(
    ("header", "shown"),
    [
        ("story|method|dimension|annotator|rating", None),
        ("Results of our study", None),
        ("story,Method;dimension,annotator,rating", "story, Method;dimension, "),
    ],
)
def test_header_that_cannot_be_split_is_shown(tmp_path, header, shown):
    path = tmp_path / "r.csv"
    path.write_text(f"{header}\n1,2;3,4,5\n")
    with pytest.raises(InputError) as caught:
        read_ratings(path)
    told = str(caught.value)
    if shown is None:
        assert told == (
            f"r.csv:1: {header}: expected the columns story, method, dimension, "
            "annotator, rating, separated by commas, semicolons or tabs"
        )
    else:
        assert told.startswith("r.csv:1: method: expected a column of this name")
        assert f"found {shown}" in told


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("above", ["sep={mark}\n", "\n", "Our study\n2026{mark}x\n\n"])
def test_lines_above_the_header_are_reported(tmp_path, above, mark):
    path = tmp_path / "r.csv"
    path.write_text(above.format(mark=mark) + separated(HEAD + "s,m,d,R1,3\n", mark))
    with pytest.raises(InputError) as caught:
        read_ratings(path)
    line = above.count("\n") + 1
    assert str(caught.value) == (
        f"r.csv:1: expected the names of the columns, which are on line {line}; "
        "delete what stands above them"
    )


@pytest.mark.parametrize(
    ("data", "line", "byte"),
    [
        (b'a,b\r\n"x\r\ny",1\r\ncaf\xe9,2\r\n', 4, 19),
        (b"\xef\xbb\xbfa,b\rcaf\xe9,2\r", 2, 11),
        ("a,b\nc,".encode("utf-16") + b"\x00\xdc,\x00", 2, 15),
    ],
)
def test_truncated_text_is_reported_by_line_and_byte(tmp_path, data, line, byte):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    with pytest.raises(InputError) as caught:
        read_csv(path)
    (problem,) = caught.value.problems
    assert problem.line == line
    assert problem.value == f"byte {byte} (0x{data[byte - 1]:02x})"
