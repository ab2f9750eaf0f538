"""Sentences on metrics beside verdicts: pairs, levels, ties, judges.

They word rows of tables and decide nothing.
"""

import math
from collections.abc import Iterator

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.inference.cluster_variance import MOST_PAIRED
from analysis.options import KNOWN_COEFFICIENTS
from analysis.pairwise.metric_errors import MISSES
from analysis.reading.scores import BASELINES
from analysis.report.language import AND, SPACE, counted, listed
from analysis.report.metric_order import metric_ranks
from analysis.report.wording import (
    BOTH,
    LEVELS,
    MINUS,
    MOST_SENTENCES,
    WORDS,
    ClaimText,
    ResultTables,
    Row,
    claim,
    claim_of,
    first_row,
    is_missing,
    name_of,
    question_names,
    records,
    share,
    signed,
    title_of,
    with_interval,
    word,
)
from analysis.verdicts import ABOVE, FEW_METHODS, leading_metrics

# Candidates for best that are named.
MOST_NAMED = 5
# The best metric by one statistic flips if it has at least this rank by another.
FLIP = 3
# Leading ways to rank, the first that is known.
LEADING = ("ppa_half", "method")


# On pairs -----------------------------------------------------------------------------


def calibration_claims(calibration: pd.DataFrame) -> Iterator[ClaimText]:
    """Compare weighted metrics with the best single one on held-out stories."""
    gains = calibration[
        (calibration["statistic"] == "gain")
        & calibration["value"].notna()
        # The best component's gain stands first; the other is against their mean.
        & (calibration["against"] != "mean of components")
    ]
    title, within = question_names(calibration), []
    for row in records(gains):
        values = {
            "question": title(row["question"], row["source"]),
            "gain": _gain(row),
            "pairs": counted(row["n"], "pair"),
        }
        if row["low"] > 0:
            yield claim("calibration", True, **values)
        else:
            within.append(word("calibration", "one", **values))
    if within:
        yield claim("calibration", False, names=listed(within))


def _gain(row: Row) -> str:
    value, low, high = (signed(100 * row[key], 1) for key in ("value", "low", "high"))
    kind = "gain alone" if math.isnan(row["low"]) else "gain"
    ends = f"[{low}, {high}]"
    return word("calibration", kind, n=value, ends=ends, against=row["against"])


def disagreement_claims(
    disagreement: pd.DataFrame, verdicts: pd.DataFrame | None
) -> Iterator[ClaimText]:
    """Yield the pair on which people and the metric that verdicts name differ most."""
    pairs = disagreement[disagreement["kind"] == "pair"]
    title = question_names(disagreement)
    for (name, source), rows in pairs.groupby(BOTH, sort=True):
        leading = leading_metrics(verdicts, name, source)[:1]
        own = rows[rows["metric"].isin(leading)]
        if own.empty:
            continue
        row = first_row(own.sort_values("value", ascending=False, kind="stable"))
        numbers = ("score", "score_other", "human", "human_other")
        row |= {key: f"{row[key]:.3g}".replace("-", MINUS) for key in numbers}
        row["question"] = title(name, source)
        yield claim("disagreement", True, other=row["other_method"], **row)


