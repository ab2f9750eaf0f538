"""The commands as functions: tables as frames or files, options as keywords."""

from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

import pandas as pd

from analysis.commands import alignment, planning
from analysis.commands.given_tables import needed_scores
from analysis.notebook.calls import Call, Options, is_path, keywords
from analysis.notebook.further_tables import (
    Composites,
    Hypotheses,
    composite_parts,
    hypothesis_rows,
    tag_rows,
    twin_rows,
)
from analysis.notebook.reports import Report
from analysis.options import OptionError, silent
from analysis.planning.best_subset import SIZES
from analysis.reading.files import Table
from analysis.reading.kept_answers import chosen_tables


def align(
    *,
    ratings: Table | None = None,
    choices: Table | None = None,
    rankings: Table | None = None,
    scores: Table | None = None,
    stories: Table | None = None,
    hypotheses: Hypotheses | None = None,
    composites: Composites | None = None,
    twins: Table | None = None,
    lower_is_better: Sequence[str] | str = (),
    higher_is_better: Sequence[str] | str = (),
    **options: Unpack[Options],
) -> Report:
    """Report what people say of methods, and compare every metric with people.

    Every table is a DataFrame, or the path of a file (``docs/inputs.md``); its
    columns are those of ``docs/tables.md``. Frames are checked as files are and stay
    as they are; their index says nothing.

    Parameters
    ----------
    ratings, choices, rankings
        What people say; one of them, or several.
    scores
        What metrics say: columns story, method, metric, score. Without them the report
        is of people alone.
    stories
        Tags of stories, which split the tables: column story, and one column a tag.
    hypotheses
        Metrics declared beforehand: question to metric, or to several, or a table with
        the columns question, metric. All other metrics are explored.
    composites
        What is made of several questions or metrics, by name: ``{"overall": {"over":
        "questions", "weights": {"look": 0.7, "plot": 0.3}}}``, or a file of them.
    twins
        Scores of outputs that were made worse on purpose: columns story, method, twin
        (how), metric, score.
    lower_is_better, higher_is_better
        Metrics whose direction the table does not tell. Of others without a column
        ``higher_is_better`` the name tells (``docs/inputs.md``), else higher is better.

    Other Parameters
    ----------------
    scale : (int, int)
        Lowest and highest rating: others are refused.
    wide : bool
        Ratings and scores have one column a dimension or metric;
        `method_column` and `story_column` name their keys, `value_columns` those of
        their columns that are values though they look like ids or times.
    questions, metrics : sequence of str
        The only ones that are covered.
    exclude_methods, levels, coefficients, split_by, components : sequence of str
        Methods left out; ``method``, ``story``, ``pooled``, ``within_method``;
        ``kendall``, ``spearman``, ``pearson``, ``kendall_c``; tags that split; metrics
        that are weighted.
    top, top_confidence : int, float
        Whether so many of the best methods are told apart from all others, and how
        sure that has to be (as `confidence`).
    demanded : float
        Pairwise accuracy that metrics are held against (VISTAR's is .75; 0 for none).
    epsilon : {"heldout", "insample", "0"}
        How the tie threshold of acc_eq is tuned.
    resamples, resample, confidence, seed
        Number (1000; 0 for no intervals) and unit of bootstrap resamples, coverage of
        the intervals (.95), seed of every random step (0).
    figures, language
        ``"all"`` for every figure on the page; ``"zh-Hans"`` for a report in Chinese.

    Returns
    -------
    Report
        Tables, verdicts, figures, and the page.

    Raises
    ------
    InputError
        A table is refused: every problem with frame or file, row, column, value, and
        what was expected.
    OptionError
        An option does not fit the data, or nothing is left to compare.

    Notes
    -----
    Missing scores are absent rows or NaN, never 0: metrics of a question are compared
    on the outputs that people and every metric cover, and the notes say what that
    leaves out. Ties of people count as ties within 1e-9 of their means; scores are
    compared as given. Each table says how it treats ties (``docs/tables.md``).

    Examples
    --------
    >>> import pandas as pd
    >>> cells = pd.DataFrame({"story": list("aabb"), "method": list("xyxy")})
    >>> ratings = cells.assign(dimension="look", annotator="Ann", rating=[1, 2, 2, 4])
    >>> scores = cells.assign(metric="csd", score=[0.1, 0.3, 0.2, 0.6])
    >>> report = align(ratings=ratings, scores=scores, hypotheses={"look": "csd"})
    >>> float(report["correlations"].set_index("level").loc["pooled", "value"].iloc[0])
    0.912870929175
    """
    with keywords():
        ways = {"lower_is_better": lower_is_better}
        ways["higher_is_better"] = higher_is_better
        call = Call(
            "align",
            {
                "ratings": ratings,
                "choices": choices,
                "rankings": rankings,
                "scores": scores,
                "stories": stories,
                "composites": composites,
                "twins": twins,
                "hypotheses": hypotheses,
            },
            {name: value for name, value in ways.items() if value},
            options,
        )
        answers = call.tables("ratings", "choices", "rankings")
        scored = call.tables("scores")["scores"]
        asked = {
            "--lower-is-better": lower_is_better,
            "--higher-is-better": higher_is_better,
            "--twins": twins is not None,
        }
        needed_scores(scored, asked)
        covered = chosen_tables({**answers, "scores": scored}, call.options)
        tags = tag_rows(stories)
        made = composite_parts(composites, covered, tags)
        found = alignment.align(
            **answers,
            scores=scored,
            tags=tags,
            composites=made,
            twins=None if scored is None else twin_rows(twins, scored),
            hypotheses=hypothesis_rows(hypotheses, covered, made),
            options=call.options,
            progress=silent,
        )
        return Report(found, call)


