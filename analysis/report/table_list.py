"""Which tables the page lists, under which headings, as texts."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.printing import column_texts
from analysis.report.language import counted, retold, say, texts
from analysis.result_tables.columns import TOLD

# Section of the page to its tables and what they are called, in reading order.
TABLE_GROUPS = texts(
    {
        "Metrics against people": {
            "verdicts": "What may be claimed of each metric",
            "sanity": "Whether metrics see what was made worse on purpose",
            "correlations": "How well metrics agree with people",
            "groups": "Over how many stories coefficients are averaged",
            "pairwise_accuracy": "How often a metric prefers what people prefer",
            "human_pairs": "How well one annotator, and each metric, "
            "predicts the others",
            "accuracy_levels": "Accuracy with ties, by level",
            "spa": "Soft pairwise accuracy",
            "metric_comparisons": "Whether one metric agrees better than another",
            "accuracy_comparisons": "Whether one metric predicts people better",
            "clusters": "Which metrics the tests cannot tell apart",
            "williams": "Williams' test of two metrics",
            "mcnemar": "Two metrics on the same pairs",
            "calibration": "Metrics weighted to fit people",
            "disagreement": "Where a metric and people disagree most",
            "stability": "How steady a judge is over repeated trials",
            "judges": "Whether judges agree with people and one another",
        },
        "People among themselves": {
            "agreement": "How well people agree with one another",
            "annotators": "Annotators one by one",
            "without_marked": "What changes without who answers like chance",
            "annotator_pairs": "How well each two annotators agree",
            "distributions": "How often each rating was given",
            "scale_consistency": "Whether the questions form one scale",
            "position_bias": "Whether the side decides",
            "annotator_sides": "Whether the side decides for each annotator",
            "side_effect": "How much the side is worth in a leaderboard",
            "variance": "Where ratings differ",
            "reliability": "How reliable means are with more annotators",
        },
        "Methods": {
            "method_verdicts": "Which method people prefer",
            "labels": "What the text asks for, and what is shown",
            "top_methods": "Whether the best few methods are told apart",
            "method_means": "What people say of each method",
            "rating_leaderboard": "Ranking by ratings, in three ways",
            "leaderboard": "Ranking by side-by-side answers",
            "method_comparisons": "Whether one method is ahead of another",
            "win_rates": "Wins, ties and losses",
            "method_win_rates": "How often each method wins",
            "story_wins": "In how many stories one method is rated above another",
            "ranking_leaderboard": "Ranking by orders of several outputs",
            "composites": "Composite scores",
        },
        "Groups of stories": {
            "strata": "Every statistic by group of stories",
            "strata_win_rates": "Wins, ties and losses by group of stories",
            "strata_differences": "Whether groups of stories differ",
            "subset": "Whether a part of the stories keeps means and ranking",
            "best_subset": "How well the best parts keep means and ranking",
            "subset_stories": "Which stories make up the best parts",
        },
        "Planning the next study": {
            "power": "How intervals shrink with a larger study",
            "needed": "What a narrow interval would need",
        },
        "This report": {
            "hypotheses": "Which metric was declared for which question",
            "run": "How this report was made",
        },
    }
)
TABLE_TITLES = {
    name: title for group in TABLE_GROUPS.values() for name, title in group.items()
}
FURTHER = texts("Further tables")
# A page with more cells would be slow: the longest tables are cut, and never to fewer
# rows than these. The files have them all.
MOST_CELLS = 28_000
LEAST_ROWS = 10


def listed_tables(
    tables: Mapping[str, pd.DataFrame], cells_above: int = 0
) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return the tables under the headings of their groups; unknown ones come last.

    `cells_above` are cells that the page holds already, which leave less room.
    """
    rows = _most_rows(list(tables.values()), MOST_CELLS - cells_above)
    groups = {heading: list(names) for heading, names in TABLE_GROUPS.items()}
    groups[FURTHER] = [name for name in tables if name not in TABLE_TITLES]
    found = [
        (say(heading), [_listed(n, tables[n], rows) for n in names if n in tables])
        for heading, names in groups.items()
    ]
    return [group for group in found if group[1]]


def _most_rows(frames: Sequence[pd.DataFrame], room: int) -> int:
    """Return how many rows a table may have for all of them to fit."""
    rows = max(map(len, frames), default=0)
    while rows > LEAST_ROWS:
        if sum(min(rows, len(one)) * len(one.columns) for one in frames) <= room:
            return rows
        rows = rows * 4 // 5
    return LEAST_ROWS


def _listed(name: str, frame: pd.DataFrame, most: int) -> dict[str, Any]:
    numeric = [pd.api.types.is_numeric_dtype(frame[c]) for c in frame.columns]
    total = len(frame)
    # What is printed alike in all rows is told by all of them.
    cells = {c: column_texts(frame[c])[:most] for c in frame.columns}
    cells |= {c: [*map(retold, cells[c])] for c in TOLD.intersection(cells)}
    columns = [
        [_with_true_minus(text) if is_number else text for text in cells[c]]
        for c, is_number in zip(frame.columns, numeric, strict=True)
    ]
    return {
        "name": name,
        "total": total,
        "count": counted(total, "row"),
        "title": say(TABLE_TITLES.get(name, name.replace("_", " ").capitalize())),
        "columns": list(zip(frame.columns, numeric, strict=True)),
        "rows": [
            list(zip(row, numeric, strict=True)) for row in zip(*columns, strict=True)
        ],
    }


def _with_true_minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")
