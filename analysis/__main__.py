"""The command line: `python -m analysis align|agreement|leaderboard`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from analysis.arguments import add_alignment, add_resampling, scale, split_names
from analysis.dates import report_date
from analysis.options import AlignOptions, OptionError
from analysis.tables import InputError

if TYPE_CHECKING:
    import pandas as pd

    from analysis.alignment import Analysis

RESAMPLE_DEFAULTS = {
    "align": "stories+methods",
    "agreement": "units",
    "leaderboard": "stories+annotators",
}


TABLE = ".csv, .jsonl or .parquet"
SCALE = "refuse ratings outside it, as in 0:4"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status.

    Bad input ends with status 2 and one line a problem on standard error; nothing is
    written then.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    try:
        report_date(None)  # before anything is imported that reads the same variable
        page = _report(options, given)
    except InputError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return 2
    except OptionError as error:
        print(error, file=sys.stderr)
        return 2
    print(page)
    return 0


def _report(options: argparse.Namespace, given: Sequence[str]) -> Path:
    from analysis.report import check_folder, file_hashes, run_table, write_report

    check_folder(options.out)
    analysis: Analysis = options.function(options)
    paths = {
        name: path
        for name in ("ratings", "choices", "scores")
        if (path := getattr(options, name, None)) is not None
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
    return write_report(analysis, out=options.out, title=options.title, run=run)


def _align(options: argparse.Namespace) -> "Analysis":
    from analysis import inputs
    from analysis.alignment import align

    ratings = choices = None
    if options.ratings is not None:
        ratings = inputs.read_ratings(
            options.ratings,
            wide=options.wide,
            method_column=options.method_column,
            story_column=options.story_column,
            scale=options.scale,
        )
    if options.choices is not None:
        choices = inputs.read_choices(options.choices)
    scores = inputs.read_scores(
        options.scores,
        wide=options.wide,
        method_column=options.method_column,
        story_column=options.story_column,
    )
    scores = _turned(scores, options.lower_is_better)
    with tqdm(bar_format="{desc} {elapsed}", disable=None) as bar:
        return align(
            ratings=ratings,
            choices=choices,
            scores=scores,
            options=_options(options),
            progress=bar.set_description_str,
        )


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
    from analysis import inputs
    from analysis.alignment import agree

    if options.ratings is not None:
        ratings = inputs.read_ratings(options.ratings, scale=options.scale)
        return agree(ratings=ratings, options=_options(options))
    return agree(
        choices=inputs.read_choices(options.choices), options=_options(options)
    )


def _leaderboard(options: argparse.Namespace) -> "Analysis":
    from analysis import inputs
    from analysis.alignment import rank

    choices = inputs.read_choices(options.choices)
    return rank(
        choices=choices,
        ties=options.ties,
        majority=options.majority,
        options=_options(options),
    )


def _options(options: argparse.Namespace) -> AlignOptions:
    given = vars(options)
    names = [field.name for field in fields(AlignOptions)]
    return AlignOptions(**{name: given[name] for name in names if name in given})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Does your metric agree with people?",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add_align(commands)
    _add_agreement(commands)
    _add_leaderboard(commands)
    return parser


def _add_align(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    command = _command(
        commands,
        "align",
        "how well metrics agree with people",
        "python -m analysis align --ratings ratings.csv --scores scores.csv "
        "--scale 0:4 --out report/",
    )
    command.add_argument("--ratings", type=Path, help=TABLE)
    command.add_argument("--choices", type=Path, help=TABLE)
    command.add_argument("--scores", type=Path, required=True, help=TABLE)
    command.add_argument(
        "--wide", action="store_true", help="one column a dimension or metric"
    )
    command.add_argument("--method-column", default="method", help="of a wide table")
    command.add_argument("--story-column", default="story", help="of a wide table")
    command.add_argument(
        "--lower-is-better", type=split_names, default=(), metavar='"A,B"',
        help="metrics whose direction the table does not tell",
    )  # fmt: skip
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=SCALE)
    add_alignment(command)
    command.set_defaults(function=_align)


def _add_agreement(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    command = _command(
        commands,
        "agreement",
        "how well people agree with one another",
        "python -m analysis agreement --ratings ratings.csv --out agreement/",
    )
    table = command.add_mutually_exclusive_group(required=True)
    table.add_argument("--ratings", type=Path, help=TABLE)
    table.add_argument("--choices", type=Path, help=TABLE)
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=SCALE)
    command.set_defaults(function=_agreement)


def _add_leaderboard(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
) -> None:
    command = _command(
        commands,
        "leaderboard",
        "a ranking from side-by-side answers",
        "python -m analysis leaderboard --choices choices.csv --out leaderboard/",
    )
    command.add_argument("--choices", type=Path, required=True, help=TABLE)
    command.add_argument(
        "--ties",
        choices=("half", "drop", "davidson"),
        default="half",
        help="how ties count; default half",
    )
    command.add_argument(
        "--majority", action="store_true", help="count the majority of each story"
    )
    command.set_defaults(function=_leaderboard)


def _command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]",
    name: str,
    does: str,
    example: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name, help=does, description=f"Report {does}.", epilog=f"Example: {example}"
    )
    command.add_argument("--out", type=Path, required=True, help="folder of the report")
    add_resampling(command)
    command.add_argument(
        "--title", default=f"Report: {does}", help="heading of the report"
    )
    return command


if __name__ == "__main__":
    sys.exit(main())
