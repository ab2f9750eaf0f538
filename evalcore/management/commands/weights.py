import argparse
from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from django.core.management.base import BaseCommand, CommandError

from evalcore.metrics import registry
from evalcore.metrics.downloads import (
    Fetches,
    Needed,
    needed,
    readable_size,
    script,
)

DIGITS = 16  # shown digits of a hash; the script has all
UNKNOWN = "unknown"
NOTE = "no SHA-256 is published; it is recorded at the first use"


class Command(BaseCommand):
    help = (
        "List the files that metrics need, with size, licence, address and hash, and "
        "whether they are here. Example: weights --for cids,csd,aesthetic"
    )
    requires_system_checks = ()

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--for",
            dest="names",
            default="",
            help="metrics, comma-separated; cids stands for all cids_*; default: all",
        )
        way = parser.add_mutually_exclusive_group()
        way.add_argument(
            "--script",
            action="store_true",
            help="print a shell script that fetches the missing files on a machine "
            "with network, and checks them",
        )
        way.add_argument(
            "--verify",
            action="store_true",
            help="hash the files, and fail if one is missing or differs",
        )

    def handle(
        self, *, names: str, script: bool, verify: bool, **_options: object
    ) -> None:
        try:
            chosen = registry.select(names)
        except registry.UnknownMetricError as error:
            raise CommandError(str(error), returncode=2) from error
        files = needed(chosen or registry.names(), hashed=verify)
        if script:
            self._script(files)
        elif not files:
            self.stdout.write(f"{', '.join(chosen)}: no weights are needed.")
        elif verify:
            self._verified(files)
        else:
            self._table(files)

    def _script(self, files: Sequence[Needed]) -> None:
        lacking = [one for one in files if one.state != "here"]
        self.stdout.write(script(lacking or files), ending="")

    def _verified(self, files: Sequence[Needed]) -> None:
        for one in files:
            self.stdout.write(f"{one.state:8} {one.fault or one.file.path}")
        counts = Counter(one.state for one in files)
        faults = []
        if counts["wrong"]:
            faults.append(
                f"{counts['wrong']} of {len(files)} files are other ones than "
                "published or first used. Delete them."
            )
        if counts["missing"]:
            faults.append(f"{counts['missing']} of {len(files)} files are missing.")
        if faults:
            raise CommandError(f"{' '.join(faults)} To fetch files: weights --script")
        self.stdout.write(f"All {len(files)} files are right.")

    def _table(self, files: Sequence[Needed]) -> None:
        for (source, licence), group in groupby(files, _origin):
            self.stdout.write(f"\n{source}\n  licence: {licence}")
            for one in group:
                size = readable_size(one.file.size)
                digits = one.file.sha256[:DIGITS] or UNKNOWN
                self.stdout.write(
                    f"  {one.state:8} {size:>8}  {digits:{DIGITS}}  {one.file.path}"
                )
                if one.fault:
                    self.stdout.write(f"  {one.fault}")
        here = sum(one.state == "here" for one in files)
        self.stdout.write(f"\n{here} of {len(files)} files are here.", ending="")
        if lacking := tuple(one for one in files if one.state != "here"):
            size = Fetches(lacking).size
            self.stdout.write(f" {size} to fetch: weights --script", ending="")
        if any(not one.file.sha256 for one in files):
            self.stdout.write(f"\n{UNKNOWN}: {NOTE}", ending="")
        self.stdout.write("")


def _origin(one: Needed) -> tuple[str, str]:
    return one.source, one.weights.licence
