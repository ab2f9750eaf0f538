"""Sections of a report: questions that people ask, with their sentences and figures.

A function that yields sentences or figures receives the tables that its parameters
name, beside ``cells``, ``tables`` (all of them) and ``confidence``. It is not called if
the first of them is missing or empty.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import chain
from typing import Any

import pandas as pd

from analysis.report import (
    figures_claims,
    figures_methods,
    figures_metrics,
    figures_outputs,
    figures_people,
    figures_planning,
    figures_verdicts,
    figures_wins,
    findings_claims,
    findings_metrics,
    findings_people,
    findings_planning,
)
from analysis.report.figure import DECLARED, DRAWN, Figure
from analysis.report.findings_late import late_claims
from analysis.report.findings_methods import label_claims, preferred_claims
from analysis.report.findings_uses import agree_claims, replacement_claims, save_claims
from analysis.report.findings_verdicts import question_claims, tie_claims
from analysis.report.language import AND, counted, listed
from analysis.report.wording import (
    NOUNS,
    OF_PEOPLE,
    QUESTIONS,
    ClaimText,
    is_missing,
    names_in,
    records,
    word,
)

Claims = Callable[..., Iterable[ClaimText | str]]
# Sections in reading order, with their findings; `figures.toml` has its figures.
SECTIONS: dict[str, tuple[Claims, ...]] = {
    "people": (
        findings_people.agreement_claims,
        findings_people.chance_claims,
        findings_people.side_claims,
        findings_people.aggregation_claims,
    ),
    "metrics": (
        findings_claims.whole_claims,
        findings_claims.equivalence_claims,
        findings_metrics.calibration_claims,
        findings_metrics.stability_claims,
        findings_metrics.judge_claims,
        findings_metrics.score_agreement_claims,
        findings_metrics.coverage_limits,
        findings_metrics.candidate_claims,
        findings_metrics.flip_limits,
        tie_claims,
        findings_metrics.selection_limits,
        findings_metrics.tie_limits,
    ),
    "disagreement": (
        findings_metrics.disagreement_claims,
        findings_metrics.blame_claims,
        findings_planning.group_claims,
    ),
    "methods": (late_claims,),
    "planning": (
        findings_planning.few_methods,
        findings_planning.few_stories,
        findings_planning.few_annotators,
        findings_planning.variance_claims,
        findings_planning.subset_claims,
        findings_planning.choice_claims,
        findings_planning.needed_limits,
        findings_planning.interval_limits,
    ),
}
# The questions that open the page. `words.toml` has the headings, and what is missing
# where a question has no answer.
USES: dict[str, Claims] = {
    "agree": agree_claims,
    "replace": replacement_claims,
    "save": save_claims,
    "flatter": findings_claims.favour_claims,
}
# Modules that declare figures; importing them fills `DRAWN`.
FIGURES = (
    figures_claims,
    figures_methods,
    figures_metrics,
    figures_outputs,
    figures_people,
    figures_planning,
    figures_verdicts,
    figures_wins,
)
# Figures of methods, the most informative first.
OPENING = ("labels", "wins", "means", "ranking-ladder", "ladder")
# Headings of sections that differ in reports without metrics.
OF_PEOPLE_ALONE = {"disagreement": "groups"}
# With more verdicts on declared metrics than this, one of each question is not folded.
MOST_VERDICTS = 6


@dataclass(frozen=True)
class Findings:
    """Sentences of a report: what the data show, and what they do not.

    `verdicts` are those on metrics, question by question: on declared metrics, and on
    explored ones; `uses` answer the questions that open the page; `warnings` name the
    degradations that metrics do not detect.
    """

    verdicts: tuple[tuple[list[ClaimText], list[ClaimText]], ...]
    uses: Mapping[str, tuple[ClaimText, ...]]
    methods: tuple[ClaimText, ...]
    warnings: tuple[str, ...]
    sections: Mapping[str, tuple[ClaimText, ...]]

    @property
    def shown(self) -> tuple[str, ...]:
        """Every sentence that the data show."""
        return tuple(text for is_shown, text in self._every if is_shown)

    @property
    def not_shown(self) -> tuple[str, ...]:
        """Every sentence that the data do not show."""
        return tuple(text for is_shown, text in self._every if not is_shown)

    @property
    def _every(self) -> Iterable[ClaimText]:
        warnings = [(True, text) for text in self.warnings]
        # The first answer sums up the verdicts.
        uses = (own for key, own in self.uses.items() if key != "agree")
        others = (*uses, self.methods, *self.sections.values())
        return chain(*chain(*self.verdicts), warnings, *others)


def findings(tables: Mapping[str, pd.DataFrame], confidence: float) -> Findings:
    """Return what the data support, and what they do not.

    `confidence` is the coverage of the intervals.
    """
    known = {**tables, "tables": tables, "confidence": confidence}

    def claimed(*claims: Claims) -> tuple[ClaimText, ...]:
        every = chain.from_iterable(_called(claim, known) for claim in claims)
        # A plain text is a limit: the data do not show it.
        return tuple((False, one) if isinstance(one, str) else one for one in every)

    verdicts = tuple(_called(question_claims, known))
    uses = {key: claimed(claims) for key, claims in USES.items()}
    if verdicts:
        uses = {
            key: own or ((False, word("unanswered", key)),) for key, own in uses.items()
        }
    return Findings(
        verdicts,
        uses,
        claimed(preferred_claims, label_claims),
        tuple(_called(findings_metrics.degradation_claims, known)),
        {key: claimed(*claims) for key, claims in SECTIONS.items()},
    )


def all_figures(
    tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame, *, more: bool = False
) -> list[Figure]:
    """Return the figures that the tables allow, in the order of `figures.toml`.

    `cells` has the columns question, metric, story, method, human, score and
    higher_is_better; `more` adds the further figures.
    """
    known = {**tables, "tables": tables, "cells": cells}
    keys = [key for key, one in DECLARED.items() if more or not one.further]
    return [figure for key in keys for figure in _called(DRAWN[key], known)]


def _called(
    function: Callable[..., Iterable[Any]], known: Mapping[str, Any]
) -> Iterable[Any]:
    """Call a function with the tables that its parameters name, if it has the first."""
    first, *others = (known.get(name) for name in signature(function).parameters)
    if first is None or getattr(first, "empty", False):
        return ()
    return function(first, *others)


# The page -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownSection:
    """A section of the page, with its sentences and figures."""

    key: str
    heading: str
    sentences: tuple[ClaimText, ...]
    figures: tuple[Figure, ...]

    @property
    def answer(self) -> str:
        """The sentence beside the heading of a closed section."""
        shown = [text for is_shown, text in self.sentences if is_shown]
        return next(iter([*shown, *(text for _, text in self.sentences)]), "")

    @property
    def holds(self) -> str:
        """The number of further sentences and figures."""
        more, figures = len(self.sentences) - 1, len(self.figures)
        texts = [counted(more, "more sentence")] if more > 0 else []
        return listed(texts + ([counted(figures, "figure")] if figures else []))


def sections_of(
    sentences: Mapping[str, tuple[ClaimText, ...]],
    drawn: Iterable[Figure],
    *,
    has_metrics: bool = True,
) -> list[ShownSection]:
    """Return the sections that have sentences or figures."""
    figures = tuple(drawn)
    sections = [
        ShownSection(
            key,
            word("sections", key if has_metrics else OF_PEOPLE_ALONE.get(key, key)),
            tuple(sentences.get(key, ())),
            tuple(figure for figure in figures if figure.section == key),
        )
        for key in SECTIONS
    ]
    return [one for one in sections if one.sentences or one.figures]


def sample_line(
    tables: Mapping[str, pd.DataFrame], judged: Mapping[str, frozenset[str]]
) -> str:
    """Return how many questions, outputs and answers there are; "" if unknown.

    `judged` has the stories that people judged in each question.
    """
    people = [tables[name] for name in OF_PEOPLE if name in tables]
    names = {
        "question": names_in(people, QUESTIONS),
        "method": names_in(people, ("method",)),
        "story": frozenset[str]().union(*judged.values()),
    }
    questions, *outputs = [
        counted(len(own), noun) if own else "" for noun, own in names.items()
    ]
    flow = tables.get("sample_flow")
    if flow is None or not questions:
        return ""
    answers = []
    for row in records(flow[flow["step"] == "analysed"]):
        text = counted(row["n_answers"], NOUNS[row["source"]])
        if not is_missing(row, "n_annotators"):
            annotators = counted(row["n_annotators"], "annotator")
            text = word("size", "by annotators", answers=text, annotators=annotators)
        answers.append(text)
    parts = {"outputs": listed(filter(None, outputs), AND), "answers": listed(answers)}
    return word("size", "asked", questions=questions, **parts)


def opening_figure(drawn: Sequence[Figure]) -> Figure | None:
    """Return the figure of methods that opens a report without metrics, if any."""
    by_key = {figure.key: figure for figure in drawn}
    return next((by_key[key] for key in OPENING if key in by_key), None)


def opened(
    verdicts: Sequence[tuple[list[ClaimText], list[ClaimText]]],
) -> tuple[list[ClaimText], list[ClaimText]]:
    """Return the verdicts that are open on a page, and those that are folded.

    Those on declared metrics are open; of many, only the first of each question.
    """
    named = [own for own, _explored in verdicts]
    most = None if sum(map(len, named)) <= MOST_VERDICTS else 1
    rest = [one for own in named for one in own[most:]] if most else []
    rest += [one for _named, own in verdicts for one in own]
    return [one for own in named for one in own[:most]], rest
