"""Simulated ratings and scores in the form which the functions of `analysis` take."""

import numpy as np
import pandas as pd

from analysis.reading.cells import CellGrid

QUESTION = "quality"


def cell_grid(
    human: np.ndarray,
    scores: np.ndarray,
    metrics: tuple[str, ...],
    votes: np.ndarray | None = None,
) -> CellGrid:
    """Return a complete study: human (S, M), scores (K, S, M), votes (A, S, M).

    Without `votes` one annotator gave all values.
    """
    return CellGrid(
        QUESTION,
        tuple(f"s{s:04d}" for s in range(human.shape[0])),
        tuple(f"m{m:04d}" for m in range(human.shape[1])),
        metrics,
        np.ones(human.shape, bool),
        human,
        scores,
        human[None] if votes is None else votes,
        frozenset(),
    )


def rating_rows(grid: CellGrid) -> pd.DataFrame:
    """Return the votes as a table of ratings."""
    a, s, m = np.nonzero(np.isfinite(grid.votes))
    return pd.DataFrame(
        {
            "dimension": grid.question,
            "story": np.array(grid.stories)[s],
            "method": np.array(grid.methods)[m],
            "annotator": np.char.mod("a%03d", a),
            "rating": grid.votes[a, s, m],
        }
    )
