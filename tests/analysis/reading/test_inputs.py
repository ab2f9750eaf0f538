"""Reading tables: every mistake has a file, a line and a column."""

import pytest

from analysis.problems import InputError
from analysis.reading.inputs import read_choices, read_ratings, read_scores
from analysis.tables import defused

HEAD = "story,method,dimension,annotator,rating\n"


def write(tmp_path, text, name="r.csv", encoding="utf-8"):
    path = tmp_path / name
    path.write_bytes(text.encode(encoding))
    return path


def complaints(path, read=read_ratings, **options):
    with pytest.raises(InputError) as caught:
        read(path, **options)
    return [str(problem) for problem in caught.value.problems]


def test_ratings_are_read_with_line_numbers(tmp_path):
    frame = read_ratings(write(tmp_path, HEAD + "s1,m1,d,R1,3\ns1,m2,d,R1,2.5\n"))
    assert frame["rating"].tolist() == [3, 2.5]
    assert frame.index.tolist() == [2, 3]


def test_line_numbers_count_quoted_line_breaks(tmp_path):
    text = "comment," + HEAD + '"a\nb",s,m,d,R1,1\nx,s,m,d,R2,bad\n'
    assert complaints(write(tmp_path, text)) == [
        "r.csv:4: rating: bad: expected a number such as 3 or 0.75, without separators"
    ]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ('s,m,d,R1,"1,000"', "r.csv:2: rating: 1,000: expected a number"),
        ("s,m,d,R1,1_0", "r.csv:2: rating: 1_0: expected a number"),
        ("s,m,d,R1,inf", "r.csv:2: rating: inf: expected a number"),
        ("s,m,d,R1,nan", "r.csv:2: rating: nan: expected a number"),
        ("s,m,d,R1,", "r.csv:2: rating: (empty): expected a number"),
        ("s,,d,R1,3", "r.csv:2: method: (empty): expected a name"),
        ("s,m,d,R1,6", "r.csv:2: rating: 6: expected a value from 1 to 5"),
        ("s,m,d,R1,33", "r.csv:2: rating: 33: expected a value from 1 to 5"),
        ("s,m,d,R1", "r.csv:2: expected 5 columns as in the header, not 4"),
        ("s,m,d,R1,3,9", "r.csv:2: expected 5 columns as in the header, not 6"),
    ],
)
def test_mistakes_in_a_row(tmp_path, row, expected):
    found = complaints(write(tmp_path, f"{HEAD}{row}\n"), scale=(1, 5))
    assert found[0].startswith(expected)


@pytest.mark.parametrize(
    ("text", "name", "expected"),
    [
        (
            "story,method\na,b\n",
            "r.csv",
            "r.csv:1: dimension: expected a column of this name",
        ),
        (HEAD, "r.csv", "r.csv:1: expected at least one row"),
        ("", "r.csv", "r.csv:1: expected at least one row"),
        (
            HEAD.replace("method", "story"),
            "r.csv",
            "r.csv:1: story: expected a column name once",
        ),
        ('{"story": 1}\n{"story"\n', "r.jsonl", "r.jsonl:2: expected a JSON object ("),
        ("[1]\n", "r.jsonl", "r.jsonl:1: expected a JSON object"),
        ("x", "r.parquet", "r.parquet: expected a Parquet file"),
        ("x", "r.xls", "a .csv, .tsv, .txt, .xlsx, .jsonl or .parquet file"),
    ],
)
def test_mistakes_in_a_file(tmp_path, text, name, expected):
    assert expected in complaints(write(tmp_path, text, name))[0]


def test_missing_file(tmp_path):
    assert "No such file" in complaints(tmp_path / "none.csv")[0]


def test_choices_come_back_in_alphabetical_order(tmp_path):
    text = (
        "story,method_a,method_b,criterion,annotator,choice\n"
        "s,B,A,q,R1,a\ns,A,B,q,R2,a\ns,B,A,q,R3,tie\n"
    )
    frame = read_choices(write(tmp_path, text))
    assert frame["method_a"].tolist() == ["A", "A", "A"]
    assert frame["choice"].tolist() == ["b", "a", "tie"]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (
            "s,A,B,q,R1,left",
            "r.csv:2: choice: left: expected one of a, b, tie, both_bad",
        ),
        ("s,A,A,q,R1,a", "r.csv:2: method_b: A: expected a method other than method_a"),
        ("s,A,B,q,R1,a\ns,B,A,q,R1,b", "r.csv:3: s / A / B / q / R1"),
    ],
)
def test_mistakes_in_choices(tmp_path, row, expected):
    text = f"story,method_a,method_b,criterion,annotator,choice\n{row}\n"
    assert complaints(write(tmp_path, text), read_choices)[0].startswith(expected)


