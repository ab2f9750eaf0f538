"""Figures of strata, and of what a further study would need."""

from collections.abc import Mapping

import pandas as pd

from analysis.page.drawing import (
    GREY,
    LEGEND,
    MOST_ROWS,
    PALETTE,
    SYMBOLS,
    Figure,
    Panel,
    Trace,
    as_text,
    dot_panel,
    said,
    values,
    vertical,
)
from analysis.page.layout import COEFFICIENT_NAMES, LEVEL_NAMES, by_value

Tables = Mapping[str, pd.DataFrame]
# The statistics of strata that are drawn, and what their axis is called.
STRATA = {
    **COEFFICIENT_NAMES,
    "ppa_half": "pairwise accuracy, a tie is half",
    "mean": "mean rating",
    "alpha_ordinal": "ordinal alpha",
}
MOST_METRICS, MOST_PANELS = 8, 12
# The half-width that a study may aim at.
TARGET = 0.05
GROWS = {"annotators": "n_annotators", "stories": "n_stories", "methods": "n_methods"}


def planning_figures(tables: Tables) -> list[Figure]:
    """Return the figures of strata and of planning that the tables allow."""
    found: list[Figure] = []
    for name, draw in (
        ("strata", strata_dots),
        ("power", power_curves),
        ("judges", judge_dots),
    ):
        if len(tables.get(name, ())):
            found += draw(tables[name])
    return found


def strata_dots(strata: pd.DataFrame) -> list[Figure]:
    """Draw each statistic by stratum; of coefficients one at one level."""
    known = strata[strata["value"].notna()]
    coefficients = [c for c in COEFFICIENT_NAMES if (known["statistic"] == c).any()]
    shown = [*coefficients[:1], "ppa_half", "mean", "alpha_ordinal"]
    found: list[Figure] = []
    for statistic in shown:
        rows = known[known["statistic"] == statistic]
        if statistic in COEFFICIENT_NAMES:
            level = next((x for x in ("story", "pooled", "method")
                          if (rows["level"] == x).any()), "")  # fmt: skip
            rows = rows[rows["level"] == level]
        found += _strata(statistic, rows)
    return found


def _strata(statistic: str, rows: pd.DataFrame) -> list[Figure]:
    column = "method" if statistic == "mean" else "metric"
    panels: list[Panel] = []
    told = []
    for (question, tag), own in rows.groupby(["question", "tag"], sort=True):
        heading = f"{question}, by {tag}"
        if own[column].fillna("").eq("").all():
            panel = dot_panel(heading, own, names="stratum", axis=STRATA[statistic])
        else:
            most = MOST_METRICS if column == "metric" else MOST_ROWS
            order = by_value(own.assign(metric=own[column]))[:most]
            own = own[own[column].isin(order)]
            panel = dot_panel(heading, own, names=column, groups="stratum",
                              order=order, axis=STRATA[statistic])  # fmt: skip
        if statistic != "mean":
            zero = 0.5 if statistic == "ppa_half" else 0
            panel.layout["shapes"] = [vertical(zero)]
        panels.append(panel)
        told.append(f"{heading}: " + said(own, "stratum"))
    if not panels:
        return []
    caption = (
        "Groups of stories apart. A difference between two groups counts where the "
        "table of differences says so, not where two intervals look apart."
    )
    if column == "metric":
        caption += f" At most {MOST_METRICS} metrics, the highest."
    if len(panels) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} of {len(panels)} panels are drawn."
    title = STRATA[statistic]
    if statistic not in COEFFICIENT_NAMES:
        title = title[:1].lower() + title[1:]
    return [
        Figure(f"strata-{statistic.replace('_', '-')}", "strata",
               f"By group of stories: {title}",
               caption, f"By stratum. {'; '.join(told[:6])}.",
               tuple(panels[:MOST_PANELS]), 24)
    ]  # fmt: skip


