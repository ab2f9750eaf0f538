import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalcore.metrics.oneig.word_counts import (
    REASONING,
    TOTAL,
    TOTAL_WITHOUT,
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
