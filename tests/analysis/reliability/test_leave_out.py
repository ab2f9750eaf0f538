"""Intervals of ordinal alpha where answers have many values, such as a slider's."""

import numpy as np
import pandas as pd
import pytest

import analysis
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


@pytest.mark.shared
@pytest.mark.parametrize("name", ["r1", "r2", "r3"])
def test_interval_holds_its_estimate(shared, name):
    folder = shared / "cases/08-slider-alpha-interval/a17-slider-ci"
    report = analysis.agreement(
        ratings=folder / f"{name}.csv", scale=(0, 100), resamples=100
    )
    rows = report["agreement"].set_index("statistic")
    value, low, high = rows.loc["alpha_ordinal", ["value", "low", "high"]]
    assert low < value < high <= 1


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 0.4, 1.0])
def test_interval_holds_the_truth(noise):
    """The truth is alpha of 2,000 units; percentiles held it in .03 of studies at .1.

    Of 100 studies .95 are expected, with a standard error of .02.
    """
    large = slider(np.random.default_rng(0), noise, units=2000)
    truth = float(alpha(large, np.ones((1, large.n_units)), "ordinal")[0])
    found = [ordinal(slider(np.random.default_rng([1, k]), noise)) for k in range(100)]
    assert np.mean([row.low <= truth <= row.high for row in found]) >= 0.9
    # Four standard errors are the width of a 95 % interval; wider ones hold anything.
    error = np.std([row.value for row in found])
    assert np.median([row.high - row.low for row in found]) < 6 * error


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


def test_annotators_widen_the_interval():
    data = slider(np.random.default_rng(3), 0.5, annotators=6)
    units, both = (ordinal(data, p) for p in (("units",), ("annotators", "units")))
    assert units.value == both.value
    assert both.high - both.low > units.high - units.low


def test_few_values_keep_percentiles_of_resamples():
    data = slider(np.random.default_rng(4), 0.5)
    few = rating_reliability(
        pd.DataFrame(
            {
                "story": data.units.astype(str),
                "annotator": data.annotators.astype(str),
                "method": "m",
                "dimension": "d",
                "rating": np.round(data.values[data.codes] / 20),
            }
        )
    )
    row = ordinal(few)
    low, high = ordinal_interval(few, row.value, ("units",), 0.95)
    assert (row.low, row.high) != (low, high)
