"""Verdicts on metrics, as data: better than chance, and in place of an annotator.

A row is one metric for one question by one statistic. The rules:

1. The statistic is tested against chance: 0 for a coefficient, a half for half
   accuracy; for acc_eq the expectation under independence with the same shares of ties.
   Values, intervals and p-values come from their tables, with the units that these
   treat as sampled. SPA has no test, and its chance depends on people.
2. For each statistic and level, the declared hypotheses of all questions are one
   family. In each question, composites of metrics are another family and explored
   metrics a third. The p-values of a family are adjusted together (Holm).
3. A metric is above chance if its adjusted p-value is at most `SIGNIFICANT` and its
   value is, and below chance if the value is below. All other cases are undecided
   (`cannot be told`), and `reason` says why. Rows of the leading statistic also have
   the result of the alternative-annotator test (`in_place`), which decides whether a
   metric above chance may take an annotator's place; no other metric may.
4. Over fewer than `FEW_METHODS` method means, the exact test cannot distinguish even a
   perfect order from chance.
5. Metrics are ordered by `cluster`; a new cluster begins if any metric of the cluster
   before is better. `n_better` and `n_worse` count the others that are significantly
   better, and worse (Holm over all pairs). All three require that metrics are compared
   on the same stories, pairs or methods.
6. The leading statistic of a question is half accuracy, which counts every pair that
   people decide and accounts for ties; for ratings of whole methods, the coefficient.
7. A tie threshold that was tuned on the same pairs shows nothing.

Each row also has the degradation that the metric misses most, those first that it is
shown not to detect.
"""

import math
from collections.abc import Hashable, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd

from analysis.correlations.metric_differences import (
    SIGNIFICANT,
    cluster_rows,
    metrics_compared,
)
from analysis.inference.resampling import EXACT_BELOW, holm
from analysis.options import KNOWN_COEFFICIENTS
from analysis.pairwise.accuracy_differences import CHANCE
from analysis.pairwise.human_ceiling import ONE_ANNOTATOR
from analysis.pairwise.metric_errors import MISSES
from analysis.questions import declared
from analysis.reading.scores import BASELINES
from analysis.reliability.annotator_replacement import REPLACES, STORIES
from analysis.results import NAN, TableRow

FEW_METHODS = 5
ACCURACIES = ("ppa_half", "acc_eq")
# The test of few methods, in place of the sampled units.
EXACT = "permuted methods"
ABOVE, BELOW, OPEN = "above chance", "below chance", "cannot be told"
ResultTables = Mapping[str, pd.DataFrame]


def verdict_rows(tables: ResultTables, demanded: float = 0.0) -> list[TableRow]:
    """Return the verdicts on every metric of every question by every statistic."""
    made: frozenset[str] = frozenset()
    if "composites" in tables:
        known = tables["composites"]
        made = frozenset(known.loc[known["over"] == "metrics", "composite"])
    groups = (*_accuracies(tables), *_coefficients(tables), *_soft(tables))
    rows = [
        _with_role(row, tables.get("hypotheses"), made)
        for group in groups
        for row in group
    ]
    rows = _with_lead(_judged(rows))
    for row in rows:
        is_held = bool(demanded) and row["statistic"] == "ppa_half"
        row["demanded"] = demanded if is_held else NAN
    places = _places(tables.get("alternative_annotator"))
    for row in rows:
        key = tuple(str(row[name]) for name in ("question", "source", "metric"))
        row |= {"in_place": ""} | (places.get(key, {}) if row["leads"] else {})
        if row["in_place"] == REPLACES and row["verdict"] != ABOVE:
            row["in_place"] = OPEN
    missed = _missed(tables.get("sanity"))
    rows = [row | missed.get(str(row["metric"]), {}) for row in rows]
    return sorted(rows, key=lambda row: str(row["question"]))


