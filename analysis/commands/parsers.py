"""What the command line takes: one parser a subcommand."""

import argparse
from pathlib import Path
from typing import TypeAlias

from analysis.commands.arguments import (
    TABLE,
    add_alignment,
    add_choice,
    add_figures,
    add_levels,
    add_resampling,
    add_top,
    counts,
    scale,
    share,
    split_names,
    weight,
)
from analysis.commands.defaults import DOES, WIDE

SCALE = "refuse ratings outside it, as in 0:4"
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    whole = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Does your metric agree with people?",
    )
    commands = whole.add_subparsers(dest="command", required=True)
    _add_align(commands)
    _add_agreement(commands)
    _add_leaderboard(commands)
    _add_power(commands)
    _add_subset(commands)
    _add_stability(commands)
    return whole


def _add_align(commands: Commands) -> None:
    command = _command(
        commands,
        "align",
        DOES["align"],
        "python -m analysis align --ratings ratings.csv --scores scores.csv "
        "--scale 0:4 --out report/",
    )
    for kind in ("--ratings", "--choices", "--rankings"):
        command.add_argument(kind, type=Path, help=TABLE)
    command.add_argument(
        "--scores", type=Path, help=f"without it a report of people alone; {TABLE}"
    )
    _add_wide(command)
    command.add_argument(
        "--lower-is-better",
        type=split_names,
        default=(),
        metavar='"A,B"',
        help="metrics whose direction the table does not tell",
    )
    command.add_argument(
        "--higher-is-better",
        type=split_names,
        default=(),
        metavar='"A,B"',
        help="metrics whose name would say otherwise, such as fid",
    )
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=SCALE)
    command.add_argument(
        "--stories", type=Path, help=f"tags of the stories, which split tables; {TABLE}"
    )
    command.add_argument(
        "--hypotheses",
        type=Path,
        help="metrics declared beforehand to measure a question: columns question, "
        f"metric; {TABLE}",
    )
    command.add_argument(
        "--twins",
        type=Path,
        help="scores of outputs made worse on purpose: columns story, method, twin, "
        f"metric, score; {TABLE}",
    )
    command.add_argument(
        "--composites",
        type=Path,
        help="what is made of several questions or metrics, with which weights; .yaml "
        "or .json, a study file too",
    )
    command.add_argument(
        "--story-link",
        default="",
        metavar="ADDRESS",
        help="what a click on an output opens, as in "
        "https://host/stories/{story}#{method}",
    )
    add_alignment(command)


def _add_agreement(commands: Commands) -> None:
    command = _command(
        commands,
        "agreement",
        DOES["agreement"],
        "python -m analysis agreement --ratings ratings.csv --out agreement/",
    )
    table = command.add_mutually_exclusive_group(required=True)
    for kind in ("--ratings", "--choices", "--rankings"):
        table.add_argument(kind, type=Path, help=TABLE)
    command.set_defaults(**WIDE)
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=SCALE)


def _add_leaderboard(commands: Commands) -> None:
    command = _command(
        commands,
        "leaderboard",
        DOES["leaderboard"],
        "python -m analysis leaderboard --choices choices.csv --out leaderboard/",
    )
    command.add_argument("--choices", type=Path, help=f"side by side; {TABLE}")
    command.add_argument(
        "--rankings", type=Path, help=f"orders of several outputs; {TABLE}"
    )
    command.add_argument(
        "--ties",
        choices=("half", "drop", "davidson", "rao-kupper"),
        default="half",
        help="how ties of choices count; default half",
    )
    command.add_argument(
        "--majority", action="store_true", help="count the majority of each story"
    )
    command.add_argument(
        "--prior",
        type=weight,
        default=0.0,
        metavar="ANSWERS",
        help="weight of a prior, in answers a method; default 0, and 1 where there "
        "are no finite ratings without one",
    )
    command.add_argument(
        "--side",
        action="store_true",
        help="adjust for the side on which outputs stood (column left_method)",
    )
    add_top(command)


def _add_power(commands: Commands) -> None:
    command = _command(
        commands,
        "power",
        DOES["power"],
        "python -m analysis power --ratings pilot.csv --scores scores.csv --out plan/",
    )
    command.add_argument("--ratings", type=Path, required=True, help=TABLE)
    command.add_argument("--scores", type=Path, help=TABLE)
    _add_wide(command)
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=SCALE)
    command.add_argument(
        "--target",
        type=share,
        default=0.05,
        help="half-width of an interval that is asked for; default 0.05",
    )
    add_levels(command)


def _add_subset(commands: Commands) -> None:
    command = _command(
        commands,
        "subset",
        DOES["subset"],
        "python -m analysis subset --scores full.csv --stories tags.csv --tag split "
        "--value lite --out subset/",
    )
    command.add_argument("--scores", type=Path, help=TABLE)
    command.add_argument("--ratings", type=Path, help=TABLE)
    command.add_argument(
        "--subset",
        type=Path,
        help=f"scores of the subset as an own table; {TABLE}",
    )
    command.add_argument("--stories", type=Path, help=f"tags of the stories; {TABLE}")
    command.add_argument("--tag", help="the tag that names the subset")
    command.add_argument("--value", help="its value for the stories of the subset")
    command.add_argument(
        "--sizes",
        type=counts,
        default=(5, 10, 20, 40, 80),
        metavar="5,10,20",
        help="numbers of stories to look for; default 5,10,20,40,80",
    )
    _add_wide(command)
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=SCALE)
    add_choice(command)


def _add_stability(commands: Commands) -> None:
    command = _command(
        commands,
        "stability",
        DOES["stability"],
        "python -m analysis stability --ratings judge.csv --people ratings.csv "
        "--out stability/",
    )
    trials = command.add_mutually_exclusive_group(required=True)
    trials.add_argument(
        "--ratings",
        type=Path,
        help=f"of judges (column annotator), trials as rounds; {TABLE}",
    )
    trials.add_argument("--scores", type=Path, help=f"of one judge; {TABLE}")
    command.add_argument("--people", type=Path, help=f"ratings of people; {TABLE}")
    command.add_argument(
        "--other-scores", type=Path, help=f"of another judge, same metrics; {TABLE}"
    )
    _add_wide(command)
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=SCALE)
    add_levels(command)


def _add_wide(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--wide", action="store_true", help="one column a dimension or metric"
    )
    command.add_argument("--method-column", default="method", help="of a wide table")
    command.add_argument("--story-column", default="story", help="of a wide table")
    command.add_argument(
        "--value-columns",
        type=split_names,
        default=(),
        metavar='"A,B"',
        help="of a wide table: values, though they look like ids or times",
    )


def _command(
    commands: Commands,
    name: str,
    does: str,
    example: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name, help=does, description=f"Report {does}.", epilog=f"Example: {example}"
    )
    command.add_argument("--out", type=Path, required=True, help="folder of the report")
    add_resampling(command)
    add_figures(command)
    command.add_argument(
        "--title", help=f"heading of the report; default Report: {does}"
    )
    return command