def agreement(
    *,
    ratings: Table | None = None,
    choices: Table | None = None,
    rankings: Table | None = None,
    **options: Unpack[Options],
) -> Report:
    """Measure how well people agree with one another.

    Parameters
    ----------
    ratings, choices, rankings
        What people say; one of them, or several.
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables agreement, annotators and others of people.
    """
    with keywords():
        tables = {"ratings": ratings, "choices": choices, "rankings": rankings}
        call = Call("agreement", tables, {}, options)
        answers = call.tables(*tables)
        return Report(alignment.agreement(**answers, options=call.options), call)


def leaderboard(
    *,
    choices: Table | None = None,
    rankings: Table | None = None,
    ties: str = "half",
    majority: bool = False,
    side: bool = False,
    prior: float = 0.0,
    **options: Unpack[Options],
) -> Report:
    """Rank methods by side-by-side answers, or by orders of several outputs.

    Parameters
    ----------
    choices, rankings
        What people say; one of them, or both.
    ties
        Of choices: ``"half"``, ``"drop"``, ``"davidson"`` or ``"rao-kupper"``.
    majority
        Count the majority of each story's annotators instead of single votes.
    side
        Adjust for the side on which outputs stood (column left_method).
    prior
        Of choices: the weight of a prior, in answers a method (``docs/tables.md``).
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables leaderboard and win_rates, or ranking_leaderboard.
    """
    with keywords():
        tables = {"choices": choices, "rankings": rankings}
        how = {"ties": ties, "majority": majority, "side": side, "prior": prior}
        call = Call("leaderboard", tables, how, options)
        found = alignment.leaderboard(
            **call.tables(*tables),
            ties=ties,
            majority=majority,
            side=side,
            prior=prior,
            options=call.options,
        )
        return Report(found, call)


def power(
    *,
    ratings: Table,
    scores: Table | None = None,
    target: float = 0.05,
    **options: Unpack[Options],
) -> Report:
    """Foretell from a pilot what larger studies would show.

    Parameters
    ----------
    ratings, scores
        The pilot.
    target
        Half-width of an interval that is asked for.
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables power, needed, variance and reliability.
    """
    with keywords():
        tables = {"ratings": ratings, "scores": scores}
        call = Call("power", tables, {"target": target}, options)
        found = planning.power(
            ratings=call.required("ratings"),
            **call.tables("scores"),
            options=call.options,
            target=target,
        )
        return Report(found, call)


def subset(
    *,
    scores: Table | None = None,
    ratings: Table | None = None,
    subset: Sequence[str] | Table | None = None,
    name: str = "subset",
    sizes: Sequence[int] = SIZES,
    **options: Unpack[Options],
) -> Report:
    """Hold a subset of a benchmark against the whole, and look for better ones.

    Parameters
    ----------
    scores, ratings
        Of the whole benchmark; one of them, or both.
    subset
        Names of its stories, or the table of its own scores; None only looks.
    name
        What the subset is called.
    sizes
        Numbers of stories to look for.
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables subset, best_subset and subset_stories.
    """
    with keywords():
        tables = {"scores": scores, "ratings": ratings, "subset": subset}
        call = Call("subset", tables, {"name": name, "sizes": tuple(sizes)}, options)
        part: Sequence[str] | pd.DataFrame | None
        if subset is None or isinstance(subset, pd.DataFrame | str | PathLike):
            part = call.table("scores", subset, name="subset")
        else:
            part = list(subset)
        found = planning.subset(
            **call.tables("scores", "ratings"),
            subset=part,
            name=name,
            sizes=sizes,
            options=call.options,
        )
        return Report(found, call)


def stability(
    *,
    ratings: Table | None = None,
    people: Table | None = None,
    scores: Table | None = None,
    other_scores: Table | None = None,
    **options: Unpack[Options],
) -> Report:
    """Tell how stable a judge is over repeated trials, and whom it agrees with.

    Parameters
    ----------
    ratings
        Of judges (column annotator), trials as rounds.
    people
        Ratings of people, to hold the judges against.
    scores, other_scores
        Instead of ratings: two judges' scores by the same metrics.
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables stability and judges.
    """
    with keywords():
        tables = {
            "ratings": ratings,
            "people": people,
            "scores": scores,
            "other_scores": other_scores,
        }
        call = Call("stability", tables, {}, options)
        trials = [name for name in ("ratings", "people") if name in call.given]
        judges = [name for name in ("scores", "other_scores") if name in call.given]
        if "ratings" in trials and not judges:
            found = planning.stability(
                trials=call.required("ratings"),
                ratings=call.table("ratings", people, name="people"),
                options=call.options,
            )
        elif len(judges) == 2 and not trials:
            scored = [
                (_stem(tables[name], name), call.required("scores", name))
                for name in judges
            ]
            found = planning.compare_judges(named=scored, options=call.options)
        else:
            raise OptionError(
                "ratings, scores: expected ratings with or without people, or scores "
                "and other_scores"
            )
        return Report(found, call)


def _stem(table: Any, name: str) -> str:
    """Return what a judge is called: its file, or the keyword of its frame."""
    return Path(table).stem if is_path(table) else name
