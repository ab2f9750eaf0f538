"""What a report of a study computes: one function for each command of the analysis."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from analysis.options import AlignOptions, Progress
from annotate.history.as_of_event import Moment
from annotate.models import Report, Study
from annotate.reports import study_tables
from annotate.reports.declarations import Files, declarations

if TYPE_CHECKING:
    import pandas as pd

    from analysis.result_tables.contract import Analysis

Command = Report.Command
# What each takes beside `AlignOptions`, with the usual values.
FURTHER: Mapping[str, Mapping[str, Any]] = {
    Command.ALIGN: {},
    Command.POWER: {"target": 0.05},
    Command.SUBSET: {"sizes": (5, 10, 20, 40, 80), "tag": "", "value": ""},
    Command.STABILITY: {"judges": ()},
}


class ReportError(ValueError):
    """The study cannot be analysed yet; the message says why."""


@dataclass(frozen=True)
class StudyData:
    """Answers through a view and scores as of a moment; tags of the stories."""

    study: Study
    moment: Moment
    answers: "Mapping[str, pd.DataFrame]"
    scores: "pd.DataFrame | None"
    tags: "pd.DataFrame | None"

    @property
    def metrics(self) -> list[str]:
        return [] if self.scores is None else list(self.scores["metric"].unique())

    @property
    def ratings(self) -> "pd.DataFrame":
        if "ratings" not in self.answers:
            raise ReportError("This study has no question that rates single outputs.")
        return self.answers["ratings"]


@dataclass(frozen=True)
class Found:
    """A result, and which tables of the study were read for it; notes."""

    analysis: "Analysis"
    tables: tuple[str, ...]
    hashes: Mapping[str, str]
    notes: tuple[str, ...] = ()


def analyse(
    command: str,
    data: StudyData,
    options: AlignOptions,
    further: Mapping[str, Any],
    files: Files,
    progress: Progress,
) -> Found:
    """Compute what a command does."""
    if command == Command.ALIGN:
        return _align(data, options, files, progress)
    progress(command)
    if command == Command.POWER:
        return _power(data, options, **further)
    if command == Command.SUBSET:
        return _subset(data, options, **further)
    return _stability(data, options, **further)


def _align(
    data: StudyData, options: AlignOptions, files: Files, progress: Progress
) -> Found:
    from analysis.commands.alignment import align

    tables = {**data.answers, "scores": data.scores}
    twins = None
    if data.scores is not None:
        twins = study_tables.twins_frame(
            data.study,
            data.scores,
            excluded=options.exclude_methods,
            as_of=data.moment,
        )
    declared = declarations(data.study, files, tables, data.tags, options)
    analysis = align(
        **tables,
        options=options,
        tags=data.tags,
        composites=declared.composites,
        hypotheses=declared.hypotheses,
        twins=twins,
        progress=progress,
    )
    hashes = dict(declared.hashes)
    if twins is not None:
        hashes["scores of twins"] = _hash(twins)
    read = tuple(name for name, table in tables.items() if table is not None)
    return Found(analysis, read, hashes, declared.notes)


def _power(data: StudyData, options: AlignOptions, target: float) -> Found:
    from analysis.commands.planning import power

    analysis = power(
        ratings=data.ratings, scores=data.scores, options=options, target=target
    )
    return Found(analysis, ("ratings", "scores"), {})


def _subset(
    data: StudyData,
    options: AlignOptions,
    sizes: tuple[int, ...],
    tag: str,
    value: str,
) -> Found:
    from analysis.commands.planning import subset
    from analysis.planning.subset import tagged_stories

    stories, hashes = None, {}
    if tag:
        if data.tags is None:
            raise ReportError("The stories of this study have no tags.")
        stories = tagged_stories(data.tags, tag, value)
        hashes["tags of the study"] = _hash(data.tags)
    ratings = data.answers.get("ratings")
    analysis = subset(
        scores=data.scores,
        ratings=ratings,
        subset=stories,
        name=value or "subset",
        sizes=sizes,
        options=options,
    )
    tables = ("scores",) if ratings is None else ("ratings", "scores")
    return Found(analysis, tables, hashes)


def _stability(
    data: StudyData, options: AlignOptions, judges: tuple[str, ...]
) -> Found:
    """Take the rounds of those annotators for trials, and all others for people."""
    from analysis.commands.planning import stability

    is_judge = data.ratings["annotator"].isin(judges)
    trials, people = data.ratings[is_judge], data.ratings[~is_judge]
    if trials.empty:
        raise ReportError("None of the judges has rated anything.")
    analysis = stability(
        trials=trials, ratings=None if people.empty else people, options=options
    )
    return Found(analysis, ("ratings",), {})


def _hash(frame: "pd.DataFrame") -> str:
    text = frame.to_csv(index=False, lineterminator="\n")
    return sha256(text.encode()).hexdigest()
