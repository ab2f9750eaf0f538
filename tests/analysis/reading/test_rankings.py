"""Tables of rankings: what is read, what is refused, and the pairs in them."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.options import AlignOptions
from analysis.problems import InputError
from analysis.reading.inputs import read_rankings
from analysis.reading.kept_answers import kept_people
from analysis.reading.rankings import implied_choices
from analysis.sentences import Notes

HEAD = "story,method,criterion,annotator,rank,slot\n"
FIRST = "s,A,q,R1,2,7\ns,B,q,R1,1,7\ns,C,q,R1,3,7\n"


def read(tmp_path, text):
    (tmp_path / "r.csv").write_text(text)
    return read_rankings(tmp_path / "r.csv")


def complaints(tmp_path, text):
    with pytest.raises(InputError) as refused:
        read(tmp_path, text)
    return refused.value.lines()


def test_ranks_are_numbers_and_other_columns_stay(tmp_path):
    frame = read(
        tmp_path, HEAD.strip() + ",seconds\n" + FIRST.replace(",7\n", ",7,4\n")
    )
    assert frame["rank"].tolist() == [2, 1, 3]
    assert frame["slot"].tolist() == ["7", "7", "7"]
    assert frame.index.tolist() == [2, 3, 4]
    assert "seconds" in frame


def test_slot_is_needed_only_where_one_annotator_answers_twice(tmp_path):
    once = "story,method,criterion,annotator,rank\ns,A,q,R1,1\ns,B,q,R1,2\n"
    assert len(read(tmp_path, once)) == 2
    assert (
        len(
            read(
                tmp_path,
                HEAD
                + "".join(
                    f"s,{m},q,R1,{rank},{slot}\n"
                    for m, rank, slot in (
                        ("A", 1, 1),
                        ("B", 2, 1),
                        ("C", 1, 2),
                        ("D", 2, 2),
                    )
                ),
            )
        )
        == 4
    )


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ("s,A,q,R1,0,1\ns,B,q,R1,1,1", "2: rank: 0: expected a whole number from 1"),
        ("s,A,q,R1,-1,1\ns,B,q,R1,1,1", "2: rank: -1: expected a whole number from 1"),
        ("s,A,q,R1,1.5,1\ns,B,q,R1,1,1", "2: rank: 1.5: expected a whole number"),
        ("s,A,q,R1,,1\ns,B,q,R1,1,1", "2: rank: (empty): expected a whole number"),
        ("s,A,q,R1,1,1", "2: method: A: expected two or more methods in an answer"),
        (
            "s,A,q,R1,1,1\ns,A,q,R1,2,1",
            "3: s / A / q / R1 / 1: expected a row that is "
            "there once; line 2 has the same story, method, criterion, annotator, slot",
        ),
        ("s,,q,R1,1,1\ns,B,q,R1,2,1", "2: method: (empty): expected a name"),
        (",A,q,R1,1,1\n,B,q,R1,2,1", "2: story: (empty): expected a name"),
        ("s,A,,R1,1,1\ns,B,,R1,2,1", "2: criterion: (empty): expected a name"),
        ("s,A,q,,1,1\ns,B,q,,2,1", "2: annotator: (empty): expected a name"),
        (
            "s,A,q,R1,1,1\ns,B,q,R1,2,1\ns,B,q,R1,1,2\ns,A,q,R1,2,2",
            "4: annotator: R1: "
            "expected each set of methods once for a story, criterion and round",
        ),
    ],
)
def test_mistakes_are_named_with_line_and_column(tmp_path, rows, expected):
    told = complaints(tmp_path, HEAD + rows + "\n")
    assert told[0].startswith(f"r.csv:{expected}"), told


def kept(rankings, **options):
    notes = Notes()
    people = kept_people(None, None, AlignOptions(**options), notes, rankings=rankings)
    return people.rankings, notes.sentences()


def test_rankings_leave_out_checks_with_a_note(tmp_path):
    gold = "s,A,q,R2,1,8,true\ns,B,q,R2,2,8,true\n"
    text = HEAD.strip() + ",is_gold\n" + FIRST.replace(",7\n", ",7,\n") + gold
    rows, notes = kept(read(tmp_path, text))
    assert rows["method"].tolist() == ["B", "A", "C"]
    assert notes == (
        "2 of 5 rows of rankings left out of every table as gold, repeated or "
        "excluded.",
    )


@given(st.integers(0, 2**32 - 1))
def test_implied_choices_are_all_pairs(seed):
    rng = np.random.default_rng(seed)
    rows, expected = [], set()
    for slot in range(5):
        shown = rng.permutation(list("ABCDEF"))[: rng.integers(2, 6)]
        ranks = rng.integers(1, 9, len(shown))
        rows += [
            ("s", m, "q", f"R{slot}", r) for m, r in zip(shown, ranks, strict=True)
        ]
        own = sorted(zip(shown, ranks, strict=True))
        for (a, first), (b, second) in itertools.combinations(own, 2):
            choice = "tie" if first == second else "a" if first < second else "b"
            expected.add((f"R{slot}", a, b, choice))
    names = ["story", "method", "criterion", "annotator", "rank"]
    frame = pd.DataFrame(rows, columns=names).sample(frac=1, random_state=seed)
    found = implied_choices(frame)
    columns = ["annotator", "method_a", "method_b", "choice"]
    assert len(found) == len(expected)
    assert set(found[columns].itertuples(index=False, name=None)) == expected


def test_ranks_may_tie_and_leave_gaps(tmp_path):
    rows = "s,A,q,R1,1,1\ns,B,q,R1,1,1\ns,C,q,R1,3,1\ns,A,q,R2,2,2\ns,C,q,R2,7,2\n"
    people, _notes = kept(read(tmp_path, HEAD + rows))
    choices = implied_choices(people)["choice"].tolist()
    assert choices == ["tie", "a", "a", "a"]
