import argparse
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from analysis.sentences import counted
from annotate.management import count_from_one
from evalcore.backup import making
from evalcore.backup.databases import BackupError


class Command(BaseCommand):
    help = (
        "Back up the database, pictures, videos, reports and the signing key while the "
        "server runs. Backups in one folder share unchanged files. Example: backup "
        "/mnt/backups --keep 14"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "folder", type=Path, help="folder for the backups; created if missing"
        )
        parser.add_argument(
            "--keep",
            type=count_from_one,
            metavar="N",
            help="keep only the newest N backups; default: keep all",
        )

    def handle(self, *, folder: Path, keep: int | None, **_options: object) -> None:
        try:
            made, manifest = making.make(folder)
        except (BackupError, OSError) as error:
            raise CommandError(f"No backup was made. {error}", returncode=1) from error
        self.stdout.write(
            f"{made}: {sum(manifest['rows'].values()):,} rows, "
            f"{counted(len(manifest['files']) - 1, 'file')} ({manifest['new_files']} "
            f"new, {manifest['new_bytes'] / 1e6:,.1f} MB)."
        )
        if in_store := manifest["in_store"]:
            count = counted(len(in_store), "picture or video", "pictures and videos")
            self.stderr.write(
                f"note: {count} stay in {manifest['store']}; the backup has their "
                "hashes alone. Turn on versions there, or copy the bucket."
            )
        if making.KEY not in manifest["files"]:
            self.stderr.write(
                "note: SECRET_KEY is set in the environment, so the backup does not "
                "contain it. Keep a copy elsewhere."
            )
        if keep is not None:
            self._rotate(keep, made)
        for name in manifest["missing"]:
            self.stderr.write(
                f"{name} is missing or damaged, so it is not in the backup."
            )
        if manifest["missing"]:
            raise CommandError(
                "The backup is complete except for "
                f"{counted(len(manifest['missing']), 'original')}, missing or damaged "
                "on the server.",
                returncode=1,
            )

    def _rotate(self, keep: int, made: Path) -> None:
        try:
            removed = making.rotate(made.parent, keep, made)
        except (BackupError, OSError) as error:
            raise CommandError(
                f"The backup was made, but older backups could not be removed. {error}",
                returncode=1,
            ) from error
        self.stdout.write(f"{counted(removed, 'older backup')} removed.")
