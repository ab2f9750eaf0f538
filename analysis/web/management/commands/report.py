import argparse
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from analysis.tables import InputError
from analysis.web.building import Options, ReportError, write_study_report
from annotate.models import Study


class Command(BaseCommand):
    help = "Write the alignment report of a study. Example: report pilot --out report/"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("study")
        parser.add_argument("--out", type=Path, required=True)
        parser.add_argument("--exclude-methods", default="", metavar='"A,B"')
        parser.add_argument("--resamples", type=int, default=1000)
        parser.add_argument("--resample", default="", metavar="UNIT")
        parser.add_argument("--confidence", type=float, default=0.95)
        parser.add_argument("--seed", type=int, default=0)
        parser.add_argument(
            "--epsilon", choices=("heldout", "insample", "0"), default="heldout"
        )

    def handle(self, *, study: str, out: Path, **given: object) -> None:
        from analysis.results import OptionError

        row = Study.objects.filter(slug=study).select_related("benchmark").first()
        if row is None:
            raise CommandError(f"No study {study!r}.", returncode=2)
        names = str(given["exclude_methods"]).split(",")
        options = Options(
            exclude_methods=tuple(name.strip() for name in names if name.strip()),
            resamples=int(str(given["resamples"])),
            resample=str(given["resample"]),
            seed=int(str(given["seed"])),
            confidence=float(str(given["confidence"])),
            epsilon=str(given["epsilon"]),
        )
        try:
            page = write_study_report(row, options=options, out=out)
        except (ReportError, InputError, OptionError) as error:
            raise CommandError(str(error), returncode=2) from error
        self.stdout.write(str(page))
