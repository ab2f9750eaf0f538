"""Figures of people: what they answered, and how well they agree."""

from collections.abc import Mapping

import pandas as pd

from analysis.page.drawing import (
    LEGEND,
    MOST_ROWS,
    PALETTE,
    Figure,
    Panel,
    Trace,
    as_text,
    dot_panel,
    row_axis,
    row_height,
    said,
    values,
    vertical,
)

SECTION = "people"
Tables = Mapping[str, pd.DataFrame]
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
    "rater_vs_rest_kendall": "one against the rest (tau-b)",
    "rater_vs_rest_spearman": "one against the rest (Spearman)",
}
# Statistics that draw: with ordered answers, and with choices.
OF_RATINGS = ("alpha_ordinal", "ac2_quadratic", "icc_2_1", "rater_vs_rest_kendall")
OF_CHOICES = ("alpha_nominal", "ac1", "fleiss_kappa", "majority_share")
# With more questions than this a panel of annotators holds one question.
FEW_QUESTIONS = 3
MOST_PANELS = 12


def people_figures(tables: Tables) -> list[Figure]:
    """Return the figures of people that the tables allow."""
    found: list[Figure] = []
    for name, draw in (
        ("distributions", distribution_bars),
        ("agreement", agreement_dots),
        ("annotators", annotator_dots),
        ("position_bias", position_dots),
        ("variance", variance_bars),
    ):
        if len(tables.get(name, ())):
            found += draw(tables[name])
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
        told.append(f"{question}: rating {top:g} is given most to "
                    f"{table[top].idxmax()} ({table[top].max():.0%})")  # fmt: skip
    if not panels:
        return []
    return [
        Figure(
            "distributions", SECTION, "What people answered",
            "Share of each rating, highest mean on top. A mean hides whether a method "
            "is middling, or splits people or stories into two camps; a scale whose "
            "ends nobody uses tells less than its number of steps.",
            f"Stacked bars of ratings. {'; '.join(told)}.", tuple(panels), 22,
        )
    ]  # fmt: skip


def _stack(question: str, table: pd.DataFrame) -> Panel:
    data: list[Trace] = []
    rows = list(range(len(table)))
    for rating, color in zip(table.columns, shades(table.shape[1]), strict=True):
        data.append(
            {"type": "bar", "orientation": "h", "y": rows, "name": f"{rating:g}",
             "x": values(100 * table[rating]), "marker": {"color": color},
             "text": [as_text(method) for method in table.index],
             "textposition": "none",
             "hovertemplate": f"%{{text}}: %{{x:.1f}} % gave {rating:g}<extra></extra>"}
        )  # fmt: skip
    layout = {
        "barmode": "stack", "bargap": 0.25,
        "xaxis": {"title": {"text": "per cent of ratings"}, "range": [0, 100]},
        "yaxis": row_axis(list(table.index)), "showlegend": True,
        "legend": LEGEND | {"traceorder": "normal"},
    }  # fmt: skip
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
    for name in chosen:
        rows = agreement[(agreement["statistic"] == name) & agreement["value"].notna()]
        if rows.empty:
            continue
        rows = rows.sort_values("question", kind="stable").head(MOST_ROWS)
        panels.append(
            dot_panel(STATISTICS[name], rows, names="question", axis="",
                      shapes=[vertical(0)], span=(0.0, 1.0))
        )  # fmt: skip
        told.append(f"{STATISTICS[name]}: {said(rows, 'question')}")
    if not panels:
        return []
    return [
        Figure(
            "agreement", SECTION, "How well people agree with one another",
            "0 is chance, 1 is perfect. Where nearly all answers are alike, alpha "
            "falls "
            "while AC1 and AC2 stay high: then there is little to agree about, not "
            "little agreement.",
            f"Agreement of people. {'; '.join(told)}.", tuple(panels), 18,
        )
    ]  # fmt: skip


