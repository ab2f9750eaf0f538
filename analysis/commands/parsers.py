"""What the command line takes: one parser a subcommand."""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.commands.arguments import (
    ALIGNMENT,
    CHOICE,
    NAMES,
    RESAMPLING,
    TABLE,
    TOP,
    WITH_LEVELS,
    add,
    add_figures,
    counts,
    scale,
    share,
    split_names,
    weight,
)
from analysis.commands.defaults import DOES, WIDE


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    whole = argparse.ArgumentParser(
        prog="python -m analysis",
        description="Does your metric agree with people?",
    )
    commands = whole.add_subparsers(dest="command", required=True)
    for name, (example, add_own) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=DOES[name],
            description=f"Report {DOES[name]}.",
            epilog=f"Example: python -m analysis {example}",
        )
        command.add_argument(
            "--out", type=Path, required=True, help="folder of the report"
        )
        add(command, RESAMPLING)
        add_figures(command)
        heading = f"heading of the report; default Report: {DOES[name]}"
        command.add_argument("--title", help=heading)
        add_own(command)
    return whole


def _table(command: Any, name: str, says: str = "", **given: Any) -> None:
    """Add the option of a file."""
    told = f"{says}; {TABLE}" if says else TABLE
    command.add_argument(f"--{name}", type=Path, help=told, **given)


def _names(command: argparse.ArgumentParser, name: str, says: str) -> None:
    command.add_argument(
        f"--{name}", type=split_names, default=(), metavar=NAMES, help=says
    )


def _wide(command: argparse.ArgumentParser) -> None:
    says = "one column a dimension or metric"
    command.add_argument("--wide", action="store_true", help=says)
    command.add_argument("--method-column", default="method", help="of a wide table")
    command.add_argument("--story-column", default="story", help="of a wide table")
    says = "of a wide table: values, though they look like ids or times"
    _names(command, "value-columns", says)


def _scale(command: argparse.ArgumentParser) -> None:
    says = "refuse ratings outside it, as in 0:4"
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=says)


def _align(command: argparse.ArgumentParser) -> None:
    for kind in ("ratings", "choices", "rankings"):
        _table(command, kind)
    _table(command, "scores", "without it a report of people alone")
    _wide(command)
    says = "metrics whose direction the table does not tell"
    _names(command, "lower-is-better", says)
    says = "metrics whose name would say otherwise, such as fid"
    _names(command, "higher-is-better", says)
    _scale(command)
    _table(command, "stories", "tags of the stories, which split tables")
    says = "metrics declared beforehand to measure a question: columns question, metric"
    _table(command, "hypotheses", says)
    says = "scores of outputs made worse on purpose: columns story, method, twin, "
    _table(command, "twins", f"{says}metric, score")
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
    add(command, ALIGNMENT)


def _agreement(command: argparse.ArgumentParser) -> None:
    table = command.add_mutually_exclusive_group(required=True)
    for kind in ("ratings", "choices", "rankings"):
        _table(table, kind)
    command.set_defaults(**WIDE)
    _scale(command)


def _leaderboard(command: argparse.ArgumentParser) -> None:
    _table(command, "choices", "side by side")
    _table(command, "rankings", "orders of several outputs")
    command.add_argument(
        "--ties",
        choices=("half", "drop", "davidson", "rao-kupper"),
        default="half",
        help="how ties of choices count; default half",
    )
    says = "count the majority of each story"
    command.add_argument("--majority", action="store_true", help=says)
    command.add_argument(
        "--prior",
        type=weight,
        default=0.0,
        metavar="ANSWERS",
        help="weight of a prior, in answers a method; default 0, and 1 where there "
        "are no finite ratings without one",
    )
    says = "adjust for the side on which outputs stood (column left_method)"
    command.add_argument("--side", action="store_true", help=says)
    add(command, TOP)


def _power(command: argparse.ArgumentParser) -> None:
    _table(command, "ratings", required=True)
    _table(command, "scores")
    _wide(command)
    _scale(command)
    says = "half-width of an interval that is asked for; default 0.05"
    command.add_argument("--target", type=share, default=0.05, help=says)
    add(command, WITH_LEVELS)


def _subset(command: argparse.ArgumentParser) -> None:
    _table(command, "scores")
    _table(command, "ratings")
    _table(command, "subset", "scores of the subset as an own table")
    _table(command, "stories", "tags of the stories")
    command.add_argument("--tag", help="the tag that names the subset")
    says = "its value for the stories of the subset"
    command.add_argument("--value", help=says)
    command.add_argument(
        "--sizes",
        type=counts,
        default=(5, 10, 20, 40, 80),
        metavar="5,10,20",
        help="numbers of stories to look for; default 5,10,20,40,80",
    )
    _wide(command)
    _scale(command)
    add(command, CHOICE)


def _stability(command: argparse.ArgumentParser) -> None:
    trials = command.add_mutually_exclusive_group(required=True)
    _table(trials, "ratings", "of judges (column annotator), trials as rounds")
    _table(trials, "scores", "of one judge")
    _table(command, "people", "ratings of people")
    _table(command, "other-scores", "of another judge, same metrics")
    _wide(command)
    _scale(command)
    add(command, WITH_LEVELS)


# Of each command an example, and what adds its own options.
COMMANDS: dict[str, tuple[str, Callable[[argparse.ArgumentParser], None]]] = {
    "align": (
        "align --ratings ratings.csv --scores scores.csv --scale 0:4 --out report/",
        _align,
    ),
    "agreement": ("agreement --ratings ratings.csv --out agreement/", _agreement),
    "leaderboard": (
        "leaderboard --choices choices.csv --out leaderboard/",
        _leaderboard,
    ),
    "power": ("power --ratings pilot.csv --scores scores.csv --out plan/", _power),
    "subset": (
        "subset --scores full.csv --stories tags.csv --tag split --value lite "
        "--out subset/",
        _subset,
    ),
    "stability": (
        "stability --ratings judge.csv --people ratings.csv --out stability/",
        _stability,
    ),
}