def power_curves(power: pd.DataFrame) -> list[Figure]:
    """Draw how intervals shrink with more stories, annotators or methods."""
    known = power[power["half_width"].notna()]
    panels, told = [], []
    for (question, statistic, level), rows in known.groupby(
        ["question", "statistic", "level"], sort=True, dropna=False
    ):
        metrics = list(dict.fromkeys(rows["metric"]))[:1]
        own = rows[rows["metric"].isin(metrics)]
        panels.append(_curves(_power_title(question, statistic, level, metrics), own))
        narrow = float(own["half_width"].min())
        told.append(f"{panels[-1].title}: down to {narrow:.3g}")
    if not panels:
        return []
    caption = (
        "Half the width of the interval, expected from this study's own variance, when "
        f"one thing grows and the rest stays. The dotted line is {TARGET}. A curve "
        "that "
        "levels off says that something else limits the study."
    )
    if len(panels) > MOST_PANELS:
        caption += f" The first {MOST_PANELS} of {len(panels)} panels are drawn."
    return [
        Figure("power", "planning", "What more stories, annotators or methods buy",
               caption, f"Expected half-widths. {'; '.join(told[:6])}.",
               tuple(panels[:MOST_PANELS]), 20)
    ]  # fmt: skip


def _power_title(
    question: object, statistic: object, level: object, metrics: list[str]
) -> str:
    name = COEFFICIENT_NAMES.get(str(statistic), str(statistic).replace("_", " "))
    parts = [str(question), name]
    if isinstance(level, str) and level:
        parts.append(LEVEL_NAMES.get(level, level))
    if metrics and isinstance(metrics[0], str) and metrics[0]:
        parts.append(metrics[0])
    return ", ".join(parts)


def _curves(title: str, rows: pd.DataFrame) -> Panel:
    data: list[Trace] = []
    for i, (grows, own) in enumerate(rows.groupby("grows", sort=True)):
        column = GROWS.get(str(grows), "n")
        own = own.sort_values(column, kind="stable")
        data.append(
            {"type": "scatter", "mode": "lines+markers", "name": as_text(grows),
             "x": values(own[column]), "y": values(own["half_width"]),
             "line": {"color": PALETTE[i % len(PALETTE)]},
             "marker": {"symbol": SYMBOLS[i % len(SYMBOLS)], "size": 7},
             "hovertemplate": f"%{{x}} {as_text(grows)}: ±%{{y:.3f}}<extra></extra>"}
        )  # fmt: skip
    top = max(float(rows["half_width"].max()) * 1.08, 1.2 * TARGET)
    layout = {
        "xaxis": {"title": {"text": "number"}, "type": "log", "nticks": 5,
                  "minor": {"showgrid": False}, "dtick": "D2"},
        "yaxis": {"title": {"text": "half-width"}, "range": [0, top],
                  "zeroline": False, "automargin": True},
        "showlegend": True, "legend": LEGEND,
        "shapes": [
            {"type": "line", "x0": 0, "x1": 1, "xref": "paper", "y0": TARGET,
             "y1": TARGET, "line": {"color": GREY, "width": 1, "dash": "dot"}}
        ],
    }  # fmt: skip
    return Panel(title, 300, data, layout)


def judge_dots(judges: pd.DataFrame) -> list[Figure]:
    """Draw how two judges, or a judge and people, correlate."""
    known = judges[judges["value"].notna()]
    panels, told = [], []
    for (coefficient, level), rows in known.groupby(["coefficient", "level"]):
        pair = rows["metric_a"].astype(str).str.cat(rows["metric_b"].astype(str), " / ")
        rows = rows.assign(row=rows["question"].astype(str).str.cat(pair, ": "))
        name = COEFFICIENT_NAMES.get(str(coefficient), str(coefficient))
        title = f"{name}, {level}"
        panels.append(dot_panel(title, rows.head(MOST_ROWS), names="row", axis=title))
        told.append(f"{title}: {said(rows, 'row')}")
    if not panels:
        return []
    return [
        Figure("judges", "planning", "Whom a judge agrees with",
               "Each dot correlates two judges, or a judge and people, with its "
               "interval.", f"Agreement of judges. {'; '.join(told[:6])}.",
               tuple(panels[:MOST_PANELS]), 20)
    ]  # fmt: skip
