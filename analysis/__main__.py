"""The command line: `python -m analysis align|agreement|leaderboard|power|...`."""

import argparse
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from analysis.commands.dates import report_date
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
# What the reader of each table takes of the options.
WIDE = ("wide", "method_column", "story_column")
READ = {"ratings": (*WIDE, "scale"), "choices": (), "rankings": (), "scores": WIDE}
RESAMPLE_DEFAULTS = {
    "align": "stories+methods",
    "agreement": "units",
    "leaderboard": "stories+annotators",
    "power": "stories+methods",
    "subset": "stories+methods",
    "stability": "stories+methods",
}


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
    from analysis.report.writing import (
        check_folder,
        file_hashes,
        run_table,
        write_report,
    )

    check_folder(options.out)
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
    default = RESAMPLE_DEFAULTS[options.command]
    if getattr(options, "majority", False):
        default = "stories"
    run = run_table(
        _options(options),
        hashes=file_hashes(paths),
        date=report_date(max(path.stat().st_mtime for path in paths.values())),
        command=shlex.join(["python", "-m", "analysis", *given]),
        resample_default=default,
    )
    images = "" if options.images == "none" else options.images
    return write_report(
        analysis, out=options.out, title=options.title, run=run, images=images
    )


def _align(options: argparse.Namespace) -> "Analysis":
    from analysis.commands.alignment import align
    from analysis.reading.story_tags import read_stories
    from analysis.reading.twins import read_twins

    tables = _tables(options, "ratings", "choices", "rankings")
    scores = _turned(_table(options, "scores", options.scores), options.lower_is_better)
    tags = None if options.stories is None else read_stories(options.stories)
    twins = None
    if options.twins is not None:
        twins = read_twins(options.twins, set(scores["metric"].astype(str)))
    composites = _composites(options.composites, tables, scores, tags)
    hypotheses = _hypotheses(options.hypotheses, tables, scores, composites)
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


def _composites(
    path: Path | None,
    tables: "Mapping[str, pd.DataFrame | None]",
    scores: "pd.DataFrame",
    tags: "pd.DataFrame | None",
) -> "tuple[Composite, ...]":
    """Return the composites of a file, checked against what there is."""
    from analysis.rankings.composite_weights import check_composites, read_composites

    if path is None:
        return ()
    found = read_composites(path)
    check_composites(
        found,
        questions=_questions(tables),
        metrics=set(scores["metric"].astype(str)),
        tags={}
        if tags is None
        else {str(tag): {*tags[tag]} - {""} for tag in tags.columns.drop("story")},
        file=path.name,
    )
    return found


def _hypotheses(
    path: Path | None,
    tables: "Mapping[str, pd.DataFrame | None]",
    scores: "pd.DataFrame",
    composites: "tuple[Composite, ...]",
) -> "pd.DataFrame | None":
    """Return the declared metrics of a file, checked against what there is."""
    from analysis.hypotheses import read_hypotheses

    if path is None:
        return None
    made = {
        over: {each.name for each in composites if each.over == over}
        for over in ("questions", "metrics")
    }
    metrics = set(scores["metric"].astype(str)) | made["metrics"]
    return read_hypotheses(path, _questions(tables) | made["questions"], metrics)


def _questions(tables: "Mapping[str, pd.DataFrame | None]") -> set[str]:
    """Return what people were asked."""
    return {
        str(question)
        for name, frame in tables.items()
        if frame is not None
        for question in frame["dimension" if name == "ratings" else "criterion"]
    }


def _refuse_names_of_columns(options: argparse.Namespace) -> None:
    """Refuse names of key columns where no wide table needs them."""
    for name, usual in (("method_column", "method"), ("story_column", "story")):
        if getattr(options, name, usual) != usual and not options.wide:
            raise OptionError(f"--{name.replace('_', '-')}: expected --wide beside it")


def _left_out(table: "pd.DataFrame", name: str) -> list[str]:
    """Note columns of a wide table that hold no numbers, and metrics without any."""
    from analysis.reading.inputs import metrics_without_scores
    from analysis.reading.wide_tables import left_out_columns

    columns, metrics = left_out_columns(table), metrics_without_scores(table)
    told = [
        f"Columns of {name} that hold no numbers are left out: {', '.join(columns)}."
    ]
    empty = [f"Metrics without a single score are left out: {', '.join(metrics)}."]
    return told * bool(columns) + empty * bool(metrics)


def _turned(scores: "pd.DataFrame", lower_is_better: Sequence[str]) -> "pd.DataFrame":
    """Mark metrics whose direction the table cannot tell, as in a wide one."""
    import pandas as pd

    unknown = sorted(set(lower_is_better) - set(scores["metric"]))
    if unknown:
        known = ", ".join(sorted(scores["metric"].unique()))
        raise OptionError(
            f"--lower-is-better: {unknown[0]!r}: expected some of {known}"
        )
    turned = scores["metric"].isin(list(lower_is_better))
    given = scores.get("higher_is_better", pd.Series(True, index=scores.index))
    return scores.assign(higher_is_better=given & ~turned)


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
    from analysis.reading import inputs
    from analysis.reading.isolated_values import isolated_ratings

    readers: dict[str, Callable[..., pd.DataFrame]] = {
        "ratings": inputs.read_ratings,
        "choices": inputs.read_choices,
        "rankings": inputs.read_rankings,
        "scores": inputs.read_scores,
    }
    table = readers[kind](path, **{name: getattr(options, name) for name in READ[kind]})
    options.remarks += _left_out(table, kind)
    if kind == "ratings" and options.scale is None:
        alone = list(isolated_ratings(table))
        options.remarks += alone
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
