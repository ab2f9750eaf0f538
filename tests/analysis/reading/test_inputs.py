"""Reading tables: every mistake has a file, a line and a column."""

import json

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


def test_it_works(tmp_path):
    frame = read_ratings(write(tmp_path, HEAD + "s1,m1,d,R1,3\ns1,m2,d,R1,2.5\n"))
    assert frame["rating"].tolist() == [3, 2.5]
    assert frame.index.tolist() == [2, 3]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_boms_line_ends_and_unicode(tmp_path, encoding, end):
    text = (HEAD + "故事,方法,d,R1,3\n").replace("\n", end)
    frame = read_ratings(write(tmp_path, text, encoding=encoding))
    assert frame["story"].tolist() == ["故事"]


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


def test_duplicates_name_the_first_line(tmp_path):
    found = complaints(write(tmp_path, HEAD + "s,m,d,R1,3\ns,m,d,R2,3\ns,m,d,R1,4\n"))
    assert len(found) == 1
    assert found[0].startswith("r.csv:4: s / m / d / R1: ")
    assert "line 2" in found[0]


def test_planned_repeats_are_no_duplicates(tmp_path):
    text = HEAD.replace("\n", ",is_repeat\n") + "s,m,d,R1,3,\ns,m,d,R1,4,true\n"
    frame = read_ratings(write(tmp_path, text))
    assert frame["is_repeat"].tolist() == [False, True]


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


def test_bytes_that_are_no_text_are_named_with_their_line(tmp_path):
    path = tmp_path / "r.csv"
    path.write_bytes(HEAD.encode() + b"s,m,d,R1,3\n\xff\xfe,m,d,R1,3\n")
    assert complaints(path) == [
        f"r.csv:3: byte {len(HEAD) + 12} (0xff): expected UTF-8 text, or UTF-16 that "
        "begins with a byte order mark"
    ]


def test_a_missing_file(tmp_path):
    assert "No such file" in complaints(tmp_path / "none.csv")[0]


def test_jsonl_and_parquet_read_like_csv(tmp_path):
    csv = read_ratings(write(tmp_path, HEAD + "s,m,d,R1,3\n"))
    line = '{"story": "s", "method": "m", "dimension": "d", "annotator": "R1", '
    jsonl = read_ratings(write(tmp_path, line + '"rating": 3}\n', "r.jsonl"))
    csv.to_parquet(tmp_path / "r.parquet")
    parquet = read_ratings(tmp_path / "r.parquet")
    for other in (jsonl, parquet):
        assert other["rating"].tolist() == csv["rating"].tolist()
        assert other["story"].tolist() == csv["story"].tolist()


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


def test_a_missing_score_is_no_row(tmp_path):
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


def test_a_typing_error_in_a_wide_table_is_named(tmp_path):
    text = "method,cids\nA,0.5\nB,0.6\nC,o.7\n"
    assert complaints(write(tmp_path, text), read_scores, wide=True) == [
        "r.csv:4: cids: o.7: expected a number such as 3 or 0.75, without separators"
    ]


def test_what_is_wrong_in_every_row_is_said_three_times_and_counted(tmp_path):
    """Every kind is told, however often the first one occurs; few rows are kept."""
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


def test_a_problem_is_one_line_whatever_the_cell_holds(tmp_path):
    path = write(tmp_path, 'story,method,dimension,annotator,rating\ns,m,d,R1,"1\n2"\n')
    (told,) = complaints(path)
    assert told.startswith("r.csv:2: rating: 1\\n2: expected a number")


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


def test_an_empty_round_is_the_first(tmp_path):
    head = "story,method,dimension,annotator,rating,round"
    path = write(tmp_path, f"{head}\ns,m,d,a,1,\ns,m,d,a,2,01\ns,m,d,a,2,2\n")
    (problem,) = complaints(path, read_ratings)
    assert problem.startswith(
        "r.csv:3: s / m / 1 / d / a: expected a row that is there once"
    )


@pytest.mark.parametrize("number", ["abc", "1.5", "0", "-1", "1" * 20])
def test_rounds_are_whole_numbers_from_1(tmp_path, number):
    head = "story,method,dimension,annotator,rating,round"
    path = write(tmp_path, f"{head}\ns,m,d,a,1,{number}\n")
    (problem,) = complaints(path, read_ratings)
    assert problem == f"r.csv:2: round: {number}: expected a whole number from 1"


