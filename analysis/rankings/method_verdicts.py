"""Tests that the best few methods differ from all others."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pandas as pd

from analysis.reliability.checklist_labels import BOXES
from analysis.results import NAN, TableRow, records


@dataclass(frozen=True)
class TopMethods:
    """The best methods, as a set."""

    methods: tuple[str, ...]
    p_value: float


def top_methods(
    ranks: Mapping[str, float], comparisons: Iterable[Mapping[str, object]], size: int
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


PREFERRED, OPEN, APART = "preferred", "open", "apart"
# Of each kind of answers: its leaderboard, and there the question, what methods are
# ranked by, their rank, and how many answers each rests on.
BOARDS = {
    "ratings": ("method_means", "dimension", "mean", "rank", "n_ratings"),
    "choices": ("leaderboard", "criterion", "rating", "rank", "n_comparisons"),
    "rankings": ("ranking_leaderboard", "criterion", "rating", "rank", "n_rankings"),
}
ResultTables = Mapping[str, pd.DataFrame]


def method_verdict_rows(tables: ResultTables, confidence: float) -> list[TableRow]:
    """Return the first method of each question, and how many others it beats."""
    rows = [
        about | _verdict(about, board, tables, confidence)
        for about, board in _parts(tables)
    ]
    return sorted(rows, key=lambda row: str(row["question"]))


def top_rows(tables: ResultTables, size: int, confidence: float) -> list[TableRow]:
    """Test for each question whether the best few methods differ from all others."""
    rows: list[TableRow] = []
    for about, board in _parts(tables):
        ranks = dict(zip(board["method"].astype(str), board["rank"], strict=True))
        if len(ranks) <= size:
            continue
        pairs = _pairs(about, tables.get("method_comparisons"))
        best = top_methods(ranks, records(pairs), size)
        inside = pairs["p_adjusted"] <= 1 - confidence
        for name in ("method_a", "method_b"):
            inside &= pairs[name].isin(best.methods)
        rows.append(
            about
            | {
                "size": size,
                "methods": ", ".join(best.methods),
                "n_methods": len(ranks),
                "p_value": best.p_value,
                "drawn": str(board["drawn"].iloc[0]),
                "level": 1 - confidence,
                "n_inside": size * (size - 1) // 2,
                "n_inside_apart": int(
                    (inside & (pairs["p_adjusted"] <= 1 - confidence)).sum()
                ),
                "verdict": APART if best.p_value <= 1 - confidence else OPEN,
            }
        )
    return sorted(rows, key=lambda row: str(row["question"]))


def _parts(tables: ResultTables) -> Iterator[tuple[TableRow, pd.DataFrame]]:
    """Yield the methods of each part of each leaderboard, under the same names."""
    for source, (name, question, by, rank, n) in BOARDS.items():
        board = tables.get(name)
        if board is None:
            continue
        board = board[~board[question].isin(_boxes(tables))]
        names = {question: "question", by: "value", rank: "rank", n: "n"}
        bounds = {f"{by}_low": "low", f"{by}_high": "high"}
        known = board.rename(columns=names).rename(columns=bounds)
        if "part" not in known:
            known = known.assign(part=1)
        for (asked, part), own in known.groupby(["question", "part"], sort=True):
            if len(own) > 1 and own["value"].notna().all():
                yield {"question": str(asked), "source": source, "part": part}, own


def _boxes(tables: ResultTables) -> list[str]:
    """Return the boxes of a checklist; these do not rank methods."""
    labels = tables.get("labels")
    if labels is None:
        return []
    return [f"{label}{box}" for label in labels["label"].unique() for box in BOXES]


def _verdict(
    about: TableRow, board: pd.DataFrame, tables: ResultTables, confidence: float
) -> TableRow:
    """Judge the methods of one part of one leaderboard."""
    leading = board[board["rank"] == 1]
    first = str(leading["method"].iloc[0])
    pairs = _pairs(about, tables.get("method_comparisons"))
    apart = pairs["p_adjusted"] <= 1 - confidence
    with_first = (pairs["method_a"] == first) | (pairs["method_b"] == first)
    row: TableRow = {
        "method": first,
        **_value(str(about["source"]), leading, tables.get("method_win_rates")),
        "n_methods": len(board),
        "n_better": int((apart & with_first).sum()),
        "n_pairs": len(pairs),
        "n_apart": int(apart.sum()),
        "p_adjusted": float(pairs.loc[with_first, "p_adjusted"].max(skipna=False))
        if len(pairs)
        else NAN,
        "drawn": str(board["drawn"].iloc[0]),
        "verdict": OPEN,
    }
    if len(leading) > 1:
        return row | {"method": "", "n_better": 0, "reason": "shared"}
    if pairs["p_adjusted"].isna().all():
        return row | {"reason": "untested"}
    if row["n_better"] == len(board) - 1:
        return row | {"verdict": PREFERRED, "reason": ""}
    return row | {"reason": "not_apart"}


def _pairs(
    about: Mapping[str, object], comparisons: pd.DataFrame | None
) -> pd.DataFrame:
    """Return the comparisons of the methods of one part."""
    if comparisons is None:
        return pd.DataFrame(columns=["method_a", "method_b", "p_adjusted"])
    asked = [comparisons[key] == about[key] for key in ("question", "source", "part")]
    return comparisons[asked[0] & asked[1] & asked[2]]


def _value(source: str, leading: pd.DataFrame, rates: pd.DataFrame | None) -> TableRow:
    """Return the value of the first method, and on how many answers it rests."""
    row = leading.iloc[0]
    statistic = "mean" if source == "ratings" else "rating"
    value, low, high, n = (row.get(key, NAN) for key in ("value", "low", "high", "n"))
    if source == "choices" and rates is not None:
        statistic = "win_rate"
        asked = (rates["criterion"] == row["question"]) & (
            rates["method"] == row["method"]
        )
        own = rates[asked].iloc[0]
        value, low, high, n = (own[key] for key in ("rate", "low", "high", "n_votes"))
    return {"statistic": statistic, "value": value, "low": low, "high": high, "n": n}


def not_told_apart(
    comparisons: pd.DataFrame, about: Mapping[str, object], confidence: float
) -> Iterator[tuple[str, str]]:
    """Yield the pairs of a row of verdicts whose order is not shown."""
    for row in _pairs(about, comparisons).to_dict("records"):
        if not row["p_adjusted"] <= 1 - confidence:
            yield str(row["method_a"]), str(row["method_b"])
