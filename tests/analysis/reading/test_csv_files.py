"""The quick reader of CSV files gives what the csv module gives, or leaves it alone."""

import csv

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.problems import InputError
from analysis.reading import csv_files
from analysis.reading.csv_files import read_plain_csv
from analysis.reading.files import read_any_csv
from analysis.reading.inputs import read_ratings

HEAD = "story,method,dimension,annotator,rating\n"
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
# Seldom, since they take a file out of the quick reader's hands.
ODDEST = ["\r", "\0", "three\rlines"]
CELLS = st.sampled_from(ODD) | st.text(max_size=4) | st.sampled_from(ODDEST)


@st.composite
def files(draw):
    """Draw the bytes of a file: mostly a table, sometimes with a mistake in it."""
    width = draw(st.integers(1, 4))
    rows = draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), max_size=5))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    rows.insert(0, [f"c{i}" for i in range(width)])
    lines = [",".join(map(draw(st.sampled_from(WRITERS)), row)) for row in rows]
    if draw(st.booleans()):
        lines.insert(draw(st.integers(0, len(lines))), "")
    data = end.join(lines) + draw(st.sampled_from(["", end, end + end]))
    encoded = data.encode(draw(st.sampled_from(["utf-8", "utf-8-sig"])), "replace")
    if draw(st.integers(0, 9)) == 0:
        at = draw(st.integers(0, len(encoded)))
        wrong = draw(st.sampled_from([b'"', b",", b"\n", b"\xff", b"\r", b"\0"]))
        encoded = encoded[:at] + wrong + encoded[at:]
    return encoded


def plain(cell):
    return quoted(cell) if set(cell) & set(',"\r\n') else cell


def quoted(cell):
    return '"' + cell.replace('"', '""') + '"'


WRITERS = [plain, quoted, str]


@settings(max_examples=250, deadline=None)
@given(data=files())
def test_both_readers_agree_on_every_cell_and_line(tmp_path_factory, data):
    path = tmp_path_factory.getbasetemp() / "plain.csv"
    path.write_bytes(data)
    quick = read_plain_csv(path)
    if quick is not None:
        slow = read_any_csv(path)  # refuses nothing that the quick one takes
        assert quick.columns.tolist() == slow.columns.tolist()
        assert quick.index.tolist() == slow.index.tolist()
        assert quick.astype(object).to_numpy().tolist() == slow.to_numpy().tolist()


@settings(max_examples=200, deadline=None)
@given(data=files(), block=st.integers(1, 12))
def test_lines_do_not_depend_on_the_blocks_read(tmp_path_factory, data, block):
    path = tmp_path_factory.getbasetemp() / "blocks.csv"
    path.write_bytes(data)
    whole = csv_files._row_lines(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "BLOCK", block)
        parts = csv_files._row_lines(path)
    assert (whole is None) == (parts is None)
    assert whole is None or whole.tolist() == parts.tolist()


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2\n",
        "a,b\r\n1,2",
        "a,b\r\n\r\n1,2\r\n",
        '\ufeff"a",b\n1,2\n',
        'a,b\n"1","two\nlines"\n\n"""",""\n',
        "a,b\n\n\n狐,\n",
    ],
)
def test_plain_files_are_read_quickly(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_text(text, encoding="utf-8", newline="")
    found = read_plain_csv(path)
    assert found is not None
    pd.testing.assert_frame_equal(found.astype("str"), read_any_csv(path))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a,b\n",  # no rows
        b"a\n1\n",  # an empty line would be a missing cell
        b"a,a\n1,2\n",
        b"a,b\n1,2,3\n",
        b"a,b\n1\n",
        b'a,b\n1,x"y\n',
        b'a,b\n1,"x"y\n',
        b'a,b\n1, "x"\n',
        b'a,b\n1,"x\n',
        b"a,b\r1,2\r",
        b"a,b\n1,\0\n",
        b"a,b\n1,\xff\n",
        b"\na,b\n1,2\n",
        b"a,b\n1," + b"x" * (csv.field_size_limit() + 1) + b"\n",
    ],
)
def test_the_csv_module_judges_what_is_not_plain(tmp_path, data):
    path = tmp_path / "t.csv"
    path.write_bytes(data)
    assert read_plain_csv(path) is None


def test_lines_after_a_quoted_break_and_an_empty_line_are_the_files_own(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(f'comment,{HEAD}"a\nb",s,m,d,R1,1\n\nx,s,m,d,R2,bad\n')
    assert read_plain_csv(path) is not None
    with pytest.raises(InputError) as caught:
        read_ratings(path)
    assert [problem.line for problem in caught.value.problems] == [5]


# Tables as people's files have them: which reader takes a file must not show ----------

ROWS = st.lists(
    st.tuples(
        *[st.sampled_from(["s", "t", " s ", "e\u0301", "\u00e9", "'=1", "", "a,b"])]
        * 4,
        st.sampled_from(["1", "2.50", " 007 ", "1e1", "", "x", "1,5", "nan", "true"]),
        st.sampled_from(["", "1", "01", "1.0", "0", "²"]),
        st.sampled_from(["", "true", "FALSE", "1", "no", "2"]),
    ),
    min_size=1,
    max_size=6,
)


@settings(max_examples=80, deadline=None)
@given(rows=ROWS)
def test_errors_and_results_do_not_depend_on_the_reader(tmp_path_factory, rows):
    path = tmp_path_factory.getbasetemp() / "t.csv"
    header = [*HEAD.strip().split(","), "round", "is_gold"]
    text = "".join(",".join(map(quoted, row)) + "\n" for row in [header, *rows])
    path.write_text(text, encoding="utf-8", newline="")
    assert read_plain_csv(path) is not None
    quick = outcome(path)
    # A line end that only the csv module takes.
    path.write_text(text.replace("\n", "\r"), encoding="utf-8", newline="")
    assert read_plain_csv(path) is None
    assert outcome(path) == quick


def outcome(path):
    try:
        frame = read_ratings(path, scale=(0, 10))
    except InputError as error:
        return [str(problem) for problem in error.problems]
    dtypes = frame.dtypes.astype(str).tolist()
    return frame.index.tolist(), dtypes, frame.to_dict("list")