def _places(alternative: pd.DataFrame | None) -> dict[tuple[str, ...], TableRow]:
    """Return by question, source and metric how many annotators it may replace."""
    if alternative is None:
        return {}
    of_all = alternative[
        (alternative["annotator"] == "") & (alternative["drawn"] == STORIES)
    ]
    return {
        (str(row["question"]), str(row["source"]), str(row["metric"])): {
            "in_place": "" if pd.isna(row["wins"]) else row["verdict"],
            "n_replaced": row["wins"],
            "n_replaceable": row["n_annotators"],
            "within": row["epsilon"],
        }
        for row in of_all.to_dict("records")
    }


def _missed(sanity: pd.DataFrame | None) -> dict[str, TableRow]:
    """Return the degradation that each metric detects least."""
    missed: dict[str, TableRow] = {}
    if sanity is None:
        return missed
    order = sanity.assign(shown=sanity["verdict"] == MISSES)
    order = order.sort_values(["shown", "value", "n"], ascending=False, kind="stable")
    for row in order.to_dict("records"):
        worst = {
            "twins": row["twin"],
            "n_twins": row["n"],
            "n_twins_missed": row["n_missed"],
            "twins_verdict": row["verdict"],
        }
        missed.setdefault(str(row["metric"]), worst)
    return missed


def _accuracies(tables: ResultTables) -> Iterator[list[TableRow]]:
    """Yield the metrics of each question, kind of answers and accuracy."""
    pairwise = tables.get("pairwise_accuracy")
    if pairwise is None or pairwise.empty:
        return
    comparisons = tables.get("accuracy_comparisons")
    for (question, source), rows in pairwise.groupby(["question", "source"], sort=True):
        ceiling = _ceiling(tables.get("human_pairs"), str(question), str(source))
        for statistic in ACCURACIES:
            order = _accuracy_order(rows, comparisons, statistic)
            p_value, chance = {
                "ppa_half": ("p_half", ""),
                "acc_eq": ("p_acc_eq", "chance_acc_eq"),
            }[statistic]
            family: list[TableRow] = []
            for row in rows.to_dict("records"):
                metric = str(row["metric"])
                family.append(
                    {
                        "question": question,
                        "metric": metric,
                        "source": source,
                        "level": "pairs",
                        "statistic": statistic,
                        "value": row[statistic],
                        "low": row[f"{statistic}_low"],
                        "high": row[f"{statistic}_high"],
                        "n": row[{"acc_eq": "n_all_pairs"}.get(statistic, "n_pairs")],
                        "chance": row[chance] if chance else CHANCE,
                        "p_value": row[p_value],
                        "decided_by": row["drawn"],
                        "in_sample": statistic == "acc_eq" and row["epsilon_in_sample"],
                        **order.get(metric, {}),
                    }
                )
                if statistic == "ppa_half":
                    family[-1] |= {
                        "ceiling": ceiling.get(ONE_ANNOTATOR, NAN),
                        "like_ceiling": ceiling.get(metric, NAN),
                    }
            yield family


def _ceiling(
    human_pairs: pd.DataFrame | None, question: str, source: str
) -> dict[str, float]:
    """Return how well one annotator, and each metric, predict the other annotators."""
    if human_pairs is None:
        return {}
    own = human_pairs[
        (human_pairs["question"] == question) & (human_pairs["source"] == source)
    ]
    return dict(zip(own["metric"], own["value"].astype(float), strict=True))


def _accuracy_order(
    rows: pd.DataFrame, comparisons: pd.DataFrame | None, statistic: str
) -> dict[str, TableRow]:
    if comparisons is None:
        return {}
    names = {"question": "dimension", "source": "level", "statistic": "coefficient"}
    real = rows[~rows["metric"].isin(BASELINES)]
    values = real[["question", "source", "metric", "reason"]].assign(
        statistic=statistic,
        value=real[statistic],
        low=real[f"{statistic}_low"],
        high=real[f"{statistic}_high"],
        n=real["n_pairs"],
    )
    return _order(values.rename(columns=names), comparisons.rename(columns=names))


