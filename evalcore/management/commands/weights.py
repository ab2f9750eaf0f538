import argparse
from collections import Counter
from collections.abc import Sequence

from django.core.management.base import BaseCommand, CommandError

from evalcore.metrics import registry
from evalcore.metrics.downloads import Needed, needed, readable_size, script, select

UNKNOWN = "unknown: recorded at the first use"


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
            help="hash the files that are here, and say what differs",
        )

    def handle(
        self, *, names: str, script: bool, verify: bool, **_options: object
    ) -> None:
        try:
            chosen = select(filter(None, names.replace(" ", "").split(",")))
        except registry.UnknownMetricError as error:
            raise CommandError(str(error), returncode=2) from error
        files = needed(chosen or registry.names(), hashed=verify)
        if script:
            self._script(files)
        elif verify:
            self._verified(files)
        else:
            self._table(files)

    def _script(self, files: Sequence[Needed]) -> None:
        lacking = [one for one in files if one.state != "here"]
        self.stdout.write(script(lacking or files), ending="")

    def _verified(self, files: Sequence[Needed]) -> None:
        wrong = [one for one in files if one.state == "wrong"]
        for one in files:
            self.stdout.write(f"{one.state:8} {one.fault or one.file.path}")
        if wrong:
            raise CommandError(
                f"{len(wrong)} of {len(files)} files are not the published ones. Delete "
                "them and fetch them again: weights --script"
            )

    def _table(self, files: Sequence[Needed]) -> None:
        licence = ""
        for one in files:
            file = one.file
            if licence != (licence := f"licence: {one.weights.licence}"):
                self.stdout.write(f"\n{licence}")
            size = readable_size(file.size)
            self.stdout.write(f"{one.state:8} {size:>8}  {file.path}")
            self.stdout.write(f"{'':19}{one.source}")
            self.stdout.write(f"{'':19}SHA-256 {file.sha256 or UNKNOWN}")
            if one.fault:
                self.stdout.write(f"{'':19}{one.fault}")
        counts = Counter(one.state for one in files)
        lacking = [one.file for one in files if one.state != "here"]
        self.stdout.write(
            f"\n{counts['here']} of {len(files)} files are here."
            + (
                f" {_total(lacking)} to fetch: weights --script > get.sh; put them into "
                "the folder of EVALCORE_WEIGHTS_DIR"
                if lacking
                else ""
            )
        )


def _total(files: Sequence[object]) -> str:
    sizes = [getattr(file, "size", 0) for file in files]
    more = " or more" if not all(sizes) else ""
    return f"{readable_size(sum(sizes))}{more}"
