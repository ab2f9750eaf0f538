"""Figures of metrics against people: coefficients, ranks, pairs, judges and trials."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pandas as pd

from analysis.pairwise.human_ceiling import ONE_ANNOTATOR
from analysis.questions import declared
from analysis.reading.scores import BASELINES
from analysis.report import metric_order, panels
from analysis.report.figure import (
    MOST_ROWS,
    Instead,
    Part,
    best_first,
    best_values,
    figure,
    grouped,
)
from analysis.report.language import gettext as _
from analysis.report.language import headed, listed
from analysis.report.metric_order import (
    LEVELS,
    by_value,
    level_titles,
    levels_in,
    main_coefficient,
    without_baselines,
)
from analysis.report.panels import dots, dots_of, in_per_cent
from analysis.report.wording import (
    BOTH,
    WORDS,
    Row,
    at_level,
    board,
    number,
    of_answers,
    per_cent,
    records,
    title_of,
    with_interval,
    word,
)

# Brewer's RdBu, red low and blue high; plotly's RdBu differs from it.
SHADES = ("#b2182b", "#f4a582", "#f7f7f7", "#92c5de", "#2166ac")


@figure("coefficients")
def forests(
    correlations: pd.DataFrame,
    agreement: pd.DataFrame | None,
    hypotheses: pd.DataFrame | None = None,
) -> Iterator[Part]:
    """Draw each question's coefficients with intervals and the human ceiling."""
    name, data = _main(correlations)
    coefficient = title_of(name)
    any_bold, ceilings = False, {}
    for question, rows in grouped(data, "dimension"):
        # The ceiling is computed over outputs: coefficients of methods, or within
        # stories, are on another scale.
        ceiling = metric_order.human_ceiling(agreement, question, name)
        if ceiling is not None and set(rows["level"]) == {"pooled"}:
            ceilings[question] = ceiling
        metrics = by_value(rows)[:MOST_ROWS]
        bold = [metric in declared(hypotheses, question) for metric in metrics]
        any_bold |= any(bold)
        levels = levels_in(rows)
        highest = best_values(rows[rows["level"] == levels[0]], "metric")
        panel = dots(
            "coefficients",
            question,
            rows.assign(at=level_titles(rows["level"])),
            axis=coefficient,
            marks=level_titles(LEVELS),
            order=metrics,
            bold=bold,
            dashed=[ceilings[question]] if question in ceilings else [],
            words=headed(at_level(question, levels[0]), highest),
        )
        height = panels.row_height(len(metrics), lines=len(levels), extra=100)
        yield replace(panel, height=height)
    title = _("Agreement with people ({coefficient})", coefficient=coefficient)
    yield Instead(title=title)
    if data["low"].notna().any():
        yield word("captions", "coefficients intervals")
    yield _ceilings(ceilings)
    yield any_bold and word("captions", "coefficients bold")
    if (data.groupby("dimension")["metric"].nunique() > MOST_ROWS).any():
        yield metric_order.highest_drawn(MOST_ROWS)


def _main(correlations: pd.DataFrame) -> tuple[str, pd.DataFrame]:
    """Return the coefficient to draw, and its rows with a value."""
    name = main_coefficient(correlations)
    known = (correlations["coefficient"] == name) & correlations["value"].notna()
    return name, correlations[known]


def _ceilings(ceilings: Mapping[str, float]) -> str:
    """Return the human ceiling of each question as text."""
    words = [f"{name} {ceiling:.2f}" for name, ceiling in ceilings.items()]
    if len(words) > 1:
        return word("captions", "ceilings", ceilings=listed(words))
    for ceiling in ceilings.values():
        return word("captions", "ceiling", ceiling=f"{ceiling:.2f}")
    return ""


@figure("matrix")
def metric_matrix(correlations: pd.DataFrame) -> Iterator[Part]:
    """Draw all metrics by all questions, one panel for each level."""
    name, data = _main(correlations)
    if correlations["dimension"].nunique() < 2 or data.empty:
        return
    order = by_value(data)
    for level in levels_in(data):
        rows = data[data["level"] == level]
        rows = rows.assign(text=[_with_doubt(row) for row in records(rows)])
        by_place = rows.set_index(["metric", "dimension"])
        here = [metric for metric in order if metric in set(rows["metric"])]
        panel = panels.heat(
            word("level-titles", level),
            by_place["value"].unstack().loc[here],
            by_place["text"].unstack(fill_value="").loc[here],
            (-1, 1),
            [(i / 4, shade) for i, shade in enumerate(SHADES)],
            height=135 + 22 * len(here),
            hoverinfo="text",
            textfont={"size": 11},
        )
        panel.layout["margin"] = {"t": 10}
        yield panel
    best = records(data.loc[data.groupby("dimension")["value"].idxmax()])
    words = listed(
        headed(row["dimension"], f"{row['metric']} {number(row['value'])}")
        for row in best
    )
    yield Instead(alt=word("captions", "matrix alt", metrics=words))
    yield _("{text}.", text=title_of(name))
    yield word("captions", "matrix")
    if data["low"].notna().any():
        yield word("captions", "matrix doubt")


