"""Table schemas of exported tables, from the declaration of their columns."""

import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from annotate.kinds.registry import kind_of
from annotate.models import Purpose, Study
from annotate.reports import downloads, study_scores, study_tables

FILE = Path(__file__).with_name("columns.toml")
_DECLARED = tomllib.loads(FILE.read_text("utf-8"))
# The meaning of a row of each table.
ROWS: dict[str, str] = _DECLARED["tables"]
Field = dict[str, Any]
TAG = {"about": "tag of the story"}
METHODS = ("method", "method_a", "method_b", "left_method")
QUESTIONS = ("dimension", "criterion", "question")


def table_schema(study: Study, table: str) -> dict[str, Any]:
    """Return the frictionless Table Schema of a table of a study.

    Beside what the standard names, a field of a quantity has its `unit`.
    """
    return schema(
        column_field(study, table, name) for name in downloads.header(study, table)
    )


def schema(fields: Iterable[Field]) -> dict[str, Any]:
    """Return a Table Schema of fields; an empty cell is a missing value."""
    return {"fields": list(fields), "missingValues": [""]}


def declared(table: str, column: str) -> dict[str, Any]:
    """Return type, unit and meaning of a column as they are declared."""
    columns = _DECLARED["columns"]
    found: dict[str, Any] = columns.get(f"{table}.{column}") or (
        TAG if table == "stories" else columns[column]
    )
    return {"type": "string"} | found


def column_field(study: Study, table: str, column: str) -> Field:
    """Return the field of a column, with its values where these are few."""
    about = declared(table, column)
    field = {"name": column, "type": about["type"], "description": about["about"]}
    if "unit" in about:
        field["unit"] = about["unit"]
    if values := about.get("values"):
        field["constraints"] = {"enum": values}
    elif column in METHODS:
        field["constraints"] = {"enum": method_names(study)}
    elif column == "metric":
        field["constraints"] = {"enum": study_scores.metric_names(study)}
    elif column in QUESTIONS:
        titles = question_titles(study, table)
        field["constraints"] = {"enum": list(titles)}
        field["categories"] = [
            {"value": key, "label": title} for key, title in titles.items()
        ]
    elif column == "rating" and (limits := rating_limits(study, table)):
        field["constraints"] = dict(zip(("minimum", "maximum"), limits, strict=True))
    return field


def question_titles(study: Study, table: str) -> dict[str, str]:
    """Return the questions whose answers a table holds, with their titles."""
    titles: dict[str, str] = {}
    for question in study.questions.all():
        kind = kind_of(question)
        if table == kind.parts_table:
            titles[question.key] = question.title
        elif table == kind.table:
            titles |= kind.dimension_titles(question)
    return titles


def rating_limits(study: Study, table: str) -> tuple[int, int] | None:
    """Return the lowest and highest value of a table's ratings; None without any."""
    asked = [one for one in study.questions.all() if kind_of(one).table == table]
    # Questions without a scale are yes or no.
    low = [0 if one.scale_min is None else one.scale_min for one in asked]
    high = [1 if one.scale_max is None else one.scale_max for one in asked]
    return (min(low), max(high)) if asked else None


def method_names(study: Study) -> list[str]:
    """Return the methods of a study as its tables name them, those of checks too."""
    letters = study_tables.letters(study)
    checks = study.units.exclude(purpose__in=(Purpose.REAL, Purpose.TRAINING))
    paths = {
        f"{name}_{letter}": f"output_{letter}__{path}"
        for name, path in (("method", "method__name"), ("degradation",) * 2)
        for letter in letters
    }
    units = checks.order_by().values_list("purpose", *paths.values()).distinct()
    names = set(study.method_names)
    for purpose, *shown in units:
        row = dict(zip(paths, shown, strict=True)) | {"slot__unit__purpose": purpose}
        names |= {study_tables.shown_name(row, letter) for letter in letters}
    return sorted(names)
