import argparse
from pathlib import Path

from analysis.tables import InputError
from annotate.importing import import_choices, import_ratings
from evalcore.importing.commands import ImportCommand
from evalcore.models import Benchmark


def scale(text: str) -> tuple[int, int]:
    """Read LOW:HIGH."""
    low, _colon, high = text.partition(":")
    try:
        bounds = int(low), int(high)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"{text}: write LOW:HIGH, such as 0:4"
        ) from error
    if bounds[0] >= bounds[1]:
        raise argparse.ArgumentTypeError(f"{text}: the first number is the lower one")
    return bounds


class Command(ImportCommand):
    help = (
        "Read ratings or choices that people gave elsewhere into a closed study. "
        "Example: import_judgements --ratings ratings.csv --scale 1:5 "
        "--benchmark dsg --study dsg --create"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        table = parser.add_mutually_exclusive_group(required=True)
        table.add_argument("--ratings", type=Path, help=".csv, .jsonl or .parquet")
        table.add_argument("--choices", type=Path, help=".csv, .jsonl or .parquet")
        parser.add_argument(
            "--study", required=True, help="short name of the new study"
        )
        parser.add_argument("--benchmark", required=True)
        parser.add_argument("--scale", type=scale, default=(0, 4), help="default 0:4")
        parser.add_argument(
            "--wide", action="store_true", help="one column a dimension"
        )
        parser.add_argument("--method-column", default="method")
        parser.add_argument("--story-column", default="story")
        parser.add_argument(
            "--create",
            action="store_true",
            help="make the benchmark, and missing stories, methods and outputs",
        )

    def handle(self, **options: object) -> None:
        # pandas is loaded only where a table is read.
        from analysis.inputs import read_choices, read_ratings

        slug, create = str(options["benchmark"]), bool(options["create"])
        path = Path(str(options["ratings"] or options["choices"]))
        common = {"study": str(options["study"]), "file": path.name, "create": create}
        created = False
        try:
            if options["ratings"]:
                table = read_ratings(
                    path,
                    wide=bool(options["wide"]),
                    method_column=str(options["method_column"]),
                    story_column=str(options["story_column"]),
                    scale=options["scale"],
                )
            else:
                table = read_choices(path)
            if create:
                benchmark, created = Benchmark.objects.get_or_create(
                    slug=slug, defaults={"title": slug}
                )
            else:
                benchmark = self.benchmark(slug)
            if options["ratings"]:
                summary = import_ratings(
                    table, benchmark=benchmark, scale=options["scale"], **common
                )
            else:
                summary = import_choices(table, benchmark=benchmark, **common)
        except InputError as error:
            if created:
                benchmark.delete()
            raise self.refuse(error) from error
        self.stdout.write(summary.line())