def blame_claims(shot_agreement: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield whether the best metrics give lower scores to shots that people marked.

    Only for the question as a whole: kinds of fault are in the table.
    """
    is_whole = ~shot_agreement["of_kind"].astype(bool)
    known = shot_agreement[is_whole & shot_agreement["value"].notna()]
    best = known.sort_values(["value", "metric"], ascending=[False, True])
    for _question, rows in best.groupby("question", sort=True):
        for row in records(rows.head(MOST_SENTENCES)):
            row |= {"evidence": f"{name_of('kendall')} {with_interval(row)}"}
            row["shots"] = counted(row["n"], "shot")
            row["stories"] = counted(row["n_stories"], "story")
            shown = row["low"] > 0 and row["p_adjusted"] <= SIGNIFICANT
            yield claim("blame", shown, **row)


# Levels and statistics ----------------------------------------------------------------


def coverage_limits(correlations: pd.DataFrame, tables: ResultTables) -> Iterator[str]:
    """Yield the metrics whose coefficient within stories leaves out many of them."""
    for name, rows in correlations.groupby("dimension", sort=True):
        here, stories = _inside_stories(rows), _n_stories(tables, str(name))
        few = here[here["n_groups"] < stories / 2]
        if few.empty:
            continue
        metrics = zip(few["metric"], few["n_groups"], strict=True)
        values = {
            "question": name,
            "stories": counted(stories, "story"),
            "metrics": listed(f"{metric} {n:.0f}" for metric, n in metrics),
        }
        yield word("coverage", "open", **values)


def _inside_stories(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the first coefficient defined within stories, best metric first."""
    defined = rows[rows["value"].notna() & (rows["level"] == "story")]
    known = set(defined["coefficient"])
    name = next((name for name in KNOWN_COEFFICIENTS if name in known), "")
    here = defined[defined["coefficient"] == name]
    return here.sort_values(["value", "metric"], ascending=[False, True])


def _n_stories(tables: ResultTables, question: str) -> float:
    """Return the number of rated stories, or NaN if it is unknown."""
    means = tables.get("method_means")
    if means is None or "n_stories" not in means:
        return math.nan
    return float(means.loc[means["dimension"] == question, "n_stories"].max())


def candidate_claims(verdicts: pd.DataFrame) -> Iterator[ClaimText]:
    """Name the candidates for best where metrics are too many to compare all pairs.

    They are the first cluster by the leading statistic.
    """
    known = verdicts[verdicts["leads"] & verdicts["cluster"].notna()]
    known = known.sort_values(["value", "metric"], ascending=[False, True])
    for (question, _source), own in known.groupby(BOTH, sort=True):
        if len(own) <= MOST_PAIRED:
            continue
        name, level = (str(own[column].iloc[0]) for column in ("statistic", "level"))
        on_pairs = level == "pairs"
        metrics = own.loc[own["cluster"] == 1, "metric"].tolist()
        shown = metrics[:MOST_NAMED]
        if n := len(metrics) - len(shown):
            shown.append(word("candidates", "more", n=n))
        text = word(
            "candidates",
            "one" if len(metrics) == 1 else "some",
            metrics=listed(shown),
            total=counted(len(own), "metric"),
            level=word("candidates" if on_pairs else "levels", level),
            coefficient=title_of(name),
        )
        yield claim_of(len(metrics) < len(own), question, text)


def flip_limits(
    correlations: pd.DataFrame, pairwise_accuracy: pd.DataFrame | None
) -> Iterator[str]:
    """Yield the questions whose best metric depends on level or statistic."""
    for question, rows in correlations.groupby("dimension", sort=True):
        ranks = metric_ranks(rows, pairwise_accuracy, str(question))
        if _inside_stories(rows)["n_groups"].nunique() > 1:
            # Each metric rests on other stories.
            ranks = ranks.drop(columns="story", errors="ignore")
        if len(ranks) < FLIP or ranks.shape[1] < 2:
            continue
        main = next((c for c in LEADING if c in ranks), ranks.columns[0])
        best, n = str(ranks[main].idxmin()), len(ranks)
        places = {str(c): int(ranks[c].loc[best]) for c in ranks}
        elsewhere = [
            word("flips", "place", place=place, way=_way(c))
            for c, place in places.items()
            if place >= FLIP
        ]
        if elsewhere:
            values = {"question": question, "metric": best, "n": n}
            values |= {"way": _way(main), "elsewhere": listed(elsewhere)}
            yield word("flips", "open", **values)


def _way(column: str) -> str:
    """Return in words what `metric_ranks` ranks by."""
    return word("ways" if column in WORDS["ways"] else "levels", column)


def selection_limits(verdicts: pd.DataFrame) -> Iterator[str]:
    """Warn that the highest of several metrics is flattered, if one is named."""
    explored = verdicts[verdicts["leads"] & (verdicts["role"] == "exploratory")]
    named = [
        len(rows) > 1 and bool((rows["verdict"] == ABOVE).any())
        for _names, rows in explored.groupby(BOTH)
    ]
    if any(named):
        yield word("selection", "open")


def tie_limits(pairwise_accuracy: pd.DataFrame) -> Iterator[str]:
    """Count the metrics that tie often."""
    real = pairwise_accuracy[~pairwise_accuracy["metric"].isin(BASELINES)]
    if tied := int((real["metric_tie_rate"] > 0.2).sum()):
        total = counted(len(real), "row of pairwise accuracy")
        yield word("ties", "open", n=tied, total=total)


# Judges, and degraded copies ----------------------------------------------------------


def stability_claims(stability: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield how much the scores of a judge vary between repeated trials."""
    whole = stability[stability["method"].fillna("") == ""]
    for (question, judge), rows in whole.groupby(["question", "metric"], sort=False):
        known = {row["statistic"]: row for row in records(rows[rows["value"].notna()])}
        if "sd_output" not in known:
            continue
        spread = with_interval(known["sd_output"])
        texts = [word("stability", "moves", metric=judge, value=spread)]
        if same := known.get("same_share"):
            texts.append(word("stability", "same", share=share(same)))
        if noise := known.get("noise_to_methods"):
            texts.append(word("stability", "noise", share=share(noise)))
        yield claim_of(True, question, *texts)


def judge_claims(judges: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield which judges agree with people, and with each other."""
    known = judges[(judges["coefficient"] == "kendall") & judges["value"].notna()]
    keys = ["question", "metric_a", "metric_b"]
    for (question, one, other), rows in known.groupby(keys, sort=False):
        levels = {row["level"]: row for row in records(rows)}
        level = next(level for level in LEVELS if level in levels)
        row = levels[level]
        few = level == "method" and row["n"] < FEW_METHODS
        value = f"{name_of('kendall')} {with_interval(row)}"
        evidence = word("judge", "evidence", value=value, n=f"{row['n']:.0f}")
        if few:
            evidence = word("judge", "few", evidence=evidence)
        names = {"one": word("judges", one), "other": word("judges", other)}
        values = {"where": word("levels", level), "evidence": evidence, **names}
        yield claim("judge", row["low"] > 0 and not few, question=question, **values)


def score_agreement_claims(score_agreement: pd.DataFrame) -> Iterator[ClaimText]:
    """Yield how far two sets of scores of one metric agree."""
    keys = ["metric", "identity_a", "identity_b"]
    for (metric, one, other), rows in score_agreement.groupby(keys, sort=False):
        known = {row["statistic"]: row for row in records(rows)}
        names = {"metric": metric, "one": one, "other": other}
        icc = known["icc_2_1"]
        texts = [
            word(
                "score-agreement", "icc", value=with_interval(icc), n=icc["n"], **names
            )
            if not is_missing(icc, "value")
            else word("score-agreement", "same scores", **names),
            word(
                "score-agreement",
                "difference",
                value=f"{known['mean_difference']['value']:.3g}".replace("-", MINUS),
                **names,
            ),
            word("score-agreement", "equal", share=share(known["share_equal"])),
        ]
        yield True, listed(texts, SPACE)


def degradation_claims(sanity: pd.DataFrame) -> Iterator[str]:
    """Yield the degradations that each metric is shown not to detect."""
    missed = sanity[sanity["verdict"] == MISSES]
    for metric, rows in missed.groupby("metric", sort=True):
        clauses = listed([_missed(row) for row in records(rows)], AND)
        yield word("copies", "shown", metric=metric, clauses=clauses)


def _missed(row: Row) -> str:
    n, equal = int(row["n_missed"]), int(row["n_alike"])
    how = "none" if not equal else "alike" if equal == n else "some"
    noun = "story" if row["n"] == row["n_stories"] else "output"
    values = {"n": n, "outputs": counted(row["n"], noun), "share": share(row)}
    return word("missed", how, kind=degradation_text(str(row["twin"])), **values)


def degradation_text(kind: str) -> str:
    """Return the words for a kind of degraded copies.

    >>> degradation_text("repeated_shot"), degradation_text("half_speed")
    ('repeated shots', 'half speed')
    """
    if kind in WORDS["degradations"]:
        return word("degradations", kind)
    return kind.replace("_", " ")
