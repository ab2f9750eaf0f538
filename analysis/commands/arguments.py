"""Parsers of the subcommands, and options that several share.

Light: the commands of the database use it too, without loading the statistics.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from analysis.commands.option_values import counts, scale, share, split_names
from analysis.commands.shared_options import (
    ALIGNMENT,
    CHOICE,
    NAMES,
    PAPER,
    RESAMPLING,
    TOP,
    WITH_LEVELS,
    add,
)
from analysis.options import DOES, WIDE
from analysis.tracking import add_tracking

# Files that a table may be in.
TABLE = ".csv, .tsv, .txt, .xlsx (or FILE.xlsx#SHEET), .jsonl or .parquet"
# Checks tables, while a server's command of the same name takes none.
DOCTOR = "doctor"


def add_figures(parser: argparse.ArgumentParser) -> None:
    """Add the language, which figures are drawn, and whether they become files."""
    add(parser, ("language", "figures"))
    parser.add_argument(
        "--images",
        choices=("svg", "png", "none"),
        default="svg",
        help="figures as files, where Chromium is found; default svg",
    )


def parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    whole = argparse.ArgumentParser(
        prog="plumbline",
        description="Does your metric agree with people?",
    )
    commands = whole.add_subparsers(dest="command", required=True)
    for name, (example, add_own) in COMMANDS.items():
        command = commands.add_parser(
            name,
            help=DOES[name],
            description=f"Report {DOES[name]}.",
            epilog=f"Example: plumbline {example}",
        )
        command.add_argument(
            "--out", type=Path, required=True, help="folder of the report"
        )
        add(command, RESAMPLING)
        add_figures(command)
        heading = f"heading of the report; default Report: {DOES[name]}"
        command.add_argument("--title", help=heading)
        add_tracking(command)
        add_own(command)
    _doctor(commands)
    return whole


def _doctor(commands: Any) -> None:
    """Add the command that reports nothing and so shares no options."""
    says = "what tables support, what they cannot show, and what to correct in them"
    command = commands.add_parser(
        DOCTOR,
        help=says,
        description=f"Say {says}. Exit status: 0 nothing to correct, 2 something to "
        "check, 1 a table cannot be used.",
        epilog="Example: plumbline doctor ratings.csv scores.csv",
    )
    says = f"tables, recognised by their columns; {TABLE}; folders of them; bundles"
    command.add_argument("files", type=Path, nargs="+", metavar="FILE", help=says)


def _table(command: Any, name: str, says: str = "", **given: Any) -> None:
    """Add the option of a file."""
    told = f"{says}; {TABLE}" if says else TABLE
    command.add_argument(f"--{name}", type=Path, help=told, **given)


def _names(command: argparse.ArgumentParser, name: str, says: str) -> None:
    command.add_argument(
        f"--{name}", type=split_names, default=(), metavar=NAMES, help=says
    )


def wide_options(command: argparse.ArgumentParser) -> None:
    """Add the options that read a table with a column for each value."""
    says = "one column a dimension or metric"
    command.add_argument("--wide", action="store_true", help=says)
    command.add_argument("--method-column", default="method", help="of a wide table")
    command.add_argument("--story-column", default="story", help="of a wide table")
    says = "of a wide table: values, though they look like ids or times"
    _names(command, "value-columns", says)


def _scale(command: argparse.ArgumentParser) -> None:
    says = "refuse ratings outside it, as in 0:4"
    command.add_argument("--scale", type=scale, metavar="LOW:HIGH", help=says)


def _bundle(command: Any, view: argparse.ArgumentParser) -> None:
    """Add the file that has all tables of a study."""
    says = "a study's bundle (.zip) as `plumbline export` writes it, whose tables and "
    says += "declarations are used unless others are given"
    command.add_argument("bundle", type=Path, nargs="?", help=says)
    says = "analysis view of the bundle; default main"
    view.add_argument("--view", default="main", help=says)


def _align(command: argparse.ArgumentParser) -> None:
    _bundle(command, command)
    for kind in ("ratings", "choices", "rankings"):
        _table(command, kind)
    _table(command, "scores", "without it a report of people alone")
    wide_options(command)
    says = "metrics whose direction the table does not tell"
    _names(command, "lower-is-better", says)
    says = "metrics whose name would say otherwise, such as fid"
    _names(command, "higher-is-better", says)
    _scale(command)
    _table(command, "stories", "tags of the stories, which split tables")
    says = "metrics declared beforehand to measure a question: columns question, metric"
    _table(command, "hypotheses", says)
    says = "methods trained on a metric, or selected by it: columns method, metric"
    _table(command, "trained-on", says)
    says = "scores of outputs made worse on purpose: columns story, method, twin, "
    _table(command, "twins", f"{says}metric, score")
    says = "whether people marked each shot as faulty: columns story, method, shot, "
    _table(command, "marked-shots", f"{says}dimension, annotator, rating (0 or 1)")
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
    command.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="QUESTION:METRIC>=NUMBER",
        help="what the interval of the leading statistic, or of "
        "QUESTION:METRIC:STATISTIC@LEVEL, must reach; repeatable. Exit status: 0 all "
        "are met, 2 one is not or is not settled, 1 bad input",
    )
    add(command, ALIGNMENT)


def _agreement(command: argparse.ArgumentParser) -> None:
    table = command.add_mutually_exclusive_group(required=True)
    _bundle(table, command)
    for kind in ("ratings", "choices", "rankings"):
        _table(table, kind)
    command.set_defaults(**WIDE)
    _scale(command)
    add(command, PAPER)


def _leaderboard(command: argparse.ArgumentParser) -> None:
    _bundle(command, command)
    _table(command, "choices", "side by side")
    _table(command, "rankings", "orders of several outputs")
    command.add_argument(
        "--ties",
        choices=("half", "drop", "davidson"),
        default="half",
        help="how ties of choices count; default half",
    )
    says = "count the majority of each story"
    command.add_argument("--majority", action="store_true", help=says)

    add(command, (*TOP, "baseline", *PAPER))


def _power(command: argparse.ArgumentParser) -> None:
    ratings = command.add_mutually_exclusive_group(required=True)
    _bundle(ratings, command)
    _table(ratings, "ratings")
    _table(command, "scores")
    wide_options(command)
    _scale(command)
    says = "half-width of an interval that is asked for; default 0.05"
    command.add_argument("--target", type=share, default=0.05, help=says)
    add(command, WITH_LEVELS)


def _subset(command: argparse.ArgumentParser) -> None:
    _bundle(command, command)
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
    wide_options(command)
    _scale(command)
    add(command, CHOICE)


def _stability(command: argparse.ArgumentParser) -> None:
    says = "of judges (column annotator), trials as rounds"
    _table(command, "ratings", says, required=True)
    _table(command, "people", "ratings of people")
    wide_options(command)
    _scale(command)
    add(command, WITH_LEVELS)


def _score_agreement(command: argparse.ArgumentParser) -> None:
    says = "metrics with several identities, which are compared; " + TABLE
    command.add_argument("scores", type=Path, help=says)
    says = "of the same metrics, made again; " + TABLE
    command.add_argument("other_scores", type=Path, nargs="?", help=says)
    wide_options(command)
    add(command, CHOICE)


def _late_entry(command: argparse.ArgumentParser) -> None:
    says = "ratings or choices of the {}; " + TABLE
    command.add_argument("before", type=Path, help=says.format("first study"))
    command.add_argument("after", type=Path, help=says.format("later one"))
    command.add_argument("--method", required=True, help="the method that came later")
    says = "annotators of one name in both tables are one person"
    command.add_argument("--same-people", action="store_true", help=says)
    command.set_defaults(**WIDE, scale=None)


def _meta(command: argparse.ArgumentParser) -> None:
    says = "folders of reports of align, one for each study"
    command.add_argument("reports", type=Path, nargs="+", metavar="REPORT", help=says)
    add(command, PAPER)


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
    "score-agreement": (
        "score-agreement scores.csv --metrics cids_self --out precision/",
        _score_agreement,
    ),
    "late-entry": (
        "late-entry spring.csv autumn.csv --method uno --out late/",
        _late_entry,
    ),
    "meta": ("meta spring/ autumn/ --out both/", _meta),
}
