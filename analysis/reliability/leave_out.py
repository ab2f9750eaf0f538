r"""How far ordinal alpha would move with other units, where answers have many values.

Ranks depend on which answers there are. A resample holds units twice, and their
answers lie next to each other: of a slider's answers it finds less agreement than there
is, and percentiles may lie below the value itself. Leaving clusters out doubles none.
"""

from collections.abc import Iterator

import numpy as np
from scipy.special import stdtrit

from analysis.reliability.chance_corrected import CHUNK, alpha
from analysis.reliability.matrices import Reliability
from analysis.results import NAN, Array, Counts

# From so many values on, resamples move ranks (docs/coverage.md).
MANY_VALUES = 11
# More clusters than this are left out by groups.
MOST_GROUPS = 400


def has_many_values(data: Reliability) -> bool:
    """Say whether so many different answers were given that ranks move."""
    return len(data.values) >= MANY_VALUES


def ordinal_interval(
    data: Reliability, value: float, parts: tuple[str, ...], confidence: float
) -> tuple[float, float]:
    r"""Return the bounds of ordinal alpha by leaving out one cluster after the other.

    With G clusters the variance is :math:`(G - 1)/G \sum (\alpha_{(g)} -
    \bar\alpha_{(\cdot)})^2` (the jackknife; Efron and Stein 1981, Annals of Statistics
    9). Of two kinds both are added, and of stories and methods that of units, which are
    in both, is taken off. The interval is Student's, of one degree of freedom less than
    there are clusters of the fewer kind, and ends at 1.
    """
    found = [_variance(data, part) for part in parts]
    variance = sum(one for one, _ in found)
    if set(parts) == {"stories", "methods"}:
        largest = max(one for one, _ in found)
        variance = max(variance - _variance(data, "units")[0], largest)
    if not variance > 0:
        return NAN, NAN
    freedom = min(n for _, n in found) - 1
    far = float(stdtrit(freedom, (1 + confidence) / 2) * np.sqrt(variance))
    return value - far, min(value + far, 1.0)


def _variance(data: Reliability, part: str) -> tuple[float, int]:
    """Return the variance where clusters of one kind are drawn, and how many."""
    people = part == "annotators"
    codes = np.arange(data.n_annotators) if people else _codes(data, part)
    n = min(int(codes.max()) + 1, MOST_GROUPS)
    values = np.concatenate([*_without(data, codes % n, n, people=people)])
    return float((n - 1) / n * ((values - values.mean()) ** 2).sum()), n


def _codes(data: Reliability, part: str) -> Counts:
    """Return the cluster of each unit, of those that have two answers of one unit."""
    codes = data.clusters[part][:, 0]
    some = np.unique(codes[data.pairable])
    # Of others alpha knows nothing: they may be left out with any of these.
    return np.minimum(np.searchsorted(some, codes), len(some) - 1)


def _without(
    data: Reliability, group: Counts, n: int, *, people: bool
) -> Iterator[Array]:
    """Yield alpha without each group, some groups at a time."""
    size = max(data.n_units, len(data.values), data.counts.nnz if people else 1)
    step = max(1, CHUNK // size)
    for start in range(0, n, step):
        out = np.arange(start, min(start + step, n))
        kept = (group != out[:, None]).astype(float)
        once = np.ones((len(out), data.n_units))
        weights, annotators = (once, kept) if people else (kept, None)
        yield alpha(data, weights, "ordinal", people=annotators)
