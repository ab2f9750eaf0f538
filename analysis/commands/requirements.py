"""Requirements on the agreement of metrics with people, as a gate of automatic checks.

A requirement is ``question:metric>=x``, of the leading statistic of the question, or
``question:metric:statistic>=x``, of a statistic of the tables ``verdicts`` or
``correlations``, with ``@level`` after it where it has several.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from analysis.options import OptionError
from analysis.problems import one_of

MET, NOT_MET, OPEN = "met", "not met", "not settled"
SIGN = ">="
HOW = "QUESTION:METRIC>=NUMBER, as in character:cids_self>=0.3"
COLUMNS = ("question", "metric", "statistic", "level", "value", "low", "high")


@dataclass(frozen=True)
class Requirement:
    """A value that a statistic has to reach."""

    name: str
    least: float


@dataclass(frozen=True)
class Outcome:
    """Whether a requirement is met: `state` is `MET`, `NOT_MET` or `OPEN`."""

    requirement: Requirement
    state: str
    why: str

    @property
    def is_met(self) -> bool:
        """Say whether the data show it."""
        return self.state == MET

    def __str__(self) -> str:
        wanted = f"{self.requirement.name}{SIGN}{self.requirement.least:g}"
        return f"{self.state}: {wanted}: {self.why}"


def parsed(texts: Sequence[str]) -> list[Requirement]:
    """Return requirements as they are written on the command line.

    >>> parsed(["character:cids_self>=0.3"])
    [Requirement(name='character:cids_self', least=0.3)]
    """
    found = []
    for text in texts:
        name, sign, number = text.rpartition(SIGN)
        try:
            least = float(number)
        except ValueError:
            least = math.nan
        if not (sign and ":" in name and math.isfinite(least)):
            raise OptionError(f"--require: {text!r}: expected {HOW}")
        found.append(Requirement(name.strip(), least))
    return found


def outcomes(
    requirements: Sequence[Requirement], tables: Mapping[str, pd.DataFrame]
) -> list[Outcome]:
    """Return whether each requirement is met.

    It is met if the interval lies at or above the number, and above chance; it is not
    if the interval lies below one of both. Everything else is not settled.

    Parameters
    ----------
    requirements
        As `parsed` returns them.
    tables
        Tables of `align`, by name.

    Raises
    ------
    OptionError
        No question, metric or statistic is called so.
    """
    if "verdicts" not in tables:
        raise OptionError("--require: expected scores of metrics beside it")
    named = _named(_rows(tables))
    return [_outcome(each, _known(each.name, named)) for each in requirements]


def check_names(
    requirements: Sequence[Requirement],
    tables: Mapping[str, pd.DataFrame | None],
    composites: Collection[str] = (),
) -> None:
    """Refuse questions and metrics that no table has, before anything is computed."""
    if not requirements:
        return
    scores = tables.get("scores")
    if scores is None:
        raise OptionError("--require: expected scores of metrics beside it")
    questions, metrics = {*composites}, {*composites, *scores["metric"].astype(str)}
    for frame in tables.values():
        if frame is not None:
            for column in {"dimension", "criterion"} & {*frame}:
                questions |= {*frame[column].astype(str)}
    names = {f"{question}:{metric}" for question in questions for metric in metrics}
    for each in requirements:
        # What follows is a statistic, or of a metric with several, an identity.
        beginnings = tuple(f"{name}{end}" for name in names for end in (":", " ("))
        if not (each.name in names or each.name.startswith(beginnings)):
            expected = one_of(each.name, names)
            raise OptionError(f"--require: {each.name!r}: expected {expected}")


def _rows(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Return every statistic of every metric, those of verdicts first."""
    verdicts = tables["verdicts"]
    own = verdicts[verdicts["role"] != "baseline"]
    parts = [own[[*COLUMNS, "source", "chance", "leads"]]]
    if "correlations" in tables:
        names = {"dimension": "question", "coefficient": "statistic"}
        rows = tables["correlations"].rename(columns=names)
        parts.append(rows[[*COLUMNS]].assign(source="ratings", chance=0.0, leads=False))
    rows = pd.concat(parts, ignore_index=True)
    return rows.drop_duplicates(["question", "metric", "statistic", "level", "source"])


def _named(rows: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows that each name stands for."""
    named: dict[str, pd.DataFrame] = {}
    for (question, metric), own in rows.groupby(["question", "metric"], sort=False):
        name = f"{question}:{metric}"
        leads = own[own["leads"].astype(bool)]
        # A question that no statistic leads has no value: one row says so.
        named[name] = leads if len(leads) else own.iloc[:1]
        for statistic, each in own.groupby("statistic", sort=False):
            levels = each.groupby("level", sort=False)
            if len(levels) == 1:
                named[f"{name}:{statistic}"] = each
            for level, cells in levels:
                named[f"{name}:{statistic}@{level}"] = cells
    return named


def _known(name: str, named: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    if name in named:
        return named[name]
    levels = [known for known in named if known.startswith(f"{name}@")]
    metrics = [":".join(map(str, names)) for names in _metrics(named)]
    # Of a metric that is known: its statistics; else the metrics.
    statistics = [
        known
        for metric in metrics
        if name.startswith(f"{metric}:")
        for known in named
        if known.startswith(f"{metric}:")
    ]
    known = levels or statistics or metrics
    raise OptionError(f"--require: {name!r}: expected {one_of(name, {*known})}")


def _metrics(named: Mapping[str, pd.DataFrame]) -> list[tuple[object, object]]:
    """Return every question with each of its metrics."""
    return [
        *dict.fromkeys(
            (x["question"].iloc[0], x["metric"].iloc[0]) for x in named.values()
        )
    ]


def _outcome(requirement: Requirement, rows: pd.DataFrame) -> Outcome:
    """Judge the rows of a name: one, or one for each kind of answers."""
    judged = [_state(requirement.least, row) for row in rows.to_dict("records")]
    states = {state for state, _why in judged}
    state = next(one for one in (NOT_MET, OPEN, MET) if one in states)
    return Outcome(requirement, state, "; ".join(why for _state, why in judged))


def _state(least: float, row: Mapping[object, object]) -> tuple[str, str]:
    value, low, high, chance = (
        float(str(row[key])) for key in ("value", "low", "high", "chance")
    )
    statistic = f"{row['statistic']}@{row['level']} of {row['source']}"
    if math.isnan(value):
        return OPEN, f"{statistic} has no value"
    why = f"{statistic} is {value:.3f}"
    if math.isnan(low) or math.isnan(high):
        return OPEN, f"{why}, without an interval"
    why += f" [{low:.3f}, {high:.3f}]"
    if not math.isnan(chance):
        why += f", chance {chance:.3f}"
        why += ", which it must exceed, too" if least <= chance else ""
    if low >= least and not low <= chance:
        return MET, why
    return (NOT_MET if high < least or high <= chance else OPEN), why
