import argparse
from pathlib import Path
from typing import Any

from annotate.audit_log.verifying import problems
from annotate.bundles.importing import import_bundle
from annotate.models import User
from evalcore.importing.commands import ImportCommand, short_name


class Command(ImportCommand):
    help = (
        "Import a study from a bundle, which export_study STUDY --bundle wrote. "
        "Example: import_bundle pilot.zip"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("bundle", type=Path, help="the .zip file")
        parser.add_argument(
            "--as",
            dest="slug",
            type=short_name,
            metavar="NEWNAME",
            help="name of the study here; default: its own",
        )
        self.add_owner(parser)

    def handle(
        self, *, bundle: Path, slug: str | None, owner: str, **_options: Any
    ) -> None:
        self.check_owner(owner)
        manager = User.objects.get(username=owner) if owner else None
        found = import_bundle(bundle, slug=slug or "", owner=manager)
        study = found.study
        self.warn(found.remarks)
        self.warn(problems(study))
        self.stdout.write(
            f"{study.slug}: {study.units.count():,} items and "
            f"{study.slots.count():,} ratings over {study.benchmark.slug}. Nobody's "
            "link works here; the page People gives people new ones."
        )
        self.give(study.benchmark.slug, owner, is_new=found.is_new_benchmark)
