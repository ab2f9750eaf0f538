"""Intervals of ordinal alpha where answers have many values, such as a slider's."""

import numpy as np
import pandas as pd
import pytest

from analysis.reliability.agreement import agreement
from analysis.reliability.chance_corrected import alpha, ordinal_interval
from analysis.reliability.matrices import rating_reliability


def slider(rng, noise, units=24, annotators=3):
    """Answers 0 to 100 of stories that have one output each."""
    true = rng.normal(size=(units, 1))
    x = 50 + 20 * (true + noise * rng.normal(size=(units, annotators)))
    index = pd.MultiIndex.from_product([range(n) for n in x.shape]).to_frame(
        index=False, name=["story", "annotator"]
    )
    rating = np.clip(np.round(x), 0, 100).ravel()
    rows = index.astype(str).assign(method="m", dimension="d", rating=rating)
    return rating_reliability(rows)


def ordinal(data, parts=("units",)):
    (row,) = agreement(
        data,
        ("alpha_ordinal",),
        parts=parts,
        resamples=50,
        confidence=0.95,
        seed=0,
        question="d",
    )
    return row.estimate


def test_interval_is_the_jackknife():
    """Leave out each of ten stories by hand."""
    data = slider(np.random.default_rng(2), 0.5, units=10)
    value = ordinal(data).value
    nine = [data.take(np.delete(np.arange(10), k)) for k in range(10)]
    left = [alpha(rest, np.ones((1, 9)), "ordinal")[0] for rest in nine]
    error = np.sqrt(9 / 10 * ((left - np.mean(left)) ** 2).sum())
    low, high = ordinal_interval(data, value, ("stories",), 0.95)
    assert low == pytest.approx(value - 2.2621571628 * error)
    assert high == pytest.approx(min(1, value + 2.2621571628 * error))
