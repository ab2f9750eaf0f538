"""In how many stories people rate one method above another."""

from itertools import combinations

import pandas as pd

from analysis.reading.cells import rated_grid
from analysis.results import TableRow


def story_wins(by_annotator: pd.DataFrame, *, question: str) -> list[TableRow]:
    """Count the stories in which people's mean of one method is above another's.

    Means that differ by less than 1e-9 are equal: a tie.
    """
    grid = rated_grid(question, by_annotator)
    found: list[TableRow] = []
    for a, b in combinations(range(len(grid.methods)), 2):
        both = grid.cells[:, a] & grid.cells[:, b]
        if not both.any():
            continue
        apart = grid.human[both, a] - grid.human[both, b]
        found.append(
            {
                "question": question,
                "method_a": grid.methods[a],
                "method_b": grid.methods[b],
                "wins_a": int((apart > 0).sum()),
                "ties": int((apart == 0).sum()),
                "wins_b": int((apart < 0).sum()),
                "n_stories": int(both.sum()),
            }
        )
    return found