def _with_doubt(row: Row) -> str:
    text = number(row["value"])
    return f"({text})" if row["low"] <= 0 <= row["high"] else text


# On pairs, by judges, and over trials -------------------------------------------------


@figure("pairs")
def pair_dots(
    pairwise_accuracy: pd.DataFrame, verdicts: pd.DataFrame | None = None
) -> Iterator[Part]:
    """Draw pairwise accuracy, half and strict, with chance and the threshold."""
    demanded = math.nan if verdicts is None else float(verdicts["demanded"].max())
    is_demanded = not math.isnan(demanded)
    kinds = {kind: word("accuracies", kind) for kind in WORDS["accuracies"]}
    for (question, source), rows in pairwise_accuracy.groupby(BOTH, sort=True):
        real = rows[~rows["metric"].isin(BASELINES)].dropna(subset=["ppa_half"])
        if real.empty:
            continue
        real = real.sort_values(["ppa_half", "metric"], ascending=[False, True])
        half, strict = (in_per_cent(real, "metric", *kind) for kind in kinds.items())
        yield dots(
            "pairs",
            of_answers(question, source),
            pd.concat([half.head(MOST_ROWS), strict.head(MOST_ROWS)]),
            dotted=[100 * demanded] if is_demanded else [],
            words=headed(question, best_values(half, "metric")),
        )
    yield is_demanded and word("captions", "pairs demanded", share=per_cent(demanded))


@figure("human-pairs")
def human_pair_dots(human_pairs: pd.DataFrame) -> Iterator[Part]:
    """Draw how well one annotator, and each metric, predicts the other annotators."""
    for (question, source), rows in without_baselines(human_pairs).groupby(BOTH):
        one = rows[rows["metric"] == ONE_ANNOTATOR]
        if one.empty or len(rows) == len(one):
            continue
        rows = best_first(rows)
        scaled = _named(rows).assign(
            **{c: 100 * rows[c] for c in ("value", "low", "high")}
        )
        ceiling = 100 * float(one["value"].iloc[0])
        yield dots(
            "human-pairs",
            of_answers(question, source),
            scaled,
            bold=[metric == ONE_ANNOTATOR for metric in rows["metric"]],
            dashed=[ceiling],
            span=(45, ceiling),
            words=headed(question, best_values(scaled, "metric")),
        )


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Translate the names of rows that are not metrics."""
    return rows.assign(metric=[word("no-metrics", name) for name in rows["metric"]])


@figure("blame")
def blame_dots(shot_agreement: pd.DataFrame) -> Iterator[Part]:
    """Draw how well metrics blame the shots that people marked, by kind of fault."""
    yield from dots_of("blame", shot_agreement[shot_agreement["value"].notna()])


@figure("calibration")
def calibration_dots(calibration: pd.DataFrame) -> Iterator[Part]:
    """Draw held-out accuracy of the weighted metrics beside each one, and weights."""
    for question, rows in grouped(calibration[calibration["value"].notna()]):
        held_out = _named(rows[rows["statistic"] == "ppa_half"])
        if held_out.empty:
            continue
        order = by_value(held_out)
        words = [best_values(held_out, "metric")]
        for row in records(rows[rows["statistic"] == "gain"]):
            against, gain = word("no-metrics", row["against"]), with_interval(row)
            words.append(_("gain over {metric} {gain}", metric=against, gain=gain))
        title = _("{question}: held out", question=question)
        look = {"order": order, "words": headed(question, listed(words))}
        yield dots("calibration", title, held_out, **look)
        weights = rows[rows["statistic"] == "weight"]
        if len(weights):
            title = _("{question}: weights", question=question)
            here = [metric for metric in order if metric in set(weights["metric"])]
            own = {"order": here, "lines": [0.0], "axis": _("weight (shares of 1)")}
            yield dots("calibration", title, weights, words="", **own)


@figure("stability")
def stability_dots(stability: pd.DataFrame) -> Iterator[Part]:
    """Draw the repeated trials of a judge, statistic by statistic."""
    known = stability[
        stability["value"].notna() & (stability["method"].fillna("") == "")
    ]
    known = known.assign(board=[board(row) for row in records(known)])
    for statistic in WORDS["trials"]:
        if len(rows := known[known["statistic"] == statistic].head(MOST_ROWS)):
            yield dots("stability", word("trials", statistic), rows)


@figure("judges")
def judge_dots(judges: pd.DataFrame) -> Iterator[Part]:
    """Draw how judges agree with people and with each other."""
    known = judges[judges["value"].notna()]
    if known.empty:
        return
    name = main_coefficient(known)
    for question, rows in grouped(known[known["coefficient"] == name]):
        both = zip(rows["metric_a"], rows["metric_b"], strict=True)
        pairs = [listed(word("judges", one) for one in names) for names in both]
        rows = rows.assign(pair=pairs, at=level_titles(rows["level"]))
        order = list(dict.fromkeys(pairs))[:MOST_ROWS]
        own = rows[rows["pair"].isin(order)]
        yield dots("judges", question, own, axis=title_of(name), order=order)
