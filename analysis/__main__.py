"""The command line: `plumbline align|agreement|leaderboard|power|...`."""

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from analysis.commands.arguments import DOCTOR, parser
from analysis.commands.doctor.findings import FINDINGS, SOUND, UNUSABLE
from analysis.options import WIDE, AlignOptions, OptionError, report_date
from analysis.problems import InputError
from analysis.tracking import SERVICES, add_tracking, check_clients, report_run, track

if TYPE_CHECKING:
    from analysis.commands.requirements import Outcome

# Options that name a table, in the order in which they are hashed.
TABLES = (
    "ratings",
    "choices",
    "rankings",
    "scores",
    "stories",
    "composites",
    "twins",
    "marked_shots",
    "hypotheses",
    "trained_on",
    "subset",
    "people",
    "other_scores",
    "before",
    "after",
)
# Options that one command alone has.
FURTHER = {
    "align": ("lower_is_better", "higher_is_better"),
    "leaderboard": ("ties", "majority"),
    "power": ("target",),
    "subset": ("tag", "value", "sizes"),
    "late-entry": ("method", "same_people"),
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit status.

    Bad input ends with status 2 and one line a problem on standard error; nothing is
    written then. With `--require`, 2 means that a requirement is not met or not
    settled, and bad input ends with 1.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = parser().parse_args(given)
    if options.command == DOCTOR:
        from analysis.commands.doctor.checkup import run

        return run(options.files)
    try:
        report_date(None)  # before anything is imported that reads the same variable
        asked = {name: getattr(options, name) for name in SERVICES}
        check_clients(asked)
        page, judged = _report(options, _without_places(given))
        print(page)
        for outcome in judged:
            print(outcome)
        name = options.title or options.out.absolute().name
        for line in track(report_run(options.out, name), asked):
            print(line)
    except (InputError, OptionError) as error:
        print(error, file=sys.stderr)
        return UNUSABLE if getattr(options, "require", ()) else 2
    return SOUND if all(one.is_met for one in judged) else FINDINGS


def _without_places(given: Sequence[str]) -> list[str]:
    """Return a command line without places of runs: they may hold a password."""
    places = argparse.ArgumentParser(add_help=False)
    add_tracking(places)
    return places.parse_known_args(given)[1]


def _report(
    options: argparse.Namespace, given: Iterable[str]
) -> "tuple[Path, list[Outcome]]":
    """Write a report; return its page, and which requirements are met."""
    from analysis.commands.bundled import unpacked
    from analysis.commands.requests import Request, answered
    from analysis.commands.requirements import outcomes, parsed
    from analysis.commands.studies import report_tables
    from analysis.notebook.reports import Report
    from analysis.report.page import check_story_link
    from analysis.report.writing import check_folder

    story_link = getattr(options, "story_link", "")
    requirements = parsed(getattr(options, "require", ()))
    check_folder(options.out)
    check_story_link(story_link)
    _check(options)
    asked = vars(options)
    command = asked["command"]
    names = [field.name for field in fields(AlignOptions)]
    chosen = AlignOptions(**{name: asked[name] for name in names if name in asked})
    bundle = asked.get("bundle")
    with unpacked(bundle, options.view) if bundle else nullcontext() as bundled:
        tables = {name: asked[name] for name in TABLES if asked.get(name) is not None}
        if command == "meta":
            tables = report_tables(asked["reports"])
        if bundled is not None:
            known = bundled.files.items()
            tables = {name: path for name, path in known if name in asked} | tables
            chosen = bundled.completed(chosen)
        request = Request(
            command,
            tables,
            chosen,
            shlex.join(["plumbline", *given]),
            {name: asked[name] for name in FURTHER.get(command, ())},
            {name: asked.get(name, usual) for name, usual in WIDE.items()},
            partial(print, file=sys.stderr),
            bundled=bundled,
            requirements=requirements,
        )
        title = options.title or (bundled.title if bundled else None)
        with tqdm(bar_format="{desc} {elapsed}", disable=None) as bar:
            report = Report(answered(request, bar.set_description_str), request)
        judged = outcomes(requirements, report.tables) if requirements else []
        return report.write(options.out, title, options.images, story_link), judged


def _check(options: argparse.Namespace) -> None:
    """Refuse options that say nothing without others."""
    for name, usual in WIDE.items():
        # Names of key columns, where no wide table needs them.
        if getattr(options, name, usual) != usual and not options.wide:
            raise OptionError(f"--{name.replace('_', '-')}: expected --wide beside it")
    if options.command == "subset" and options.subset and options.stories:
        raise OptionError("--subset, --stories: expected one of them")


if __name__ == "__main__":
    sys.exit(main())
