"""Figures of strata, and of what a further study would need."""

import math

import pandas as pd

from analysis.report.figure_layout import (
    COEFFICIENT_NAMES,
    LEVEL_NAMES,
    by_value,
    main_coefficient,
)
from analysis.report.figure_parts import (
    GREY,
    LEGEND,
    MOST_PANELS,
    MOST_ROWS,
    Figure,
    Panel,
    Trace,
    cut,
    figure_of,
    line,
    said,
    vertical,
)
from analysis.report.language import headed, listed, say, texts
from analysis.report.panels import dot_panel
from analysis.report.wording import PEOPLE, UNITS

# The statistics of strata that are drawn, and what their axis is called.
STRATA = texts(
    {
        **COEFFICIENT_NAMES,
        "ppa_half": "pairwise accuracy, a tie is half",
        "mean": "mean rating",
        "win_rate": "win rate",
        "alpha_ordinal": "ordinal alpha",
    }
)
# Of which a stratum has one for each method.
OF_METHODS = ("mean", "win_rate")
MOST_METRICS, MOST_TOLD = 8, 6
# Numbers on an axis of small and large ones.
TICKS = tuple(step * 10**power for power in range(5) for step in (1, 3))
# Statistics of subsets and of trials that draw, and what they are called.
KEPT = texts(
    {
        "kendall": "with the whole",
        "kendall_others": "with the other stories",
        "kendall_random": "random subsets, with the whole",
    }
)
CHOSEN = texts({"heldout": "chosen, other methods", "random": "at random"})
TRIALS = texts(
    {
        "sd": "standard deviation of the trials' means",
        "sd_output": "standard deviation of one output",
        "same_share": "share of outputs with one score",
        "icc_2_1": "ICC(2,1) of one trial",
        "noise_to_methods": "noise by differences of methods",
    }
)
# What grows, and its column.
GROWS = {"annotators": "n_annotators", "stories": "n_stories", "methods": "n_methods"}


def strata_dots(strata: pd.DataFrame) -> list[Figure]:
    """Draw each statistic by stratum; of coefficients one at one level."""
    known = strata[strata["value"].notna()]
    coefficients = [c for c in COEFFICIENT_NAMES if (known["statistic"] == c).any()]
    shown = [*coefficients[:1], "ppa_half", "mean", "win_rate", "alpha_ordinal"]
    found: list[Figure] = []
    for statistic in shown:
        rows = known[known["statistic"] == statistic]
        if statistic == "mean":
            # Means of metrics, which have no question, are on other scales.
            rows = rows[rows["question"].fillna("") != ""]
        if statistic in COEFFICIENT_NAMES:
            levels = [
                x for x in ("story", "pooled", "method") if x in set(rows["level"])
            ]
            rows = rows[rows["level"].isin(levels[:1])]
        found += _strata(statistic, rows)
    return found


def _strata(statistic: str, rows: pd.DataFrame) -> list[Figure]:
    column = "method" if statistic in OF_METHODS else "metric"
    title, drawn = say(STRATA[statistic]), []
    has_names = rows[column].fillna("").ne("").any()
    for (question, tag), own in rows.groupby(["question", "tag"], sort=True):
        heading = say("{question}, by {tag}", question=question, tag=tag)
        if own[column].fillna("").eq("").all():
            panel = dot_panel(heading, own, names="stratum", axis=title)
        else:
            most = MOST_METRICS if column == "metric" else MOST_ROWS
            order = by_value(own.assign(metric=own[column]))[:most]
            own = own[own[column].isin(order)]
            panel = dot_panel(
                heading,
                own,
                names=column,
                groups="stratum",
                order=order,
                axis=title,
            )
        if statistic != "mean":
            zero = 0.5 if statistic in ("ppa_half", "win_rate") else 0
            panel.layout["shapes"] = [vertical(zero)]
        drawn.append((panel, headed(heading, said(own, "stratum"))))
    caption = [
        say(
            "Groups of stories apart. A difference between two groups counts where the "
            "table of differences says so, not where two intervals look apart."
        )
    ]
    if column == "metric" and has_names:
        caption.append(say("At most {n} metrics, the highest.", n=MOST_METRICS))
    return figure_of(
        f"strata-{statistic.replace('_', '-')}",
        "disagreement",
        say("By group of stories: {statistic}", statistic=title),
        listed([*caption, *cut(drawn)], " "),
        say("By stratum."),
        drawn,
        24,
        most_panels=MOST_PANELS,
        most_told=MOST_TOLD,
    )


