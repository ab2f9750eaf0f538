"""Letters for names that do not differ significantly."""

from collections.abc import Collection, Sequence

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.options import KNOWN_COEFFICIENTS
from analysis.report.wording import ResultTables

# More groups have no letters; splitting gives up above.
MOST_LETTERS, MOST_GROUPS = 26, 100
Way = tuple[str, str, str]  # statistic, level, source


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
    # A group is a set of bits, one for each name.
    bit = {name: 1 << i for i, name in enumerate(ordered)}
    groups = [(1 << len(ordered)) - 1]
    for pair in sorted(apart, key=sorted):
        if not pair <= bit.keys():
            continue
        both = sum(bit[name] for name in pair)
        whole = [group for group in groups if group & both != both]
        for part in (g & ~bit[x] for g in groups if g & both == both for x in pair):
            if not any(part & other == part for other in whole):
                whole = [other for other in whole if other & part != other]
                whole.append(part)
        groups = whole
        if len(groups) > MOST_GROUPS:
            return {}
    if not 1 < len(groups) <= MOST_LETTERS:
        return {}
    # In the order of their names, first to last.
    groups.sort(key=lambda group: [i for i, x in enumerate(ordered) if group & bit[x]])
    return {
        name: "".join(
            chr(ord("a") + i) for i, group in enumerate(groups) if group & bit[name]
        )
        for name in ordered
    }


def compared(tables: ResultTables, question: str, way: Way) -> pd.DataFrame:
    """Return the tests between metrics of a question by one statistic."""
    statistic, level, source = way
    name = "accuracy_comparisons"
    keys = {"question": question, "source": source, "statistic": statistic}
    if statistic in KNOWN_COEFFICIENTS:
        name = "metric_comparisons"
        keys = {"dimension": question, "level": level, "coefficient": statistic}
    rows = tables.get(name)
    if rows is None or rows.empty:
        return pd.DataFrame(columns=["metric_a", "metric_b", "p_value", "p_adjusted"])
    for column, value in keys.items():
        rows = rows[rows[column] == value]
    return rows


def metric_letters(
    tables: ResultTables, question: str, way: Way, values: "pd.Series[float]"
) -> dict[str, str]:
    """Return the letters of metrics, whose `values` are indexed by name.

    Empty if no pair was tested.
    """
    rows = compared(tables, question, way)
    apart, is_tested = pairs_apart(rows, ("metric_a", "metric_b"))
    ordered = values.dropna().sort_values(ascending=False, kind="stable").index
    return letters([str(name) for name in ordered], apart) if is_tested else {}
