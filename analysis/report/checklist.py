"""Questions of reviewers about a human evaluation, answered from the report."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.options import KNOWN_COEFFICIENTS
from analysis.planning.best_subset import SPLITS
from analysis.reading.scores import BASELINE, BASELINES, RANDOM
from analysis.report.language import AND, SEMICOLON, SPACE, counted, listed, remark
from analysis.report.language import gettext as _
from analysis.report.metric_order import human_ceiling, level_titles, levels_in
from analysis.report.uncertainty import IntervalSources
from analysis.report.wording import (
    ResultTables,
    interval,
    number,
    per_cent,
    records,
    title_of,
    word,
)
from analysis.statistics import named

ChecklistAnswer = tuple[str, str]
# A longer list is written as a range.
MOST_LISTED = 6
NOUNS = ("annotator", "unit", "answer")


def answers(
    tables: ResultTables,
    notes: Sequence[str],
    run: Mapping[str, str],
    sources: IntervalSources,
) -> list[ChecklistAnswer]:
    """Return the questions of a reviewer with their answers, in a fixed order.

    Questions about a missing table are left out; exclusions come from the `notes`.
    """
    known = {name: table for name, table in tables.items() if len(table)}
    return [
        *_people(tables),
        (word("asked", "excluded"), _excluded(notes, run)),
        *_agreement(tables),
        *_coefficients(tables),
        *_pairs(known),
        (word("asked", "intervals"), _intervals(known, sources, run)),
        *_tests(known),
        *_leaderboards(known),
        *_other(known, run),
    ]


def _answer(key: str, kind: str = "", **values: object) -> ChecklistAnswer:
    return word("asked", key), word("answered", kind or key, **values)


def _spread(pairs: Sequence[tuple[object, str, float]]) -> str:
    """Return each question's value, or the range of many."""
    known = [one for one in pairs if one[2] == one[2]]
    if len(known) <= MOST_LISTED:
        texts = (
            word("answered", "one", question=name, text=text)
            for name, text, _value in known
        )
        return listed(texts, SEMICOLON)
    low, high = (pick(known, key=lambda one: one[2]) for pick in (min, max))
    ends = {"low": low[1], "lowest": low[0], "high": high[1], "highest": high[0]}
    n = counted(len(known), "question")
    return word("answered", "range", questions=n, **ends)


def _values(rows: pd.DataFrame, without: str = "") -> str:
    """Return each question's value with its interval, or a text if it has none."""
    return _spread(
        [
            (
                row["question"],
                f"{number(row['value'])}{interval(row) or without}",
                float(row["value"]),
            )
            for row in records(rows[rows["value"].notna()])
        ]
    )


# People -------------------------------------------------------------------------------


