"""One call of a command: its tables, how to make it again, and its answer."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.commands import alignment, planning
from analysis.commands.bundled import Bundled
from analysis.commands.given_tables import (
    DIRECTIONS,
    composite_parts,
    degraded_rows,
    directed,
    hypothesis_rows,
    is_path,
    isolated_remarks,
    named,
    read_table,
    remarks_on,
    tag_rows,
    trained_rows,
)
from analysis.commands.requirements import Requirement, check_names
from analysis.commands.studies import meta
from analysis.options import (
    VARIABLE,
    WIDE,
    AlignOptions,
    OptionError,
    Progress,
    drawn,
    report_date,
    silent,
)
from analysis.planning.best_subset import SIZES
from analysis.planning.subset import tagged_stories
from analysis.reading.files import file_and_sheet, read_file
from analysis.reading.kept_answers import chosen_tables
from analysis.reading.story_tags import without_probabilities
from analysis.report.writing import file_hashes, run_table
from analysis.result_tables.contract import Analysis

# Frames do not say from when they are.
NO_DATE = "unknown date"


@dataclass
class Request:
    """The tables and options of one command.

    `tables` are files, frames, or whatever else names a table, by keyword; `text` says
    how to ask the same again; `further` are the keywords that this command alone knows;
    `warn` is called with each remark that should be shown at once.
    """

    command: str
    tables: Mapping[str, Any]
    options: AlignOptions
    text: str
    further: Mapping[str, Any] = field(default_factory=dict)
    wide: Mapping[str, Any] = field(default_factory=lambda: WIDE)
    warn: Progress = silent
    remarks: list[str] = field(default_factory=list)
    bundled: Bundled | None = None
    requirements: Sequence[Requirement] = ()

    def read(self, *kinds: str) -> dict[str, pd.DataFrame | None]:
        """Read the tables that keywords of their names give; None for others."""
        return {kind: self.table(kind) for kind in kinds}

    def table(self, kind: str, name: str = "") -> pd.DataFrame | None:
        """Read one table, whose keyword may have another name than its kind."""
        table = self.tables.get(name or kind)
        if table is None:
            return None
        own = vars(self.options)
        with named(table, name or kind):
            found = read_table(kind, table, {**self.wide, **own})
        alone = isolated_remarks(found, kind, own)
        self.remarks += remarks_on(found, kind) + alone
        if kind == "scores":
            ways = [self.further.get(name, ()) for name in DIRECTIONS]
            found, remarks = directed(found, *ways)
            self.remarks += remarks
        for remark in alone:
            self.warn(remark)
        return found

    def required(self, kind: str, name: str = "") -> pd.DataFrame:
        """Read a table without which the call means nothing."""
        found = self.table(kind, name)
        if found is None:
            raise OptionError(f"{name or kind}: expected a frame or a file, not None")
        return found

    def run(self) -> pd.DataFrame:
        """Return what is needed to make the same report again, as key and value."""
        paths = {
            name: file_and_sheet(Path(fspath(value)))[0]
            for name, value in self._inputs()
            if is_path(value)
        }
        hashes = file_hashes(paths)
        for name, value in self._inputs():
            if isinstance(value, pd.DataFrame):
                hashes[f"{name} (frame)"] = _digest(value)
        newest = max((path.stat().st_mtime for path in paths.values()), default=None)
        is_dated = newest is not None or VARIABLE in os.environ
        majority = bool(self.further.get("majority"))
        return run_table(
            self.options,
            hashes=hashes,
            date=report_date(newest) if is_dated else NO_DATE,
            command=self.text,
            resample_default=drawn(self.command, majority=majority),
        )

    def _inputs(self) -> Iterator[tuple[str, Any]]:
        """Yield the tables that are files or frames, and their keywords."""
        for name, value in self.tables.items():
            if is_path(value) or isinstance(value, pd.DataFrame):
                yield name, value


def _digest(frame: pd.DataFrame) -> str:
    """Return the SHA-256 of the CSV file that ``frame.to_csv(index=False)`` writes."""
    text = frame.to_csv(index=False, lineterminator="\n")
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def answered(request: Request, progress: Progress = silent) -> Analysis:
    """Return every table of a result, and call `progress` with each step."""
    if request.command == "align":
        return _align(request, progress)
    return COMMANDS[request.command](request)


def _align(request: Request, progress: Progress) -> Analysis:
    tables = request.read("ratings", "choices", "rankings")
    scores = request.table("scores")
    given, options = {**request.tables, **request.further}, request.options
    asked = ("lower_is_better", "higher_is_better", "twins", "trained_on")
    for name in asked:
        if scores is None and _is_given(given.get(name)):
            option = f"--{name.replace('_', '-')}"
            raise OptionError(f"{option}: expected --scores beside it")
    covered = chosen_tables({**tables, "scores": scores}, options)
    if options.metrics == ():
        # What is declared of metrics is left out with them, but has to make sense.
        covered["scores"] = scores
    tags = tag_rows(given.get("stories"))
    twins = None if scores is None else degraded_rows(given.get("twins"), scores)
    plain, _ = without_probabilities(tags)
    composites = composite_parts(given.get("composites"), covered, plain)
    hypotheses = hypothesis_rows(given.get("hypotheses"), covered, composites)
    trained = trained_rows(given.get("trained_on"), {**tables, "scores": scores})
    earlier, bundled = None, request.bundled
    if bundled is not None:
        composites = composites or bundled.composites
        hypotheses = bundled.hypotheses if hypotheses is None else hypotheses
        trained = bundled.trained_on if trained is None else trained
        earlier = _earlier(bundled)
    check_names(request.requirements, covered, [one.name for one in composites])
    return alignment.align(
        ratings=tables["ratings"],
        choices=tables["choices"],
        rankings=tables["rankings"],
        scores=scores,
        options=options,
        tags=tags,
        composites=composites,
        twins=twins,
        marked_shots=request.table("marked_shots"),
        hypotheses=hypotheses,
        trained_on=trained,
        earlier=earlier,
        progress=progress,
    )


def _earlier(bundled: Bundled) -> alignment.EarlierStudy | None:
    """Return the tables of the study that the bundle's study continues, if any."""
    if not bundled.late_method:
        return None
    tables = {
        kind: read_table(kind, path, {**WIDE, "scale": None})
        for kind, path in bundled.earlier.items()
    }
    return alignment.EarlierStudy(tables, bundled.late_method)


