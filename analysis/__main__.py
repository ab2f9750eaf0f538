"""The command line: `python -m analysis align|agreement|leaderboard`."""

import argparse
import shlex
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

import pandas as pd

from analysis import inputs
from analysis.alignment import AlignOptions, Analysis, agree, align, rank
from analysis.correlation import COEFFICIENTS, LEVELS
from analysis.report import file_hashes, report_date, run_table, write_report
from analysis.results import OptionError
from analysis.tables import InputError

RESAMPLE_DEFAULTS = {
    "align": "stories+methods",
    "agreement": "units",
    "leaderboard": "stories+annotators",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status.

    Bad input ends with status 2 and one line a problem on standard error; nothing is
    written then.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(given)
    try:
        analysis = options.function(options)
    except InputError as error:
        print("\n".join(error.lines()), file=sys.stderr)
        return 2
    except OptionError as error:
        print(error, file=sys.stderr)
        return 2
    paths = [
        path
        for name in ("ratings", "choices", "scores")
        if (path := getattr(options, name, None)) is not None
    ]
    default = RESAMPLE_DEFAULTS[options.command]
    if getattr(options, "majority", False):
        default = "stories"
    run = run_table(
        _options(options),
        hashes=file_hashes(paths),
        date=report_date(max(path.stat().st_mtime for path in paths)),
        command=shlex.join(["python", "-m", "analysis", *given]),
        resample_default=default,
    )
    page = write_report(analysis, out=options.out, title=options.title, run=run)
    print(page)
    return 0


def _align(options: argparse.Namespace) -> Analysis:
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
    return align(
        ratings=ratings, choices=choices, scores=scores, options=_options(options)
    )


def _turned(scores: pd.DataFrame, lower_is_better: Sequence[str]) -> pd.DataFrame:
    """Mark metrics whose direction the table cannot tell, as in a wide one."""
    unknown = sorted(set(lower_is_better) - set(scores["metric"]))
    if unknown:
        known = ", ".join(sorted(scores["metric"].unique()))
        raise OptionError(
            f"--lower-is-better: {unknown[0]!r}: expected some of {known}"
        )
    turned = scores["metric"].isin(list(lower_is_better))
    given = scores.get("higher_is_better", pd.Series(True, index=scores.index))
    return scores.assign(higher_is_better=given & ~turned)


def _agreement(options: argparse.Namespace) -> Analysis:
    if options.ratings is not None:
        ratings = inputs.read_ratings(options.ratings, scale=options.scale)
        return agree(ratings=ratings, options=_options(options))
    return agree(
        choices=inputs.read_choices(options.choices), options=_options(options)
    )


def _leaderboard(options: argparse.Namespace) -> Analysis:
    choices: pd.DataFrame = inputs.read_choices(options.choices)
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
    command.add_argument("--ratings", type=Path)
    command.add_argument("--choices", type=Path)
    command.add_argument("--scores", type=Path, required=True)
    command.add_argument("--wide", action="store_true", help="one column a dimension")
    command.add_argument("--method-column", default="method")
    command.add_argument("--story-column", default="story")
    command.add_argument(
        "--exclude-methods", type=_names, default=(), metavar='"A,B"',
        help="a name with a comma in it can be written with a backslash before it",
    )  # fmt: skip
    command.add_argument(
        "--lower-is-better", type=_names, default=(), metavar='"A,B"',
        help="metrics whose direction the table does not tell",
    )  # fmt: skip
    command.add_argument("--scale", type=_scale, metavar="LOW:HIGH")
    command.add_argument("--levels", type=_subset(LEVELS), default=LEVELS)
    command.add_argument(
        "--coefficients", type=_subset(COEFFICIENTS), default=COEFFICIENTS
    )
    command.add_argument(
        "--epsilon", choices=("heldout", "insample", "0"), default="heldout"
    )
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
    table.add_argument("--ratings", type=Path)
    table.add_argument("--choices", type=Path)
    command.add_argument("--scale", type=_scale, metavar="LOW:HIGH")
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
    command.add_argument("--choices", type=Path, required=True)
    command.add_argument("--ties", choices=("half", "drop", "davidson"), default="half")
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
    command.add_argument(
        "--resamples", type=_count, default=1000, help="0: no intervals"
    )
    command.add_argument("--resample", metavar="UNIT", help="stories, methods, "
                         "annotators, units, or two joined by +")  # fmt: skip
    command.add_argument("--confidence", type=_share, default=0.95)
    command.add_argument("--seed", type=_count, default=0)
    command.add_argument("--title", default=f"Report: {does}")
    return command


def _names(text: str) -> tuple[str, ...]:
    parts = text.replace("\\,", "\0").split(",")
    return tuple(p.replace("\0", ",").strip() for p in parts if p.strip())


def _scale(text: str) -> tuple[int, int]:
    low, _colon, high = text.partition(":")
    try:
        bounds = int(low), int(high)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text}: write LOW:HIGH, as in 0:4"
        ) from error
    if bounds[0] >= bounds[1]:
        raise argparse.ArgumentTypeError(f"{text}: the lower value comes first")
    return bounds


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text}: write a whole number from 0")
    return int(text)


def _share(text: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text}: write a number") from error
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(f"{text}: write a number between 0 and 1")
    return value


class _subset:  # noqa: N801 used as a function
    """Parses a comma-separated choice of known words, in their usual order."""

    def __init__(self, known: Sequence[str]) -> None:
        self.known = known

    def __call__(self, text: str) -> tuple[str, ...]:
        words = [word.strip() for word in text.split(",")]
        unknown = [word for word in words if word not in self.known]
        if unknown:
            expected = ", ".join(self.known)
            raise argparse.ArgumentTypeError(f"{unknown[0]}: write some of {expected}")
        return tuple(word for word in self.known if word in words)


if __name__ == "__main__":
    sys.exit(main())
