"""Intervals of larger studies, predicted from a pilot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from analysis.correlations.levels import method_means
from analysis.inference.resampling import draw, no_draws, stream
from analysis.options import AlignOptions, OptionError
from analysis.planning.metric_forecasts import coefficients, fit_model
from analysis.planning.pilots import (
    GROWS,
    Curve,
    Pilot,
    Point,
    extent,
    law,
    needed,
    pilot_study,
    rating_noise,
    undefined_curve,
)
from analysis.planning.sums_of_squares import ANNOTATOR, METHOD, STORY
from analysis.planning.variance_components import (
    StudySize,
    expected_reliability,
    variance_components,
)
from analysis.questions import kept_scores
from analysis.reading.cells import rated_grid
from analysis.reading.kept_answers import are_means, kept_ratings
from analysis.reliability.agreement import agreement
from analysis.reliability.matrices import rating_reliability
from analysis.results import NAN, Array, Estimate, TableRow, undefined
from analysis.sentences import Notes, sentence

# Pairs of simulated studies of one size.
PAIRS = 100
# Larger studies are predicted by the law, not simulated.
MOST_RATINGS = 200_000


def gap(pilot: Pilot) -> Curve:
    """Predict the interval of the difference of the two best methods' means."""
    grid = rated_grid(pilot.question, pilot.cells)
    why = ""
    if len(grid.methods) < 2:
        why = sentence("only one method")
    elif grid.human_is_method_level:
        why = sentence("ratings are method-level values, without stories")
    elif np.ptp(grid.human[grid.cells]) == 0:
        why = sentence("all ratings are the same")
    elif len(grid.stories) < 2:
        why = sentence("only one story")
    if why:
        return undefined_curve("", "method", "gap", undefined(why))
    means = method_means(grid, no_draws(*grid.cells.shape))[0][0]
    first, second = np.argsort(-means, kind="stable")[:2]
    value = float(means[first] - means[second])
    options = pilot.options
    draws = draw(
        ("stories",),
        cells=grid.cells,
        n_annotators=len(grid.votes),
        resamples=options.resamples,
        rng=stream(options.seed, "gap", pilot.question),
    )
    drawn, _, weights = method_means(grid, draws)
    used = (weights[:, [first, second]] > 0).all(axis=1)
    spread = float((drawn[used, first] - drawn[used, second]).var(ddof=1))
    estimate = Estimate(value, n=len(grid.stories))
    fit = fit_model(
        replace(grid, scores=grid.scores[:0], metrics=()), pilot.noise, pilot.size
    )
    own = float(fit.parts["cell"][0, 0] ** 2)
    points = {
        grows: [
            _gap_point(pilot, size, value, spread, own) for size in pilot.sizes(grows)
        ]
        for grows in GROWS
        if not (grows == "annotators" and pilot.noise_reason)
    }
    reasons = {
        "annotators": pilot.noise_reason,
        "stories": "",
        "methods": sentence("more methods do not narrow the difference of two"),
    }
    return Curve("", "method", "gap", estimate, points, reasons, target=value)


def _gap_point(
    pilot: Pilot, size: StudySize, value: float, spread: float, own: float
) -> Point:
    """Scale the pilot's variance over stories; add that of annotators' preferences."""

    def over_stories(of: StudySize) -> float:
        return (own + pilot.noise.at(of)[2]) / of.stories

    base = over_stories(pilot.size)
    ratio = over_stories(size) / base if base > 0 else pilot.size.stories / size.stories
    half = pilot.z * float(np.sqrt(spread * ratio + 2 * pilot.noise.at(size)[0]))
    return Point(size, value, value - half, value + half, half, 0)


