"""What stands in a report: questions that people ask, each with sentences and figures.

A function that says or draws anything is given the tables that its parameters name,
beside ``cells``, ``tables`` (all of them) and ``confidence``. Nothing is said or drawn
where the first of them is missing or empty.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import chain
from typing import Any

import pandas as pd

from analysis.report import (
    figures_methods,
    figures_metrics,
    figures_outputs,
    figures_people,
    figures_planning,
    figures_verdicts,
    figures_wins,
    findings_metrics,
    findings_people,
    findings_planning,
)
from analysis.report.figure import DECLARED, DRAWN, Figure
from analysis.report.findings_methods import label_claims, preferred_claims
from analysis.report.findings_verdicts import question_claims, tie_claims
from analysis.report.language import counted, listed
from analysis.report.wording import ClaimText, word

Claims = Callable[..., Iterable[ClaimText | str]]
# Sections in reading order, with their findings; `figures.toml` has its figures.
SECTIONS: dict[str, tuple[Claims, ...]] = {
    "people": (
        findings_people.agreement_claims,
        findings_people.chance_claims,
        findings_people.side_claims,
    ),
    "metrics": (
        findings_metrics.human_pair_claims,
        findings_metrics.calibration_claims,
        findings_metrics.stability_claims,
        findings_metrics.judge_claims,
        findings_metrics.coverage_limits,
        findings_metrics.flip_limits,
        findings_metrics.interval_limits,
        tie_claims,
        findings_metrics.selection_limits,
        findings_metrics.tie_limits,
    ),
    "disagreement": (
        findings_metrics.disagreement_claims,
        findings_planning.stratum_claims,
    ),
    "methods": (),
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
# Modules whose figures are drawn.
FIGURES = (
    figures_methods,
    figures_metrics,
    figures_outputs,
    figures_people,
    figures_planning,
    figures_verdicts,
    figures_wins,
)
# Figures of methods, those first that say most at a glance.
OPENING = ("labels", "wins", "means", "ranking-ladder", "ladder")
# Of more sentences on metrics the first screen has one a question.
MOST_VERDICTS = 6


@dataclass(frozen=True)
class Said:
    """What the data show, and what they do not: of metrics question by question.

    Warnings say what metrics do not see of outputs made worse on purpose.
    """

    verdicts: tuple[tuple[ClaimText, ...], ...]
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
        others = (self.methods, *self.sections.values())
        return chain(*self.verdicts, warnings, *others)


def both(tables: Mapping[str, pd.DataFrame], confidence: float) -> Said:
    """Return what the data support, and what they do not.

    `confidence` is the coverage of the intervals.
    """
    known = {**tables, "tables": tables, "confidence": confidence}

    def said(*claims: Claims) -> tuple[ClaimText, ...]:
        found = chain.from_iterable(_called(claim, known) for claim in claims)
        # What is a text alone is not shown by the data.
        return tuple((False, one) if isinstance(one, str) else one for one in found)

    return Said(
        tuple(map(tuple, _called(question_claims, known))),
        said(preferred_claims, label_claims),
        tuple(_called(findings_metrics.twin_claims, known)),
        {key: said(*claims) for key, claims in SECTIONS.items()},
    )


def all_figures(
    tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame, *, more: bool = False
) -> list[Figure]:
    """Return the figures that the tables allow, in the order of `figures.toml`.

    `cells` has the columns question, metric, story, method, human, score and
    higher_is_better; with `more` the further figures are drawn, too.
    """
    known = {**tables, "cells": cells}
    chosen = [key for key, given in DECLARED.items() if more or not given.further]
    return [figure for key in chosen for figure in _called(DRAWN[key], known)]


def _called(
    function: Callable[..., Iterable[Any]], known: Mapping[str, Any]
) -> Iterable[Any]:
    """Call a function with what its parameters name, if there is the first of it."""
    first, *others = (known.get(name) for name in signature(function).parameters)
    if first is None or getattr(first, "empty", False):
        return ()
    return function(first, *others)


# The page -----------------------------------------------------------------------------


@dataclass(frozen=True)
class ShownSection:
    """A section of the page: what is said, and what is drawn."""

    key: str
    heading: str
    sentences: tuple[ClaimText, ...]
    figures: tuple[Figure, ...]

    @property
    def answer(self) -> str:
        """The sentence that is read while the section is closed: one that is shown."""
        shown = [text for is_shown, text in self.sentences if is_shown]
        return next(iter([*shown, *(text for _, text in self.sentences)]), "")

    @property
    def holds(self) -> str:
        """What more there is when it is opened."""
        counts = (
            (
                len(self.sentences) - 1,
                counted(len(self.sentences) - 1, "more sentence"),
            ),
            (len(self.figures), counted(len(self.figures), "figure")),
        )
        return listed(text for n, text in counts if n > 0)


def sections_of(
    sentences: Mapping[str, tuple[ClaimText, ...]],
    drawn: Iterable[Figure],
    *,
    has_metrics: bool = True,
) -> list[ShownSection]:
    """Return the sections of which anything is said or drawn."""
    figures = tuple(drawn)
    found = [
        ShownSection(
            key,
            word("sections" if has_metrics else "sections-of-people", key),
            tuple(sentences.get(key, ())),
            tuple(figure for figure in figures if figure.section == key),
        )
        for key in SECTIONS
    ]
    return [one for one in found if one.sentences or one.figures]


def opening_figure(drawn: Sequence[Figure]) -> Figure | None:
    """Return the figure that opens a report of people alone: what they say of methods.

    Nothing where none of them is drawn.
    """
    found = {figure.key: figure for figure in drawn}
    return next((found[key] for key in OPENING if key in found), None)


def first_of_each(
    questions: Sequence[Sequence[ClaimText]],
) -> tuple[list[ClaimText], list[ClaimText]]:
    """Return the sentences that open a page, and those that are folded below.

    Of few sentences none is folded, of many all but the first of each question.
    """
    told = list(chain.from_iterable(questions))
    if len(told) <= MOST_VERDICTS:
        return told, []
    folded = [one for own in questions for one in own[1:]]
    return [own[0] for own in questions], folded
