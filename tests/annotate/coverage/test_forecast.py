"""Forecast of the finish, and the chart of arrivals."""

from datetime import UTC, datetime

import numpy as np
import pytest

from annotate.coverage import forecast as forecasting
from annotate.coverage.forecast import DAY, HOUR, forecast

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


def daily(*counts):
    """Return arrivals an hour before now on each of the last days, the latest last."""
    n = len(counts)
    return [(NOW - (n - i) * DAY + HOUR, c) for i, c in enumerate(counts)]


def test_forecast_continues_steady_pace():
    found = forecast(daily(10, 10, 10, 10, 10, 10, 10, 10), 50, NOW)
    assert found.reason == ""
    assert found.per_day == pytest.approx(10)
    assert abs(found.median - (NOW + 5 * DAY)) < HOUR
    assert found.early < found.median < found.late


def test_interval_widens_with_uneven_days():
    even = forecast(daily(10, 10, 10, 10, 10, 10, 10, 10), 100, NOW)
    uneven = forecast(daily(0, 25, 0, 2, 30, 0, 1, 22), 100, NOW)
    assert uneven.late - uneven.early > 2 * (even.late - even.early)


def test_interval_is_open_when_pace_could_be_zero():
    found = forecast(daily(60, 0, 0, 0, 0, 0, 1), 50, NOW)
    assert found.reason == ""
    assert found.late is None


@pytest.mark.parametrize(
    ("arrivals", "remaining", "reason"),
    [
        (daily(10, 10, 10, 10, 10), 0, "complete"),
        ([], 5, "none lately"),
        (daily(3, 4, 5, 1), 5, "few"),
        ([(NOW - 30 * DAY, 500)], 5, "none lately"),
        ([(NOW - 2 * HOUR, 40)], 5, "young"),
    ],
)
def test_missing_forecast_has_a_reason(arrivals, remaining, reason):
    found = forecast(arrivals, remaining, NOW)
    assert found.reason == reason
    assert found.median is None


def test_young_study_is_forecast_by_hour():
    arrivals = [(NOW - i * HOUR, 6) for i in range(12, 0, -1)]
    found = forecast(arrivals, 60, NOW)
    assert found.reason == ""
    assert found.per_day == pytest.approx(24 * 6)
    assert abs(found.median - (NOW + 10 * HOUR)) < HOUR


@pytest.mark.parametrize("dispersion", [1.0, 4.0])
def test_interval_has_nominal_coverage(dispersion):
    """Days have ten answers on average, with one and four times Poisson's variance."""
    rng = np.random.default_rng(11)

    def days(n):
        if dispersion == 1:
            return rng.poisson(10, n)
        return rng.negative_binomial(10 / (dispersion - 1), 1 / dispersion, n)

    covered, repetitions, remaining = 0, 600, 120
    for _ in range(repetitions):
        early, _middle, late = forecasting.time_left(
            [int(n) for n in days(14)], remaining
        )
        # The moment is uniform within the last day.
        total = np.cumsum(days(400))
        last = int(np.searchsorted(total, remaining))
        before = total[last - 1] if last else 0
        took = last + (remaining - before) / max(total[last] - before, 1)
        covered += early <= took <= late
    assert 0.75 <= covered / repetitions <= 0.88


@pytest.mark.parametrize("hours", [7, 30, 24 * 7])
def test_forecast_needs_more_than_one_hour(hours):
    found = forecast([(NOW - hours * HOUR, 62)], 18, NOW + 0.75 * HOUR)
    assert found.reason == "young"


def test_sessions_left_use_mean_length_so_far():
    assert forecasting.sessions_left(60, 120, 30, 7) == 15
    assert forecasting.sessions_left(60, 0, 0, 7) == 9
    assert forecasting.sessions_left(0, 10, 2, 7) == 0


def test_spearman_brown_raises_reliability_of_means():
    assert forecasting.spearman_brown(0.5, 1) == pytest.approx(0.5)
    assert forecasting.spearman_brown(0.5, 10) == pytest.approx(10 / 11)
    assert forecasting.spearman_brown(0.0, 10) is None
    assert forecasting.spearman_brown(-0.2, 10) is None


def test_chart_line_ends_at_completion():
    drawn = forecasting.chart(daily(10, 0, 30, 10), 100, DAY)
    assert drawn.table[-1][2] == 50
    assert drawn.line.split()[-1] == "50.0"
    assert max(bar.height for bar in drawn.bars) == forecasting.HEIGHT
    assert all(0 <= bar.x <= forecasting.WIDTH for bar in drawn.bars)
