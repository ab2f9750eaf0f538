"""Whether the best few methods are told apart from all others."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analysis.results import NAN


@dataclass(frozen=True)
class TopMethods:
    """The best methods, as a set."""

    methods: tuple[str, ...]
    p_value: float


def top_methods(
    ranks: Mapping[str, float],
    comparisons: Iterable[Mapping[str, object]],
    size: int,
) -> TopMethods:
    """Test that the `size` methods of the best ranks are the best ones.

    Every one of the set has to be better than every one of the others. That is claimed
    where each of these comparisons shows it alone, at the level of the claim, without
    adjustment: one that is not true would have to be rejected by its own test (Berger
    1982, Technometrics 24). The p-value is the largest of theirs, two-sided, since
    either of two equal methods could have come to stand in the set; 1 where one of the
    set is behind.
    """
    first = sorted((rank, name) for name, rank in ranks.items() if rank <= size)
    best = [name for _rank, name in first]
    if len(best) != size:
        return TopMethods((), NAN)
    largest, crossing = 0.0, 0
    for row in comparisons:
        inside = [row["method_a"] in best, row["method_b"] in best]
        if inside[0] == inside[1]:
            continue
        crossing += 1
        p_value, gap = float(str(row["p_value"])), float(str(row["difference"]))
        # What has no test shows nothing.
        shown = (gap > 0) == inside[0] and p_value == p_value
        largest = max(largest, p_value) if shown else 1.0
    untested = crossing < size * (len(ranks) - size)
    return TopMethods(tuple(best), NAN if untested else largest)
