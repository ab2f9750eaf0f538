"""What can be claimed, and what cannot: sentences generated from the numbers.

Sentences about metrics word the rows of ``verdicts``. Another sentence is shown by the
data when its interval says so; without an interval, or with one that includes the null
value, it is not.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain

import pandas as pd

from analysis.inference.significance import EXACT_BELOW
from analysis.report.claims_methods import label_claims, preferred_claims
from analysis.report.claims_metrics import (
    coverage_limits,
    flip_limits,
    selection_limits,
)
from analysis.report.claims_pairs import (
    calibration_claims,
    disagreement_claims,
    human_pair_claims,
    side_claims,
    tie_limits,
)
from analysis.report.claims_people import chance_claims
from analysis.report.claims_planning import (
    choice_claims,
    judge_claims,
    stability_claims,
    subset_claims,
    variance_claims,
)
from analysis.report.claims_strata import needed_limits, stratum_claims
from analysis.report.language import counted, listed, retold, say, texts
from analysis.report.sections import SECTIONS
from analysis.report.twin_claims import twin_claims
from analysis.report.verdict_claims import question_claims, tie_claims
from analysis.report.wording import (
    FEW_STORIES,
    MOST_SENTENCES,
    ClaimText,
    first_row,
    interval,
    number,
)
from analysis.verdicts import FEW_METHODS

# The statistic that tells how well people agree, the first one there is.
AGREEING = texts(
    {
        "alpha_ordinal": "ordinal alpha",
        "alpha_nominal": "nominal alpha",
        "kendall_between_annotators": "Kendall's tau of two annotators",
    }
)
# Below, tests that speak of other annotators reject too often (docs/coverage.md).
FEW_ANNOTATORS = 5
ResultTables = Mapping[str, pd.DataFrame]
# What is said of a section of the page, in reading order.
SectionTexts = tuple[str, Iterable[ClaimText]]


@dataclass(frozen=True)
class Said:
    """What the data show, and what they do not.

    Attributes
    ----------
    verdicts
        What is said of metrics, question by question: whether they are shown to agree,
        and how it reads.
    warnings
        What metrics are shown not to see of outputs made worse on purpose.
    methods
        What is said of methods: which one people prefer, question by question.
    sections
        What else the data show or do not, by the keys of `analysis.report.sections`.
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
    def _every(self) -> tuple[ClaimText, ...]:
        warnings = ((True, text) for text in self.warnings)
        return (
            *chain.from_iterable(self.verdicts),
            *warnings,
            *self.methods,
            *chain.from_iterable(self.sections.values()),
        )


def both(tables: ResultTables, confidence: float) -> Said:
    """Return what the data support, and what they do not.

    `confidence` is the coverage of the intervals.
    """
    verdicts: tuple[tuple[ClaimText, ...], ...] = ()
    if "verdicts" in tables:
        verdicts = tuple(map(tuple, question_claims(tables["verdicts"])))
    methods: tuple[ClaimText, ...] = ()
    if "method_verdicts" in tables:
        found = preferred_claims(
            tables["method_verdicts"],
            tables.get("method_comparisons"),
            tables.get("top_methods"),
            confidence,
        )
        methods = tuple(found)
    if "labels" in tables:
        methods += tuple(label_claims(tables["labels"]))
    warnings: tuple[str, ...] = ()
    if "sanity" in tables:
        warnings = tuple(twin_claims(tables["sanity"]))
    sections: dict[str, tuple[ClaimText, ...]] = dict.fromkeys(SECTIONS, ())
    for key, more in (*_claims(tables, confidence), *_limits(tables)):
        sections[key] += tuple(more)
    return Said(verdicts, methods, warnings, sections)


