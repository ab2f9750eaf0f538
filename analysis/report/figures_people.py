"""Figures of people: their answers, their agreement, and each annotator."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from plotly.colors import sample_colorscale

from analysis.reliability.random_responding import ALL_QUESTIONS, MARKED
from analysis.report import panels
from analysis.report.figure import (
    MOST_PANELS,
    MOST_ROWS,
    Panel,
    Part,
    as_text,
    best_values,
    figure,
    grouped,
    values,
)
from analysis.report.language import gettext as _
from analysis.report.language import headed
from analysis.report.metric_order import by_value
from analysis.report.panels import dots
from analysis.report.wording import WORDS, title_of, word

# Readable for any colour vision; grey text is legible on both ends.
SHADES = ["#CA0020", "#F4A582", "#D0D0D0", "#92C5DE", "#0571B0"]
# Statistics to draw: of ordered answers, of choices, and of rankings.
OF_RATINGS = ("alpha_ordinal", "ac2_quadratic", "icc_2_1", "rater_vs_rest_kendall")
OF_CHOICES = ("alpha_nominal", "ac1", "fleiss_kappa", "majority_share")
OF_RANKINGS = ("kendall_between_annotators",)
CENTRES = {"severity": 0.0, "left_share": 0.5}
# With more questions than this, each panel of annotators has one question.
FEW_QUESTIONS = 3


@figure("distributions")
def distribution_bars(distributions: pd.DataFrame) -> Iterator[Part]:
    """Draw how often each method got each rating, best mean on top."""
    for question, rows in grouped(distributions):
        table = rows.pivot_table(index="method", columns="rating", values="share")
        table = table.fillna(0)
        means = (table * table.columns.to_numpy(float)).sum(axis=1)
        order = list(means.sort_values(ascending=False, kind="stable").index)
        top = table.columns.max()
        words = word(
            "captions",
            "distributions alt",
            question=question,
            rating=f"{top:g}",
            method=table[top].idxmax(),
            share=f"{table[top].max():.0%}",
        )
        yield _stack(question, table.loc[order[:MOST_ROWS]], words)


def _stack(question: str, table: pd.DataFrame, words: str) -> Panel:
    methods, ratings = list(table.index), list(table.columns)
    places = np.linspace(0, 1, len(ratings)) if len(ratings) > 1 else [1.0]
    shades = sample_colorscale(SHADES, places)
    bars = [
        {
            "name": f"{rating:g}",
            "x": values(100 * table[rating]),
            "marker": {"color": color},
            "text": [as_text(method) for method in methods],
            "textposition": "none",
            "hovertemplate": _(
                "{method}: {share} % gave {rating}<extra></extra>",
                method="%{text}",
                share="%{x:.1f}",
                rating=f"{rating:g}",
            ),
        }
        for rating, color in zip(ratings, shades, strict=True)
    ]
    return panels.stacked(
        question, methods, bars, _("per cent of ratings"), words=words
    )


@figure("agreement")
def agreement_dots(agreement: pd.DataFrame) -> Iterator[Part]:
    """Draw the agreement of people, one panel for each statistic."""
    present = set(agreement["statistic"])
    chosen = [*OF_RATINGS] if "alpha_ordinal" in present else []
    if present & {"fleiss_kappa", "majority_share"}:
        chosen += OF_CHOICES
    chosen += [name for name in OF_RANKINGS if name in present]
    known = agreement[agreement["statistic"].isin(chosen) & agreement["value"].notna()]
    if known["question"].nunique() == 1:
        # The statistics of a single question are the rows.
        rows = known.assign(name=[title_of(s) for s in known["statistic"]])
        order = [title_of(c) for c in chosen if c in set(known["statistic"])]
        question = str(rows["question"].iloc[0])
        yield dots("agreement", question, rows, names="name", order=order)
        return
    known = known.sort_values("question", kind="stable")
    for name in chosen:
        if len(rows := known[known["statistic"] == name]):
            yield dots("agreement", title_of(name), rows.head(MOST_ROWS))


@figure("annotators")
def annotator_dots(annotators: pd.DataFrame) -> Iterator[Part]:
    """Draw the statistics that distinguish annotators; the table has the others."""
    known = annotators[
        annotators["value"].notna()
        & annotators["statistic"].isin(WORDS["annotators"])
        & (annotators["question"] != ALL_QUESTIONS)
    ]
    known = known.assign(annotator=known["annotator"].replace(_marked(annotators)))
    few, n_drawn = known["question"].nunique() <= FEW_QUESTIONS, 0
    # With many questions, only the first two statistics are drawn.
    present = [name for name in WORDS["annotators"] if name in set(known["statistic"])]
    # All panels have the same order, so that an annotator is one row.
    everybody = by_value(known[known["statistic"].isin(present[:1])], "annotator")
    everybody += sorted({*known["annotator"]} - {*everybody})
    for statistic in present if few else present[:2]:
        title = word("annotators", statistic)
        rows = known[known["statistic"] == statistic]
        low, high = (f"{end:.2f}" for end in (rows["value"].min(), rows["value"].max()))
        words = _(
            "{statistic} from {low} to {high}", statistic=title, low=low, high=high
        )
        parts = [(title, rows)]
        if not few:
            parts = [(headed(title, name), own) for name, own in grouped(rows)]
        for heading, own in parts:
            here = set(own["annotator"])
            ends = _ends([name for name in everybody if name in here])
            middle = CENTRES.get(statistic, float(own["value"].mean()))
            yield dots(
                "annotators",
                heading,
                own[own["annotator"].isin(ends)],
                order=ends,
                dotted=[middle],
                span=(middle,),
                groups="question" if own["question"].nunique() > 1 else "",
                words=words,
            )
            words, n_drawn = "", n_drawn + 1
    if len(everybody) > MOST_ROWS:
        yield _("Only the {n} annotators at the two ends are drawn.", n=MOST_ROWS)
    if n_drawn > MOST_PANELS:
        n = MOST_PANELS
        yield _("Only the first {n} panels are drawn; the table has all.", n=n)


def _marked(annotators: pd.DataFrame) -> dict[str, str]:
    """Return the marked names of annotators at chance level on some question."""
    if "verdict" not in annotators:
        return {}
    marked = annotators[annotators["verdict"].isin(MARKED)]
    pairs = zip(marked["annotator"], marked["verdict"], strict=True)
    return {
        str(name): word("marked-annotators", verdict, annotator=name)
        for name, verdict in pairs
    }


def _ends(order: list[str]) -> list[str]:
    if len(order) <= MOST_ROWS:
        return order
    return order[: MOST_ROWS // 2] + order[-MOST_ROWS // 2 :]


@figure("position")
def position_dots(position_bias: pd.DataFrame) -> Iterator[Part]:
    """Draw the share of wins on the left side."""
    rows = position_bias[position_bias["value"].notna()].head(MOST_ROWS)
    if rows.empty:
        return
    parts = [rows.assign(kind=_("as counted"))]
    if "adjusted" in rows and rows["adjusted"].notna().any():
        adjusted = {
            end: rows[f"adjusted{column}"]
            for end, column in (("value", ""), ("low", "_low"), ("high", "_high"))
        }
        parts.append(rows.assign(kind=_("both orders of a pair balanced"), **adjusted))
    title, words = _("Share of wins on the left"), best_values(rows, "question")
    yield dots("position", title, pd.concat(parts), words=words)
