"""Annotators whose answers have little to do with the outputs."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import norm

from analysis.commands.doctor.findings import Finding, Kind
from analysis.problems import listed
from analysis.reliability.annotators import choice_sheets, rating_evidence
from analysis.reliability.random_responding import (
    FEW_ANSWERS,
    PART,
    SIGNIFICANT,
    Evidence,
)

# Of two who disagree, nothing says which one is odd.
LEAST_KNOWN = 3
VALUE = {"ratings": "rating", "choices": "choice"}
QUESTION = {"ratings": "dimension", "choices": "criterion"}


def doubtful_annotators(kind: str, rows: pd.DataFrame, file: str) -> Iterator[Finding]:
    """Yield annotators who always answer the same, or as if at random or reversed.

    The rule of the table ``annotators``, with the standard error over shuffles of the
    own answers in place of resamples: not above chance, and surely below two thirds of
    the median of the others.
    """
    yield from _constant(kind, rows, file)
    found = rating_evidence(rows) if kind == "ratings" else choice_sheets(rows)[1]
    people: dict[str, list[Evidence]] = {}
    for (_question, annotator), one in found.items():
        people.setdefault(annotator, []).append(one)
    joined = {
        name: replace(own[0], questions=tuple(q for one in own for q in one.questions))
        for name, own in people.items()
    }
    known = {name: one for name, one in joined.items() if one.n >= FEW_ANSWERS}
    if len(known) < LEAST_KNOWN:
        return
    above, error = np.array([one.above_shuffled() for one in known.values()]).T
    z = np.divide(above, error, out=np.full(len(known), np.inf), where=error > 0)
    bound = above + norm.ppf(1 - SIGNIFICANT / 2) * error
    at_random, reversed_ = [], []
    for k, name in enumerate(known):
        others = float(np.median(np.delete(above, k)))
        if bound[k] < 0 and norm.cdf(z[k]) <= SIGNIFICANT / len(known):
            reversed_.append(name)
        elif norm.sf(z[k]) > SIGNIFICANT and bound[k] < PART * others:
            at_random.append(name)
    for names, how, advice in (
        (at_random, "as if at random", "Look at their answers before you use them."),
        (reversed_, "opposite to the others", "Was their scale turned round?"),
    ):
        if names:
            verb = "answers" if len(names) == 1 else "answer"
            what = f"{listed(names)} {verb} {how} (of {len(known)} annotators)."
            yield Finding(file, Kind.CHECK, what, len(names), advice)


def _constant(kind: str, rows: pd.DataFrame, file: str) -> Iterator[Finding]:
    each = rows.groupby([QUESTION[kind], "annotator"])[VALUE[kind]]
    counts = each.agg(["nunique", "size", "first"])
    questions = rows.groupby(QUESTION[kind])[VALUE[kind]].nunique()
    # Where everybody gives one answer, nobody is remarkable.
    varies = questions.reindex(counts.index.get_level_values(0)).to_numpy() > 1
    same = counts[(counts["nunique"] == 1) & (counts["size"] >= FEW_ANSWERS) & varies]
    if same.empty:
        return
    answers = same["first"].map(lambda one: one if isinstance(one, str) else f"{one:g}")
    who = [
        f"{name} ({question}: {answer}, {n:,} times)"
        for (question, name), answer, n in zip(
            same.index, answers, same["size"], strict=True
        )
    ]
    what = f"the same answer every time: {listed(who)}."
    yield Finding(file, Kind.CHECK, what, len(who))
