"""Planning: larger studies, smaller benchmarks, stable judges.

The tables of the commands `power`, `subset`, `stability` and `score-agreement`.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import pandas as pd

from analysis.options import AlignOptions, OptionError, resample_parts
from analysis.planning.best_subset import (
    SIZES,
    BenchmarkScores,
    best_subsets,
    rating_boards,
    score_boards,
)
from analysis.planning.power import power_analysis
from analysis.planning.stability import judge_values, judges, rating_trials
from analysis.planning.stability import stability as trial_stability
from analysis.planning.subset import subset_rows
from analysis.questions import kept_scores
from analysis.reading.cells import annotator_cells
from analysis.reading.identities import NAMED, check_same_identity, one_identity
from analysis.reading.kept_answers import chosen_tables, kept_ratings
from analysis.reading.shared_names import OF_STORIES, OUTPUT_NAMES, check_shared_names
from analysis.reliability.score_agreement import agreement_rows, difference_rows, paired
from analysis.result_tables.contract import Analysis, TableCollector
from analysis.result_tables.supplementary import add_identities
from analysis.sentences import sentence

# Names that two tables of scores share, and a judge's trials with people's ratings.
OF_SCORES = {"metric": ("metric",), "method": ("method",)}
OF_RATINGS = {"dimension": ("dimension",), **OUTPUT_NAMES}


def power(
    *,
    ratings: pd.DataFrame,
    scores: pd.DataFrame | None,
    options: AlignOptions,
    target: float,
) -> Analysis:
    """Predict the results of larger studies: tables power, needed, variance."""
    found = TableCollector(options)
    given = {"ratings": ratings, "scores": scores}
    kept = chosen_tables(given, options, found.notes)
    pilot, scores = kept["ratings"], kept["scores"]
    add_identities(scores, found)
    assert pilot is not None  # every question asked for has a row
    check_shared_names(
        {"ratings": pilot},
        {"scores": scores},
        OUTPUT_NAMES,
        found.notes,
        options.exclude_methods,
    )
    rows = power_analysis(
        ratings=pilot,
        scores=scores,
        options=options,
        target=target,
        notes=found.notes,
    )
    for name, table in rows.items():
        found.extend(name, table)
    for name in ("variance", "reliability"):
        found.resample(name, ("stories",))
    return found.finished()


def subset(
    *,
    scores: pd.DataFrame | None,
    ratings: pd.DataFrame | None,
    subset: Sequence[str] | pd.DataFrame | None,
    name: str,
    sizes: Sequence[int] = SIZES,
    options: AlignOptions,
) -> Analysis:
    """Compare a subset of a benchmark with the whole, and search for better ones."""
    if any(size < 1 for size in sizes):
        raise OptionError(f"--sizes: {min(sizes)}: expected whole numbers from 1")
    if scores is None and ratings is None:
        raise OptionError("--scores, --ratings: expected one of them, or both")
    found = TableCollector(options)
    given = {"scores": scores, "ratings": ratings}
    whole = chosen_tables(given, options, found.notes)
    scores, ratings = whole["scores"], whole["ratings"]
    if isinstance(subset, pd.DataFrame):
        if options.metrics is not None:
            subset = subset[subset["metric"].isin(options.metrics)]
        subset, remarks = one_identity(subset, options)
        found.notes.extend(remarks)
        if scores is not None and not options.mix_identities:
            check_same_identity(scores, subset)
    add_identities(scores, found)
    boards: list[BenchmarkScores] = []
    if scores is not None:
        boards += score_boards(kept_scores(scores, options.exclude_methods))
    if ratings is not None:
        kept = kept_ratings(ratings, options, found.notes)
        boards += rating_boards(annotator_cells(kept))
    if subset is not None:
        _check_subset(subset, whole, found)
        part: Sequence[BenchmarkScores] | Sequence[str] = (
            score_boards(kept_scores(subset, options.exclude_methods))
            if isinstance(subset, pd.DataFrame)
            else subset
        )
        rows = subset_rows(boards, part, name=name, **options.sampling)
        found.extend("subset", rows, ("stories", "methods"))
    best, stories = best_subsets(
        boards, sizes=sizes, confidence=options.confidence, seed=options.seed
    )
    found.extend("best_subset", best)
    found.extend("subset_stories", stories)
    return found.finished()


def _check_subset(
    subset: Sequence[str] | pd.DataFrame,
    whole: dict[str, pd.DataFrame | None],
    found: TableCollector,
) -> None:
    """Refuse a subset that has nothing of the whole, and note what of it is missing."""
    if isinstance(subset, pd.DataFrame):
        scores = {"scores": whole["scores"]}
        check_shared_names({"the subset": subset}, scores, OF_SCORES, found.notes)
        return
    own = {"the subset": pd.DataFrame({"story": list(subset)})}
    check_shared_names(own, whole, OF_STORIES, found.notes, both=False)


def stability(
    *,
    trials: pd.DataFrame,
    ratings: pd.DataFrame | None,
    options: AlignOptions,
) -> Analysis:
    """Measure the stability of judges over repeated trials, and their agreement."""
    found = TableCollector(options)
    given = {"trials": trials, "ratings": ratings}
    kept = chosen_tables(given, options, found.notes)
    judged, ratings = kept["trials"], kept["ratings"]
    if judged is None:
        raise OptionError("--questions: expected some that judges answered, too")
    check_shared_names({"trials": judged}, {"people": ratings}, OF_RATINGS, found.notes)
    rows = rating_trials(kept_ratings(judged, options, found.notes))
    found.extend("stability", trial_stability(rows, **options.sampling), ("stories",))
    people = None
    if ratings is not None:
        people = annotator_cells(kept_ratings(ratings, options, found.notes))
    parts = resample_parts(options.resample, default="stories+methods")
    agreement = judges(
        judge_values(rows),
        people,
        levels=options.levels,
        coefficients=options.coefficients,
        parts=parts,
        **options.sampling,
    )
    found.extend("judges", agreement, parts)
    return found.finished()


def score_agreement(
    *, named: Sequence[tuple[str, pd.DataFrame]], options: AlignOptions
) -> Analysis:
    """Compare identities of metrics on the same outputs, or two tables of scores."""
    found = TableCollector(options)
    if len(named) == 1:
        if options.mix_identities:
            raise OptionError("--mix-identities: expected a second table beside it")
        options = replace(options, compare_identities=True)
    if options.metrics is not None and not options.metrics:
        raise OptionError("--metrics: expected at least one metric")
    kept = [
        (name, chosen_tables({"scores": scores}, options, found.notes)["scores"])
        for name, scores in named
    ]
    for _name, scores in kept:
        add_identities(scores, found)
    for (one, first), (other, second) in combinations(kept, 2):
        check_shared_names({one: first}, {other: second}, OF_SCORES, found.notes)
    apart = ""
    for metric, sides in _sides(kept, options).items():
        for (a, side_a), (b, side_b) in combinations(sides, 2):
            about = {"metric": metric, "identity_a": a, "identity_b": b}
            pairs = paired(side_a, side_b)
            if not len(pairs.x):
                apart = sentence(
                    "{metric}: {one} and {other} are not compared: no output has a "
                    "score of both.",
                    metric=metric,
                    one=a,
                    other=b,
                )
                found.notes.add(apart)
                continue
            confidence = options.confidence if options.resamples else None
            rows = [about | row for row in agreement_rows(pairs, confidence)]
            found.extend("score_agreement", rows, ("stories",))
            found.extend(
                "score_differences", [about | row for row in difference_rows(pairs)]
            )
    if "score_agreement" not in found.rows and apart:
        raise OptionError(f"scores: {apart}")
    if "score_agreement" not in found.rows:
        raise OptionError(
            "scores: expected a metric with scores of the same outputs by two "
            "identities, or a second table of the same metrics"
        )
    return found.finished()


def _sides(
    kept: Sequence[tuple[str, pd.DataFrame | None]], options: AlignOptions
) -> dict[str, list[tuple[str, pd.DataFrame]]]:
    """Return what is compared of each metric, by its name: identities, or tables.

    Of two tables with the same identities of a metric, each is compared with itself.
    """
    sides: dict[str, list[tuple[str, pd.DataFrame]]] = {}
    for table, scores in kept:
        assert scores is not None  # every metric asked for has a row
        cells = kept_scores(scores, options.exclude_methods).cells
        named = (
            scores if NAMED in scores else scores.assign(**{NAMED: scores["metric"]})
        )
        metrics = named[["metric", NAMED]].astype(str).drop_duplicates()
        for name, metric in metrics.itertuples(index=False):
            own = cells[cells["metric"] == name]
            if len(kept) > 1:
                sides.setdefault(name, []).append((table, own))
            elif len(own):  # not only of methods that are left out
                label = name.removeprefix(metric)[2:-1]
                sides.setdefault(metric, []).append((label, own))
    return sides
