"""Figures of people: what they answered, how well they agree, and each of them."""

from collections.abc import Sequence

import pandas as pd

from analysis.reliability.like_chance import ALL_QUESTIONS
from analysis.report import panels
from analysis.report.figure import (
    MOST_PANELS,
    MOST_ROWS,
    Figure,
    Panel,
    as_text,
    by_value,
    figure_of,
    grouped,
    said,
    values,
)
from analysis.report.language import headed, say, texts
from analysis.report.panels import dots

# Light to dark, readable for any colour vision; grey text stands on both ends.
SHADES = ("#CA0020", "#F4A582", "#D0D0D0", "#92C5DE", "#0571B0")
STATISTICS = texts(
    alpha_ordinal="alpha (ordinal)",
    alpha_nominal="alpha (nominal)",
    ac2_quadratic="Gwet's AC2",
    ac1="Gwet's AC1",
    icc_2_1="ICC(2,1)",
    icc_2_k="ICC(2,k)",
    fleiss_kappa="Fleiss' kappa",
    majority_share="share of the majority",
    kendall_between_annotators="tau of two annotators",
    rater_vs_rest_kendall="one against the rest (tau-b)",
    rater_vs_rest_spearman="one against the rest (Spearman)",
)
# Statistics that draw: with ordered answers, with choices, and with rankings.
OF_RATINGS = ("alpha_ordinal", "ac2_quadratic", "icc_2_1", "rater_vs_rest_kendall")
OF_CHOICES = ("alpha_nominal", "ac1", "fleiss_kappa", "majority_share")
OF_RANKINGS = ("kendall_between_annotators",)
# Statistics of annotators that draw, and what their panels are called.
OF_ANNOTATORS = texts(
    kendall_others="agreement with the others (tau-b)",
    mean_kendall_others="agreement with the orders of the others (tau)",
    majority_agreement="agreement with the others' majority",
    severity="severity (own less the others' rating)",
    left_share="share of the left side",
    exact_agreement="share of identical answers",
    most_frequent_share="share of the commonest answer",
)
# Who is marked as answering so, beside the name.
LABELS = texts(
    {
        "like chance": "{annotator} (like chance)",
        "below chance": "{annotator} (against the others)",
    }
)
CENTRES = {"severity": 0.0, "left_share": 0.5}
# With more questions than this a panel of annotators holds one question.
FEW_QUESTIONS = 3


def distribution_bars(distributions: pd.DataFrame) -> list[Figure]:
    """Draw how often each method got each rating, best mean on top."""
    drawn = []
    for question, rows in grouped(distributions):
        table = rows.pivot_table(index="method", columns="rating", values="share")
        table = table.fillna(0)
        means = (table * table.columns.to_numpy(float)).sum(axis=1)
        order = list(means.sort_values(ascending=False, kind="stable").index)
        top = table.columns.max()
        told = say(
            "{question}: rating {rating} is given most to {method} ({share})",
            question=question,
            rating=f"{top:g}",
            method=table[top].idxmax(),
            share=f"{table[top].max():.0%}",
        )
        drawn.append(_stack(question, table.loc[order[:MOST_ROWS]], told))
    return figure_of(
        "distributions",
        "What people answered",
        "Share of each rating, highest mean on top. A mean hides whether a method "
        "is middling, or splits people or stories into two camps; a scale whose "
        "ends nobody uses tells less than its number of steps.",
        "Stacked bars of ratings.",
        drawn,
        22,
    )


def _stack(question: str, table: pd.DataFrame, words: str) -> Panel:
    methods = list(table.index)
    bars = [
        {
            "name": f"{rating:g}",
            "x": values(100 * table[rating]),
            "marker": {"color": color},
            "text": [as_text(method) for method in methods],
            "textposition": "none",
            "hovertemplate": say(
                "{method}: {share} % gave {rating}<extra></extra>",
                method="%{text}",
                share="%{x:.1f}",
                rating=f"{rating:g}",
            ),
        }
        for rating, color in zip(table.columns, shades(table.shape[1]), strict=True)
    ]
    axis = say("per cent of ratings")
    return panels.stacked(question, methods, bars, axis, words=words)


