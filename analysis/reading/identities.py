"""Identities of scores, and the rule that a report uses one for each metric."""

import shlex
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from analysis.options import AlignOptions, OptionError
from analysis.problems import one_of
from analysis.reading.column_cleaning import Column, combined, key_texts
from analysis.results import Counts, Mask, records
from analysis.sentences import counted, sentence
from analysis.tables import IDENTITY_COLUMNS, TYPED_COLUMNS, UNVERSIONED

# The column with the metric's name of the table, where a report gives it another.
NAMED = "metric as named"
# Columns in the order in which a short name names what differs.
NAMED_FIRST = (
    "judge",
    "judge_version",
    "precision",
    "weights",
    "profile",
    "metric_version",
    "backend",
    "settings",
    "identity",
)
# Columns whose values say nothing without a word before them.
BEFORE = {"metric_version": "version", "weights": "weights"}
# Identities that a message names.
MOST_NAMED = 5


def identities(scores: pd.DataFrame) -> pd.DataFrame:
    """Return each identity of each metric.

    Parameters
    ----------
    scores
        Checked scores, with any of `IDENTITY_COLUMNS`.

    Returns
    -------
    pandas.DataFrame
        One row an identity, sorted: metric, `IDENTITY_COLUMNS` (empty where the table
        has no such column), n (scores), computed_at (the latest), label (what tells it
        from the metric's others, empty where there are none).
    """
    keys = ["metric", *(name for name in IDENTITY_COLUMNS if name in scores)]
    rows = pd.DataFrame({name: key_texts(scores[name]) for name in keys})
    at = scores.get("computed_at", pd.Series("", scores.index))
    rows["computed_at"] = key_texts(at).to_numpy()
    each = rows.groupby(keys, sort=True, observed=True)["computed_at"]
    found = each.agg(["size", "max"]).reset_index()
    found = found.rename(columns={"size": "n", "max": "computed_at"})
    for name in IDENTITY_COLUMNS:
        if name not in found:
            found[name] = ""
    is_typed = any(name in scores for name in TYPED_COLUMNS)
    label = _labels if is_typed else _version_labels
    texts: list[str] = []
    for _metric, own in found.groupby("metric", sort=False):  # they stand together
        texts += label(records(own)) if len(own) > 1 else [""]
    columns = ["metric", *IDENTITY_COLUMNS, "n", "computed_at"]
    return found[columns].assign(label=texts)