def _claims(tables: ResultTables, confidence: float) -> Iterator[SectionTexts]:
    sides = partial(side_claims, confidence=confidence)
    yield "planning", _not_shown(_few_methods(tables))
    yield "planning", _not_shown(_few_stories(tables))
    yield "planning", _not_shown(_few_annotators(tables))
    # A table, its section, what is said of it, and tables that are looked at beside it.
    kinds: tuple[
        tuple[str, str, Callable[..., Iterable[ClaimText]], *tuple[str, ...]], ...
    ]
    kinds = (
        ("human_pairs", "metrics", human_pair_claims, "verdicts"),
        ("calibration", "metrics", calibration_claims),
        ("agreement", "people", _people),
        ("annotators", "people", chance_claims, "without_marked"),
        ("position_bias", "people", sides, "side_effect"),
        ("disagreement", "disagreement", disagreement_claims, "verdicts"),
        ("strata_differences", "disagreement", stratum_claims),
        (
            "power",
            "planning",
            lambda _, variance: variance_claims(variance),
            "variance",
        ),
        ("subset", "planning", subset_claims),
        ("best_subset", "planning", choice_claims),
        ("stability", "metrics", stability_claims),
        ("judges", "metrics", judge_claims),
    )
    for name, section, claims, *others in kinds:
        if name in tables:
            yield section, claims(tables[name], *map(tables.get, others))


def _limits(tables: ResultTables) -> Iterator[SectionTexts]:
    if "correlations" in tables:
        correlations = tables["correlations"]
        yield "metrics", _not_shown(coverage_limits(tables))
        flips = flip_limits(correlations, tables.get("pairwise_accuracy"))
        yield "metrics", _not_shown(flips)
        yield "metrics", _not_shown(_coefficient_limits(correlations))
    if "verdicts" in tables:
        yield "metrics", _not_shown(tie_claims(tables["verdicts"]))
        yield "metrics", _not_shown(selection_limits(tables["verdicts"]))
    if "pairwise_accuracy" in tables:
        yield "metrics", _not_shown(tie_limits(tables["pairwise_accuracy"]))
    if "needed" in tables:
        yield "planning", _not_shown(needed_limits(tables["needed"]))
    if _have_intervals(tables):
        text = say(
            "Intervals come from this study's own answers; they say nothing "
            "about stories or methods of another kind."
        )
        yield "planning", [(False, text)]
    elif any("low" in table for table in tables.values()):
        text = say(
            "No interval was computed: how far any of these values would move with "
            "other stories, methods or annotators is not known."
        )
        yield "planning", [(False, text)]


def _not_shown(texts: Iterable[str]) -> Iterator[ClaimText]:
    return ((False, text) for text in texts)


def _have_intervals(tables: ResultTables) -> bool:
    return any(
        bool(table["low"].notna().any()) for table in tables.values() if "low" in table
    )


def _few_stories(tables: ResultTables) -> Iterator[str]:
    """Say that resampled intervals over few stories are too narrow."""
    if not _have_intervals(tables):
        return
    counts = [
        tables[name]["n_stories"].max()
        for name in ("method_means", "win_rates", "ranking_leaderboard")
        if name in tables
    ]
    most = max((int(count) for count in counts if not pd.isna(count)), default=0)
    if 1 < most < FEW_STORIES:
        yield say(
            "Only {stories}: intervals that resample them are too narrow with so few, "
            "so treat borderline results as undecided.",
            stories=counted(most, "story"),
        )


def _few_annotators(tables: ResultTables) -> Iterator[str]:
    """Say that few annotators say little of others."""
    if "method_verdicts" not in tables or "agreement" not in tables:
        return
    drawn = tables["method_verdicts"]["drawn"].str.contains("annotators")
    n = int(tables["agreement"]["n_annotators"].fillna(0).max())
    if drawn.any() and 1 < n < FEW_ANNOTATORS:
        yield say(
            "Only {annotators}: what is said of other annotators rests on so few, and "
            "errs somewhat more often than it says where they differ.",
            annotators=counted(n, "annotator"),
        )


