"""The sample, the families of tests, and the methods paragraph."""

from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.options import KNOWN_COEFFICIENTS
from analysis.reading.scores import BASELINES
from analysis.report.metric_order import levels_in
from analysis.report.paper.layout import Cell, Column, Line, PaperTable, spread
from analysis.report.paper.metrics import declared
from analysis.report.wording import (
    NOUNS,
    OF_PEOPLE,
    QUESTIONS,
    ResultTables,
    name_of,
    names_in,
    number,
    records,
    word,
)
from analysis.sentences import counted

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
    significant = int((tested["p_adjusted"] <= SIGNIFICANT).sum())
    cells = (
        Cell(float(len(sizes))),
        Cell(text=spread(sizes)),
        Cell(float(len(tested))),
        Cell(float(significant)),
    )
    yield Line(title, cells)


# The methods paragraph ----------------------------------------------------------------

# What LaTeX replaces by a reference.
OF_FAMILIES = "the families of the table of tests"
PROGRAMS = ("python", "numpy", "scipy", "pandas")


def paragraph(
    tables: ResultTables,
    run: Mapping[str, str],
    judged: Mapping[str, frozenset[str]],
) -> str:
    """Return the methods of the study, with its numbers filled in.

    `judged` has the stories that people judged in each question.
    """
    sentences = [
        *_sample(tables, [len(own) for own in judged.values() if own]),
        *_agreement(tables),
        *_metrics(tables),
        *_uncertainty(tables, run),
        *_programs(run),
    ]
    return " ".join(sentences)


def _sample(tables: ResultTables, stories: Sequence[int]) -> Iterator[str]:
    flow = tables.get("sample_flow", pd.DataFrame(columns=["source", "step"]))
    is_of_people = flow["source"] == "people"
    yield from _invited(flow[is_of_people])
    people = [tables[name] for name in OF_PEOPLE if name in tables]
    methods = names_in(people, ("method",))
    outputs = f"outputs of {counted(len(methods), 'method')}" if methods else "outputs"
    asked = counted(len(names_in(people, QUESTIONS)), "question")
    if stories:
        noun = "story" if {*stories} == {1} else "stories"
        asked += f" with {spread(stories)} {noun}"
    asked += " each" if len(stories) > 1 else ""
    flow = flow[~is_of_people]
    for row in records(flow[flow["step"] == "analysed"]):
        answers = counted(row["n_answers"], NOUNS[row["source"]])
        who = row["n_annotators"]
        by = "" if pd.isna(who) else f" by {counted(who, 'annotator')}"
        verb = _were(row["n_answers"])
        yield f"{answers}{by} on {outputs}, by {asked}, {verb} analysed."
    if reasons := "; ".join(_left_out(flow)):
        yield f"Left out were {reasons}."


def _invited(flow: pd.DataFrame) -> Iterator[str]:
    """Yield the way from invited people to their ratings, with who was left out."""
    people = {row["step"]: row["n_annotators"] for row in records(flow)}
    if "invited" not in people:
        return
    reasons = "; ".join(_left_out(flow))
    invited = counted(people["invited"], "person", "people")
    yield (
        f"Of {invited} invited, {people['consented']} consented and "
        f"{people['answered']} submitted ratings"
        f"{f'; left out were {reasons}' if reasons else ''}."
    )


def _left_out(flow: pd.DataFrame) -> Iterator[str]:
    """Yield how many answers, or people without an answer, were left out, and why."""
    for row in records(flow[flow["step"] == "left out"]):
        answers, people = row["n_answers"], row["n_annotators"]
        if not pd.isna(answers):
            what = counted(answers, NOUNS[row["source"]])
        else:
            what = "some people"
            what = counted(people, "person", "people") if not pd.isna(people) else what
        yield f"{what} ({row['reason']})"


def _agreement(tables: ResultTables) -> Iterator[str]:
    if "agreement" not in tables:
        return
    rows = tables["agreement"]
    for statistic in ("alpha_ordinal", "alpha_nominal", "kendall_between_annotators"):
        values = rows.loc[rows["statistic"] == statistic, "value"].dropna()
        if len(values):
            low, high = number(values.min()), number(values.max())
            ends = low if len(values) == 1 else f"from {low} to {high} over questions"
            name = name_of(statistic)
            title = (
                name
                if statistic == "kendall_between_annotators"
                else f"Krippendorff's {name}"
            )
            yield f"Agreement of annotators ({title}) was {ends}."
            return


def _metrics(tables: ResultTables) -> Iterator[str]:
    scored = [tables[n] for n in ("correlations", "pairwise_accuracy") if n in tables]
    metrics = names_in(scored, ("metric",)) - {*BASELINES}
    if not metrics:
        return
    pairs = declared(tables)
    said = (
        f"{counted(len(pairs), 'pair')} of question and metric "
        f"{'was' if len(pairs) == 1 else 'were'} declared beforehand"
        if pairs
        else "none was declared for a question beforehand, so all tests are exploratory"
    )
    n = counted(len(metrics), "metric")
    yield f"{n} {_were(len(metrics))} compared with people; {said}."
    if "correlations" in tables:
        rows = tables["correlations"]
        known = rows[rows["value"].notna()]
        names = [
            name_of(c) for c in KNOWN_COEFFICIENTS if c in set(known["coefficient"])
        ]
        levels = [word("levels", level) for level in levels_in(known)]
        if names and levels:
            how = ", ".join(levels)
            yield f"Coefficients ({', '.join(names)}) were computed {how}."
    if "pairwise_accuracy" in tables:
        sources = sorted(set(tables["pairwise_accuracy"]["source"]))
        deciding = " and ".join(word("deciding", source) for source in sources)
        yield (
            "Pairwise accuracy is the share of pairs of methods within a story, "
            f"decided by {deciding}, on which the metric agrees; ties of the metric "
            "count half."
        )


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def _uncertainty(tables: ResultTables, run: Mapping[str, str]) -> Iterator[str]:
    percent = f"{100 * float(run['confidence']):g} %"
    if run["resamples"] == "0":
        yield "No resamples were drawn."
    else:
        units = run["resample"].replace("+", " and ")
        yield (
            f"Intervals have {percent} confidence and by default treat {units} as "
            "sampled (each table names its own). They come from one standard error "
            f"with the test, or from {run['resamples']} resamples of whole clusters "
            f"with seed {run['seed']}."
        )
    if any("p_adjusted" in one for one in tables.values()):
        yield (
            f"p-values were adjusted by Holm's procedure within {OF_FAMILIES}; "
            f"differences were called significant at {SIGNIFICANT:g}."
        )


def _programs(run: Mapping[str, str]) -> Iterator[str]:
    commit = f", commit {run['commit']}" if "commit" in run else ""
    others = ", ".join(f"{name} {run[name]}" for name in PROGRAMS if name in run)
    yield f"Analyses used Plumbline {run['plumbline']}{commit} ({others})."
