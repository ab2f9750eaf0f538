"""Tables of the sample and of the tests: who answered, and what was adjusted."""

from collections.abc import Iterator

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.report.paper.layout import Cell, Column, Line, PaperTable
from analysis.report.wording import ResultTables, records

UNKNOWN = "Not known of means over raters."
BEFORE = "Answers are counted below."
# Tables with adjusted p-values: the null hypothesis, and the columns of a family.
FAMILIES = {
    "metric_comparisons": (
        "Two metrics have the same coefficient",
        ["dimension", "level", "coefficient"],
    ),
    "accuracy_comparisons": (
        "Two metrics have the same pairwise accuracy",
        ["question", "source", "statistic"],
    ),
    "method_comparisons": ("Two methods are equal", ["question", "source"]),
    "win_rates": ("A method wins half against another", ["criterion"]),
    "method_win_rates": ("A method wins half against all others", ["criterion"]),
    "strata_win_rates": (
        "A method wins half in a group of stories",
        ["criterion", "tag"],
    ),
    "strata_differences": (
        "Two groups of stories are equal",
        ["question", "tag", "statistic", "level"],
    ),
    "annotator_sides": ("An annotator has no side preference", ["question"]),
    "shot_agreement": ("A metric does not follow marks of shots", ["question"]),
    "alternative_annotator": (
        "A metric is worse than an annotator by epsilon (Benjamini-Yekutieli)",
        ["question", "source", "metric", "statistic", "drawn"],
    ),
    "method_deviation": (
        "A metric scores a method as people do",
        ["question", "source", "metric"],
    ),
    "equivalence": (
        "Two metrics differ by the margin or more",
        ["question", "source", "level", "statistic"],
    ),
    "meta_analysis": (
        "A metric is at chance over all questions or studies",
        ["over", "statistic", "level"],
    ),
    "late_differences": ("The late method equals another", ["question", "source"]),
}
ROLES = {
    "declared": "A declared metric is at chance",
    "composite": "A composite of metrics is at chance",
    "exploratory": "An explored metric is at chance",
}
# The families of verdicts by role; those of declared metrics span all questions.
OF_ROLES = ["statistic", "level"]
OF_QUESTIONS = [*OF_ROLES, "question", "source"]
STEPS = {
    "invited": "Invited or joined by a public link",
    "consented": "Consented",
    "answered": "Submitted ratings",
    "given": "Given",
    "analysed": "Analysed",
    "left out": "Left out",
}


def flow_tables(tables: ResultTables) -> Iterator[PaperTable]:
    """Yield the steps from invited people to analysed answers, with reasons."""
    if "sample_flow" not in tables:
        return
    lines = []
    for row in records(tables["sample_flow"]):
        name = STEPS.get(str(row["step"]), str(row["step"]))
        name = f"{name}: {row['reason']}" if row["reason"] else name
        counts = tuple(
            Cell(reason=BEFORE if row["source"] == "people" else UNKNOWN)
            if pd.isna(n)
            else Cell(float(n))
            for n in (row["n_annotators"], row["n_answers"])
        )
        lines.append(Line(name, counts, str(row["source"]).capitalize()))
    caption = (
        "From invited people to analysed answers. An answer that is left out counts "
        "under the first reason that holds, a person under the one that leaves out "
        "the last of their answers."
    )
    columns = tuple(Column(title, in_unit=False) for title in ("People", "Answers"))
    yield PaperTable("sample", caption, "Step", columns, tuple(lines))


def family_tables(tables: ResultTables) -> Iterator[PaperTable]:
    """Yield the families of tests, with their sizes and how many are significant."""
    lines: list[Line] = []
    if "verdicts" in tables:
        verdicts = tables["verdicts"]
        for role, title in ROLES.items():
            columns = OF_ROLES if role == "declared" else OF_QUESTIONS
            lines += _line(title, verdicts[verdicts["role"] == role], columns)
    for name, (title, columns) in FAMILIES.items():
        if name in tables:
            lines += _line(title, tables[name], columns)
    if not lines:
        return
    caption = (
        "Families of tests. p-values are adjusted within each family (Holm, if not "
        "named otherwise); "
        f"significant: adjusted p at most {SIGNIFICANT:g}."
    )
    titles = ("Families", "Tests in each", "Tests", "Significant")
    made = tuple(Column(title, in_unit=False) for title in titles)
    yield PaperTable("families", caption, "Null hypothesis", made, tuple(lines))


def _line(title: str, rows: pd.DataFrame, columns: list[str]) -> Iterator[Line]:
    tested = rows[rows["p_adjusted"].notna()]
    if tested.empty:
        return
    sizes = tested.groupby(columns, dropna=False).size()
    low, high = int(sizes.min()), int(sizes.max())
    each = f"{low}" if low == high else f"{low} to {high}"
    significant = int((tested["p_adjusted"] <= SIGNIFICANT).sum())
    cells = (
        Cell(float(len(sizes))),
        Cell(text=each),
        Cell(float(len(tested))),
        Cell(float(significant)),
    )
    yield Line(title, cells)
