"""Tables of weights: what a composite is made of, read, checked, or a paper's own.

A table of weights says what belongs together: ``composite, part, weight`` and, where it
is no mean, ``kind``. Parts are dimensions, metrics, angles, or other composites.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from analysis.problems import InputError, Problem, by_line
from analysis.reading.files import read_file
from analysis.reading.kept_rows import key_texts
from analysis.results import Array

WEIGHT_COLUMNS = ("composite", "part", "weight")
KINDS = ("mean", "ranks", "drop")
VISTAR_ANGLES = ("TR", "LI", "CSE", "CPA", "PSC", "GC", "SF", "CUL", "MA")
ENVISION_QUESTIONS = {
    "consistency": (
        "semantic_consistency",
        "factual_consistency",
        "spatial_temporal_consistency",
    ),
    "physicality": (
        "basic_properties",
        "dynamics_interactivity",
        "physical_reliability",
    ),
    "aesthetics": ("expressiveness", "aesthetic_quality", "authenticity"),
}


@dataclass(frozen=True)
class Composite:
    """One composite: how it is formed, of what, with which weights."""

    kind: str
    parts: tuple[str, ...]
    weights: Array


def weight_table(
    parts: Mapping[str, Sequence[str] | Mapping[str, float]], *, kind: str = "mean"
) -> pd.DataFrame:
    """Return a table of weights from composites and their parts.

    Examples
    --------
    >>> weight_table({"artist": ["SF", "MA"]}).to_dict("records")[0]
    {'composite': 'artist', 'part': 'SF', 'weight': 1.0, 'kind': 'mean'}
    """
    rows = []
    for composite, names in parts.items():
        weighted = names if isinstance(names, Mapping) else dict.fromkeys(names, 1.0)
        rows += [(composite, part, float(w), kind) for part, w in weighted.items()]
    return pd.DataFrame(rows, columns=[*WEIGHT_COLUMNS, "kind"])


def envision_weights() -> pd.DataFrame:
    """Return Envision's: .4 consistency, .4 physicality, .2 aesthetics.

    The paper calls each of them the mean of its three questions, named here as in the
    expert study's protocol; the released code, and the paper's own tables, have weights
    of .33, .33 and .34.
    """
    overall = {"consistency": 0.4, "physicality": 0.4, "aesthetics": 0.2}
    return weight_table({**ENVISION_QUESTIONS, "overall": overall})


def vistar_weights() -> pd.DataFrame:
    """Return VISTAR's core, the mean of the nine angles.

    The paper also has means over the angles that are relevant to each of seven roles,
    and does not print which these are.
    """
    return weight_table({"core": VISTAR_ANGLES})


def rank_weights(metrics: Iterable[str]) -> pd.DataFrame:
    """Return ViStoryBench's leaderboard: the average of the ranks over metrics."""
    return weight_table({"average rank": tuple(metrics)}, kind="ranks")


def read_weights(path: Path) -> pd.DataFrame:
    """Read a table of weights.

    Raises
    ------
    InputError
        With every problem, see `check_weights`.
    """
    return check_weights(read_file(path), path.name)


def check_weights(frame: pd.DataFrame, file: str) -> pd.DataFrame:
    """Check a table of weights, and return it with typed columns.

    Parameters
    ----------
    frame
        Columns composite, part, weight and perhaps kind (one of `KINDS`); the index is
        the line in the file.
    file
        Named in the problems.

    Raises
    ------
    InputError
        Columns or names missing, a weight that is no number above 0, a part twice in a
        composite, an unknown kind or two kinds of one composite, a drop of other than
        two parts, a composite that is part of itself.
    """
    missing = [column for column in WEIGHT_COLUMNS if column not in frame]
    if missing:
        expected = f"the columns {', '.join(WEIGHT_COLUMNS)}"
        raise InputError([Problem(file, expected, 1, column) for column in missing])
    found = pd.DataFrame(
        {name: key_texts(frame[name]).str.strip() for name in ("composite", "part")}
    )
    texts = key_texts(frame["weight"])
    found["weight"] = pd.to_numeric(texts, errors="coerce").astype(float)
    kinds = key_texts(frame["kind"]).str.strip() if "kind" in frame else "mean"
    found["kind"] = pd.Series(kinds, frame.index, dtype=str).replace("", "mean")
    problems = _row_problems(found, texts, file) or _composite_problems(found, file)
    if problems:
        raise InputError(by_line(problems))
    return found.reset_index(drop=True)


def _row_problems(found: pd.DataFrame, texts: pd.Series, file: str) -> list[Problem]:
    problems = []
    doubled = found.duplicated(["composite", "part"])
    for k, row in enumerate(found.to_dict("records")):
        at = int(found.index[k])
        problems += [
            Problem(file, "a name", at, column)
            for column in ("composite", "part")
            if not row[column]
        ]
        if not (np.isfinite(row["weight"]) and row["weight"] > 0):
            text = str(texts.iloc[k])
            problems.append(Problem(file, "a number above 0", at, "weight", text))
        if row["kind"] not in KINDS:
            expected = f"one of {', '.join(KINDS)}"
            problems.append(Problem(file, expected, at, "kind", row["kind"]))
        if doubled.iloc[k]:
            expected = f"each part of {row['composite']} once"
            problems.append(Problem(file, expected, at, "part", row["part"], "once"))
    return problems


def _composite_problems(found: pd.DataFrame, file: str) -> list[Problem]:
    problems = []
    for composite, rows in found.groupby("composite", sort=False):
        line = int(str(rows.index[0]))
        if rows["kind"].nunique() > 1:
            expected = f"one kind in all rows of {composite}"
            problems.append(Problem(file, expected, line, "kind", rule="one kind"))
        elif rows["kind"].iloc[0] == "drop" and len(rows) != 2:
            expected = f"two parts of the drop {composite}: what it is from, and to"
            problems.append(Problem(file, expected, line, "part", rule="two parts"))
    known = composites_of(found)
    lines = dict(zip(found["composite"], found.index, strict=True))
    problems += [
        Problem(
            file,
            "a composite that is no part of itself",
            lines[name],
            "composite",
            name,
        )
        for name in known
        if name in inside(known, name)
    ]
    return problems


def inside(known: Mapping[str, Composite], name: str) -> set[str]:
    """Return all that a composite is made of, whatever depth."""
    found: set[str] = set()
    waiting = list(known[name].parts)
    while waiting:
        part = waiting.pop()
        if part not in found:
            found.add(part)
            waiting += known[part].parts if part in known else ()
    return found


def composites_of(weights: pd.DataFrame) -> dict[str, Composite]:
    """Return the composites of a table of weights by name, in its order."""
    kinds = weights["kind"] if "kind" in weights else pd.Series("mean", weights.index)
    return {
        str(name): Composite(
            str(kinds[rows.index[0]]),
            tuple(map(str, rows["part"])),
            rows["weight"].to_numpy(float),
        )
        for name, rows in weights.groupby("composite", sort=False)
    }
