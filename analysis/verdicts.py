"""What may be claimed of a metric, as data: whether it is shown to agree with people.

One row is one metric held against one question by one statistic. These are all rules:

1. What is asked is whether the statistic is what chance makes of it: 0 for a
   coefficient, a half for half accuracy; for acc_eq what as many ties of the metric and
   of people reach where they know nothing of each other. Values, intervals and p-values
   stand in the tables they come from, with what they think of as drawn. SPA has no
   test, nor a chance that does not depend on people.
2. All hypotheses that were declared, over all questions, are one family of each
   statistic and level; of each question the composites of metrics are another, and the
   metrics that were explored a third. Its p-values are adjusted together (Holm).
3. A metric agrees where its adjusted p-value is at most `SIGNIFICANT` and its value is
   above chance; it does not where that is below. Everything else cannot be told, and
   `reason` says why.
4. Over fewer than `FEW_METHODS` method means not even a perfect order can be told from
   chance by the exact test.
5. Metrics are put in an order by `cluster`, which begins anew where any metric of the
   cluster before is better; `n_better` and `n_worse` count the others that are shown to
   be better, and worse (Holm over all pairs). All three only where metrics are held
   against the same stories, pairs or methods.
6. A question is led by half accuracy, which counts every pair that people decide and
   knows ties, or, where ratings are of whole methods, by the coefficient over these.
7. A threshold of ties that was tuned on the same pairs shows nothing.

Beside each metric stands what it misses of outputs that were made worse on purpose: the
kind of which it misses most, those first that it is shown not to see.
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
from analysis.results import NAN, TableRow

FEW_METHODS = 5
ACCURACIES = ("ppa_half", "acc_eq")
# How few methods are tested, in place of what is drawn.
EXACT = "permuted methods"
AGREES, DOES_NOT, OPEN = "agrees", "does not", "cannot be told"
ResultTables = Mapping[str, pd.DataFrame]


def verdict_rows(tables: ResultTables, demanded: float = 0.0) -> list[TableRow]:
    """Judge every metric of every question by every statistic."""
    made: frozenset[str] = frozenset()
    if "composites" in tables:
        known = tables["composites"]
        made = frozenset(known.loc[known["over"] == "metrics", "composite"])
    asked = (*_accuracies(tables), *_coefficients(tables), *_soft(tables))
    rows = [
        _with_role(row, tables.get("hypotheses"), made)
        for of_question in asked
        for row in of_question
    ]
    rows = _with_lead(_judged(rows))
    for row in rows:
        is_held = bool(demanded) and row["statistic"] == "ppa_half"
        row["demanded"] = demanded if is_held else NAN
    missed = _missed(tables.get("sanity"))
    rows = [row | missed.get(str(row["metric"]), {}) for row in rows]
    return sorted(rows, key=lambda row: str(row["question"]))


def _missed(sanity: pd.DataFrame | None) -> dict[str, TableRow]:
    """Return the degradation that each metric sees least."""
    found: dict[str, TableRow] = {}
    if sanity is None:
        return found
    order = sanity.assign(shown=sanity["verdict"] == MISSES)
    order = order.sort_values(["shown", "value", "n"], ascending=False, kind="stable")
    for row in order.to_dict("records"):
        worst = {
            "twins": row["twin"],
            "n_twins": row["n"],
            "n_twins_missed": row["n_missed"],
            "twins_verdict": row["verdict"],
        }
        found.setdefault(str(row["metric"]), worst)
    return found


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
    for question, asked in correlations.groupby("dimension", sort=True):
        known = set(asked.loc[asked["value"].notna(), "coefficient"])
        name = next((name for name in KNOWN_COEFFICIENTS if name in known), None)
        if name is None:
            continue
        for level, rows in asked[asked["coefficient"] == name].groupby(
            "level", sort=True
        ):
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
    """Return what the test of a coefficient thinks of as drawn, or how it was made."""
    exact = row["level"] == "method" and row["n"] < EXACT_BELOW
    return EXACT if exact else str(row["drawn"])


def _is_ordered(rows: pd.DataFrame, comparisons: pd.DataFrame) -> bool:
    """Tell whether metrics are over the same groups."""
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
    """Yield the metrics of each question by soft accuracy, which has no test alone."""
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
    """Return cluster, `n_better` and `n_worse` of each metric that was tested."""
    keys = ["dimension", "level", "coefficient"]
    here = comparisons[(comparisons[keys] == values[keys].iloc[0]).all(axis=1)]
    found: dict[str, TableRow] = {
        str(row["metric"]): {"cluster": row["cluster"], "n_better": 0, "n_worse": 0}
        for row in cluster_rows(values, here)
        if not pd.isna(float(str(row["cluster"])))
    }
    apart = here[here["p_adjusted"] <= SIGNIFICANT]
    for row in apart.to_dict("records"):
        names = [str(row["metric_a"]), str(row["metric_b"])]
        better, worse = names if row["difference"] > 0 else names[::-1]
        if better in found and worse in found:
            found[better]["n_worse"] = int(str(found[better]["n_worse"])) + 1
            found[worse]["n_better"] = int(str(found[worse]["n_better"])) + 1
    return found


def _with_role(
    row: TableRow, hypotheses: pd.DataFrame | None, made: frozenset[str]
) -> TableRow:
    """Add the role of a metric; baselines are not judged."""
    metric = str(row["metric"])
    if math.isnan(float(str(row["p_value"]))):
        row["decided_by"] = ""
    if metric in BASELINES:
        return row | {"role": "baseline", "verdict": "", "reason": ""}
    if metric in declared(hypotheses, str(row["question"])):
        return row | {"role": "declared"}
    return row | {"role": "composite" if metric in made else "exploratory"}


def _judged(rows: list[TableRow]) -> list[TableRow]:
    """Add family, adjusted p-value, verdict and reason to metrics, family by family."""
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
    """Return verdict and reason of one metric."""
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
        return (AGREES, "") if value > chance else (DOES_NOT, "below_chance")
    if row["level"] == "method" and n < FEW_METHODS:
        return OPEN, "few_methods"
    return OPEN, "not_adjusted" if p_value <= SIGNIFICANT else "not_apart"


def _with_lead(rows: list[TableRow]) -> list[TableRow]:
    """Mark the statistic by which each question is led."""
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
