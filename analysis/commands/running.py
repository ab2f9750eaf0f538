"""Answer a request: read its tables, and call the analysis."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd

from analysis.commands import alignment, planning
from analysis.commands.given_tables import (
    composite_parts,
    hypothesis_rows,
    is_path,
    needed_scores,
    tag_rows,
    twin_rows,
)
from analysis.commands.requests import Request
from analysis.options import OptionError, Progress, silent
from analysis.planning.best_subset import SIZES
from analysis.planning.subset import tagged_stories
from analysis.reading.kept_answers import chosen_tables
from analysis.result_tables.contract import Analysis


def answered(request: Request, progress: Progress = silent) -> Analysis:
    """Return every table of a result, and call `progress` with each step."""
    if request.command == "align":
        return _align(request, progress)
    return COMMANDS[request.command](request)


def _align(request: Request, progress: Progress) -> Analysis:
    tables = request.read("ratings", "choices", "rankings")
    scores = request.table("scores")
    given, options = {**request.tables, **request.further}, request.options
    asked = ("lower_is_better", "higher_is_better", "twins")
    flags = {f"--{name.replace('_', '-')}": given.get(name) for name in asked}
    needed_scores(scores, {flag: _is_given(value) for flag, value in flags.items()})
    covered = chosen_tables({**tables, "scores": scores}, options)
    if options.metrics == ():
        # What is declared of metrics is left out with them, but has to make sense.
        covered["scores"] = scores
    tags = tag_rows(given.get("stories"))
    twins = None if scores is None else twin_rows(given.get("twins"), scores)
    composites = composite_parts(given.get("composites"), covered, tags)
    return alignment.align(
        **tables,
        scores=scores,
        options=options,
        tags=tags,
        composites=composites,
        twins=twins,
        hypotheses=hypothesis_rows(given.get("hypotheses"), covered, composites),
        progress=progress,
    )


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
    tables = {
        name: table for name, table in request.tables.items() if table is not None
    }
    if "ratings" in tables and tables.keys() <= {"ratings", "people"}:
        return planning.stability(
            trials=request.required("ratings"),
            ratings=request.table("ratings", "people"),
            options=request.options,
        )
    if tables.keys() != {"scores", "other_scores"}:
        raise OptionError(
            "ratings, scores: expected ratings with or without people, or scores and "
            "other_scores"
        )
    named = [
        # What a judge is called: its file, or the keyword of its frame.
        (
            Path(table).stem if is_path(table) else name,
            request.required("scores", name),
        )
        for name, table in tables.items()
    ]
    return planning.compare_judges(named=named, options=request.options)


COMMANDS: Mapping[str, Callable[[Request], Analysis]] = {
    "agreement": _agreement,
    "leaderboard": _leaderboard,
    "power": _power,
    "subset": _subset,
    "stability": _stability,
}
