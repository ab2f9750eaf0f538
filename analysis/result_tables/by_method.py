"""One row a method, one column a question or metric: the table that papers print."""

from collections.abc import Iterator, Mapping

import pandas as pd

KEYS = ["tag", "stratum", "method"]
ENDS = ("low", "high")
# Tables of methods: what is measured, its value, and the ends of the value's interval.
QUESTIONS = {
    "method_means": ("dimension", "mean", "low", "high"),
    "method_win_rates": ("criterion", "rate", "low", "high"),
    "ranking_leaderboard": ("criterion", "rating", "low", "high"),
}
METRICS = {"method_scores": ("metric", "value", "low", "high")}
COMPOSITES = {"composites": ("composite", "value", "low", "high")}


def by_method(tables: Mapping[str, pd.DataFrame]) -> pd.DataFrame:
    """Lay the methods' means, rates, scores and composites out side by side.

    A metric that is called like a question has ``(metric)`` behind its name. Only where
    groups of stories have values are there columns that name the group.
    """
    asked = [*_read(tables, QUESTIONS), *_of_strata(tables, "question")]
    names = {str(name) for rows in asked for name in rows["name"]}
    scored = [*_read(tables, METRICS), *_of_strata(tables, "metric")]
    parts = asked
    for rows in scored:
        called = [f"{n} (metric)" if n in names else n for n in rows["name"]]
        parts = [*parts, rows.assign(name=called)]
    # Most composites over questions are among the questions already.
    parts += [rows[~rows["name"].isin(names)] for rows in _read(tables, COMPOSITES)]
    if not any(map(len, parts)):
        return pd.DataFrame(columns=KEYS)
    cells = pd.concat([rows for rows in parts if len(rows)], ignore_index=True)
    cells["name"] = [_column(str(name)) for name in cells["name"]]
    cells = cells.drop_duplicates([*KEYS, "name"])
    order = {name: place for place, name in enumerate(cells["name"].unique())}
    strata = {key: place for place, key in enumerate(cells["stratum"].unique())}
    wide = cells.pivot(index=KEYS, columns="name", values=["value", *ENDS])
    columns = {}
    for name in order:
        columns[name] = wide["value", name]
        columns |= {f"{name} {end}": wide[end, name] for end in ENDS}
    found = pd.DataFrame(columns).reset_index()
    found = found.sort_values(
        KEYS,
        key=lambda keys: keys.map(strata) if keys.name == "stratum" else keys,
        ignore_index=True,
    )
    return found if found["tag"].any() else found.drop(columns=KEYS[:2])


def _column(name: str) -> str:
    """Return a name that is no key, nor the end of another's interval.

    >>> _column("look"), _column("method"), _column("look low")
    ('look', 'method (value)', 'look low (value)')
    """
    is_taken = name in KEYS or name.endswith(tuple(f" {end}" for end in ENDS))
    return f"{name} (value)" if is_taken else name


def _read(
    tables: Mapping[str, pd.DataFrame], columns: Mapping[str, tuple[str, ...]]
) -> Iterator[pd.DataFrame]:
    """Yield the named columns of the tables under one set of names."""
    for table, of_table in columns.items():
        if table in tables:
            names = dict(zip(of_table, ("name", "value", *ENDS), strict=True))
            rows = tables[table].rename(columns=names)
            yield rows.assign(tag="", stratum="")[[*KEYS, *names.values()]]


def _of_strata(
    tables: Mapping[str, pd.DataFrame], column: str
) -> Iterator[pd.DataFrame]:
    """Yield the methods' values within groups of stories, of people or of metrics."""
    if "strata" in tables:
        rows = tables["strata"]
        other = "metric" if column == "question" else "question"
        kept = rows["method"].ne("") & rows[column].ne("") & rows[other].eq("")
        named = rows[kept].rename(columns={column: "name"})
        yield named[[*KEYS, "name", "value", *ENDS]]
