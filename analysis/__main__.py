"""The command line: `python -m analysis align|agreement|leaderboard|power|...`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from analysis.commands.dates import report_date
from analysis.commands.defaults import WIDE, drawn, title
from analysis.commands.parsers import parser
from analysis.options import AlignOptions, OptionError
from analysis.problems import InputError

if TYPE_CHECKING:
    import pandas as pd

    from analysis.rankings.composite_weights import Composite
    from analysis.result_tables.contract import Analysis

# Options that name an input, in the order of the hashes of a report.
INPUTS = (
    "ratings",
    "choices",
    "rankings",
    "scores",
    "stories",
    "composites",
    "twins",
    "hypotheses",
    "subset",
    "people",
    "other_scores",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status.

    Bad input ends with status 2 and one line a problem on standard error; nothing is
    written then.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    try:
        report_date(None)  # before anything is imported that reads the same variable
        page = _report(options, given)
    except (InputError, OptionError) as error:
        print(error, file=sys.stderr)
        return 2
    print(page)
    return 0


def _report(options: argparse.Namespace, given: Sequence[str]) -> Path:
    from analysis.reading.files import file_and_sheet
    from analysis.report.page import check_story_link
    from analysis.report.writing import (
        check_folder,
        file_hashes,
        run_table,
        write_report,
    )

    check_folder(options.out)
    story_link = getattr(options, "story_link", "")
    check_story_link(story_link)
    _refuse_names_of_columns(options)
    options.remarks = []
    analysis = COMMANDS[options.command](options)
    remarks = tuple(dict.fromkeys(options.remarks))
    analysis = replace(analysis, notes=(*remarks, *analysis.notes))
    paths = {
        name: file_and_sheet(path)[0]
        for name in INPUTS
        if isinstance(path := getattr(options, name, None), Path)
    }
    run = run_table(
        _options(options),
        hashes=file_hashes(paths),
        date=report_date(max(path.stat().st_mtime for path in paths.values())),
        command=shlex.join(["python", "-m", "analysis", *given]),
        resample_default=drawn(
            options.command, majority=getattr(options, "majority", False)
        ),
    )
    with_metrics = (
        getattr(options, "scores", None) is not None
        and getattr(options, "metrics", None) != ()
    )
    images = "" if options.images == "none" else options.images
    return write_report(
        analysis,
        out=options.out,
        title=options.title or title(options.command, with_metrics=with_metrics),
        run=run,
        images=images,
        story_link=story_link,
    )


def _align(options: argparse.Namespace) -> "Analysis":
    from analysis.commands.alignment import align
    from analysis.commands.given_tables import (
        declared_metrics,
        known_composites,
        needed_scores,
    )
    from analysis.reading.inputs import read_twins
    from analysis.reading.kept_answers import chosen_tables
    from analysis.reading.story_tags import read_stories

    tables = _tables(options, "ratings", "choices", "rankings")
    scores = _tables(options, "scores")["scores"]
    given = ("lower_is_better", "higher_is_better", "twins")
    asked = {f"--{name.replace('_', '-')}": getattr(options, name) for name in given}
    needed_scores(scores, asked)
    covered = chosen_tables({**tables, "scores": scores}, _options(options))
    if options.metrics == ():
        # What is declared of metrics is left out with them, but has to make sense.
        covered["scores"] = scores
    tags = None if options.stories is None else read_stories(options.stories)
    twins = None
    if options.twins is not None and scores is not None:
        twins = read_twins(options.twins, set(scores["metric"].astype(str)))
    composites: tuple[Composite, ...] = ()
    if options.composites is not None:
        composites = known_composites(options.composites, covered, tags)
    hypotheses = None
    if options.hypotheses is not None:
        hypotheses = declared_metrics(options.hypotheses, covered, composites)
    with tqdm(bar_format="{desc} {elapsed}", disable=None) as bar:
        return align(
            **tables,
            scores=scores,
            options=_options(options),
            tags=tags,
            composites=composites,
            twins=twins,
            hypotheses=hypotheses,
            progress=bar.set_description_str,
        )


def _refuse_names_of_columns(options: argparse.Namespace) -> None:
    """Refuse names of key columns where no wide table needs them."""
    for name, usual in WIDE.items():
        if getattr(options, name, usual) != usual and not options.wide:
            raise OptionError(f"--{name.replace('_', '-')}: expected --wide beside it")


def _agreement(options: argparse.Namespace) -> "Analysis":
    from analysis.commands.alignment import agreement

    tables = _tables(options, "ratings", "choices", "rankings")
    return agreement(**tables, options=_options(options))


def _leaderboard(options: argparse.Namespace) -> "Analysis":
    from analysis.commands.alignment import leaderboard

    return leaderboard(
        **_tables(options, "choices", "rankings"),
        ties=options.ties,
        majority=options.majority,
        side=options.side,
        prior=options.prior,
        options=_options(options),
    )


def _power(options: argparse.Namespace) -> "Analysis":
    from analysis.commands.planning import power

    return power(
        ratings=_table(options, "ratings", options.ratings),
        **_tables(options, "scores"),
        options=_options(options),
        target=options.target,
    )


def _subset(options: argparse.Namespace) -> "Analysis":
    from analysis.commands.planning import subset
    from analysis.planning.subset import tagged_stories
    from analysis.reading.story_tags import read_stories

    if options.subset is not None and options.stories is not None:
        raise OptionError("--subset, --stories: expected one of them")
    stories: pd.DataFrame | list[str] | None = None
    if options.subset is not None:
        stories = _table(options, "scores", options.subset)
    elif options.stories is not None:
        tags = read_stories(options.stories)
        stories = tagged_stories(tags, options.tag, options.value)
    return subset(
        **_tables(options, "scores", "ratings"),
        subset=stories,
        name=options.value or "subset",
        sizes=options.sizes,
        options=_options(options),
    )


def _stability(options: argparse.Namespace) -> "Analysis":
    from analysis.commands.planning import compare_judges, stability

    if options.ratings is not None:
        if options.other_scores is not None:
            raise OptionError("--other-scores: expected --scores beside it")
        people = options.people
        return stability(
            trials=_table(options, "ratings", options.ratings),
            ratings=None if people is None else _table(options, "ratings", people),
            options=_options(options),
        )
    if options.other_scores is None or options.people is not None:
        raise OptionError("--scores: expected --other-scores beside it, not --people")
    named = [
        (path.stem, _table(options, "scores", path))
        for path in (options.scores, options.other_scores)
    ]
    return compare_judges(named=named, options=_options(options))


def _tables(
    options: argparse.Namespace, *kinds: str
) -> "dict[str, pd.DataFrame | None]":
    """Read the tables that options of their names give; None for others."""
    paths = {kind: getattr(options, kind) for kind in kinds}
    return {
        kind: None if path is None else _table(options, kind, path)
        for kind, path in paths.items()
    }


def _table(options: argparse.Namespace, kind: str, path: Path) -> "pd.DataFrame":
    """Read a table of ratings, choices, rankings or scores; remark what it lacks."""
    from analysis.commands.given_tables import (
        DIRECTIONS,
        directed,
        isolated_remarks,
        read_table,
        remarks_on,
    )

    table = read_table(kind, path, vars(options))
    alone = isolated_remarks(table, kind, vars(options))
    options.remarks += remarks_on(table, kind) + alone
    if kind == "scores":
        ways = [getattr(options, name, ()) for name in DIRECTIONS]
        table, remarks = directed(table, *ways)
        options.remarks += remarks
    for remark in alone:
        print(remark, file=sys.stderr)
    return table


def _options(options: argparse.Namespace) -> AlignOptions:
    given = vars(options)
    names = [field.name for field in fields(AlignOptions)]
    return AlignOptions(**{name: given[name] for name in names if name in given})


COMMANDS = {
    "align": _align,
    "agreement": _agreement,
    "leaderboard": _leaderboard,
    "power": _power,
    "subset": _subset,
    "stability": _stability,
}


if __name__ == "__main__":
    sys.exit(main())
