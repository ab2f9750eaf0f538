"""Figures of people: what they answered, and how well they agree."""

from collections.abc import Mapping

import pandas as pd

from analysis.report.figure_parts import (
    LEGEND,
    MOST_ROWS,
    Figure,
    Panel,
    Trace,
    as_text,
    dot_panel,
    figure_of,
    of_table,
    row_axis,
    row_height,
    said,
    values,
    vertical,
)
from analysis.report.plots_variance import reliability_curves, variance_bars

SECTION = "people"
ResultTables = Mapping[str, pd.DataFrame]
# Light to dark, readable for any colour vision; grey text stands on both ends.
SHADES = ("#CA0020", "#F4A582", "#D0D0D0", "#92C5DE", "#0571B0")
STATISTICS = {
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
# Statistics that draw: with ordered answers, with choices, and with rankings.
OF_RATINGS = ("alpha_ordinal", "ac2_quadratic", "icc_2_1", "rater_vs_rest_kendall")
OF_CHOICES = ("alpha_nominal", "ac1", "fleiss_kappa", "majority_share")
OF_RANKINGS = ("kendall_between_annotators",)
# Statistics of annotators that draw, and what their panels are called.
OF_ANNOTATORS = {
    "kendall_others": "agreement with the others (tau-b)",
    "majority_agreement": "agreement with the others' majority",
    "severity": "severity (own less the others' rating)",
    "left_share": "share of the left side",
    "exact_agreement": "share of identical answers",
    "most_frequent_share": "share of the commonest answer",
}
CENTRES = {"severity": 0.0, "left_share": 0.5}
# With more questions than this a panel of annotators holds one question.
FEW_QUESTIONS = 3
MOST_PANELS = 12


def people_figures(tables: ResultTables) -> list[Figure]:
    """Return the figures of people that the tables allow."""
    found: list[Figure] = []
    for name, draw in (
        ("distributions", distribution_bars),
        ("agreement", agreement_dots),
        ("annotators", annotator_dots),
        ("variance", variance_bars),
        ("reliability", reliability_curves),
    ):
        if len(tables.get(name, ())):
            found += of_table(name, draw(tables[name]))
    if len(tables.get("position_bias", ())):
        found += position_dots(tables["position_bias"], tables.get("side_effect"))
    return found


def distribution_bars(distributions: pd.DataFrame) -> list[Figure]:
    """Draw how often each method got each rating, best mean on top."""
    panels, told = [], []
    for question, rows in distributions.groupby("question", sort=True):
        table = rows.pivot_table(index="method", columns="rating", values="share")
        table = table.fillna(0)
        means = (table * table.columns.to_numpy(float)).sum(axis=1)
        order = list(means.sort_values(ascending=False, kind="stable").index)
        panels.append(_stack(str(question), table.loc[order[:MOST_ROWS]]))
        top = table.columns.max()
        told.append(
            f"{question}: rating {top:g} is given most to "
            f"{table[top].idxmax()} ({table[top].max():.0%})"
        )
    return figure_of(
        "distributions",
        SECTION,
        "What people answered",
        "Share of each rating, highest mean on top. A mean hides whether a method "
        "is middling, or splits people or stories into two camps; a scale whose "
        "ends nobody uses tells less than its number of steps.",
        f"Stacked bars of ratings. {'; '.join(told)}.",
        panels,
        22,
    )


def _stack(question: str, table: pd.DataFrame) -> Panel:
    data: list[Trace] = []
    rows = list(range(len(table)))
    for rating, color in zip(table.columns, shades(table.shape[1]), strict=True):
        data.append(
            {
                "type": "bar",
                "orientation": "h",
                "y": rows,
                "name": f"{rating:g}",
                "x": values(100 * table[rating]),
                "marker": {"color": color},
                "text": [as_text(method) for method in table.index],
                "textposition": "none",
                "hovertemplate": "%{text}: %{x:.1f} % gave {rating:g}<extra></extra>",
            }
        )
    layout = {
        "barmode": "stack",
        "bargap": 0.25,
        "xaxis": {"title": {"text": "per cent of ratings"}, "range": [0, 100]},
        "yaxis": row_axis(list(table.index)),
        "showlegend": True,
        "legend": LEGEND | {"traceorder": "normal"},
    }
    return Panel(question, row_height(len(table), extra=110), data, layout)


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
    panels, told = [], []
    ordered = agreement["statistic"].eq("alpha_ordinal").any()
    chosen = list(OF_RATINGS) if ordered else []
    if agreement["statistic"].isin(("fleiss_kappa", "majority_share")).any():
        chosen += [name for name in OF_CHOICES if name not in chosen]
    chosen += [s for s in OF_RANKINGS if agreement["statistic"].eq(s).any()]
    known = agreement[agreement["statistic"].isin(chosen) & agreement["value"].notna()]
    if known["question"].nunique() == 1:
        # One question: its statistics are the rows.
        rows = known.assign(name=known["statistic"].map(STATISTICS))
        order = [STATISTICS[c] for c in chosen if STATISTICS[c] in set(rows["name"])]
        question = str(rows["question"].iloc[0])
        panels.append(
            dot_panel(
                question,
                rows,
                names="name",
                axis="",
                order=order,
                shapes=[vertical(0)],
                span=(0.0, 1.0),
            )
        )
        told.append(f"{question}: {said(rows, 'name')}")
        chosen = []
    for name in chosen:
        rows = known[known["statistic"] == name]
        if rows.empty:
            continue
        rows = rows.sort_values("question", kind="stable").head(MOST_ROWS)
        panels.append(
            dot_panel(
                STATISTICS[name],
                rows,
                names="question",
                axis="",
                shapes=[vertical(0)],
                span=(0.0, 1.0),
            )
        )
        told.append(f"{STATISTICS[name]}: {said(rows, 'question')}")
    return figure_of(
        "agreement",
        SECTION,
        "How well people agree with one another",
        "0 is chance, 1 is perfect. Where nearly all answers are alike, alpha "
        "falls "
        "while AC1 and AC2 stay high: then there is little to agree about, not "
        "little agreement.",
        f"Agreement of people. {'; '.join(told)}.",
        panels,
        18,
    )


def annotator_dots(annotators: pd.DataFrame) -> list[Figure]:
    """Draw what tells annotators apart; the table has the other statistics."""
    known = annotators[
        annotators["value"].notna() & annotators["statistic"].isin(OF_ANNOTATORS)
    ]
    panels: list[Panel] = []
    told = []
    few = known["question"].nunique() <= FEW_QUESTIONS
    everybody = _annotators(known)
    # Of many questions only the first two statistics are drawn.
    present = [name for name in OF_ANNOTATORS if name in set(known["statistic"])]
    for statistic in present if few else present[:2]:
        title = OF_ANNOTATORS[statistic]
        rows = known[known["statistic"] == statistic]
        told.append(
            f"{title} from {rows['value'].min():.2f} to {rows['value'].max():.2f}"
        )
        questions = sorted(rows["question"].unique())
        parts = (
            [(title, rows)]
            if few
            else [(f"{title}: {q}", rows[rows["question"] == q]) for q in questions]
        )
        for heading, own in parts:
            # The same order in all panels of a figure: an annotator is one row.
            here = set(own["annotator"])
            order = [name for name in everybody if name in here]
            kept = _ends(order)
            middle = CENTRES.get(statistic, float(own["value"].mean()))
            panels.append(
                dot_panel(
                    heading,
                    own[own["annotator"].isin(kept)],
                    names="annotator",
                    axis="",
                    order=kept,
                    span=(middle,),
                    groups="question" if own["question"].nunique() > 1 else "",
                    shapes=[vertical(middle, dash="dot")],
                )
            )
    if not panels:
        return []
    caption = (
        "One row an annotator, in the same order everywhere: who agrees most with the "
        "others on top. The dotted line is the mean of all; of severity, and of the "
        "left side, what nobody's habit would give. Who stands far from the rest, with "
        "an interval that does not reach the line, answers differently: look before "
        "excluding anybody, and by rules set beforehand."
    )
    if known["annotator"].nunique() > MOST_ROWS:
        caption += f" Of many, the {MOST_ROWS} at the two ends are drawn."
    if len(panels) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} panels are drawn; the table has all."
    return figure_of(
        "annotators",
        SECTION,
        "Annotators one by one",
        caption,
        f"Annotators: {'; '.join(told)}.",
        tuple(panels[:MOST_PANELS]),
        18,
    )


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
    parts = [rows.assign(kind="as counted")]
    if "adjusted" in rows and rows["adjusted"].notna().any():
        balanced = rows.assign(
            value=rows["adjusted"], low=rows["adjusted_low"], high=rows["adjusted_high"]
        )
        parts.append(balanced.assign(kind="each pair both ways alike"))
    both = pd.concat(parts)
    panels = [
        dot_panel(
            "Share of wins on the left",
            both,
            names="question",
            groups="kind",
            axis="share of answers",
            shapes=[vertical(0.5)],
            span=(0.4, 0.6),
        )
    ]
    tables = ["position_bias"]
    effects = None if side_effect is None else side_effect.dropna(subset=["elo"])
    if effects is not None and len(effects):
        per_point = effects["elo"] / effects["value"].where(effects["value"] != 0)
        points = effects.assign(
            value=effects["elo"],
            low=effects["low"] * per_point,
            high=effects["high"] * per_point,
        )
        panels.append(
            dot_panel(
                "What standing on the left is worth",
                points,
                names="question",
                axis="points of a rating",
                order=list(rows["question"]),
                shapes=[vertical(0)],
                span=(-10, 10),
            )
        )
        tables.append("side_effect")
    return figure_of(
        "position",
        SECTION,
        "Does the side decide?",
        "An interval away from the line means that people prefer a side, whatever "
        "stands there: it draws whole clusters of answers, where the table's "
        "p-value takes answers as independent. Sides that are drawn at random turn "
        "it into noise rather than a bias of the ranking. Counting each pair of "
        "methods both ways alike takes away that strong methods may have stood on "
        "one side.",
        f"Share of wins on the left. {said(rows, 'question')}.",
        panels,
        24,
        tuple(tables),
    )
