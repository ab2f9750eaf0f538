"""Letters for names that do not differ significantly."""

from collections.abc import Collection, Iterable, Sequence

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT

# More groups have no letters; splitting gives up far above.
MOST_LETTERS, MOST_GROUPS = 26, 500


def pairs_apart(
    rows: pd.DataFrame, names: tuple[str, str]
) -> tuple[set[frozenset[str]], bool]:
    """Return the pairs that differ significantly, and whether any pair was tested."""
    tested = rows[rows["p_adjusted"].notna()]
    differ = tested[tested["p_adjusted"] <= SIGNIFICANT]
    pairs = zip(*(differ[name].astype(str) for name in names), strict=True)
    return {frozenset(pair) for pair in pairs}, len(tested) > 0


def letters(
    ordered: Sequence[str], apart: Collection[frozenset[str]]
) -> dict[str, str]:
    """Return letters by name: two names share one unless they differ significantly.

    Insert and absorb (Piepho 2004, doi:10.1198/1061860043515).  The first letter
    belongs to the first of the `ordered` names. Empty if all would share one letter,
    or more than 26 are needed.

    >>> letters(["a", "b", "c"], [frozenset("ac")])
    {'a': 'a', 'b': 'ab', 'c': 'b'}
    """
    groups = [frozenset(ordered)]
    for pair in sorted(apart, key=sorted):
        if not pair <= frozenset(ordered):
            continue
        split = (
            part
            for group in groups
            for part in ([group - {one} for one in pair] if pair <= group else [group])
        )
        groups = _largest(split)
        if len(groups) > MOST_GROUPS:
            return {}
    place = {name: i for i, name in enumerate(ordered)}
    groups.sort(key=lambda group: sorted(place[name] for name in group))
    if not 1 < len(groups) <= MOST_LETTERS:
        return {}
    return {
        name: "".join(
            chr(ord("a") + i) for i, group in enumerate(groups) if name in group
        )
        for name in ordered
    }


def _largest(groups: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Return the groups that no other one contains."""
    found = list(dict.fromkeys(groups))
    return [one for one in found if not any(one < other for other in found)]
