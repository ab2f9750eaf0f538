import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.oneig.word_counts import (
    REASONING,
    TOTAL,
    TOTAL_WITHOUT,
    count_words,
    length_of,
    word_counts,
)

# How many prompts OneIG-Bench has, by category, as its README says.
SIZES = {
    "Portrait": 244,
    "General Object": 206,
    "Anime & Stylization": 245,
    "Text Rendering": 200,
    REASONING: 225,
}
BOUNDS = {"short": (1, 29), "middle": (30, 60), "long": (61, 200)}


def of_words(number):
    return " ".join(["fox"] * number)


# Counting ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("", 0),
        ("  A fox,\n\ttwo  barns. ", 4),
        ("well-lit", 1),
        ("一只狐狸", 4),
        ("一只狐狸，站着。", 6),
        ("标题 “Open 24 h”", 5),  # two characters, three runs of letters and digits
    ],
)
def test_words(prompt, words):
    assert count_words(prompt) == words


@pytest.mark.parametrize(
    ("words", "length"),
    [(0, "short"), (29, "short"), (30, "middle"), (60, "middle"), (61, "long")],
)
def test_lengths(words, length):
    # "less than 30", "between 30 and 60", "exceeding 60".
    assert length_of(words) == length


def test_a_table():
    rows = word_counts(
        [
            ("Portrait", of_words(10)),
            (REASONING, of_words(70)),
            ("Portrait", of_words(30)),
            ("Portrait", of_words(60)),
        ]
    )
    told = [(r.category, r.prompts, r.average) for r in rows]
    assert told == [
        ("Portrait", 3, pytest.approx(100 / 3)),
        (REASONING, 1, 70),
        (TOTAL, 4, 42.5),
        (TOTAL_WITHOUT, 3, pytest.approx(100 / 3)),
    ]
    shares = [(r.short, r.middle, r.long) for r in rows]
    assert shares[0] == pytest.approx((1 / 3, 2 / 3, 0))
    assert shares[2] == pytest.approx((1 / 4, 2 / 4, 1 / 4))


@pytest.mark.parametrize("name", [REASONING, "Knowledge_Reasoning"])
def test_reasoning_is_known_by_either_name(name):
    *_rows, without = word_counts([(name, "Why?"), ("Portrait", "A fox.")])
    assert (without.category, without.prompts) == (TOTAL_WITHOUT, 1)


def test_without_prompts_there_is_no_row():
    assert word_counts([]) == []
    only = word_counts([(REASONING, "Why?")])
    assert [row.category for row in only] == [REASONING, TOTAL]


@given(
    st.lists(
        st.tuples(st.sampled_from([*SIZES]), st.integers(0, 90).map(of_words)),
        min_size=1,
    )
)
def test_totals_are_means_over_prompts(prompts):
    *rows, total = [r for r in word_counts(prompts) if r.category != TOTAL_WITHOUT]
    assert total.category == TOTAL
    assert total.prompts == sum(row.prompts for row in rows) == len(prompts)
    for what in ("average", "short", "middle", "long"):
        weighted = sum(row.prompts * getattr(row, what) for row in rows)
        assert getattr(total, what) == pytest.approx(weighted / len(prompts))
    for row in (*rows, total):
        assert row.short + row.middle + row.long == pytest.approx(1)


# The published table -----------------------------------------------------------------


@pytest.fixture
def published(shared):
    with (shared / "published" / "oneig_word_counts.csv").open() as file:
        return {row.pop("category"): row for row in csv.DictReader(file)}


def numbers_of_prompts(row, size):
    """How many prompts of each length a published row means."""
    return {what: round(float(row[what]) * size) for what in BOUNDS}


def prompts_of(row, size):
    """Prompts with the published shares, and with its average as far as it is told."""
    numbers = numbers_of_prompts(row, size)
    bounds = [BOUNDS[what] for what, number in numbers.items() for _ in range(number)]
    lengths = [low for low, _high in bounds]
    lacking = round(float(row["avg"]) * size) - sum(lengths)
    for place, (low, high) in enumerate(bounds):
        more = min(high - low, lacking)
        lengths[place] += more
        lacking -= more
    assert lacking == 0
    return [of_words(number) for number in lengths]


@pytest.mark.shared
def test_published_shares_sum_to_one(published):
    for row in published.values():
        total = sum(float(row[what]) for what in BOUNDS)
        assert total == pytest.approx(1, abs=0.0015)  # three roundings


@pytest.mark.shared
def test_published_shares_are_whole_prompts(published):
    # With these sizes every share is that of a whole number, and they sum up.
    for category, size in SIZES.items():
        numbers = numbers_of_prompts(published[category], size)
        assert sum(numbers.values()) == size
        for what, number in numbers.items():
            share = float(published[category][what])
            assert number / size == pytest.approx(share, abs=0.0005)


@pytest.mark.shared
def test_the_published_table_follows_from_its_rules(published):
    """Prompts of the published lengths give all published rows, totals too."""
    prompts = [
        (category, prompt)
        for category, size in SIZES.items()
        for prompt in prompts_of(published[category], size)
    ]
    rows = word_counts(prompts)
    assert [row.category for row in rows] == list(published)
    for row in rows:
        told = published[row.category]
        assert row.average == pytest.approx(float(told["avg"]), abs=0.0501)
        for what in BOUNDS:
            share = getattr(row, what)
            assert share == pytest.approx(float(told[what]), abs=0.0005), row
