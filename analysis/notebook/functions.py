"""The commands as functions: tables as frames or files, options as keywords."""

from collections.abc import Mapping, Sequence
from typing import Any

from analysis.commands.given_tables import Composites, Hypotheses
from analysis.commands.studies import report_tables
from analysis.notebook.calls import make_report
from analysis.notebook.reports import Report
from analysis.planning.best_subset import SIZES
from analysis.reading.files import Table


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
    marked_shots: Table | None = None,
    trained_on: Table | None = None,
    lower_is_better: Sequence[str] | str = (),
    higher_is_better: Sequence[str] | str = (),
    **options: Any,
) -> Report:
    """Report people's ratings of methods, and compare every metric with people.

    Every table is a DataFrame, or the path of a file, with the columns of
    ``docs/reference/input-tables.md``. Frames are checked as files are and stay as they
    are; their index says nothing.

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
    marked_shots
        Whether people marked each shot as faulty: ratings of 0 and 1 with a column
        shot. They are held against the scores of shots.
    trained_on
        Methods that were trained on a metric, or selected by it: columns method,
        metric. They are marked where the metric favours them.
    lower_is_better, higher_is_better
        Metrics whose direction the table does not tell. Of others without a column
        ``higher_is_better`` the name tells (``docs/reference/input-tables.md``), else
        higher is better.

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
        Methods left out; ``method``, ``story``, ``pooled``, ``within_method``,
        ``residual``; ``kendall``, ``spearman``, ``pearson``, ``kendall_c``; tags that
        split; metrics that are weighted.
    baseline : sequence of str
        Methods to compare with: win rates are those of the others over them.
    identity : dict
        By metric the identity whose scores are used, by its first digits.
    compare_identities, mix_identities : bool
        Several identities of a metric become metrics of their own, or are pooled by
        the mean of each output or shot; else they are refused.
    top, top_confidence : int, float
        Whether so many of the best methods differ from all others, and how
        sure that has to be (as `confidence`).
    demanded : float
        Pairwise accuracy that metrics are held against (VISTAR's is .75; 0 for none).
    equivalent_within : float
        Difference below which two metrics count as equally good (0 for no test).
    replaces_within : float
        How much worse than an annotator a metric may be, to take the place of one,
        where no epsilon was declared for it (0 for none).
    epsilon : {"heldout", "insample", "0"}
        How the tie threshold of acc_eq is tuned.
    resamples, resample, confidence, seed
        Number (1000; 0 for no intervals) and unit of bootstrap resamples, coverage of
        the intervals (.95), seed of every random step (0).
    figures, language, paper
        ``"all"`` for every figure on the page; ``"zh-Hans"`` for a report in Chinese;
        whether the page's folder also has ``paper/``.

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
    compared as given. Each table says how it treats ties
    (``docs/reference/report-tables.md``).

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
    tables = {
        "ratings": ratings,
        "choices": choices,
        "rankings": rankings,
        "scores": scores,
        "stories": stories,
        "composites": composites,
        "twins": twins,
        "marked_shots": marked_shots,
        "hypotheses": hypotheses,
        "trained_on": trained_on,
    }
    ways = {"lower_is_better": lower_is_better, "higher_is_better": higher_is_better}
    given = {name: value for name, value in ways.items() if value}
    return make_report("align", tables, given, options)


def agreement(
    *,
    ratings: Table | None = None,
    choices: Table | None = None,
    rankings: Table | None = None,
    **options: Any,
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
    tables = {"ratings": ratings, "choices": choices, "rankings": rankings}
    return make_report("agreement", tables, {}, options)


def leaderboard(
    *,
    choices: Table | None = None,
    rankings: Table | None = None,
    ties: str = "half",
    majority: bool = False,
    **options: Any,
) -> Report:
    """Rank methods by side-by-side answers, or by orders of several outputs.

    Parameters
    ----------
    choices, rankings
        What people say; one of them, or both.
    ties
        Of choices: ``"half"``, ``"drop"`` or ``"davidson"``.
    majority
        Count the majority of each story's annotators instead of single votes.
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables leaderboard and win_rates, or ranking_leaderboard.
    """
    tables = {"choices": choices, "rankings": rankings}
    how = {"ties": ties, "majority": majority}
    return make_report("leaderboard", tables, how, options)


def power(
    *,
    ratings: Table,
    scores: Table | None = None,
    target: float = 0.05,
    **options: Any,
) -> Report:
    """Predict the results of larger studies from a pilot.

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
    tables = {"ratings": ratings, "scores": scores}
    return make_report("power", tables, {"target": target}, options)


