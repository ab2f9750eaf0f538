"""Which metrics figures and sentences name, and how each ranks by every statistic."""

import pandas as pd

from analysis.options import KNOWN_COEFFICIENTS
from analysis.questions import declared
from analysis.reading.scores import BASELINES
from analysis.report.figure import by_value
from analysis.report.language import say, texts
from analysis.report.wording import FIGURE_TITLES
from analysis.statistics import named

LEVEL_NAMES = texts(
    method="method level",
    story="story level",
    pooled="pooled",
    within_method="within methods",
)
# Ways of ranking metrics, whose letters are those of coefficients.
WAYS = texts(
    {
        "method": "method {letter}",
        "story": "story {letter}",
        "pooled": "pooled {letter}",
        "within methods": "within methods {letter}",
    }
)


def main_coefficient(correlations: pd.DataFrame) -> str:
    """Return the coefficient that figures show: Kendall's where it was computed."""
    present = set(correlations["coefficient"])
    return next((c for c in KNOWN_COEFFICIENTS if c in present), min(present))


def levels_in(rows: pd.DataFrame) -> list[str]:
    """Return the levels of some rows in reading order."""
    return [level for level in LEVEL_NAMES if level in set(rows["level"])]


def at_level(question: object, level: str) -> str:
    """Name a question and the level at which it is asked."""
    return say("{question}, {level}", question=question, level=say(LEVEL_NAMES[level]))


def level_texts(rows: pd.DataFrame) -> list[str]:
    """Return the level of each row in the language of the report."""
    return [say(LEVEL_NAMES[level]) for level in rows["level"]]


def title_of(statistic: str) -> str:
    """Return what a statistic is called over figures."""
    return say(FIGURE_TITLES[statistic])


def highest_drawn(n: int) -> str:
    """Say that a figure leaves out metrics."""
    return say("The {n} highest metrics are drawn; the table has all.", n=n)


def human_ceiling(
    agreement: pd.DataFrame | None, question: str, coefficient: str
) -> float | None:
    """Return how well one annotator agrees with the rest, where it is known."""
    if agreement is None or coefficient == "pearson":
        return None
    rows = agreement[
        (agreement["question"] == question)
        & (agreement["statistic"] == f"rater_vs_rest_{coefficient}")
    ]
    known = rows["value"][:1].dropna()
    return None if known.empty else float(known.iloc[0])


def without_baselines(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows with a value, without those of the baselines."""
    return rows[rows["value"].notna() & ~rows["metric"].isin(BASELINES)]


def nearest_metrics(
    question: str,
    cells: pd.DataFrame,
    correlations: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None,
    most: int,
) -> list[str]:
    """Return the metrics to draw, best first: declared ones, and the best others."""
    metrics = sorted(cells["metric"].unique())
    if correlations is not None and correlations["value"].notna().any():
        own = correlations[correlations["dimension"] == question]
        metrics = [m for m in by_value(own.dropna(subset=["value"])) if m in metrics]
    first = [m for m in metrics if m in declared(hypotheses, question)]
    chosen = list(dict.fromkeys([*first, *metrics]))[:most]
    return [m for m in metrics if m in chosen]


def metric_ranks(
    correlations: pd.DataFrame, pairwise: pd.DataFrame | None, question: str
) -> pd.DataFrame:
    """Rank the metrics of one question by every way of asking, 1 being best.

    Of pairwise accuracy the rows of ratings count. Metrics that are undefined in a way
    are left out, equal ones share the best rank.
    """
    columns: dict[str, pd.Series[float]] = {}
    for level, title in LEVEL_NAMES.items():
        for name, letter in named("letter").items():
            rows = correlations[
                (correlations["level"] == level) & (correlations["coefficient"] == name)
            ]
            own = rows.set_index("metric")["value"]
            columns[f"{title.removesuffix(' level')} {letter}"] = own
    if pairwise is not None and "question" in pairwise:
        rows = pairwise[
            (pairwise["question"] == question)
            & (pairwise["source"] == "ratings")
            & ~pairwise["metric"].isin(BASELINES)
        ].set_index("metric")
        columns |= {"PPA half": rows["ppa_half"], "acc_eq": rows["acc_eq"]}
    defined = {way: own for way, own in columns.items() if own.notna().any()}
    known = pd.DataFrame(defined).dropna()
    return known.rank(ascending=False, method="min").astype(int)


def way_text(way: str) -> str:
    """Return a column of `metric_ranks` in the language of the report."""
    level, _space, letter = way.rpartition(" ")
    return say(WAYS[level], letter=letter) if level in WAYS else way