def _coefficients(tables: ResultTables) -> Iterator[list[TableRow]]:
    """Yield the metrics of each question and level, by the question's coefficient."""
    correlations = tables.get("correlations")
    if correlations is None or correlations.empty:
        return
    comparisons = tables.get("metric_comparisons")
    for question, own in correlations.groupby("dimension", sort=True):
        known = set(own.loc[own["value"].notna(), "coefficient"])
        usual = next((name for name in KNOWN_COEFFICIENTS if name in known), None)
        if usual is None:
            continue
        for level, every in own.groupby("level", sort=True):
            # Only Pearson's r is tested there.
            name = "pearson" if level == "residual" and "pearson" in known else usual
            rows = every[every["coefficient"] == name]
            order: dict[str, TableRow] = {}
            if comparisons is not None and _is_ordered(rows, comparisons):
                order = _order(rows, comparisons)
            yield [
                {
                    "question": question,
                    "metric": row["metric"],
                    "source": "ratings",
                    "level": level,
                    "statistic": name,
                    **{key: row[key] for key in ("value", "low", "high", "n")},
                    "n_groups": row["n_groups"],
                    "chance": 0.0,
                    "p_value": row["p_value"],
                    "decided_by": _decided_by(row),
                    **order.get(str(row["metric"]), {}),
                }
                for row in rows.to_dict("records")
            ]


def _decided_by(row: Mapping[Hashable, Any]) -> str:
    """Return the sampled units of a coefficient's test, or that it is exact."""
    exact = row["level"] == "method" and row["n"] < EXACT_BELOW
    return EXACT if exact else str(row["drawn"])


def _is_ordered(rows: pd.DataFrame, comparisons: pd.DataFrame) -> bool:
    """Tell whether metrics are compared on the same groups."""
    keys = ["dimension", "level", "coefficient"]
    defined = rows[rows["value"].notna()]
    if defined.empty:
        return False
    compared = metrics_compared(comparisons).get(tuple(defined[keys].iloc[0]))
    if compared is not None:
        defined = defined[defined["metric"].isin(compared)]
    if defined.empty:
        return False
    if defined["level"].iloc[0] in ("method", "pooled"):
        return True
    here = (comparisons[keys] == defined[keys].iloc[0]).all(axis=1)
    of_pairs = comparisons.loc[here & comparisons["difference"].notna(), "n_groups"]
    return len({*defined["n_groups"], *of_pairs}) == 1


def _soft(tables: ResultTables) -> Iterator[list[TableRow]]:
    """Yield the metrics of each question by soft accuracy, which has no own test."""
    soft = tables.get("spa")
    if soft is None or soft.empty:
        return
    for question, rows in soft.groupby("question", sort=True):
        order: dict[str, TableRow] = {}
        comparisons = tables.get("accuracy_comparisons")
        if comparisons is not None:
            names = {"question": "dimension", "statistic": "coefficient"}
            own = comparisons.assign(level="method")
            values = rows.assign(statistic="spa", level="method")
            order = _order(values.rename(columns=names), own.rename(columns=names))
        yield [
            {
                "question": question,
                "metric": row["metric"],
                "source": "ratings",
                "level": "method",
                "statistic": "spa",
                **{key: row[key] for key in ("value", "low", "high", "n")},
                "n_groups": row["n_stories"],
                "chance": NAN,
                "p_value": NAN,
                "decided_by": "",
                **order.get(str(row["metric"]), {}),
            }
            for row in rows.to_dict("records")
        ]


def _order(values: pd.DataFrame, comparisons: pd.DataFrame) -> dict[str, TableRow]:
    """Return cluster, `n_better` and `n_worse` of each tested metric."""
    keys = ["dimension", "level", "coefficient"]
    here = comparisons[(comparisons[keys] == values[keys].iloc[0]).all(axis=1)]
    places: dict[str, TableRow] = {
        str(row["metric"]): {"cluster": row["cluster"], "n_better": 0, "n_worse": 0}
        for row in cluster_rows(values, here)
        if not pd.isna(float(str(row["cluster"])))
    }
    apart = here[here["p_adjusted"] <= SIGNIFICANT]
    for row in apart.to_dict("records"):
        names = [str(row["metric_a"]), str(row["metric_b"])]
        better, worse = names if row["difference"] > 0 else names[::-1]
        if better in places and worse in places:
            places[better]["n_worse"] = int(str(places[better]["n_worse"])) + 1
            places[worse]["n_better"] = int(str(places[worse]["n_better"])) + 1
    return places