def annotator_dots(annotators: pd.DataFrame) -> list[Figure]:
    """Draw every annotator's severity and agreement with the rest."""
    known = annotators[annotators["value"].notna()]
    panels: list[Panel] = []
    told = []
    for statistic, rows in known.groupby("statistic", sort=True):
        title = str(statistic).replace("_", " ")
        questions = sorted(rows["question"].unique())
        order = list(
            rows.groupby("annotator")["value"].mean().sort_values(
                ascending=False, kind="stable"
            ).index
        )  # fmt: skip
        told.append(
            f"{title} from {rows['value'].min():.2f} to {rows['value'].max():.2f}"
        )
        parts = [(title, rows)] if len(questions) <= FEW_QUESTIONS else [
            (f"{title}: {q}", rows[rows["question"] == q]) for q in questions
        ]  # fmt: skip
        for heading, own in parts:
            span = [float(own["value"].mean())]
            kept = [name for name in _ends(order) if name in set(own["annotator"])]
            panels.append(
                dot_panel(heading, own[own["annotator"].isin(kept)], names="annotator",
                          axis=title, order=kept, span=span,
                          groups="question" if own["question"].nunique() > 1 else "",
                          shapes=[vertical(span[0], dash="dot")])
            )  # fmt: skip
    if not panels:
        return []
    caption = (
        "One row an annotator; the dotted line is their mean. Who stands far from the "
        "rest, with an interval that does not reach the line, answers differently: "
        "look before excluding anybody, and by rules set beforehand."
    )
    if known["annotator"].nunique() > MOST_ROWS:
        caption += f" Of many, the {MOST_ROWS} at the two ends are drawn."
    if len(panels) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} panels are drawn; the table has all."
    return [
        Figure("annotators", SECTION, "Annotators one by one", caption,
               f"Annotators: {'; '.join(told)}.", tuple(panels[:MOST_PANELS]), 18)
    ]  # fmt: skip


def _ends(order: list[str]) -> list[str]:
    if len(order) <= MOST_ROWS:
        return order
    return order[: MOST_ROWS // 2] + order[-MOST_ROWS // 2 :]


def position_dots(bias: pd.DataFrame) -> list[Figure]:
    """Draw how often the left side wins."""
    rows = bias[bias["value"].notna()]
    if rows.empty:
        return []
    # A share is drawn around one half, anything else around none.
    middle = 0.5 if rows["value"].between(0, 1).all() else 0.0
    panel = dot_panel("", rows, names="question", axis="share of wins on the left",
                      shapes=[vertical(middle)],
                      span=(middle - 0.1, middle + 0.1))  # fmt: skip
    return [
        Figure(
            "position", SECTION, "Does the side decide?",
            "An interval away from the line means that people prefer a side, whatever "
            "stands there. Sides that are drawn at random turn it into noise rather "
            "than a bias of the ranking.",
            f"Share of wins on the left. {said(rows, 'question')}.", (panel,), 24,
        )
    ]  # fmt: skip


def variance_bars(variance: pd.DataFrame) -> list[Figure]:
    """Draw which share of the variance of ratings comes from where."""
    known = variance[variance["share"].notna()]
    if known.empty:
        return []
    questions = sorted(known["question"].unique())[:MOST_ROWS]
    components = list(dict.fromkeys(known["component"]))
    data: list[Trace] = []
    for i, component in enumerate(components):
        own = known[known["component"] == component].set_index("question")["share"]
        data.append(
            {"type": "bar", "orientation": "h", "y": list(range(len(questions))),
             "x": values(100 * own.reindex(questions).astype(float)),
             "name": as_text(component),
             "marker": {"color": [*PALETTE, "#A0A0A0"][i % (len(PALETTE) + 1)]},
             "hovertemplate": f"{as_text(component)}: %{{x:.1f}} %<extra></extra>"}
        )  # fmt: skip
    layout = {
        "barmode": "stack", "bargap": 0.3, "showlegend": True,
        "xaxis": {"title": {"text": "per cent of variance"}, "range": [0, 100]},
        "yaxis": row_axis(questions), "legend": LEGEND | {"traceorder": "normal"},
    }  # fmt: skip
    told = []
    for question in questions:
        own = known[known["question"] == question].set_index("component")["share"]
        told.append(f"{question}: most from {own.idxmax()} ({own.max():.0%})")
    return [
        Figure(
            "variance", SECTION, "Where ratings differ",
            "Much from methods: they differ, and few ratings rank them. Much from "
            "stories: use the same ones for every method. Much from annotators, or "
            "left over: more annotators help.",
            f"Variance components. {'; '.join(told)}.",
            (Panel("", row_height(len(questions), extra=120), data, layout),), 30,
        )
    ]  # fmt: skip
