"""Figures of people: what they answered, and how well they agree."""

from collections.abc import Sequence

import pandas as pd

from analysis.reliability.like_chance import ALL_QUESTIONS
from analysis.report.figure_parts import (
    MOST_PANELS,
    MOST_ROWS,
    Figure,
    Panel,
    as_text,
    figure_of,
    said,
    values,
    vertical,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.panels import dot_panel, stacked_panel

SECTION = "people"
# Light to dark, readable for any colour vision; grey text stands on both ends.
SHADES = ("#CA0020", "#F4A582", "#D0D0D0", "#92C5DE", "#0571B0")
STATISTICS = texts(
    {
        "alpha_ordinal": "alpha (ordinal)",
        "alpha_nominal": "alpha (nominal)",
        "ac2_quadratic": "Gwet's AC2",
        "ac1": "Gwet's AC1",
        "icc_2_1": "ICC(2,1)",
        "icc_2_k": "ICC(2,k)",
        "fleiss_kappa": "Fleiss' kappa",
        "majority_share": "share of the majority",
        "kendall_between_annotators": "tau of two annotators",
        "rater_vs_rest_kendall": "one against the rest (tau-b)",
        "rater_vs_rest_spearman": "one against the rest (Spearman)",
    }
)
# Statistics that draw: with ordered answers, with choices, and with rankings.
OF_RATINGS = ("alpha_ordinal", "ac2_quadratic", "icc_2_1", "rater_vs_rest_kendall")
OF_CHOICES = ("alpha_nominal", "ac1", "fleiss_kappa", "majority_share")
OF_RANKINGS = ("kendall_between_annotators",)
# Statistics of annotators that draw, and what their panels are called.
OF_ANNOTATORS = texts(
    {
        "kendall_others": "agreement with the others (tau-b)",
        "mean_kendall_others": "agreement with the orders of the others (tau)",
        "majority_agreement": "agreement with the others' majority",
        "severity": "severity (own less the others' rating)",
        "left_share": "share of the left side",
        "exact_agreement": "share of identical answers",
        "most_frequent_share": "share of the commonest answer",
    }
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
    for question, rows in distributions.groupby("question", sort=True):
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
        drawn.append((_stack(str(question), table.loc[order[:MOST_ROWS]]), told))
    return figure_of(
        "distributions",
        SECTION,
        say("What people answered"),
        say(
            "Share of each rating, highest mean on top. A mean hides whether a method "
            "is middling, or splits people or stories into two camps; a scale whose "
            "ends nobody uses tells less than its number of steps."
        ),
        say("Stacked bars of ratings."),
        drawn,
        22,
    )


def _stack(question: str, table: pd.DataFrame) -> Panel:
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
    return stacked_panel(question, methods, bars, say("per cent of ratings"))


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
        mixed = [
            round(a + (at - k) * (b - a))
            for a, b in zip(stops[k], stops[k + 1], strict=True)
        ]
        found.append("#" + "".join(f"{x:02x}" for x in mixed))
    return found


def agreement_dots(agreement: pd.DataFrame) -> list[Figure]:
    """Draw the agreement of people, one panel for each statistic."""
    ordered = agreement["statistic"].eq("alpha_ordinal").any()
    chosen = list(OF_RATINGS) if ordered else []
    if agreement["statistic"].isin(("fleiss_kappa", "majority_share")).any():
        chosen += [name for name in OF_CHOICES if name not in chosen]
    chosen += [s for s in OF_RANKINGS if agreement["statistic"].eq(s).any()]
    known = agreement[agreement["statistic"].isin(chosen) & agreement["value"].notna()]
    if known["question"].nunique() == 1:
        # One question: its statistics are the rows.
        rows = known.assign(name=[say(STATISTICS[s]) for s in known["statistic"]])
        order = [say(STATISTICS[c]) for c in chosen if c in set(known["statistic"])]
        drawn = [_agreement_panel(str(rows["question"].iloc[0]), rows, "name", order)]
    else:
        known = known.sort_values("question", kind="stable")
        drawn = [
            _agreement_panel(say(STATISTICS[name]), rows.head(MOST_ROWS), "question")
            for name in chosen
            if len(rows := known[known["statistic"] == name])
        ]
    return figure_of(
        "agreement",
        SECTION,
        say("How well people agree with one another"),
        say(
            "0 is chance, 1 is perfect. Where nearly all answers are alike, alpha "
            "falls while AC1 and AC2 stay high: then there is little to agree about, "
            "not little agreement."
        ),
        say("Agreement of people."),
        drawn,
        18,
    )


def _agreement_panel(
    title: str, rows: pd.DataFrame, names: str, order: Sequence[str] = ()
) -> tuple[Panel, str]:
    panel = dot_panel(
        title,
        rows,
        names=names,
        axis="",
        order=order,
        shapes=[vertical(0)],
        span=(0.0, 1.0),
    )
    return panel, headed(title, said(rows, names))


def annotator_dots(annotators: pd.DataFrame) -> list[Figure]:
    """Draw what tells annotators apart; the table has the other statistics."""
    known = annotators[
        annotators["value"].notna()
        & annotators["statistic"].isin(OF_ANNOTATORS)
        & (annotators["question"] != ALL_QUESTIONS)
    ]
    known = known.assign(annotator=known["annotator"].replace(_labels(annotators)))
    drawn: list[tuple[Panel, str]] = []
    few = known["question"].nunique() <= FEW_QUESTIONS
    everybody = _annotators(known)
    # Of many questions only the first two statistics are drawn.
    present = [name for name in OF_ANNOTATORS if name in set(known["statistic"])]
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
            by_question = rows.groupby("question", sort=True)
            parts = [(headed(title, str(name)), own) for name, own in by_question]
        for heading, own in parts:
            # The same order in all panels of a figure: an annotator is one row.
            here = set(own["annotator"])
            kept = _ends([name for name in everybody if name in here])
            middle = CENTRES.get(statistic, float(own["value"].mean()))
            panel = dot_panel(
                heading,
                own[own["annotator"].isin(kept)],
                names="annotator",
                axis="",
                order=kept,
                span=(middle,),
                groups="question" if own["question"].nunique() > 1 else "",
                shapes=[vertical(middle, dash="dot")],
            )
            drawn.append((panel, told))
            told = ""
    caption = [
        say(
            "One row an annotator, in the same order everywhere: who agrees most with "
            "the others on top. The dotted line is the mean of all; of severity, and "
            "of the left side, what nobody's habit would give. Who stands far from the "
            "rest, with an interval that does not reach the line, answers differently: "
            "look before excluding anybody, and by rules set beforehand."
        )
    ]
    if known["annotator"].nunique() > MOST_ROWS:
        caption.append(say("Of many, the {n} at the two ends are drawn.", n=MOST_ROWS))
    if len(drawn) > MOST_PANELS:
        caption.append(
            say("The first {n} panels are drawn; the table has all.", n=MOST_PANELS)
        )
    return figure_of(
        "annotators",
        SECTION,
        say("Annotators one by one"),
        listed(caption, " "),
        say("Annotators:"),
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


def _annotators(known: pd.DataFrame) -> list[str]:
    """Return the annotators, who agrees most with the others first."""
    if known.empty:
        return []
    first = next(name for name in OF_ANNOTATORS if (known["statistic"] == name).any())
    rows = known[known["statistic"] == first]
    order = (
        rows.groupby("annotator")["value"]
        .mean()
        .sort_values(ascending=False, kind="stable")
    )
    rest = sorted(set(known["annotator"]) - set(order.index))
    return [*map(str, order.index), *map(str, rest)]


def _ends(order: list[str]) -> list[str]:
    if len(order) <= MOST_ROWS:
        return order
    return order[: MOST_ROWS // 2] + order[-MOST_ROWS // 2 :]


def position_dots(
    bias: pd.DataFrame, side_effect: pd.DataFrame | None = None
) -> list[Figure]:
    """Draw how often the left side wins, and what that is worth in a leaderboard."""
    rows = bias[bias["value"].notna()].head(MOST_ROWS)
    if rows.empty:
        return []
    parts = [rows.assign(kind=say("as counted"))]
    if "adjusted" in rows and rows["adjusted"].notna().any():
        balanced = rows.assign(
            value=rows["adjusted"], low=rows["adjusted_low"], high=rows["adjusted_high"]
        )
        parts.append(balanced.assign(kind=say("each pair both ways alike")))
    both = pd.concat(parts)
    panel = dot_panel(
        say("Share of wins on the left"),
        both,
        names="question",
        groups="kind",
        axis=say("share of answers"),
        shapes=[vertical(0.5)],
        span=(0.4, 0.6),
    )
    drawn = [(panel, said(rows, "question"))]
    tables = ["position_bias"]
    effects = None if side_effect is None else side_effect.dropna(subset=["elo"])
    if effects is not None and len(effects):
        per_point = effects["elo"] / effects["value"].where(effects["value"] != 0)
        points = effects.assign(
            value=effects["elo"],
            low=effects["low"] * per_point,
            high=effects["high"] * per_point,
        )
        panel = dot_panel(
            say("What standing on the left is worth"),
            points,
            names="question",
            axis=say("points of a rating"),
            order=list(rows["question"]),
            shapes=[vertical(0)],
            span=(-10, 10),
        )
        drawn.append((panel, ""))
        tables.append("side_effect")
    return figure_of(
        "position",
        SECTION,
        say("Does the side decide?"),
        say(
            "An interval away from the line means that people prefer a side, whatever "
            "stands there: it draws whole clusters of answers, where the table's "
            "p-value takes answers as independent. Sides that are drawn at random turn "
            "it into noise rather than a bias of the ranking. Counting each pair of "
            "methods both ways alike takes away that strong methods may have stood on "
            "one side."
        ),
        say("Share of wins on the left."),
        drawn,
        24,
        tables=tuple(tables),
    )