def _with_role(
    row: TableRow, hypotheses: pd.DataFrame | None, made: frozenset[str]
) -> TableRow:
    """Add the role of a metric; baselines get no verdict."""
    metric = str(row["metric"])
    if math.isnan(float(str(row["p_value"]))):
        row["decided_by"] = ""
    if metric in BASELINES:
        return row | {"role": "baseline", "verdict": "", "reason": ""}
    if metric in declared(hypotheses, str(row["question"])):
        return row | {"role": "declared"}
    return row | {"role": "composite" if metric in made else "exploratory"}


def _judged(rows: list[TableRow]) -> list[TableRow]:
    """Add family, adjusted p-value, verdict and reason, family by family."""
    families: dict[tuple[object, ...], list[TableRow]] = {}
    for row in rows:
        if row["role"] != "baseline":
            key = [row[name] for name in ("role", "statistic", "level")]
            if row["role"] != "declared":
                key += [row["question"], row["source"]]
            families.setdefault(tuple(key), []).append(row)
    for family in families.values():
        tested = np.array([row["p_value"] for row in family], float)
        for row, p in zip(family, holm(tested), strict=True):
            verdict, reason = _verdict(row, float(p))
            row |= {
                "n_family": int(np.isfinite(tested).sum()),
                "p_adjusted": float(p),
                "verdict": verdict,
                "reason": reason,
            }
    return rows


def _verdict(row: TableRow, p_adjusted: float) -> tuple[str, str]:
    """Return the verdict on one metric, with its reason."""
    value, chance, p_value, n = (
        float(str(row[key])) for key in ("value", "chance", "p_value", "n")
    )
    if math.isnan(value):
        return OPEN, "undefined"
    if row.get("in_sample"):
        return OPEN, "in_sample"
    if math.isnan(p_value):
        return OPEN, "untested"
    if p_adjusted <= SIGNIFICANT:
        return (ABOVE, "") if value > chance else (BELOW, "")
    if row["level"] == "method" and n < FEW_METHODS:
        return OPEN, "few_methods"
    return OPEN, "not_adjusted" if p_value <= SIGNIFICANT else "not_apart"


def leading_metrics(
    verdicts: pd.DataFrame | None, question: object, source: object
) -> tuple[str, ...]:
    """Return the metrics that answer for a question, the highest first.

    Those declared for it, or else its composites; where there are none, the highest
    explored metric, of those above chance if any is.
    """
    if verdicts is None:
        return ()
    own = verdicts[
        verdicts["leads"].astype(bool)
        & (verdicts["question"] == question)
        & (verdicts["source"] == source)
    ].sort_values(["value", "metric"], ascending=[False, True])
    for role in ("declared", "composite"):
        if (named := own["role"] == role).any():
            return tuple(map(str, own.loc[named, "metric"]))
    explored = own[own["role"] == "exploratory"]
    above = explored[explored["verdict"] == ABOVE]
    best = explored if above.empty else above
    return tuple(map(str, best["metric"].iloc[:1]))


def _with_lead(rows: list[TableRow]) -> list[TableRow]:
    """Mark the leading statistic of each question."""
    ways = dict.fromkeys(
        (str(row["question"]), str(row["statistic"]), str(row["level"]))
        for row in rows
        if row["role"] != "baseline"
        and row["statistic"] not in ("acc_eq", "spa")
        and not math.isnan(float(str(row["value"])))
    )
    leads: dict[str, tuple[str, str, str]] = {}
    for way in sorted(ways, key=lambda way: (way[1] != "ppa_half", way[2] != "method")):
        leads.setdefault(way[0], way)
    for row in rows:
        way = str(row["question"]), str(row["statistic"]), str(row["level"])
        row["leads"] = leads.get(way[0]) == way
    return rows
