import argparse
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError
from tqdm import tqdm

from annotate.bundles.exporting import ExportError, write_bundle
from annotate.management import WritingCommand
from annotate.models import Study
from annotate.reports.downloads import write_export


class Command(WritingCommand):
    refused = (ExportError,)
    needs_out = False
    help = (
        "Write a study to files: its tables to a folder, or everything to one bundle. "
        "Examples: export_study pilot --out export/; export_study pilot --bundle "
        "pilot.zip"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument(
            "--bundle",
            type=Path,
            metavar="FILE.zip",
            help="write the study with its stories, pictures, answers, scores, reports "
            "and log into this file, which import_bundle reads",
        )
        parser.add_argument(
            "--no-pictures",
            action="store_true",
            help="leave pictures and videos out of the bundle",
        )
        parser.add_argument(
            "--license",
            default="",
            help="of the bundle's data, as the Hugging Face Hub names it: cc-by-4.0",
        )

    def work(
        self,
        study: Study,
        *,
        out: Path | None,
        bundle: Path | None,
        no_pictures: bool,
        license: str,
        **_options: Any,
    ) -> None:
        if bundle is not None:
            with tqdm(bar_format="{desc} {elapsed}", disable=None) as bar:
                write_bundle(
                    study,
                    bundle,
                    pictures=not no_pictures,
                    license=license,
                    progress=bar.set_description_str,
                )
            self.stdout.write(str(bundle))
            return
        if out is None:
            raise CommandError("--out or --bundle: expected one of them", returncode=2)
        for path in write_export(study, out):
            self.stdout.write(str(path))