def _version_labels(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Name versions and backends, where a table has no other columns."""
    given = ([row["metric_version"], row["backend"]] for row in rows)
    return [", ".join(filter(None, parts)) or UNVERSIONED for parts in given]


def _labels(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Name identities by as little as distinguishes them."""
    if len(rows) == 1:
        return [""]
    texts: list[str] = []
    for column in NAMED_FIRST:
        texts = _texts(rows, column)
        if len({*texts}) > 1:
            break
    labels = [""] * len(rows)
    for text in dict.fromkeys(texts):
        alike = [k for k, own in enumerate(texts) if own == text]
        rest = _labels([rows[k] for k in alike]) if len(alike) < len(rows) else [""]
        for k, more in zip(alike, rest, strict=False):
            labels[k] = f"{text}, {more}" if more else text
    return labels


def _texts(rows: Sequence[Mapping[str, str]], column: str) -> list[str]:
    """Return the values of a column as they stand in short names."""
    values = [row[column] for row in rows]
    if column == "settings" and len({*_unshared(values)}) == len({*values}):
        values = _unshared(values)
    before = f"{BEFORE[column]} " if column in BEFORE else ""
    none = f"no {BEFORE.get(column, column.replace('_', ' '))}"
    return [f"{before}{value}" if value else none for value in values]


def _unshared(settings: Sequence[str]) -> list[str]:
    """Return the settings of each that not all have."""
    parts = [[part.strip() for part in one.split(";")] for one in settings]
    shared = set.intersection(*map(set, parts))
    return ["; ".join(p for p in own if p not in shared) for own in parts]


def versioned_names(rows: pd.DataFrame) -> Column:
    """Return each row's metric, with what tells its identity from others."""
    found = identities(rows)
    names = found["metric"].where(
        found["label"] == "", found["metric"] + " (" + found["label"] + ")"
    )
    return pd.Series(names.to_numpy()[_codes(rows, found)], rows.index)


def _codes(rows: pd.DataFrame, found: pd.DataFrame) -> Counts:
    """Return which row of `identities` each score belongs to."""
    keys = ["metric", *(name for name in IDENTITY_COLUMNS if name in rows)]
    own = pd.DataFrame({name: key_texts(rows[name]).to_numpy() for name in keys})
    both = pd.concat([found[keys], own], ignore_index=True)
    codes = combined(both[name] for name in keys)
    first = pd.Series(np.arange(len(found)), codes[: len(found)])
    return first[codes[len(found) :]].to_numpy()


def one_identity(
    scores: pd.DataFrame, options: AlignOptions
) -> tuple[pd.DataFrame, list[str]]:
    """Return scores in which each metric has one identity, and remarks.

    Rows without a score, and those of methods that are left out, do not count. A table
    without `TYPED_COLUMNS` says too little to refuse it: versions and backends of a
    metric are metrics of their own.

    Raises
    ------
    OptionError
        A metric has several identities, and no option says what to do with them; or an
        option names an unknown identity.
    """
    kept = scores["score"].notna() & ~scores["method"].isin(options.exclude_methods)
    if not kept.any():
        return scores, []
    found = identities(scores[kept])
    for unknown in sorted({*options.identity} - {*found["metric"]}):
        expected = one_of(unknown, found["metric"].unique())
        raise OptionError(f"--identity: {unknown!r}: expected {expected}")
    several = found[found["label"] != ""]
    if several.empty and not options.identity:
        return scores, []
    codes = np.full(len(scores), -1)
    codes[kept.to_numpy()] = _codes(scores[kept], found)
    stay = np.ones(len(scores), bool)
    names = key_texts(scores["metric"]).to_numpy(object)
    is_typed = any(name in scores for name in TYPED_COLUMNS)
    remarks, refused, known = [], [], {*found["metric"]}
    for metric, own in found.groupby("metric", sort=True):
        name = str(metric)
        if name in options.identity:
            one = _chosen(own, options.identity[name], name)
            others = np.isin(codes, own.index.difference([one]))
            stay &= ~others
            remarks += _left_out(own, one, name)
        elif len(own) > 1 and options.mix_identities:
            remarks.append(
                sentence(
                    "Metric {metric}: the scores of {n} identities are pooled, as "
                    "asked: {identities}. {outputs} with scores of several count by "
                    "their mean.",
                    metric=name,
                    n=len(own),
                    identities=[*map(_named, records(own))],
                    outputs=counted(
                        _twice(scores, np.isin(codes, own.index)), "output"
                    ),
                )
            )
        elif len(own) > 1 and (options.compare_identities or not is_typed):
            for row, label in zip(own.index, own["label"], strict=True):
                longer = f"{name} ({label})"
                if longer in known:
                    raise OptionError(
                        f"scores: metric: {longer!r}: expected another name, since an "
                        f"identity of {name!r} is called so"
                    )
                names[codes == row] = longer
        elif len(own) > 1:
            refused.append(_refusal(name, own))
    if refused:
        raise OptionError("\n".join(refused))
    with_names = scores.assign(metric=names, **{NAMED: scores["metric"]})
    return _like(with_names[stay], scores), remarks


def _twice(scores: pd.DataFrame, rows: Mask) -> int:
    """Return of how many outputs, or shots, several identities have a score."""
    keys = [name for name in ("story", "method", "shot") if name in scores]
    return int((scores[rows].groupby(keys, observed=True).size() > 1).sum())


def _like(rows: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    rows.attrs = dict(scores.attrs)
    return rows


def _chosen(own: pd.DataFrame, key: str, metric: str) -> int:
    """Return the index of the identity that a key names."""
    fits = own["label"] == key
    if not fits.any():
        fits = own["identity"].str.startswith(key) & (key != "")
    if fits.sum() != 1:
        expected = " or ".join(map(_named, records(own)))
        raise OptionError(f"--identity: {metric}={key}: expected {expected}")
    return int(own.index[fits][0])


def _left_out(own: pd.DataFrame, one: int, metric: str) -> list[str]:
    if len(own) == 1:
        return []
    return [
        sentence(
            "Metric {metric}: scores of {identity} are used; {scores} of other "
            "identities left out, as asked.",
            metric=metric,
            identity=_named(records(own.loc[[one]])[0]),
            scores=counted(int(own["n"].drop(one).sum()), "score"),
        )
    ]


def _named(row: Mapping[str, object]) -> str:
    """Return an identity as messages name it: its digits, and what is special in it."""
    digits, label = str(row["identity"]), str(row["label"])
    if not digits or label in ("", digits):
        return digits or label or "an unnamed identity"
    return f"{digits} ({label})"


def _refusal(metric: str, own: pd.DataFrame) -> str:
    """Say what differs between the identities of a metric, and what to do."""
    rows = records(own)
    parts = [
        f"{_named(row)} has {counted(row['n'], 'score')}" for row in rows[:MOST_NAMED]
    ]
    if len(rows) > MOST_NAMED:
        parts.append(f"{len(rows) - MOST_NAMED} more have the rest")
    differ = []
    for column in IDENTITY_COLUMNS:
        values = dict.fromkeys(str(row[column]) or "(none)" for row in rows)
        if column != "identity" and len(values) > 1:
            shown = [*values][:MOST_NAMED] + ["..."] * (len(values) > MOST_NAMED)
            differ.append(f"{column}: {' / '.join(shown)}")
    digits = rows[0]["identity"]
    is_one = digits and sum(row["identity"] == digits for row in rows) == 1
    choice = f"{metric}={digits if is_one else rows[0]['label']}".replace(",", "\\,")
    return (
        f"scores: metric {metric!r}: expected one identity, found {len(rows)}. "
        f"{'; '.join(parts)}. They differ in {'; '.join(differ) or 'identity'}. "
        f"Write --identity {shlex.quote(choice)} to choose one, --compare-identities "
        "to report each as a metric of its own, or --mix-identities to pool them."
    )


def with_every_identity(names: pd.DataFrame, scores: pd.DataFrame) -> pd.DataFrame:
    """Declare each identity of a metric that is declared by its plain name.

    `names` has a column metric; `scores` are those of `one_identity`.
    """
    if NAMED not in scores:
        return names
    given = scores[[NAMED, "metric"]].astype(str).drop_duplicates()
    own = given.groupby(NAMED)["metric"].agg(sorted).to_dict()
    every = {name: many for name, many in own.items() if many != [name]}
    metric = [every.get(name, name) for name in names["metric"]]
    return names.assign(metric=metric).explode("metric", ignore_index=True)


def twins_of(
    twins: pd.DataFrame, scores: pd.DataFrame
) -> tuple[pd.DataFrame, list[str]]:
    """Return degraded copies by the identities of scores, called as those, and remarks.

    `scores` are those of `one_identity`. Without a column of `IDENTITY_COLUMNS` in both
    tables, copies are taken to be by the metric of their name.
    """
    columns = [name for name in IDENTITY_COLUMNS if name in twins and name in scores]
    if not columns:
        return twins, []
    named = scores.get(NAMED, scores["metric"])
    keys = ["metric", *columns]
    by_identity = pd.DataFrame({name: key_texts(scores[name]) for name in columns})
    by_identity["metric"] = named.astype(str)
    by_identity["called"] = scores["metric"].astype(str)
    own = twins.assign(**{name: key_texts(twins[name]) for name in keys})
    found = own.merge(by_identity.drop_duplicates(), how="left", on=keys)
    kept = found["called"].notna()
    remarks = (
        []
        if kept.all()
        else [
            sentence(
                "{scores} of degraded copies left out: those of their originals have "
                "another identity.",
                scores=counted(int((~kept).sum()), "score"),
            )
        ]
    )
    return found[kept].assign(metric=found["called"]).drop(columns="called"), remarks


def check_same_identity(whole: pd.DataFrame, part: pd.DataFrame) -> None:
    """Refuse two tables of one metric by different identities, where both tell.

    Raises
    ------
    OptionError
        The columns of `TYPED_COLUMNS` that both tables have differ for a metric.
    """
    columns = [name for name in TYPED_COLUMNS if name in whole and name in part]
    for metric, own in part.groupby("metric", sort=True):
        of_whole = whole[whole["metric"] == metric]
        for name in columns if len(of_whole) else []:
            here, there = ({*key_texts(rows[name])} for rows in (own, of_whole))
            if here != there:
                both = " / ".join(", ".join(sorted(one)) for one in (there, here))
                raise OptionError(
                    f"scores, subset: metric {str(metric)!r}: expected one identity. "
                    f"They differ in {name}: {both}. Write --mix-identities to compare "
                    "them nevertheless."
                )
