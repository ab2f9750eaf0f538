"""What a report of a study computes, and what is declared beside its tables."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from analysis.options import AlignOptions, Progress
from analysis.rankings.composite_weights import Composite
from analysis.sentences import sentence
from annotate.audit_log.as_of_event import Moment
from annotate.models import Report, Study
from annotate.reports import study_tables
from annotate.studies.study_file import read_definition

if TYPE_CHECKING:
    import pandas as pd

    from analysis.result_tables.contract import Analysis

# As which kinds of files the texts of a stored report are given.
SUFFIXES = {"hypotheses": ".csv", "composites": ".yaml"}
# Where in the folder of a report the files lie that it was given.
FOLDER = "inputs"
Files = Mapping[str, Path]


@dataclass(frozen=True)
class Declarations:
    """What is declared beside answers and scores, with the hash of each part."""

    hypotheses: "pd.DataFrame"
    composites: tuple[Composite, ...]
    hashes: Mapping[str, str]
    notes: tuple[str, ...]


def declarations(
    study: Study,
    files: Files,
    tables: "Mapping[str, pd.DataFrame | None]",
    tags: "pd.DataFrame | None",
    options: AlignOptions,
) -> Declarations:
    """Return what a study declares, or whatever file stands instead."""
    from analysis.commands.given_tables import declared_metrics, known_composites
    from analysis.reading.kept_answers import chosen_tables

    covered = chosen_tables(tables, options)
    composites = own = own_composites(study)
    if path := files.get("composites"):
        composites = ()
        if path.stat().st_size:
            composites = known_composites(path, covered, tags)
    hypotheses = own_hypotheses = study_tables.hypotheses_frame(study)
    if path := files.get("hypotheses"):
        hypotheses = own_hypotheses[:0]
        if path.stat().st_size:
            hypotheses = declared_metrics(path, covered, composites)
    values = {
        "hypotheses": own_hypotheses.to_dict("list"),
        "composites": own,
        "tags": {} if tags is None else tags.to_dict("list"),
    }
    hashes = {
        f"{name} of the study": sha256(repr(value).encode()).hexdigest()
        for name, value in values.items()
        if name not in files
    } | {
        f"{name} ({kept_name(name, path)})": sha256(path.read_bytes()).hexdigest()
        for name, path in files.items()
    }
    notes = tuple(_notes(files, hypotheses, own_hypotheses))
    return Declarations(hypotheses, composites, hashes, notes)


def own_composites(study: Study) -> tuple[Composite, ...]:
    """Return the composites that the study's file names; an import has no file."""
    if not study.definition:
        return ()
    definition = read_definition(study.definition, file=study.slug, name=study.slug)
    return definition.composites


def _notes(
    files: Files, hypotheses: "pd.DataFrame", own: "pd.DataFrame"
) -> Iterator[str]:
    """Say what this report has instead of the study's own."""
    if "hypotheses" in files:
        yield sentence(
            "Metrics were declared for this report, not by the study: {metrics} (the "
            "study: {own}).",
            metrics=_told(hypotheses),
            own=_told(own),
        )
    if "composites" in files:
        yield sentence("Composites were given for this report, not by the study.")


def _told(hypotheses: "pd.DataFrame") -> str:
    pairs = zip(hypotheses["question"], hypotheses["metric"], strict=True)
    told = [sentence("{question} by {metric}", question=q, metric=m) for q, m in pairs]
    return sentence("{names}", names=told) if told else sentence("none")


@contextmanager
def as_files(texts: Mapping[str, str]) -> Iterator[Files]:
    """Lend the texts of a stored report as files."""
    with TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}{SUFFIXES[name]}" for name in texts}
        for name, path in paths.items():
            path.write_text(texts[name], encoding="utf-8", newline="")
        yield paths


def kept_name(name: str, path: Path) -> str:
    """Return where in the folder of a report the file of a part lies."""
    return f"{FOLDER}/{name}{path.suffix}"


def keep(files: Files, out: Path) -> None:
    """Copy the files that a report was given into its folder, and older ones away."""
    for name in SUFFIXES.keys() - files.keys():
        for older in (out / FOLDER).glob(f"{name}.*"):
            older.unlink()
    for name, path in files.items():
        place = out / kept_name(name, path)
        place.parent.mkdir(exist_ok=True)
        if not (place.exists() and place.samefile(path)):
            shutil.copyfile(path, place)


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
            data.study, data.scores, excluded=options.exclude_methods, as_of=data.moment
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
    data: StudyData, options: AlignOptions, sizes: tuple[int, ...], tag: str, value: str
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