def shades(n: int) -> list[str]:
    """Return n colours from red over grey to blue.

    Examples
    --------
    >>> shades(3)
    ['#ca0020', '#d0d0d0', '#0571b0']
    """
    if n == 1:
        return [SHADES[-1].lower()]
    stops = [[int(c[i : i + 2], 16) for i in (1, 3, 5)] for c in SHADES]
    found = []
    for i in range(n):
        at = i * (len(stops) - 1) / (n - 1)
        k = min(int(at), len(stops) - 2)
        pairs = zip(stops[k], stops[k + 1], strict=True)
        found.append(
            "#" + "".join(f"{round(a + (at - k) * (b - a)):02x}" for a, b in pairs)
        )
    return found


def agreement_dots(agreement: pd.DataFrame) -> list[Figure]:
    """Draw the agreement of people, one panel for each statistic."""
    present = set(agreement["statistic"])
    chosen = [*OF_RATINGS] if "alpha_ordinal" in present else []
    if present & {"fleiss_kappa", "majority_share"}:
        chosen += OF_CHOICES
    chosen += [name for name in OF_RANKINGS if name in present]
    known = agreement[agreement["statistic"].isin(chosen) & agreement["value"].notna()]
    if known["question"].nunique() == 1:
        # One question: its statistics are the rows.
        rows = known.assign(name=[say(STATISTICS[s]) for s in known["statistic"]])
        order = [say(STATISTICS[c]) for c in chosen if c in set(known["statistic"])]
        drawn = [_agreement(str(rows["question"].iloc[0]), rows, "name", order)]
    else:
        known = known.sort_values("question", kind="stable")
        drawn = [
            _agreement(say(STATISTICS[name]), rows.head(MOST_ROWS), "question")
            for name in chosen
            if len(rows := known[known["statistic"] == name])
        ]
    return figure_of(
        "agreement",
        "How well people agree with one another",
        "0 is chance, 1 is perfect. Where nearly all answers are alike, alpha "
        "falls while AC1 and AC2 stay high: then there is little to agree about, "
        "not little agreement.",
        "Agreement of people.",
        drawn,
        18,
    )


def _agreement(
    title: str, rows: pd.DataFrame, names: str, order: Sequence[str] = ()
) -> Panel:
    return dots(title, rows, names, "", order=order, lines=[0], span=(0.0, 1.0))


def annotator_dots(annotators: pd.DataFrame) -> list[Figure]:
    """Draw what tells annotators apart; the table has the other statistics."""
    known = annotators[
        annotators["value"].notna()
        & annotators["statistic"].isin(OF_ANNOTATORS)
        & (annotators["question"] != ALL_QUESTIONS)
    ]
    known = known.assign(annotator=known["annotator"].replace(_labels(annotators)))
    drawn: list[Panel] = []
    few = known["question"].nunique() <= FEW_QUESTIONS
    # Of many questions only the first two statistics are drawn.
    present = [name for name in OF_ANNOTATORS if name in set(known["statistic"])]
    # The same order in all panels of a figure: an annotator is one row.
    everybody = by_value(known[known["statistic"].isin(present[:1])], "annotator")
    everybody += sorted({*known["annotator"]} - {*everybody})
    for statistic in present if few else present[:2]:
        title = say(OF_ANNOTATORS[statistic])
        rows = known[known["statistic"] == statistic]
        told = say(
            "{statistic} from {low} to {high}",
            statistic=title,
            low=f"{rows['value'].min():.2f}",
            high=f"{rows['value'].max():.2f}",
        )
        parts = [(title, rows)]
        if not few:
            parts = [(headed(title, name), own) for name, own in grouped(rows)]
        for heading, own in parts:
            here = set(own["annotator"])
            kept = _ends([name for name in everybody if name in here])
            middle = CENTRES.get(statistic, float(own["value"].mean()))
            panel = dots(
                heading,
                own[own["annotator"].isin(kept)],
                "annotator",
                "",
                order=kept,
                dotted=[middle],
                span=(middle,),
                groups="question" if own["question"].nunique() > 1 else "",
                words=told,
            )
            drawn.append(panel)
            told = ""
    return figure_of(
        "annotators",
        "Annotators one by one",
        (
            "One row an annotator, in the same order everywhere: who agrees most with "
            "the others on top. The dotted line is the mean of all; of severity, and "
            "of the left side, what nobody's habit would give. Who stands far from the "
            "rest, with an interval that does not reach the line, answers differently: "
            "look before excluding anybody, and by rules set beforehand.",
            len(everybody) > MOST_ROWS
            and say("Of many, the {n} at the two ends are drawn.", n=MOST_ROWS),
            len(drawn) > MOST_PANELS
            and say(
                "The first {n} panels are drawn; the table has all.", n=MOST_PANELS
            ),
        ),
        "Annotators:",
        drawn,
        18,
        most_panels=MOST_PANELS,
    )