def _people(agreement: pd.DataFrame) -> Iterator[ClaimText]:
    undefined: dict[str, list[str]] = {}
    told: list[tuple[bool, str, float, str]] = []
    for question, rows in agreement.groupby("question", sort=True):
        name = next(x for x in AGREEING if (rows["statistic"] == x).any())
        alpha = first_row(rows[rows["statistic"] == name])
        if math.isnan(alpha["value"]):
            undefined.setdefault(str(alpha["reason"]), []).append(str(question))
            continue
        evidence = say(
            "{value} ({annotators}, {units} with two or more answers)",
            value=f"{say(AGREEING[name])} {number(alpha['value'])}{interval(alpha)}",
            annotators=counted(alpha["n_annotators"], "annotator"),
            units=counted(alpha["n_units"], "unit"),
        )
        if math.isnan(alpha["low"]):
            evidence = say("for want of an interval: {evidence}", evidence=evidence)
        shown = bool(alpha["low"] > 0)
        told.append((shown, str(question), float(alpha["value"]), evidence))
    for shown in (True, False):
        yield from _agreeing([one for one in told if one[0] == shown], shown=shown)
    for reason, questions in undefined.items():
        yield (
            False,
            say(
                "{questions}: agreement of people beyond chance is undefined, since "
                "{reason}.",
                questions=listed(questions),
                reason=retold(reason),
            ),
        )


def _agreeing(
    told: list[tuple[bool, str, float, str]], *, shown: bool
) -> Iterator[ClaimText]:
    if len(told) <= MOST_SENTENCES:
        for _shown, question, _value, evidence in told:
            text = say(
                "{question}: people agree beyond chance, {evidence}."
                if shown
                else "{question}: people are not shown to agree beyond chance, "
                "{evidence}.",
                question=question,
                evidence=evidence,
            )
            yield shown, text
        return
    low, high = min(told, key=lambda one: one[2]), max(told, key=lambda one: one[2])
    text = say(
        "People agree beyond chance in {n} questions, from {low}, {low_evidence}, to "
        "{high}, {high_evidence}."
        if shown
        else "People are not shown to agree beyond chance in {n} questions, from "
        "{low}, {low_evidence}, to {high}, {high_evidence}.",
        n=len(told),
        low=low[1],
        low_evidence=low[3],
        high=high[1],
        high_evidence=high[3],
    )
    yield shown, text


def _few_methods(tables: ResultTables) -> Iterator[str]:
    if "correlations" not in tables:
        return
    correlations = tables["correlations"]
    over_methods = (correlations["level"] == "method") & correlations["value"].notna()
    methods = correlations.loc[over_methods, "n"].max()
    if 0 < methods < EXACT_BELOW:
        yield say(
            "Only {methods}: not even a perfect order of their means can be told from "
            "chance."
            if methods < FEW_METHODS
            else "Only {methods}: over their means only strong agreement can be shown, "
            "by the exact test of all their orders.",
            methods=counted(methods, "method"),
        )


def _coefficient_limits(correlations: pd.DataFrame) -> Iterator[str]:
    known = correlations[correlations["low"].notna()]
    around = int(((known["low"] <= 0) & (known["high"] >= 0)).sum())
    if around:
        yield say(
            "{n} of {total} has an interval that includes 0."
            if around == 1
            else "{n} of {total} have an interval that includes 0.",
            n=around,
            total=counted(len(known), "coefficient"),
        )
    off = int(
        ((known["value"] < known["low"]) | (known["value"] > known["high"])).sum()
    )
    if off:
        yield say(
            "{n} of {total} has an interval that does not hold it: resamples of few "
            "clusters are noisier than the study itself, so draw other clusters."
            if off == 1
            else "{n} of {total} have an interval that does not hold it: resamples of "
            "few clusters are noisier than the study itself, so draw other clusters.",
            n=off,
            total=counted(len(known), "coefficient"),
        )
