import argparse
import json
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from annotate.blinding.blinding_check import SLOTS, BlindingCheck
from annotate.blinding.findings import BlindingReport
from annotate.management import StudyCommand, count_from_one
from annotate.models import Study


class Command(StudyCommand):
    help = (
        "Fetch everything that annotators can fetch, and fail if anything reveals a "
        "method. Nothing is stored. Example: check_blinding pilot --all"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        how_many = parser.add_mutually_exclusive_group()
        how_many.add_argument(
            "--slots",
            type=count_from_one,
            default=SLOTS,
            metavar="N",
            help="number of units to check; they cover every method (default "
            "%(default)s)",
        )
        how_many.add_argument("--all", action="store_true", help="check every unit")
        parser.add_argument(
            "--json", action="store_true", help="print the result as JSON"
        )

    def work(self, study: Study, **options: Any) -> None:
        number = None if options["all"] else options["slots"]
        check = BlindingCheck(study, slots=number)
        for _unit in tqdm(
            check.run(), total=len(check.units), unit="unit", disable=None
        ):
            pass
        if options["json"]:
            self.stdout.write(
                json.dumps(check.report.as_dict(), ensure_ascii=False, indent=2)
            )
        else:
            self._print(check.report)
        if not check.report.is_blind:
            raise CommandError(
                f"{study.slug} is not blind. Leaks: {len(check.report.leaks)}.",
                returncode=1,
            )

    def _print(self, report: BlindingReport) -> None:
        for one in report.leaks:
            self.stdout.write(f"leak: {one.line()}")
        for one in report.warnings:
            self.stdout.write(f"warning: {one.line()}")
        for note in report.notes:
            self.stdout.write(f"note: {note}")
        self.stdout.write(report.summary())
        if report.is_blind:
            self.stdout.write(
                "No leaks: nothing that annotators can fetch reveals a method."
            )