def alpha(pilot: Pilot) -> Curve:
    """Predict ordinal alpha and its interval over stories."""
    options = pilot.options
    data = rating_reliability(pilot.rows, options.scale_of(pilot.question))
    value = agreement(
        data,
        ("alpha_ordinal",),
        parts=("stories",),
        **options.sampling,
        question=pilot.question,
    )[0].estimate
    reason = value.reason or pilot.noise_reason
    if np.isnan(value.value) or np.isnan(value.low):
        why = undefined(reason or sentence("only one story"))
        return undefined_curve("", "", "alpha_ordinal", why)
    model = rating_model(pilot.cells)
    simulated: dict[StudySize, tuple[float, float, int]] = {}

    def at(size: StudySize) -> tuple[float, float, int]:
        if size not in simulated:
            ratings = int(2 * size.stories * size.methods * size.per_output)
            studies = max(10, min(PAIRS, 2 * 10**7 // ratings))
            names = [str(x) for x in (size.per_output, size.stories, size.methods)]
            rng = stream(options.seed, "alpha", pilot.question, *names)
            one, two = model.alphas(size, studies, rng)
            mean = float((one.mean() + two.mean()) / 2)
            half = pilot.z * float(np.sqrt(((one - two) ** 2).mean() / 2))
            simulated[size] = mean, half, studies
        return simulated[size]

    base = at(replace(pilot.size, per_output=max(2, pilot.size.per_output)))
    own = (value.high - value.low) / 2
    ratio = own / base[1] if base[1] > 0 else 1.0
    points = {
        grows: _alpha_points(pilot, grows, value.value, ratio, base[0], at)
        for grows in GROWS
    }
    return Curve("", "", "alpha_ordinal", value, points, dict.fromkeys(GROWS, ""))


def _alpha_points(
    pilot: Pilot,
    grows: str,
    value: float,
    ratio: float,
    base: float,
    at: Callable[[StudySize], tuple[float, float, int]],
) -> list[Point]:
    sizes = [size for size in pilot.sizes(grows) if size.per_output > 1]
    small = [
        size
        for i, size in enumerate(sizes)
        if i < 2 or 2 * size.stories * size.methods * size.per_output <= MOST_RATINGS
    ]
    floor, slope = law([(extent(size, grows), ratio * at(size)[1]) for size in small])
    points, expected = [], value
    for size in sizes:
        half = float(np.sqrt(floor**2 + slope**2 / extent(size, grows)))
        if size in small:
            expected = min(1.0, value + at(size)[0] - base)
        if size == pilot.size:
            half = ratio * at(size)[1]
        high = min(1.0, expected + half)
        n = at(size)[2] if size in small else 0
        points.append(Point(size, expected, expected - half, high, half, n))
    return points


@dataclass(frozen=True)
class Ratings:
    """Normal model of single ratings, for how well annotators agree."""

    parts: Mapping[tuple[str, ...], float]

    def alphas(
        self, size: StudySize, studies: int, rng: np.random.Generator
    ) -> tuple[Array, Array]:
        """Draw pairs of studies with other stories, but methods and people the same."""
        R, S = studies, 2 * int(size.stories)
        M, A = int(size.methods), int(size.per_output)
        x = np.zeros((R, S, M, A))
        for source, deviation in self.parts.items():
            shape = (
                R,
                S if STORY in source else 1,
                M if METHOD in source else 1,
                A if ANNOTATOR in source else 1,
            )
            x += deviation * rng.standard_normal(shape)
        half = S // 2
        return _alpha(x[:, :half]), _alpha(x[:, half:])


def _alpha(x: Array) -> Array:
    """Return interval alpha of complete ratings, one value a study."""
    inside = x.var(axis=-1, ddof=1).mean(axis=(1, 2))
    return np.asarray(1 - inside / x.reshape(len(x), -1).var(axis=1, ddof=1))


def rating_model(by_annotator: pd.DataFrame) -> Ratings:
    """Fit the model of single ratings to their mid-ranks."""
    ranked = by_annotator.assign(rating=by_annotator["rating"].rank())
    _, fit = rating_noise(ranked)
    return Ratings({s: float(np.sqrt(fit.variance(*s))) for s in fit.values})


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
    """Predict the intervals of larger and smaller studies from a pilot.

    In the table power, `value` is what the statistic is expected to be, `n` the number
    of simulated studies (0 if predicted by the law or a formula), `n_annotators` the
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
