"""The methods paragraph of a paper, and answers to a reviewer's questions."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from analysis.correlations.metric_differences import SIGNIFICANT
from analysis.options import KNOWN_COEFFICIENTS
from analysis.reading.scores import BASELINES
from analysis.report.metric_order import levels_in
from analysis.report.paper.metrics import LEVELS, declared
from analysis.report.wording import (
    ResultTables,
    asked_of,
    name_of,
    names_in,
    number,
    records,
    word,
)
from analysis.sentences import counted

# What LaTeX replaces by a reference.
FAMILIES = "the families of the table of tests"
PROGRAMS = ("python", "numpy", "scipy", "pandas")


def paragraph(tables: ResultTables, run: Mapping[str, str]) -> str:
    """Return the methods of the study, with its numbers filled in."""
    sentences = [
        *_sample(tables),
        *_agreement(tables),
        *_metrics(tables),
        *_uncertainty(tables, run),
        *_programs(run),
    ]
    return " ".join(sentences)


def _sample(tables: ResultTables) -> Iterator[str]:
    questions, methods, stories = asked_of(tables)
    outputs = f"outputs of {counted(methods, 'method')}" if methods else "outputs"
    outputs += f" for {counted(stories, 'story', 'stories')}" if stories else ""
    flow = tables.get("sample_flow", pd.DataFrame(columns=["step"]))
    for row in records(flow[flow["step"] == "analysed"]):
        n = int(row["n_answers"])
        answers = f"{n} {row['source']}" if n != 1 else f"1 answer ({row['source']})"
        who = row["n_annotators"]
        by = "" if pd.isna(who) else f" by {counted(int(who), 'annotator')}"
        verb = "were" if n != 1 else "was"
        yield (
            f"{answers}{by} on {outputs}, by {counted(questions, 'question')}, {verb} "
            "analysed."
        )
    left = flow[flow["step"] == "left out"]
    if len(left):
        reasons = "; ".join(
            f"{_count(row['n_answers'])} ({row['source']}): {row['reason']}"
            for row in records(left[left["source"] != "people"])
        )
        if reasons:
            yield f"Left out were {reasons}."


def _count(n: Any) -> str:
    return "some" if pd.isna(n) else f"{n}"


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
        levels = [LEVELS[level] for level in levels_in(known)]
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
            f"p-values were adjusted by Holm's procedure within {FAMILIES}; "
            f"differences were called significant at {SIGNIFICANT:g}."
        )


def _programs(run: Mapping[str, str]) -> Iterator[str]:
    commit = f", commit {run['commit']}" if "commit" in run else ""
    others = ", ".join(f"{name} {run[name]}" for name in PROGRAMS if name in run)
    yield f"Analyses used Plumbline {run['plumbline']}{commit} ({others})."
