import argparse
from typing import Any

from django.core.management.base import CommandError

from annotate.management.commands.plan_study import names
from annotate.management.studies import StudyCommand
from annotate.models import Study
from annotate.studies.redistributing import RedistributingError, redistribute


class Command(StudyCommand):
    refused = (RedistributingError,)
    help = (
        "Give the open work of people who stopped to those who go on. "
        "Example: redistribute pilot --idle-days 7 --dry-run"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--idle-days", type=int, help="who was not seen for so long"
        )
        parser.add_argument(
            "--annotators", type=names, default=[], help='"A03,A07": theirs, too'
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="print who gets what, keep nothing"
        )

    def work(self, study: Study, **options: Any) -> None:
        people = list(study.annotators.filter(name__in=options["annotators"]))
        unknown = set(options["annotators"]) - {person.name for person in people}
        if unknown:
            raise CommandError(
                f"No annotator {', '.join(sorted(unknown))}.", returncode=2
            )
        result = redistribute(
            study,
            idle_days=options["idle_days"],
            annotators=people,
            dry_run=options["dry_run"],
        )
        for sign, numbers in (("-", result.given_up), ("+", result.shares)):
            for name, slots in numbers.items():
                self.stdout.write(f"{name}  {sign}{slots}")
        self.stdout.write(f"{result.free} slots are free.")
        if options["dry_run"]:
            self.stdout.write("Dry run: nothing was kept.")