def power_curves(
    power: pd.DataFrame, needed: pd.DataFrame | None = None
) -> list[Figure]:
    """Draw how intervals shrink with more stories, annotators or methods."""
    known = power[power["half_width"].notna()]
    target = math.nan
    if needed is not None and len(needed):
        target = float(needed["target"].iloc[0])
    drawn, several = [], False
    for (question, statistic, level), rows in known.groupby(
        ["question", "statistic", "level"], sort=True, dropna=False
    ):
        metrics = list(dict.fromkeys(rows["metric"]))[:1]
        own = rows[rows["metric"].isin(metrics)]
        several = several or len(own) < len(rows)
        title = _power_title(question, statistic, level, metrics)
        narrow = float(own["half_width"].min())
        text = say("{title}: down to {n}", title=title, n=f"{narrow:.3g}")
        drawn.append((_curves(title, own, target), text))
    caption = [
        say(
            "Half the width of the interval, expected from this study's own variance, "
            "when one thing grows and the rest stays. A curve that levels off says "
            "that something else limits the study."
        )
    ]
    if not math.isnan(target):
        caption.append(say("The dotted line is {n}.", n=f"{target:g}"))
    if several:
        caption.append(say("One metric is drawn; the table has the others."))
    return figure_of(
        "power",
        "planning",
        say("What more stories, annotators or methods buy"),
        listed([*caption, *cut(drawn)], " "),
        say("Expected half-widths."),
        drawn,
        most_panels=MOST_PANELS,
        most_told=MOST_TOLD,
    )


def _power_title(
    question: object, statistic: object, level: object, metrics: list[str]
) -> str:
    name = COEFFICIENT_NAMES.get(str(statistic), str(statistic).replace("_", " "))
    parts = [str(question), say(name)]
    if isinstance(level, str) and level:
        parts.append(say(LEVEL_NAMES.get(level, level)))
    if metrics and isinstance(metrics[0], str) and metrics[0]:
        parts.append(metrics[0])
    return listed(parts)


def _curves(title: str, rows: pd.DataFrame, target: float) -> Panel:
    data: list[Trace] = []
    numbers: list[float] = []
    for i, (grows, own) in enumerate(rows.groupby("grows", sort=True)):
        column = GROWS.get(str(grows), "n")
        own = own.sort_values(column, kind="stable")
        unit = say(UNITS.get(str(grows), str(grows)))
        numbers += [float(number) for number in own[column]]
        data.append(line(i, unit, own[column], own["half_width"], unit))
    highest = float(rows["half_width"].max())
    top = highest * 1.08
    if not math.isnan(target):
        top = max(top, 1.2 * target)
    ticks = [tick for tick in TICKS if min(numbers) <= tick <= max(numbers)]
    layout = _curve_layout(say("number"), say("half-width"), [0, top], ticks)
    if not math.isnan(target):
        layout["shapes"] = [
            {
                "type": "line",
                "x0": 0,
                "x1": 1,
                "xref": "paper",
                "y0": target,
                "y1": target,
                "line": {"color": GREY, "width": 1, "dash": "dot"},
            }
        ]
    return Panel(title, 300, data, layout)


def subset_dots(subset: pd.DataFrame) -> list[Figure]:
    """Draw how well the order of methods in a subset keeps that of the whole."""
    known = subset[subset["value"].notna() & subset["statistic"].isin(KEPT)]
    drawn = []
    for name, rows in known.groupby("subset", sort=True):
        rows = rows.assign(
            board=_boards(rows), kind=[say(KEPT[s]) for s in rows["statistic"]]
        )
        order = list(dict.fromkeys(rows["board"]))[:MOST_ROWS]
        rows = rows[rows["board"].isin(order)]
        panel = dot_panel(
            str(name),
            rows,
            names="board",
            groups="kind",
            order=order,
            axis=say("Kendall's tau-b of method means"),
            span=(0.0, 1.0),
            shapes=[vertical(0)],
        )
        whole = rows[rows["statistic"] == "kendall"]
        drawn.append((panel, headed(name, said(whole, "board"))))
    return figure_of(
        "subset",
        "planning",
        say("Does a part of the stories keep the ranking?"),
        say(
            "Order of the methods in the subset against the whole, which holds the "
            "subset and so flatters it, and against the stories outside it. A "
            "subset is worth its name where it beats random ones of its size."
        ),
        say("Rank correlations of a subset with the whole."),
        drawn,
        24,
        most_panels=MOST_PANELS,
    )