def subset(
    *,
    scores: Table | None = None,
    ratings: Table | None = None,
    subset: Sequence[str] | Table | None = None,
    name: str = "subset",
    sizes: Sequence[int] = SIZES,
    **options: Any,
) -> Report:
    """Compare a subset of a benchmark with the whole, and search for better ones.

    Parameters
    ----------
    scores, ratings
        Of the whole benchmark; one of them, or both.
    subset
        Names of its stories, or a table of its scores. None searches for
        subsets only.
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
    tables = {"scores": scores, "ratings": ratings, "subset": subset}
    return make_report("subset", tables, {"name": name, "sizes": tuple(sizes)}, options)


def stability(
    *,
    ratings: Table,
    people: Table | None = None,
    **options: Any,
) -> Report:
    """Measure the stability of a judge over repeated trials, and its agreement.

    Parameters
    ----------
    ratings
        Of judges (column annotator), trials as rounds.
    people
        Ratings of people, to hold the judges against.
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables stability and judges.
    """
    tables = {"ratings": ratings, "people": people}
    return make_report("stability", tables, {}, options)


def score_agreement(
    scores: Table, other_scores: Table | None = None, **options: Any
) -> Report:
    """Measure how well two sets of a metric's scores of the same outputs agree.

    Of one table, every two identities of a metric are compared: fp32 with bf16, two
    versions of a judge, two profiles. Of two tables, each metric that both have: a
    judge asked again.

    Parameters
    ----------
    scores, other_scores
        One table, or two. Scores of shots are averaged; outputs that only one side
        scores are left out.
    **options
        As of `align`; `metrics` names what is compared.

    Returns
    -------
    Report
        Tables score_agreement, score_differences and identities.

    Raises
    ------
    OptionError
        No metric has two identities with scores of one output; or, of two tables, one
        has several in itself (`compare_identities` compares each with itself).

    Notes
    -----
    Pearson, Spearman, ICC(2,1) of absolute agreement (Shrout and Fleiss 1979), mean
    difference with 95 % limits of agreement (Bland and Altman 1986), and the share of
    equal scores; with at most 21 different values also the quadratic kappa (Cohen
    1968) and Krippendorff's ordinal alpha. Intervals leave out whole stories.

    Examples
    --------
    >>> import pandas as pd
    >>> first = pd.DataFrame({"story": list("abcd"), "method": "x", "metric": "plot"})
    >>> first["score"] = [1, 2, 3, 4]
    >>> again = first.assign(score=[1, 2, 4, 4])
    >>> report = score_agreement(first, again)
    >>> values = report["score_agreement"].set_index("statistic")["value"]
    >>> float(values["share_equal"])
    0.75
    """
    tables = {"scores": scores, "other_scores": other_scores}
    return make_report("score-agreement", tables, {}, options)


def late_entry(
    before: Table,
    after: Table,
    *,
    method: str,
    same_people: bool = False,
    **options: Any,
) -> Report:
    """Place a method that a later study judged on the scale of a first one.

    The later study judges outputs of the first again. How people differ on these is
    taken off the late method's mean, and enters its interval.

    Parameters
    ----------
    before, after
        Ratings or choices of the first study and of the later one.
    method
        The method that only the later one has.
    same_people
        Annotators of one name in both tables are one person.
    **options
        As of `align`.

    Returns
    -------
    Report
        Tables late_methods, late_drift and late_differences.
    """
    tables = {"before": before, "after": after}
    further = {"method": method, "same_people": same_people}
    return make_report("late-entry", tables, further, options)


def meta(reports: Mapping[str, Table] | Sequence[Table], **options: Any) -> Report:
    """Combine the values that reports of several studies give each metric.

    Parameters
    ----------
    reports
        Folders of reports of `align`, or their tables meta_analysis by study.
    **options
        As of `align`.

    Returns
    -------
    Report
        The table meta_analysis: each metric by study, and over all of them.
    """
    return make_report("meta", report_tables(reports), {}, options)
