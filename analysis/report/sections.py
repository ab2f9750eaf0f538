"""What stands in a report: questions that people ask, each with sentences and figures.

A function of `SECTIONS` is given the tables that its parameters name, beside ``cells``,
``tables`` (all of them) and ``confidence``. Nothing is said or drawn where the first of
them is missing or empty.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import signature
from itertools import chain
from typing import Any

import pandas as pd

from analysis.report import (
    figures_agreement,
    figures_methods,
    figures_metrics,
    figures_outputs,
    figures_pairs,
    figures_people,
    figures_planning,
    figures_tests,
    figures_wins,
    findings_metrics,
    findings_pairs,
    findings_people,
    findings_planning,
    findings_strata,
)
from analysis.report.figure import Figure
from analysis.report.findings_methods import label_claims, preferred_claims
from analysis.report.findings_verdicts import question_claims, tie_claims
from analysis.report.language import counted, listed, say, texts
from analysis.report.wording import ClaimText


@dataclass(frozen=True)
class Section:
    """A question with what answers it; `further` figures are drawn if all are asked."""

    heading: str
    claims: tuple[Callable[..., Iterable[ClaimText | str]], ...] = ()
    figures: tuple[Callable[..., list[Figure]], ...] = ()
    further: tuple[Callable[..., list[Figure]], ...] = ()


SECTIONS = {
    "people": Section(
        "Do people agree among themselves?",
        claims=(
            findings_people.agreement_claims,
            findings_people.chance_claims,
            findings_people.side_claims,
        ),
        figures=(
            figures_people.distribution_bars,
            figures_people.agreement_dots,
            figures_people.position_dots,
        ),
        further=(figures_people.annotator_dots,),
    ),
    "metrics": Section(
        "How do the metrics compare?",
        claims=(
            findings_pairs.human_pair_claims,
            findings_pairs.calibration_claims,
            findings_metrics.stability_claims,
            findings_metrics.judge_claims,
            findings_metrics.coverage_limits,
            findings_metrics.flip_limits,
            findings_metrics.interval_limits,
            tie_claims,
            findings_metrics.selection_limits,
            findings_metrics.tie_limits,
        ),
        figures=(
            figures_metrics.forests,
            figures_metrics.metric_matrix,
            figures_metrics.rank_flips,
            figures_pairs.pair_dots,
            figures_pairs.human_pair_dots,
            figures_pairs.spa_dots,
            figures_tests.p_matrices,
            figures_tests.cluster_strips,
            figures_pairs.stability_dots,
            figures_pairs.judge_dots,
        ),
        further=(figures_pairs.calibration_dots,),
    ),
    "disagreement": Section(
        "Where do metrics and people disagree?",
        claims=(findings_pairs.disagreement_claims, findings_strata.stratum_claims),
        figures=(
            figures_outputs.outputs,
            figures_outputs.scatters,
            figures_planning.strata_dots,
            figures_wins.strata_wins,
        ),
    ),
    "methods": Section(
        "Which method is best?",
        figures=(
            figures_methods.label_dots,
            figures_methods.mean_dots,
            figures_methods.rank_dots,
            figures_methods.standing_dots,
            figures_methods.ladders,
            figures_wins.wins,
            figures_methods.ranking_ladders,
        ),
        further=(figures_methods.composite_dots, figures_methods.profiles),
    ),
    "planning": Section(
        "Is it enough data?",
        claims=(
            findings_planning.few_methods,
            findings_planning.few_stories,
            findings_planning.few_annotators,
            findings_planning.variance_claims,
            findings_planning.subset_claims,
            findings_planning.choice_claims,
            findings_strata.needed_limits,
            findings_planning.interval_limits,
        ),
        figures=(
            figures_agreement.variance_bars,
            figures_agreement.reliability_curves,
            figures_planning.subset_dots,
            figures_planning.best_subset_curves,
            figures_planning.power_curves,
        ),
    ),
}
# What a section asks where there is no metric.
OF_PEOPLE = texts({"disagreement": "Do groups of stories differ?"})
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

    def said(
        *claims: Callable[..., Iterable[ClaimText | str]],
    ) -> tuple[ClaimText, ...]:
        found = chain.from_iterable(_called(claim, known) for claim in claims)
        # What is a text alone is not shown by the data.
        return tuple((False, one) if isinstance(one, str) else one for one in found)

    return Said(
        tuple(map(tuple, _called(question_claims, known))),
        said(preferred_claims, label_claims),
        tuple(_called(findings_metrics.twin_claims, known)),
        {key: said(*section.claims) for key, section in SECTIONS.items()},
    )


def all_figures(
    tables: Mapping[str, pd.DataFrame], cells: pd.DataFrame, *, more: bool = False
) -> list[Figure]:
    """Return the figures that the tables allow, in the order of `SECTIONS`.

    `cells` has the columns question, metric, story, method, human, score and
    higher_is_better; with `more` the further figures are drawn, too.
    """
    known = {**tables, "cells": cells}
    found: list[Figure] = []
    for key, section in SECTIONS.items():
        for draw in (*section.figures, *(section.further if more else ())):
            (first, *_others) = signature(draw).parameters
            drawn_from = () if first == "cells" else (first,)
            found += [
                replace(figure, section=key, tables=figure.tables or drawn_from)
                for figure in _called(draw, known)
            ]
    return found


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
            (len(self.sentences) - 1, "more sentence"),
            (len(self.figures), "figure"),
        )
        return listed(counted(n, noun) for n, noun in counts if n > 0)


def sections_of(
    sentences: Mapping[str, tuple[ClaimText, ...]],
    drawn: Iterable[Figure],
    *,
    has_metrics: bool = True,
) -> list[ShownSection]:
    """Return the sections of which anything is said or drawn."""
    figures = tuple(drawn)
    other = {} if has_metrics else OF_PEOPLE
    found = [
        ShownSection(
            key,
            say(other.get(key, section.heading)),
            tuple(sentences.get(key, ())),
            tuple(figure for figure in figures if figure.section == key),
        )
        for key, section in SECTIONS.items()
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