def _labels(annotators: pd.DataFrame) -> dict[str, str]:
    """Return what annotators are called who answer like chance on some question."""
    if "verdict" not in annotators:
        return {}
    marked = annotators[annotators["verdict"].isin(LABELS)]
    return {
        str(name): say(LABELS[verdict], annotator=name)
        for name, verdict in zip(marked["annotator"], marked["verdict"], strict=True)
    }


def _ends(order: list[str]) -> list[str]:
    if len(order) <= MOST_ROWS:
        return order
    return order[: MOST_ROWS // 2] + order[-MOST_ROWS // 2 :]


def position_dots(
    position_bias: pd.DataFrame, side_effect: pd.DataFrame | None = None
) -> list[Figure]:
    """Draw how often the left side wins, and what that is worth in a leaderboard."""
    rows = position_bias[position_bias["value"].notna()].head(MOST_ROWS)
    if rows.empty:
        return []
    parts = [rows.assign(kind=say("as counted"))]
    if "adjusted" in rows and rows["adjusted"].notna().any():
        balanced = rows.assign(
            value=rows["adjusted"], low=rows["adjusted_low"], high=rows["adjusted_high"]
        )
        parts.append(balanced.assign(kind=say("each pair both ways alike")))
    share = dots(
        say("Share of wins on the left"),
        pd.concat(parts),
        "question",
        say("share of answers"),
        groups="kind",
        lines=[0.5],
        span=(0.4, 0.6),
        words=said(rows, "question"),
    )
    drawn, tables = [share], ["position_bias"]
    effects = None if side_effect is None else side_effect.dropna(subset=["elo"])
    if effects is not None and len(effects):
        per_point = effects["elo"] / effects["value"].where(effects["value"] != 0)
        worth = dots(
            say("What standing on the left is worth"),
            effects.assign(
                value=effects["elo"],
                low=effects["low"] * per_point,
                high=effects["high"] * per_point,
            ),
            "question",
            say("points of a rating"),
            order=list(rows["question"]),
            lines=[0],
            span=(-10, 10),
            words="",
        )
        drawn.append(worth)
        tables.append("side_effect")
    return figure_of(
        "position",
        "Does the side decide?",
        "An interval away from the line means that people prefer a side, whatever "
        "stands there: it draws whole clusters of answers, where the table's "
        "p-value takes answers as independent. Sides that are drawn at random turn "
        "it into noise rather than a bias of the ranking. Counting each pair of "
        "methods both ways alike takes away that strong methods may have stood on "
        "one side.",
        "Share of wins on the left.",
        drawn,
        24,
        tables=tuple(tables),
    )
