"""How often each rating was given to each method."""

import pandas as pd

from analysis.reading.kept_answers import are_means
from analysis.results import TableRow

# More different ratings than this are a continuous scale, which bars do not show.
MOST_RATINGS = 21


def rating_distribution(ratings: pd.DataFrame) -> list[TableRow]:
    """Count the ratings of every method, question by question.

    Missing ratings count nowhere. A question without any rating has no rows.
    """
    found: list[TableRow] = []
    known = ratings.dropna(subset=["rating"])
    for question, rows in known.groupby("dimension", sort=True):
        given = rows["rating"].astype(float)
        if given.nunique() > MOST_RATINGS or _are_means(rows):
            continue
        counts = pd.crosstab(rows["method"].astype(str), given)
        for method, row in zip(counts.index, counts.to_numpy(), strict=True):
            for rating, n in zip(counts.columns, row, strict=True):
                found.append(
                    {
                        "question": str(question),
                        "method": method,
                        "rating": float(rating),
                        "n": int(n),
                        "share": float(n / row.sum()),
                    }
                )
    return found


def _are_means(rows: pd.DataFrame) -> bool:
    return "annotator" in rows and are_means(rows)
