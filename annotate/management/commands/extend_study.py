import argparse
from typing import Any

from annotate.assignment.designs.balance import BalanceReport
from annotate.management.commands.plan_study import names
from annotate.management.studies import StudyCommand
from annotate.models import Study
from annotate.studies.extending import ExtendingError, Extension, extend
from annotate.studies.withdrawing import withdraw_units


def numbers(text: str) -> int | dict[str, int]:
    """Read a number, or one for each language: en=5,zh=3."""
    if "=" not in text:
        return int(text)
    pairs = (part.split("=", 1) for part in text.split(","))
    return {name.strip(): int(number) for name, number in pairs}


class Command(StudyCommand):
    refused = (ExtendingError,)
    help = (
        "Add methods, stories, answers or people to a study, or withdraw some of it. "
        "Example: extend_study pilot --methods NewOne --annotators 5 --dry-run"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--methods", type=names, default=[], help='"A,B": add them')
        parser.add_argument("--stories", type=names, default=[], help='"01,02"')
        parser.add_argument(
            "--annotators", type=numbers, default=0, help="people to add; or en=5,zh=3"
        )
        parser.add_argument(
            "--redundancy", type=numbers, help="answers a unit from now on; or en=5"
        )
        parser.add_argument(
            "--withdraw",
            action="store_true",
            help="ask for no more answers to these methods and stories instead",
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print the numbers, keep nothing"
        )

    def work(self, study: Study, **options: Any) -> None:
        what = {name: options[name] for name in ("methods", "stories", "dry_run")}
        if options["withdraw"]:
            result = withdraw_units(study, **what)
            self.stdout.write(
                f"Withdrawn: {result.slots} slots of {result.units} units; "
                f"{result.kept} begun or given stay."
            )
        else:
            for name in ("annotators", "redundancy"):
                what[name] = options[name]
            self._print(extend(study, **what))
        if options["dry_run"]:
            self.stdout.write("Dry run: nothing was kept.")

    def _print(self, result: Extension) -> None:
        self.stdout.write(
            f"{result.units} new units, {result.slots} new slots, "
            f"{len(result.people)} new people, {result.moved} slots change hands, "
            f"{result.free} are free."
        )
        for name, slots in result.shares.items():
            self.stdout.write(f"{name}  +{slots}")
        balance: dict[str, Any] = result.balance
        if balance:
            for line in BalanceReport.read(balance).lines():
                self.stdout.write(line)
