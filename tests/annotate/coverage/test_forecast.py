"""Forecast of the finish, and the chart of arrivals."""

import time
from datetime import UTC, datetime

import pytest

from annotate.coverage import forecast as forecasting
from annotate.coverage.forecast import DAY, HOUR, Person, forecast
from benchmarks import forecasts, weekly_people

NOW = datetime(2026, 3, 20, 12, tzinfo=UTC)


def daily(*counts):
    """Return arrivals an hour before now on each of the last days, the latest last."""
    n = len(counts)
    return [(NOW - (n - i) * DAY + HOUR, c) for i, c in enumerate(counts)]


def person(*counts, **fields) -> Person:
    """Return somebody with answers on each of the last days, the latest last."""
    return Person(tuple(row for row in daily(*counts) if row[1]), **fields)


def found(*people, free=0, **how):
    return forecast(people, free, NOW, **{"patience": 7} | how)


def test_forecast_continues_steady_pace():
    steady = [person(*[5] * 10, held=40) for _ in range(3)]
    expected = found(*steady)
    assert expected.reason == ""
    assert expected.per_day == pytest.approx(15)
    assert abs(expected.median - (NOW + 8 * DAY)) < 5 * DAY
    assert expected.early < expected.median < expected.late
    assert found(*steady) == expected, "the same history has the same forecast"


def test_forecast_waits_for_the_slowest_person():
    fast, slow = person(*[20] * 10, held=20), person(*[1, 0] * 5, held=20)
    assert found(fast, slow).median > found(fast, fast).median + 2 * DAY


def test_forecast_gives_work_of_vanished_people_to_others():
    """Somebody away for six days has probably left; others do their work then."""
    working = [person(*[10] * 12, held=30) for _ in range(4)]
    silent = person(*[10] * 6, *[0] * 6, held=30)
    assert found(*working).median < found(*working, silent).median < NOW + 20 * DAY


def test_forecast_is_later_where_more_people_left():
    working = [person(*[4, 0, 0] * 4, held=40) for _ in range(3)]
    gone = [person(*[4] * 2, *[0] * 10, works=False, left=True) for _ in range(12)]
    patient = found(*working)
    assert patient.reason == ""
    leaving = found(*working, *gone)
    assert leaving.reason == "leaving" or leaving.late is None


def test_open_study_is_forecast_from_arrivals():
    """Two people a day come and give ten ratings each, on one day."""
    days = range(1, 13)
    people = [Person(((NOW - d * DAY + HOUR, 10),)) for d in days for _ in range(2)]
    expected = found(*people, free=100, places=50)
    assert expected.reason == ""
    assert NOW + 3 * DAY < expected.median < NOW + 8 * DAY
    # Too few places are left.
    assert found(*people, free=100, places=3).reason == "leaving"


@pytest.mark.parametrize(
    ("people", "free", "reason"),
    [
        ([person(10, 10, 10, 10, 10)], 0, "complete"),
        ([Person((), held=5)], 0, "none lately"),
        ([person(3, 4, 5, 1, held=5)], 0, "few"),
        ([Person(((NOW - 30 * DAY, 500),), held=5)], 0, "none lately"),
        ([Person(((NOW - 2 * HOUR, 40),), held=5)], 0, "young"),
    ],
)
def test_missing_forecast_has_a_reason(people, free, reason):
    expected = found(*people, free=free)
    assert expected.reason == reason
    assert expected.median is None


def test_young_study_is_forecast_by_hour():
    people = [Person(((NOW - i * HOUR, 6),)) for i in range(1, 13)]
    expected = found(*people, free=60, places=50)
    assert expected.reason == ""
    assert NOW + 6 * HOUR < expected.median < NOW + 2 * DAY


def test_forecast_of_thirty_people_takes_below_a_tenth_of_a_second():
    people = [person(*[3, 0, 5] * 5, held=40) for _ in range(30)]
    found(*people)
    start = time.process_time()
    found(*people)
    assert time.process_time() - start < 0.2  # on a busy machine


@pytest.mark.slow
@pytest.mark.parametrize("outcome", [forecasts.outcome, weekly_people.outcome])
def test_interval_holds_in_simulated_studies(outcome):
    """The command of the benchmark counts a thousand."""
    outcomes = [outcome(number, seed=5) for number in range(60)]
    dated = [one for one in outcomes if one and not one.found.reason]
    assert len(dated) > 40
    assert 0.62 < sum(one.holds for one in dated) / len(dated) < 0.93


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