def test_missing_score_is_no_row(tmp_path):
    text = "story,method,metric,score,higher_is_better\ns,m,x,,\ns,m,y,0.5,false\n"
    frame = read_scores(write(tmp_path, text))
    assert frame["metric"].tolist() == ["y"]
    assert frame["higher_is_better"].tolist() == [False]


def test_wide_tables(tmp_path):
    text = "system,family,cids,csd\nA,x,0.5,0.1\nB,y,,0.2\n"
    frame = read_scores(write(tmp_path, text), wide=True, method_column="system")
    rows = frame[["story", "method", "metric", "score"]].to_numpy().tolist()
    assert rows == [
        ["", "A", "cids", 0.5],
        ["", "A", "csd", 0.1],
        ["", "B", "csd", 0.2],
    ]


def test_problem_of_every_row_is_shown_three_times_and_counted(tmp_path):
    """Every kind of problem is reported, however often the first occurs."""
    rows = [f"{i},A,q,ann,x" for i in range(5000)]
    rows[7] = "7,,q,ann,3"
    text = "story,method,dimension,annotator,rating\n" + "\n".join(rows)
    with pytest.raises(InputError) as caught:
        read_ratings(write(tmp_path, text), scale=(0, 4))
    number = "expected a number such as 3 or 0.75, without separators"
    assert str(caught.value).splitlines() == [
        *(f"r.csv:{line}: rating: x: {number}" for line in (2, 3, 4)),
        "... and 4,996 more",
        "r.csv:9: method: (empty): expected a name",
    ]
    assert caught.value.problems.total == 5000
    assert len(caught.value.problems) == 101


# What people's files are like ---------------------------------------------------------

SCORES = "story,method,metric,score"


@pytest.mark.parametrize(
    ("shot", "expected"), [("01", "1"), ("1.0", "1"), ("0", "0"), ("²", None)]
)
def test_shots_are_whole_numbers(tmp_path, shot, expected):
    path = write(tmp_path, f"{SCORES},shot\ns,m,k,1,{shot}\n")
    if expected is None:
        (problem,) = complaints(path, read_scores)
        assert problem == (
            f"r.csv:2: shot: {shot} (U+00B2): expected a whole number from 0"
        )
    else:
        assert list(read_scores(path)["shot"]) == [expected]


def test_wide_option_leaves_long_tables_as_they_are(tmp_path):
    rated = write(tmp_path, HEAD + "s,m,d,R1,3\n")
    scored = write(tmp_path, f"{SCORES}\ns,m,k,1\n", "s.csv")
    assert list(read_ratings(rated, wide=True)["dimension"]) == ["d"]
    assert list(read_scores(scored, wide=True)["metric"]) == ["k"]
    assert complaints(scored, read_ratings, wide=True) == [
        "s.csv:1: expected one column a dimension; a table with metric and score needs "
        "no --wide"
    ]


def test_names_of_baselines_are_no_metrics(tmp_path):
    rows = ["s,m,constant,1", "s,n,constant,1", "s,m,random (expected),1", "s,m,k,1"]
    path = write(tmp_path, "\n".join([SCORES, *rows]))
    expected = "expected another name, since a baseline has this one"
    assert complaints(path, read_scores) == [
        f"r.csv:2: metric: constant: {expected}",
        f"r.csv:4: metric: random (expected): {expected}",
    ]


@pytest.mark.parametrize(
    ("letter", "point"),
    [
        ("\x01", "U+0001"),
        ("\x1b", "U+001B"),
        ("\x7f", "U+007F"),
        ("\x85", "U+0085"),  # an ellipsis of Windows, read as Latin-1
        ("\ufffe", "U+FFFE"),
    ],
)
@pytest.mark.parametrize("column", ["story", "method", "metric"])
def test_name_with_a_control_character_is_a_problem(tmp_path, column, letter, point):
    """What XML 1.0 and printed tables do not hold; figures of a report are XML."""
    names = {"story": "s", "method": "UNO", "metric": "k"} | {column: f"a{letter}b"}
    row = ",".join([*names.values(), "1"])
    path = write(tmp_path, f"{SCORES}\n{row}\nt,UNO,k,1\n")
    (problem,) = complaints(path, read_scores)
    assert problem.startswith(f"r.csv:2: {column}: a\\")
    assert problem.endswith(f"a name without control characters; it has {point}")


@pytest.mark.parametrize("name", ["=1", "'=1", "''-", "'tis", "'", "-", "UNO"])
def test_defused_cells_are_read_back(tmp_path, name):
    assert not defused(name).startswith(("=", "-"))
    path = write(tmp_path, f"{SCORES}\ns,{defused(name)},k,1\n")
    assert list(read_scores(path)["method"]) == [name]