def test_every_kind_of_problem_is_found_in_one_go(tmp_path):
    head = "story,method,dimension,annotator,rating"
    rows = ["s,m,d,a,9", "s,,d,a,1", "s,m,d,b,1", "s,m,d,b,2"]
    path = write(tmp_path, "\n".join([head, *rows]) + "\n")
    found = complaints(path, read_ratings, scale=(0, 4))
    assert [line.split(":")[1] for line in found] == ["2", "3", "5"]


def test_a_story_column_that_is_not_there_is_named(tmp_path):
    path = write(tmp_path, "method,stry,fid\nA,1,3\n")
    (problem,) = complaints(path, read_scores, wide=True, story_column="story_key")
    assert problem == (
        "r.csv:1: story_key: expected the column of the stories; "
        "found method, stry, fid"
    )


def test_a_table_that_is_not_wide_is_told(tmp_path):
    rated = write(tmp_path, HEAD + "s,m,d,R1,3\n")
    scored = write(tmp_path, f"{SCORES}\ns,m,k,1\n", "s.csv")
    assert complaints(rated, read_ratings, wide=True) == [
        "r.csv:1: expected one column a dimension; a table with dimension and rating "
        "needs no --wide"
    ]
    assert complaints(scored, read_scores, wide=True) == [
        "s.csv:1: expected one column a metric; a table with metric and score needs "
        "no --wide"
    ]


@pytest.mark.parametrize("cell", ["0,5", "1,000", "12 %"])
def test_numbers_with_separators_are_named_by_their_column(tmp_path, cell):
    path = write(tmp_path, f'method,family,fid,clip\nA,oak,"{cell}",1\n')
    (problem,) = complaints(path, read_scores, wide=True)
    assert problem.startswith(f"r.csv:2: fid: {cell}: expected a number such as")


def test_names_of_baselines_are_no_metrics(tmp_path):
    rows = ["s,m,constant,1", "s,n,constant,1", "s,m,random (expected),1", "s,m,k,1"]
    path = write(tmp_path, "\n".join([SCORES, *rows]))
    expected = "expected another name, since a baseline has this one"
    assert complaints(path, read_scores) == [
        f"r.csv:2: metric: constant: {expected}",
        f"r.csv:4: metric: random (expected): {expected}",
    ]


def test_letters_that_look_the_same_are_the_same(tmp_path):
    path = write(tmp_path, f"{SCORES}\ns,Cafe\u0301,k,1\n")
    assert list(read_scores(path)["method"]) == ["Caf\u00e9"]


def test_text_that_no_database_holds_is_a_problem(tmp_path):
    path = write(tmp_path, f"{SCORES}\ns,U\0NO,k,1\n")
    (problem,) = complaints(path, read_scores)
    assert "method: U\\x00NO: expected text without NUL" in problem
    half = write(tmp_path, '{"story": "s", "method": "\\ud800"}\n', "r.jsonl")
    assert complaints(half, read_scores)[0].startswith("r.jsonl:1: expected a JSON")


@pytest.mark.parametrize("name", ["=1", "'=1", "''-", "'tis", "'", "-", "UNO"])
def test_what_an_export_makes_safe_reads_back(tmp_path, name):
    assert not defused(name).startswith(("=", "-"))
    path = write(tmp_path, f"{SCORES}\ns,{defused(name)},k,1\n")
    assert list(read_scores(path)["method"]) == [name]


def test_unusual_line_ends_inside_json_text_are_text(tmp_path):
    rows = [{"story": "s", "method": "a\u2028b", "metric": "k", "score": 1}]
    path = tmp_path / "r.jsonl"
    path.write_text("\n".join(json.dumps(r, ensure_ascii=False) for r in rows))
    assert list(read_scores(path)["method"]) == ["a\u2028b"]


@pytest.mark.parametrize("text", ["[" * 100_000, '{"story":1,"score":' + "1" * 5000])
def test_json_that_no_machine_reads_is_a_problem(tmp_path, text):
    path = tmp_path / "r.jsonl"
    path.write_text(text)
    (problem,) = complaints(path, read_scores)
    assert problem.startswith("r.jsonl:1: expected a JSON object (")


def test_a_giant_number_is_no_score(tmp_path):
    path = tmp_path / "r.jsonl"
    row = {"story": "s", "method": "m", "metric": "k", "score": 10**400}
    path.write_text(json.dumps(row))
    (problem,) = complaints(path, read_scores)
    assert "a number such as" in problem


def test_true_is_no_rating(tmp_path):
    path = tmp_path / "r.jsonl"
    row = {"story": "s", "method": "m", "dimension": "d", "annotator": "a"}
    path.write_text(json.dumps(row | {"rating": True}))
    (problem,) = complaints(path)
    assert problem.startswith("r.jsonl:1: rating: True: expected a number")