def _people(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    """Yield the numbers of annotators, items and answers, and their overlap."""
    agreement = tables.get("agreement")
    if agreement is None or agreement.empty:
        return
    first = agreement.drop_duplicates("question")
    if not (first["n_units"].astype(float) > 0).any():
        yield _answer("people", "people unknown")
        return
    counts = []
    for row in records(first):
        numbers = {f"{noun}s": _count(row[f"n_{noun}s"], noun) for noun in NOUNS}
        text = word("answered", "people", **numbers)
        counts.append((row["question"], text, float(row["n_units"])))
    yield word("asked", "people"), _spread(counts)
    share = first["n_answers"].astype(float) / first["n_units"].astype(float)
    if share.notna().any() and share.max() < math.inf:
        low, high = share.min(), share.max()
        text = f"{low:.1f}"
        if high - low >= 0.05:
            text = word("answered", "one to other", low=text, high=f"{high:.1f}")
        yield _answer("overlap", n=text)


def _count(n: Any, noun: str) -> str:
    if pd.isna(n):
        return word("unknown-counts", noun)
    return counted(float(n), "item" if noun == "unit" else noun)


def _excluded(notes: Sequence[str], run: Mapping[str, str]) -> str:
    """Return what was left out according to the remarks."""
    texts = [remark(note) for note in notes if "left out" in note.lower()]
    methods = run.get("excluded methods", "")
    if not texts:
        kind = "methods left out" if methods else "nothing"
        texts = [word("answered", kind, methods=methods)]
    if "view" in run:
        view = {"view": run["view"], "moment": run["as of"]}
        texts.insert(0, word("answered", "view", **view))
    return listed([*texts, word("answered", "rules")], SPACE)


def _agreement(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    """Yield how well people agree, and the human ceiling."""
    if "agreement" not in tables:
        return
    agreement = tables["agreement"]
    known = set(agreement.loc[agreement["value"].notna(), "statistic"])
    for statistic, asks in named("asked").items():
        if statistic == "alpha_nominal" and "alpha_ordinal" in known:
            continue
        if text := _values(agreement[agreement["statistic"] == statistic]):
            yield _(asks), text
    ceilings = [
        (name, f"{value:.2f}", value)
        for name in sorted(agreement["question"].unique())
        if (value := human_ceiling(agreement, str(name), "kendall")) is not None
    ]
    if ceilings:
        yield word("asked", "ceiling"), _spread(ceilings)


# Metrics ------------------------------------------------------------------------------


def _coefficients(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    if "correlations" not in tables:
        return
    correlations = tables["correlations"]
    known = correlations[correlations["value"].notna()]
    present = set(known["coefficient"])
    names = [title_of(key) for key in KNOWN_COEFFICIENTS if key in present]
    levels = level_titles(levels_in(known))
    yield _answer(
        "tau",
        coefficients=listed(names) or word("answered", "no coefficient"),
        levels=listed(levels) or word("answered", "no level"),
    )
    texts = [word("answered", "items")]
    inside = known[known["level"] == "story"]
    spread = inside.groupby(["dimension", "coefficient"])["n_groups"].nunique()
    if (spread > 1).any():
        stories = inside["n_groups"]
        low, high = (f"{n:.0f}" for n in (stories.min(), stories.max()))
        texts.append(word("answered", "items inside", low=low, high=high))
    yield word("asked", "items"), listed(texts, SPACE)
    yield _answer("sign")


def _pairs(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    if "pairwise_accuracy" not in tables:
        return
    pairwise = tables["pairwise_accuracy"]
    ties = pairwise.loc[~pairwise["metric"].isin(BASELINES), "metric_tie_rate"].dropna()
    if len(ties):
        yield _answer("ties", low=per_cent(ties.min()), high=per_cent(ties.max()))
    base = pairwise[(pairwise["metric"] == BASELINE) & pairwise["ppa_half"].notna()]
    if len(base):
        guess = pairwise.loc[pairwise["metric"] == RANDOM, "acc_eq"].max()
        yield _answer(
            "chance",
            half=per_cent(base["ppa_half"].mean()),
            strict=per_cent(base["ppa_strict"].mean()),
            equal=per_cent(base["acc_eq"].max()),
            guess=per_cent(guess),
        )
    sources = sorted(set(pairwise["source"]))
    deciding = listed((word("deciding", source) for source in sources), AND)
    yield _answer("deciding", "text", text=deciding[:1].upper() + deciding[1:])
    tuned = pairwise["epsilon_in_sample"].astype(bool).any()
    yield _answer("threshold", "tuned" if tuned else "no")


def _intervals(
    tables: ResultTables, sources: IntervalSources, run: Mapping[str, str]
) -> str:
    """Return how the intervals of each table were computed."""
    resamples, confidence = run["resamples"], run["confidence"]
    parts = {
        "clusters": sources.resampled,
        "error": sources.by_error,
        "answers": sources.by_answers,
        "halvings": _has_intervals(tables, "best_subset"),
        "trials": _has_intervals(tables, "stability"),
        "jackknife": _has_intervals(tables, "score_agreement"),
    }
    values = {
        "confidence": confidence,
        "resamples": resamples,
        "tables": listed(sources.by_error),
        "n": SPLITS,
    }
    answers = listed(sources.by_answers, SEMICOLON)
    units = {"clusters": listed(sources.resampled, SEMICOLON), "answers": answers}
    texts = [
        word("answered", kind, units=units.get(kind, ""), **values)
        for kind, is_used in parts.items()
        if is_used
    ]
    none = "no resamples" if resamples == "0" else "no intervals"
    return listed(texts, SPACE) or word("answered", none)


def _has_intervals(tables: ResultTables, name: str) -> bool:
    return name in tables and bool(tables[name]["low"].notna().any())


def _tests(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    if "metric_comparisons" in tables:
        known = tables["metric_comparisons"]["p_adjusted"].dropna()
        if len(known):
            n = int((known <= SIGNIFICANT).sum())
            yield _answer("tests", n=n, total=len(known))
    if "verdicts" not in tables:
        return
    # Count the metrics that no test shows to be worse, by the leading statistic.
    verdicts = tables["verdicts"]
    leading = verdicts[verdicts["leads"] & verdicts["n_better"].notna()]
    counts = []
    for question, own in leading.groupby("question", sort=True):
        unbeaten = own["n_better"] == 0
        some, total = int(unbeaten.sum()), len(own)
        text = word("answered", "n of total", n=some, total=total)
        counts.append((question, text, float(unbeaten.mean())))
    kind = "unbeaten" if counts else "untested"
    yield _answer("unbeaten", kind, text=_spread(counts))


# Leaderboards -------------------------------------------------------------------------


def _leaderboards(tables: ResultTables) -> Iterator[ChecklistAnswer]:
    if "leaderboard" in tables:
        yield _answer("model")
        yield from _connected(tables["leaderboard"])
    if "ranking_leaderboard" in tables:
        yield _answer("ranking ties")
        yield from _connected(tables["ranking_leaderboard"], "ranking ")
    if "position_bias" in tables:
        text = _values(tables["position_bias"], word("answered", "no clusters"))
        yield word("asked", "side"), text or word("answered", "no side")
    elif "leaderboard" in tables:
        yield _answer("side", "no left method")


def _connected(table: pd.DataFrame, kind: str = "") -> Iterator[ChecklistAnswer]:
    """Yield whether a leaderboard connects all methods, and how certain ranks are."""
    rated = table.groupby("criterion")["rating"].apply(lambda x: x.notna().all())
    names = listed(map(str, rated[~rated].index))
    connected = "yes" if rated.all() else "unconnected"
    yield _answer(f"{kind}connected", connected, questions=names)
    known = table.dropna(subset=["rank_low", "rank_high"])
    settled = int((known["rank_low"] == known["rank_high"]).sum())
    ranks = "ranks" if len(known) else "no"
    yield _answer(f"{kind}ranks", ranks, n=settled, total=len(known))


def _other(tables: ResultTables, run: Mapping[str, str]) -> Iterator[ChecklistAnswer]:
    if not {"agreement", "method_means"} & set(tables):
        yield _answer("raw")
    again = "again by command" if run.get("command") else "again"
    yield _answer("again", again, seed=run["seed"])
