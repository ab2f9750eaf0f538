import argparse
from pathlib import Path

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from analysis.sentences import counted
from annotate.access import permissions
from annotate.kinds.registry import KINDS
from annotate.models import Report, Study
from evalcore.backup import restoring
from evalcore.backup.databases import BackupError
from evalcore.backup.making import KEY, Manifest
from evalcore.models import MediaFile
from evalcore.serving import environment


class Command(BaseCommand):
    help = (
        "Restore a backup into an empty server: check all files, put them in place, "
        "migrate and verify. Stop the server first. Example: restore "
        "/mnt/backups/2026-11-27T031500Z"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("backup", type=Path, help="folder of the backup")
        how = parser.add_mutually_exclusive_group()
        how.add_argument(
            "--check",
            action="store_true",
            help="only check the backup, without changing anything",
        )
        how.add_argument(
            "--replace",
            action="store_true",
            help="move existing data aside instead of refusing",
        )

    def handle(
        self, *, backup: Path, check: bool, replace: bool, **_options: object
    ) -> None:
        try:
            if check:
                found = restoring.check(backup)
                count = counted(len(found["files"]) - 1, "file")
                self.stdout.write(f"{backup}: the database and {count} are intact.")
                return
            manifest, aside = restoring.restore(backup, replace=replace)
        except BackupError as error:
            raise CommandError(str(error), returncode=1) from error
        self._tell(manifest, aside)
        call_command("verify", stdout=self.stdout, stderr=self.stderr)

    def _tell(self, manifest: Manifest, aside: list[str]) -> None:
        tables = {kind.model for kind in KINDS.values()}
        answers = sum(row.objects.filter(is_current=True).count() for row in tables)
        media = MediaFile.objects.count()
        self.stdout.write(
            f"Restored from {manifest['made_at']}, version {manifest['version']}: "
            f"{counted(Study.objects.count(), 'study', 'studies')}, "
            f"{counted(answers, 'answer')}, "
            f"{counted(media, 'picture or video', 'pictures and videos')}, "
            f"{counted(Report.objects.count(), 'report')}."
        )
        if not settings.DEMO and (names := permissions.disable_accounts()):
            self.stderr.write(
                f"note: {', '.join(names)} had the demo's public password and can no "
                "longer log in. Set a new password with plumbline changepassword."
            )
        for place in aside:
            self.stdout.write(f"The previous data are now in {place}.")
        for name in manifest["missing"]:
            self.stderr.write(f"{name} was already missing when the backup was made.")
        if environment.read("SECRET_KEY") and (settings.DATA_DIR / KEY).exists():
            self.stderr.write(
                "note: SECRET_KEY is set, so the restored key is not used."
            )