def _is_given(value: object) -> bool:
    return value is not None and not (isinstance(value, str | tuple) and not value)


def _agreement(request: Request) -> Analysis:
    answers = request.read("ratings", "choices", "rankings")
    return alignment.agreement(**answers, options=request.options)


def _leaderboard(request: Request) -> Analysis:
    return alignment.leaderboard(
        choices=request.table("choices"),
        rankings=request.table("rankings"),
        **request.further,
        options=request.options,
    )


def _power(request: Request) -> Analysis:
    return planning.power(
        ratings=request.required("ratings"),
        scores=request.table("scores"),
        target=request.further["target"],
        options=request.options,
    )


def _subset(request: Request) -> Analysis:
    """Take a subset that is named, has its own table, or has a tag of stories."""
    asked = request.further
    subset = request.tables.get("subset")
    if is_path(subset) or isinstance(subset, pd.DataFrame):
        subset = request.table("scores", "subset")
    elif request.tables.get("stories") is not None:
        tags = tag_rows(request.tables["stories"])
        assert tags is not None
        subset = tagged_stories(tags, asked["tag"], asked["value"])
    return planning.subset(
        **request.read("scores", "ratings"),
        subset=subset,
        name=asked.get("name") or asked.get("value") or "subset",
        sizes=asked.get("sizes", SIZES),
        options=request.options,
    )


def _stability(request: Request) -> Analysis:
    return planning.stability(
        trials=request.required("ratings"),
        ratings=request.table("ratings", "people"),
        options=request.options,
    )


def _score_agreement(request: Request) -> Analysis:
    return planning.score_agreement(named=_named(request), options=request.options)


def _named(request: Request) -> list[tuple[str, pd.DataFrame]]:
    """Read tables of scores by what each is called: its file, or its keyword.

    Files of one name are called by their folders, too.
    """
    given = {name: table for name, table in request.tables.items() if table is not None}
    called = [_called(name, table, 1) for name, table in given.items()]
    if len({*called}) < len(called):
        called = [_called(name, table, 2) for name, table in given.items()]
    if len({*called}) < len(called):
        called = [*given]
    tables = [request.required("scores", name) for name in given]
    return [*zip(called, tables, strict=True)]


def _called(name: str, table: Any, parts: int) -> str:
    """Return the last parts of a file's path, or the keyword of what is none."""
    if not is_path(table):
        return name
    path = Path(fspath(table)).absolute().with_suffix("")
    return "/".join(path.parts[-parts:])


def _late_entry(request: Request) -> Analysis:
    """Read two tables, both of ratings or both of choices."""
    kinds = {name: _kind_of(request.tables[name]) for name in ("before", "after")}
    if len(set(kinds.values())) > 1:
        raise OptionError("before, after: expected two tables of ratings or of choices")
    before, after = (
        {kind: request.required(kind, name)} for name, kind in kinds.items()
    )
    asked = request.further
    return alignment.late_entry(
        before,
        after,
        method=asked["method"],
        same_people=asked["same_people"],
        options=request.options,
    )


def _kind_of(table: Any) -> str:
    frame = read_file(Path(fspath(table))) if is_path(table) else table
    return "choices" if "choice" in frame else "ratings"


COMMANDS: Mapping[str, Callable[[Request], Analysis]] = {
    "agreement": _agreement,
    "leaderboard": _leaderboard,
    "power": _power,
    "subset": _subset,
    "stability": _stability,
    "score-agreement": _score_agreement,
    "late-entry": _late_entry,
    "meta": lambda request: meta(request.tables, request.options),
}
