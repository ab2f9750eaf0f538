"""One value over independent studies, which differ by more than chance."""

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import stdtrit

from analysis.inference.cluster_variance import with_holm
from analysis.inference.crossed_clusters import two_sided
from analysis.results import NAN, Array, TableRow
from analysis.sentences import sentence

# The part that is all of them: no question or study has this name.
ALL = ""
# The value that a metric has by chance; 0 for coefficients.
CHANCES = {"ppa_half": 0.5}
ONE_STUDY = sentence("only one study has a value with a standard error")


def combined(
    values: Array, errors: Array, confidence: float, chance: float
) -> TableRow:
    """Combine the values of studies by a model of random effects.

    The variance between studies is that of DerSimonian and Laird (1986, Controlled
    Clinical Trials 7(3)), interval and test are those of Hartung and Knapp (2001,
    Statistics in Medicine 20(24)): Student's t with one degree less than studies.

    Parameters
    ----------
    values, errors
        The value of each study and its standard error, at least two.
    chance
        What the value is tested against.
    """
    degrees = len(values) - 1
    weights = errors**-2.0
    apart = values - weights @ values / weights.sum()
    heterogeneity = float(weights @ apart**2)
    of_chance = float(weights.sum() - (weights**2).sum() / weights.sum())
    # combine_effects of statsmodels uses a variance below 0 as it is.
    between = max((heterogeneity - degrees) / of_chance, 0.0)
    weights = 1 / (errors**2 + between)
    value = float(weights @ values / weights.sum())
    spread = weights @ (values - value) ** 2 / (degrees * weights.sum())
    error = float(np.sqrt(spread))
    far = float(stdtrit(degrees, (1 + confidence) / 2)) * error
    p = NAN
    if error > 0:
        p = float(two_sided(np.array((value - chance) / error), np.array(degrees)))
    return {
        "value": value,
        "low": value - far,
        "high": value + far,
        "n": len(values),
        "p_value": p,
        "error": error,
        "freedom": float(degrees),
        "tau_squared": between,
        "i_squared": max(1 - degrees / heterogeneity, 0.0) if heterogeneity else 0.0,
    }


def over_studies(
    studies: Sequence[tuple[str, Sequence[TableRow]]], confidence: float
) -> list[TableRow]:
    """Return every metric by every statistic in each study, and over all of them.

    Studies without a standard error do not enter; p-values over all studies are
    adjusted (Holm) over the metrics.

    Parameters
    ----------
    studies
        The name of each, and its own rows of the table `meta_analysis`.
    """
    ways: dict[tuple[object, ...], list[TableRow]] = {}
    for name, rows in studies:
        for key, row in _of_study(rows).items():
            own = row | {"over": "studies", "part": name, "p_adjusted": NAN}
            ways.setdefault(key, []).append(own)
    families: dict[tuple[object, ...], list[TableRow]] = {}
    for key, parts in ways.items():
        metric, statistic, level = key
        numbers = np.array([[row["value"], row["error"]] for row in parts], float)
        known = np.isfinite(numbers).all(axis=1) & (numbers[:, 1] > 0)
        whole: TableRow = {"value": NAN, "p_value": NAN, "n": int(known.sum())}
        whole["reason"] = "" if known.sum() > 1 else ONE_STUDY
        if known.sum() > 1:
            chance = CHANCES.get(str(statistic), 0.0)
            values, errors = numbers[known].T
            whole |= combined(values, errors, confidence, chance)
        keys = {"metric": metric, "statistic": statistic, "level": level}
        whole |= keys | {"over": "studies", "part": ALL, "drawn": "studies"}
        families.setdefault((statistic, level), []).append(whole)
    wholes = [row for family in families.values() for row in with_holm(family)]
    found: list[TableRow] = []
    for row in wholes:
        found += [*ways[row["metric"], row["statistic"], row["level"]], row]
    return found


def _of_study(rows: Sequence[TableRow]) -> dict[tuple[object, ...], TableRow]:
    """Return one row of each metric by each statistic: of all questions, or of one."""
    found: dict[tuple[object, ...], TableRow] = {}
    for row in _whole_last(rows):
        found[row["metric"], row["statistic"], row["level"]] = dict(row)
    return found


def _whole_last(rows: Sequence[TableRow]) -> Iterator[TableRow]:
    yield from (row for row in rows if row["part"] != ALL)
    yield from (row for row in rows if row["part"] == ALL)
