"""Figures of methods: means and rankings."""

import pandas as pd

from analysis.reliability.checklist_labels import ALL
from analysis.report.figure_parts import (
    MOST_ROWS,
    Figure,
    Panel,
    best_first,
    figure_of,
    right_axis,
    said,
    vertical,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.panels import dot_panel

SECTION = "methods"
KEPT = texts({"recall": "recall", "precision": "precision"})
MEASURES = texts(
    {
        "mean": "mean of cells",
        "standardised": "standardised by annotator",
        "mixed": "mixed model",
    }
)


def label_dots(labels: pd.DataFrame) -> list[Figure]:
    """Draw recall and precision of each method over all labels of a checklist."""
    whole = labels[labels["label"] == ALL]
    parts = [
        whole[["method"]].assign(
            kind=say(name),
            value=100 * whole[column],
            low=100 * whole[f"{column}_low"],
            high=100 * whole[f"{column}_high"],
        )
        for column, name in KEPT.items()
    ]
    both = pd.concat(parts).dropna(subset=["value"])
    if both.empty:
        return []
    order = list(best_first(parts[0], "value", "method")["method"])
    panel = dot_panel(
        say("all labels"),
        both,
        names="method",
        groups="kind",
        axis=say("per cent"),
        order=order,
        span=(0, 100),
    )
    return figure_of(
        "labels",
        SECTION,
        say("What the text asks for, and what is shown"),
        say(
            "Recall: how much of what the text asks for is shown. Precision: how much "
            "of what is shown was asked for. Of all labels together, most recall on "
            "top; the table has each label."
        ),
        say("Recall and precision."),
        [(panel, said(parts[0], "method"))],
    )


def mean_dots(means: pd.DataFrame) -> list[Figure]:
    """Draw what people think of each method, question by question."""
    drawn = []
    for question, rows in means.groupby("dimension", sort=True):
        rows = best_first(rows, "mean", "method")
        panel = dot_panel(
            str(question), rows, names="method", axis=say("mean rating"), value="mean"
        )
        drawn.append((panel, headed(question, said(rows, "method", "mean"))))
    return figure_of(
        "means",
        SECTION,
        say("What people say of each method"),
        say(
            "Mean ratings of the methods with their intervals, best on top."
            if means["low"].notna().any()
            else "Mean ratings of the methods, best on top."
        ),
        say("Mean ratings."),
        drawn,
    )


def standing_dots(standings: pd.DataFrame) -> list[Figure]:
    """Draw means, standardised means and mixed-model effects side by side.

    Only where the ways do not give the same order: else the means say it all.
    """
    drawn: list[tuple[Panel, str]] = []
    alike = []
    for question, rows in standings.groupby("question", sort=True):
        shown = {
            c: say(t)
            for c, t in MEASURES.items()
            if c in rows and rows[c].notna().any()
        }
        if len(shown) < 2:
            continue
        ranks = rows[[f"{c}_rank" for c in shown if f"{c}_rank" in rows]]
        differ = int((ranks.nunique(axis=1) > 1).sum())
        if not differ:
            alike.append(str(question))
            continue
        order = list(best_first(rows, "mean", "method")["method"])
        for column, title in shown.items():
            panel = dot_panel(
                headed(question, title),
                rows[rows["method"].isin(order)].rename(
                    columns={f"{column}_low": "low", f"{column}_high": "high"}
                ),
                names="method",
                axis=title,
                value=column,
                order=order,
            )
            drawn.append((panel, ""))
        text = say(
            "{question}: the rank of {n} of {total} methods differs",
            question=question,
            n=differ,
            total=len(rows),
        )
        drawn[-1] = drawn[-1][0], text
    caption = [
        say(
            "Methods in the order of their means. Where the next columns leave that "
            "order, strict or mild annotators, or who rated what, had made a "
            "difference."
        )
    ]
    if alike:
        order_of = listed(alike)
        caption.append(
            say("The three ways give one order for {questions}.", questions=order_of)
        )
    return figure_of(
        "standings",
        SECTION,
        say("The same ratings, ranked in three ways"),
        listed(caption, " "),
        say("Rankings from ratings."),
        drawn,
        18,
    )


def rank_dots(standings: pd.DataFrame) -> list[Figure]:
    """Draw the rank of each method by its mean rating, with the interval of the rank.

    Nothing is drawn of questions without intervals, or with two methods.
    """
    drawn = []
    names = {"mean_rank": "value", "mean_rank_low": "low", "mean_rank_high": "high"}
    for question, rows in standings.groupby("question", sort=True):
        rows = rows[["method", *names]].rename(columns=names).dropna()
        if len(rows) < 3:
            continue
        rows = rows.sort_values(["value", "method"]).head(MOST_ROWS)
        panel = dot_panel(str(question), rows, names="method", axis=say("rank"))
        panel.layout["xaxis"] |= {"dtick": max(1, len(rows) // 10), "tick0": 1}
        settled = int((rows["low"] == rows["high"]).sum())
        told = say("{n} of {total} ranks settled", n=settled, total=len(rows))
        drawn.append((panel, headed(question, told)))
    return figure_of(
        "method-ranks",
        SECTION,
        say("Which ranks are settled"),
        say(
            "The rank of each method by its mean rating, 1 being best, and the ranks "
            "that it may have: overlapping bars are places that are not settled."
        ),
        say("Ranks with intervals."),
        drawn,
    )


def ladders(board: pd.DataFrame) -> list[Figure]:
    """Draw the Bradley-Terry ratings with intervals, and the intervals of ranks."""
    return _ladders(board, "ladder", say("Leaderboard"), "Bradley-Terry")


def ranking_ladders(board: pd.DataFrame) -> list[Figure]:
    """Draw the Plackett-Luce ratings in the same way."""
    title = say("Leaderboard of rankings")
    return _ladders(board, "ranking-ladder", title, "Plackett-Luce")


def _ladders(board: pd.DataFrame, key: str, title: str, model: str) -> list[Figure]:
    drawn = []
    for criterion, rows in board.groupby("criterion", sort=True):
        rows = best_first(rows.dropna(subset=["rating"]), "rating", "method")
        if rows.empty:
            continue
        panel = dot_panel(
            str(criterion),
            rows,
            names="method",
            value="rating",
            axis=say("rating (mean 1000)"),
            shapes=[vertical(1000)],
        )
        ends = panel.layout["yaxis"]["range"]
        texts = _rank_texts(rows)
        axis = right_axis(ends, range(len(rows)), texts) | {"fixedrange": True}
        panel.layout["yaxis2"] = axis
        # An axis without a trace is not drawn.
        panel.data.append(
            {
                "type": "scatter",
                "x": [1000],
                "y": [None],
                "yaxis": "y2",
                "hoverinfo": "skip",
                "showlegend": False,
            }
        )
        drawn.append((panel, headed(criterion, said(rows, "method", "rating"))))
    caption = [
        say(
            "{model} ratings with their intervals; 400 points are odds of ten to one."
            if board["low"].notna().any()
            else "{model} ratings; 400 points are odds of ten to one.",
            model=model,
        )
    ]
    if board.get("rank_low", pd.Series(dtype=float)).notna().any():
        caption.append(
            say(
                "On the right the ranks that each method may have: overlapping ranges "
                "are places that are not settled."
            )
        )
    alt = say("{text}.", text=title)
    return figure_of(key, SECTION, title, listed(caption, " "), alt, drawn, 22)


def _rank_texts(rows: pd.DataFrame) -> list[str]:
    if not {"rank_low", "rank_high"} <= set(rows):
        return [""] * len(rows)
    texts = []
    for low, high in zip(rows["rank_low"], rows["rank_high"], strict=True):
        known = not (pd.isna(low) or pd.isna(high))
        text = f"{low}" if known and low == high else f"{low}–{high}"
        texts.append(text if known else "")
    return texts


def composite_dots(composites: pd.DataFrame) -> list[Figure]:
    """Draw scores that are put together from several, composite by composite."""
    drawn = []
    known = composites[composites["value"].notna()]
    for composite, rows in known.groupby("composite", sort=True):
        rows = rows.sort_values(["rank", "method"], kind="stable").head(MOST_ROWS)
        panel = dot_panel(str(composite), rows, names="method", axis=str(composite))
        first = rows["method"].iloc[0]
        told = say("{score}: first {method}", score=composite, method=first)
        drawn.append((panel, told))
    return figure_of(
        "composites",
        SECTION,
        say("Composite scores"),
        say(
            "Methods by scores that weigh several parts, best on top (of ranks, 1 is "
            "best); other weights may give another order."
        ),
        say("Composite scores."),
        drawn,
    )
