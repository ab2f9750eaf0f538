import argparse
from dataclasses import fields
from pathlib import Path

from django.core.management.base import CommandError
from tqdm import tqdm

from analysis.arguments import add_alignment, add_images, add_resampling
from analysis.options import AlignOptions, OptionError
from analysis.tables import InputError
from analysis.web.building import ReportError, write_study_report
from annotate.management.studies import WritingCommand, find_study


class Command(WritingCommand):
    help = "Write the alignment report of a study. Example: report pilot --out report/"

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        super().add_arguments(parser)
        add_alignment(parser)
        add_resampling(parser)
        add_images(parser)

    def handle(self, *, study: str, out: Path, images: str, **given: object) -> None:
        row = find_study(study)
        names = [field.name for field in fields(AlignOptions)]
        try:
            options = AlignOptions(**{n: given[n] for n in names if n in given})
            with tqdm(bar_format="{desc} {elapsed}", disable=None) as bar:
                page = write_study_report(
                    row,
                    options=options,
                    out=out,
                    images="" if images == "none" else images,
                    progress=bar.set_description_str,
                )
        except (ReportError, InputError, OptionError) as error:
            raise CommandError(str(error), returncode=2) from error
        except OSError as error:
            raise self.unwritable(out, error) from error
        self.stdout.write(str(page))