def best_subset_curves(best: pd.DataFrame) -> list[Figure]:
    """Draw how chosen and random subsets of growing size keep the ranking."""
    known = best[best["value"].notna() & (best["statistic"] == "kendall")]
    drawn, stories = [], say("stories")
    for board, rows in known.assign(board=_boards(known)).groupby("board", sort=True):
        data: list[Trace] = []
        for i, (source, title) in enumerate(CHOSEN.items()):
            own = rows[rows["source"] == source].sort_values("size")
            if own.empty:
                continue
            data.append(line(i, say(title), own["size"], own["value"], stories))
        sizes = sorted({float(size) for size in rows["size"]})
        layout = _curve_layout(stories, "tau-b", [0, 1.02], sizes)
        highest = f"{rows['value'].max():.2f}"
        told = say("{title}: up to {n}", title=board, n=highest)
        drawn.append((Panel(str(board), 280, data, layout), told))
    return figure_of(
        "best-subset",
        "planning",
        say("How few stories keep the ranking?"),
        say(
            "Stories chosen on one half of the methods and checked on the other, "
            "beside as many stories at random. The gap between the two is what "
            "choosing buys."
        ),
        say("Rank correlations by size."),
        drawn,
        most_panels=MOST_PANELS,
        most_told=MOST_TOLD,
    )


def _boards(rows: pd.DataFrame) -> "pd.Series[str]":
    """Name what is ranked by: a question, a metric, or both."""
    question, metric = (rows[c].fillna("").astype(str) for c in ("question", "metric"))
    both = question.str.cat(metric, ": ").str.strip(": ")
    return both.where(both != "", say("all"))


def stability_dots(stability: pd.DataFrame) -> list[Figure]:
    """Draw what repeated trials of a judge give, statistic by statistic."""
    known = stability[
        stability["value"].notna()
        & stability["statistic"].isin(TRIALS)
        & (stability["method"].fillna("") == "")
    ]
    drawn = []
    for statistic, template in TRIALS.items():
        rows = known[known["statistic"] == statistic]
        if rows.empty:
            continue
        rows, title = rows.assign(board=_boards(rows)).head(MOST_ROWS), say(template)
        panel = dot_panel(title, rows, names="board", axis="", span=(0.0,))
        drawn.append((panel, headed(title, said(rows, "board"))))
    return figure_of(
        "stability",
        "metrics",
        say("How steady a judge is over repeated trials"),
        say(
            "The spread of trials is noise that no other story or annotator takes "
            "away. Noise by differences: what trials add to a method's mean, as a "
            "share of how far methods stand apart."
        ),
        say("Repeated trials."),
        drawn,
    )


def judge_dots(judges: pd.DataFrame) -> list[Figure]:
    """Draw how judges agree with people and with one another."""
    known = judges[judges["value"].notna()]
    if known.empty:
        return []
    name = main_coefficient(known)
    known = known[known["coefficient"] == name]
    drawn = []
    for question, rows in known.groupby("question", sort=True):
        rows = rows.assign(
            pair=[
                listed(say(PEOPLE.get(name, name)) for name in names)
                for names in zip(rows["metric_a"], rows["metric_b"], strict=True)
            ],
            at=[say(LEVEL_NAMES[level]) for level in rows["level"]],
        )
        order = list(dict.fromkeys(rows["pair"]))[:MOST_ROWS]
        rows = rows[rows["pair"].isin(order)]
        panel = dot_panel(
            str(question),
            rows,
            names="pair",
            groups="at",
            order=order,
            axis=say(COEFFICIENT_NAMES[name]),
            shapes=[vertical(0)],
            span=(0.0,),
        )
        drawn.append((panel, headed(question, said(rows, "pair"))))
    return figure_of(
        "judges",
        "metrics",
        say("Do judges agree with people and one another?"),
        say(
            "Two judges that agree with each other more than with people share a "
            "taste that people do not have."
        ),
        say("Correlations between judges."),
        drawn,
        24,
        most_panels=MOST_PANELS,
        most_told=MOST_TOLD,
    )


def _curve_layout(x: str, y: str, ends: list[float], ticks: list[float]) -> Trace:
    return {
        "xaxis": {
            "title": {"text": x},
            "type": "log",
            "tickvals": ticks,
            "ticktext": [f"{tick:g}" for tick in ticks],
        },
        "yaxis": {
            "title": {"text": y},
            "range": ends,
            "zeroline": False,
            "automargin": True,
        },
        "showlegend": True,
        "legend": LEGEND,
    }
