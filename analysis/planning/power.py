"""What a larger study would show: intervals foretold from a pilot."""

import pandas as pd

from analysis.notes import Notes
from analysis.options import AlignOptions, OptionError
from analysis.planning.metric_forecasts import coefficients
from analysis.planning.people_forecasts import alpha, gap
from analysis.planning.pilots import GROWS, Curve, Pilot, Point, needed, pilot_study
from analysis.planning.variance_components import (
    expected_reliability,
    variance_components,
)
from analysis.questions import kept_scores
from analysis.reading.kept_answers import are_means, kept_ratings
from analysis.results import NAN, TableRow

# Half-width of a coefficient that is asked for where nothing else is said.
TARGET = 0.05


def power_analysis(
    *,
    ratings: pd.DataFrame,
    scores: pd.DataFrame | None,
    options: AlignOptions,
    target: float = TARGET,
    notes: Notes | None = None,
) -> dict[str, list[TableRow]]:
    """Foretell the intervals of larger and smaller studies from a pilot.

    In the table power, `value` is what the statistic is expected to be, `n` the number
    of simulated studies (0 where the law or a formula foretells), `n_annotators` the
    annotators of each output, `half_width` that of the statistic over studies of this
    size. The pilot's own size stands in each of the three series. In the table needed,
    `value` brings `half_width` down to the target.
    """
    if options.resamples < 2:
        raise OptionError(
            f"--resamples: {options.resamples}: expected 2 or more, for the intervals "
            "of the pilot"
        )
    if "dimension" not in ratings:
        raise OptionError(
            "--ratings: expected ratings of single outputs; studies of choices are not "
            "planned"
        )
    if not target > 0:
        raise OptionError(f"--target: {target}: expected a number above 0")
    notes = Notes() if notes is None else notes
    kept = kept_ratings(ratings, options, notes)
    table = scores if scores is None else kept_scores(scores, options.exclude_methods)
    found: dict[str, list[TableRow]] = {
        name: [] for name in ("power", "needed", "variance", "reliability")
    }
    for name, rows in kept.groupby("dimension", sort=True):
        pilot = pilot_study(str(name), rows, table, options, notes)
        curves = [*coefficients(pilot), gap(pilot), alpha(pilot)]
        for curve in curves:
            found["power"] += _power_rows(pilot, curve)
            found["needed"] += _needed_rows(pilot, curve, target)
        name = pilot.question
        found["variance"] += variance_components(
            pilot.cells, question=name, **options.sampling
        )
        found["reliability"] += expected_reliability(
            pilot.cells, question=name, **options.sampling
        )
    return found


def _power_rows(pilot: Pilot, curve: Curve) -> list[TableRow]:
    of_means = are_means(pilot.rows)
    rows: list[TableRow] = []
    for grows in GROWS:
        points, reason = curve.points.get(grows), ""
        if not points:
            points = [Point(pilot.size, NAN, NAN, NAN, NAN, 0)]
            reason = curve.reasons[grows]
        rows += [
            {
                "question": pilot.question,
                "metric": curve.metric,
                "value": point.value,
                "low": point.low,
                "high": point.high,
                "n": point.n,
                "reason": reason,
                "statistic": curve.statistic,
                "level": curve.level,
                "grows": grows,
                "n_annotators": NAN if of_means else point.size.per_output,
                "n_stories": point.size.stories,
                "n_methods": point.size.methods,
                "half_width": point.half,
            }
            for point in points
        ]
    return rows


def _needed_rows(pilot: Pilot, curve: Curve, target: float) -> list[TableRow]:
    wanted = target if curve.target is None else curve.target
    rows = []
    for grows in GROWS:
        value, reason = NAN, curve.reasons[grows]
        if not reason:
            value, reason = needed(curve.points[grows], grows, wanted)
        rows.append(
            {
                "question": pilot.question,
                "metric": curve.metric,
                "statistic": curve.statistic,
                "level": curve.level,
                "grows": grows,
                "target": wanted,
                "value": value,
                "reason": reason,
            }
        )
    return rows
