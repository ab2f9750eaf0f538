"""Figures of methods: means, rankings and composites."""

from collections.abc import Iterator

import pandas as pd

from analysis.reliability.checklist_labels import ALL
from analysis.report import panels
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
from analysis.report.language import headed
from analysis.report.panels import dots, dots_of, has_intervals, in_per_cent
from analysis.report.wording import WORDS, name_of, word


@figure("labels")
def label_dots(labels: pd.DataFrame) -> Iterator[Part]:
    """Draw recall and precision of each method over all labels of a checklist."""
    whole, kinds = labels[labels["label"] == ALL], WORDS["label-shares"]
    parts = [
        in_per_cent(whole, "method", kind, word("label-shares", kind)) for kind in kinds
    ]
    both = pd.concat(parts).dropna(subset=["value"])
    if len(both):
        order = list(best_first(parts[0], "value", "method")["method"])
        words = best_values(parts[0], "method")
        yield dots("labels", _("all labels"), both, order=order, words=words)


@figure("marked")
def marked_dots(marked_shots: pd.DataFrame) -> Iterator[Part]:
    """Draw how often people marked a shot of each method, by kind of fault."""
    shares = {name: 100 * marked_shots[name] for name in ("value", "low", "high")}
    yield from dots_of("marked", marked_shots.assign(**shares))


@figure("means")
def mean_dots(method_means: pd.DataFrame) -> Iterator[Part]:
    """Draw the mean rating of each method, question by question."""
    yield from dots_of("means", method_means, "dimension")
    yield word(
        "captions", "means intervals" if has_intervals(method_means) else "means"
    )


@figure("method-ranks")
def rank_dots(method_means: pd.DataFrame) -> Iterator[Part]:
    """Draw the rank of each method by its mean rating, with the interval of the rank.

    Questions without intervals, or with two methods, are left out.
    """
    names = {"rank": "value", "rank_low": "low", "rank_high": "high"}
    ranked = method_means.reindex(columns=["dimension", "method", *names])
    for question, rows in grouped(ranked, "dimension"):
        rows = rows[["method", *names]].rename(columns=names).dropna()
        if len(rows) < 3:
            continue
        rows = rows.sort_values(["value", "method"]).head(MOST_ROWS)
        settled = int((rows["low"] == rows["high"]).sum())
        words = _("{n} of {total} ranks certain", n=settled, total=len(rows))
        panel = dots("method-ranks", question, rows, words=headed(question, words))
        panel.layout["xaxis"] |= {"dtick": max(1, len(rows) // 10), "tick0": 1}
        yield panel


@figure("powered")
def powered_dots(prediction_powered: pd.DataFrame) -> Iterator[Part]:
    """Draw estimates from people alone beside those with a metric's scores."""
    known = prediction_powered[
        prediction_powered["statistic"].isin(("mean", "win_rate"))
        & prediction_powered["value"].notna()
    ]
    names = ("classical", "classical_low", "classical_high")
    before = dict(zip(names, ("value", "low", "high"), strict=True))
    for (question, source, metric), rows in known.groupby(
        ["question", "source", "metric"], sort=True
    ):
        rows = best_first(rows, "value", "method")
        alone = rows[["method", *before]].rename(columns=before)
        both = pd.concat(
            [
                alone.assign(kind=word("powered", "people")),
                rows.assign(kind=word("powered", "metric", metric=metric)),
            ]
        )
        axis = name_of("mean" if source == "ratings" else "win_rate")
        look = {"axis": axis, "order": list(rows["method"])}
        words = headed(str(question), best_values(rows, "method"))
        yield dots("powered", str(question), both, words=words, **look)


@figure("ladder")
def ladders(leaderboard: pd.DataFrame) -> Iterator[Part]:
    """Draw the Bradley-Terry ratings with intervals, and the intervals of ranks."""
    yield Instead(alt=_("{text}.", text=_("Leaderboard")))
    yield from _ladders("ladder", leaderboard, "Bradley-Terry")


@figure("ranking-ladder")
def ranking_ladders(ranking_leaderboard: pd.DataFrame) -> Iterator[Part]:
    """Draw the Plackett-Luce ratings in the same way."""
    yield Instead(alt=_("{text}.", text=_("Leaderboard of rankings")))
    yield from _ladders("ranking-ladder", ranking_leaderboard, "Plackett-Luce")


def _ladders(key: str, leaderboard: pd.DataFrame, model: str) -> Iterator[Part]:
    for name, own in grouped(leaderboard.dropna(subset=["rating"]), "criterion"):
        rows = best_first(own, "rating", "method")
        panel = dots(key, name, rows)
        texts = _rank_texts(rows)
        yield panels.name_on_the_right(panel, [*range(len(rows))], texts)
    yield word(
        "captions",
        "ladder intervals" if has_intervals(leaderboard) else "ladder",
        model=model,
    )
    if "rank_low" in leaderboard and leaderboard["rank_low"].notna().any():
        yield word("captions", "ladder ranks")


def _rank_texts(rows: pd.DataFrame) -> list[str]:
    if not {"rank_low", "rank_high"} <= set(rows):
        return [""] * len(rows)
    ends = zip(rows["rank_low"], rows["rank_high"], strict=True)
    known = [not (pd.isna(low) or pd.isna(high)) and (low, high) for low, high in ends]
    return ["–".join(dict.fromkeys(map(str, pair))) if pair else "" for pair in known]


@figure("composites")
def composite_dots(composites: pd.DataFrame) -> Iterator[Part]:
    """Draw the composite scores of methods, composite by composite."""
    for name, rows in grouped(composites[composites["value"].notna()], "composite"):
        rows = rows.sort_values(["rank", "method"], kind="stable").head(MOST_ROWS)
        first = rows["method"].iloc[0]
        words = _("{score}: {method} first", score=name, method=first)
        yield dots("composites", name, rows, axis=name, words=words)
