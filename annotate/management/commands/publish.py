import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from analysis.reading.bundles import opened
from annotate.bundles.publishing import PublishingError, Target, check, plan, publish
from evalcore.importing.commands import ImportCommand


class Command(ImportCommand):
    help = (
        "Publish a study's bundle on the Hugging Face Hub or Zenodo. Without --yes it "
        "shows what would be published. Example: publish pilot.zip --hub "
        "lab/pilot-ratings"
    )
    requires_system_checks: tuple[str, ...] = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("bundle", type=Path, help="the .zip file")
        target = parser.add_mutually_exclusive_group(required=True)
        target.add_argument(
            "--hub",
            default="",
            metavar="OWNER/NAME",
            help="data set on the Hugging Face Hub; the token is in HF_TOKEN",
        )
        target.add_argument(
            "--zenodo",
            action="store_true",
            help="a new draft on Zenodo; the token is in ZENODO_TOKEN",
        )
        parser.add_argument(
            "--private", action="store_true", help="create the data set as private"
        )
        parser.add_argument(
            "--creator",
            action="append",
            default=[],
            metavar="'FAMILY, GIVEN'",
            help="author in Zenodo's record; may be repeated",
        )
        parser.add_argument("--yes", action="store_true", help="upload it")

    def handle(
        self,
        *,
        bundle: Path,
        hub: str,
        private: bool,
        creator: list[str],
        yes: bool,
        **_options: Any,
    ) -> None:
        target = Target(hub, private, tuple(creator))
        with opened(bundle) as whole:
            try:
                if yes:
                    check(whole, target)
                    self.stdout.write(publish(whole, bundle, target))
                    return
            except PublishingError as error:
                raise CommandError(str(error), returncode=2) from error
            for line in plan(whole, target):
                self.stdout.write(line)
        self.stdout.write("Nothing was uploaded. Add --yes to upload it.")
