"""Figures of methods: means, rankings and wins."""

import numpy as np
import pandas as pd

from analysis.report.figure_parts import (
    MOST_ROWS,
    PALETTE,
    Figure,
    Panel,
    Trace,
    best_first,
    figure_of,
    right_axis,
    said,
    short,
    values,
    vertical,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.panels import dot_panel, heat_panel, stacked_panel
from analysis.report.wording import per_cent

SECTION = "methods"
# With more pairs than this a matrix is drawn in place of bars.
MOST_BARS = 21
# In larger matrices no number has room.
MOST_NUMBERS = 16
# From never to always; in grey it is as plain.
WINS = ((0, "#f1f3f2"), (0.5, "#a6cbe3"), (1, "#0b4a86"))
MEASURES = texts(
    {
        "mean": "mean of cells",
        "standardised": "standardised by annotator",
        "mixed": "mixed model",
    }
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


def wins(rates: pd.DataFrame) -> list[Figure]:
    """Draw wins, ties and losses by single votes: bars of few pairs, else a matrix."""
    few = bool((rates.groupby("criterion").size() <= MOST_BARS).all())
    drawn = []
    for criterion, rows in rates.groupby("criterion", sort=True):
        votes = int(rows[["wins_a", "ties", "wins_b"]].to_numpy().sum())
        share = rows["ties"].sum() / max(1, votes)
        told = say(
            "{question}: {share} of {n} votes are ties",
            question=criterion,
            share=per_cent(share),
            n=votes,
        )
        name = str(criterion)
        panel = _win_bars(name, rows) if few else _win_matrix(name, rows)[0]
        drawn.append((panel, told))
    caption = say(
        "Single votes, a row for each pair of methods; the table has the majorities, "
        "too."
        if few
        else "Per cent of votes that the method of the row wins against the method of "
        "the column, a tie being half a win; darker is more. Methods in the order of "
        "their wins."
    )
    return figure_of(
        "wins",
        SECTION,
        say("Side by side"),
        caption,
        say("Wins, ties and losses."),
        drawn,
        26,
    )


def rated_wins(wins: pd.DataFrame) -> list[Figure]:
    """Draw in how many stories one method is rated above another, for three or more."""
    drawn = []
    for question, rows in wins.groupby("question", sort=True):
        panel, order = _win_matrix(str(question), rows)
        if len(order) < 3:
            continue
        told = say("{question}: most wins {method}", question=question, method=order[0])
        drawn.append((panel, told))
    return figure_of(
        "story-wins",
        SECTION,
        say("How often people rate one method above another"),
        say(
            "Per cent of stories in which the method of the row is rated above the "
            "method of the column, equal means being half a win; darker is more. "
            "Methods in the order of their wins."
        ),
        say("Matrix of wins."),
        drawn,
        26,
    )


def _win_bars(criterion: str, rows: pd.DataFrame) -> Panel:
    parts = (
        ("wins_a", PALETTE[0], say("first")),
        ("ties", "#A0A0A0", say("tie")),
        ("wins_b", PALETTE[1], say("second")),
    )
    total = rows[[name for name, _colour, _label in parts]].sum(axis=1)
    bars = [
        {
            "name": label,
            "x": values(100 * rows[name] / total),
            "marker": {"color": colour},
            "customdata": values(rows[name]),
            "hovertemplate": say(
                "{part}: {n} votes<extra></extra>", part=label, n="%{customdata}"
            ),
        }
        for name, colour, label in parts
    ]
    panel = stacked_panel(criterion, [""] * len(rows), bars, say("per cent of votes"))
    panel.layout["yaxis"]["ticktext"] = [
        f"{short(a, 18)} / {short(b, 18)}"
        for a, b in zip(rows["method_a"], rows["method_b"], strict=True)
    ]
    panel.layout["shapes"] = [vertical(50) | {"layer": "above"}]
    return panel


def _win_matrix(title: str, rows: pd.DataFrame) -> tuple[Panel, list[str]]:
    """Return the matrix, and its methods in the order of their wins."""
    methods = sorted({*rows["method_a"], *rows["method_b"]})
    won, tied = (np.zeros((len(methods), len(methods))) for _ in range(2))
    a, b = (pd.Index(methods).get_indexer(rows[f"method_{side}"]) for side in "ab")
    np.add.at(won, (a, b), rows["wins_a"].to_numpy(float))
    np.add.at(won, (b, a), rows["wins_b"].to_numpy(float))
    np.add.at(tied, (a, b), rows["ties"].to_numpy(float))
    tied = tied + tied.T
    total = won + won.T + tied
    share = np.full(total.shape, np.nan)
    np.divide(100 * (won + tied / 2), total, out=share, where=total > 0)
    score = np.nan_to_num(np.nanmean(share, axis=1))
    order = np.argsort(-score, kind="stable")
    names = [methods[i] for i in order]
    cells: Trace = {
        "z": [values(row) for row in share[np.ix_(order, order)]],
        "zmin": 0,
        "zmax": 100,
        "colorscale": WINS,
        "text": [
            [f"{won[i, j]:.0f} / {tied[i, j]:.0f} / {won[j, i]:.0f}" for j in order]
            for i in order
        ],
        "texttemplate": "%{z:.0f}" if len(names) <= MOST_NUMBERS else "",
        "hovertemplate": say(
            "{row} · {column}: {share} %<br>won / tied / lost: {counts}<extra></extra>",
            row="%{y}",
            column="%{x}",
            share="%{z:.0f}",
            counts="%{text}",
        ),
    }
    panel = heat_panel(title, 170 + 19 * len(names), names, names, cells)
    panel.layout["xaxis"]["tickangle"] = -60
    return panel, names


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
