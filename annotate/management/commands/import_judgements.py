import argparse
from pathlib import Path
from typing import Any

from analysis.commands.arguments import TABLE
from analysis.commands.option_values import scale, split_names
from analysis.problems import InputError
from annotate.imported_judgements.importing import import_choices, import_ratings
from evalcore.importing.commands import ImportCommand, short_name, source


class Command(ImportCommand):
    help = (
        "Import ratings or choices collected elsewhere into a closed study. For "
        "rankings, use plumbline leaderboard --rankings. "
        "Example: import judgements --ratings ratings.csv --scale 1:5 "
        "--benchmark dsg --study dsg --create"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        table = parser.add_mutually_exclusive_group(required=True)
        table.add_argument("--ratings", type=source, help=TABLE)
        table.add_argument("--choices", type=source, help=TABLE)
        parser.add_argument(
            "--study",
            required=True,
            type=short_name,
            help="name of the new study in addresses and commands",
        )
        parser.add_argument(
            "--benchmark",
            required=True,
            type=short_name,
            help="benchmark with the stories and outputs",
        )
        parser.add_argument(
            "--scale",
            type=scale,
            default=(0, 4),
            metavar="LOW:HIGH",
            help="lowest and highest rating; default 0:4",
        )
        parser.add_argument(
            "--wide", action="store_true", help="one column for each dimension"
        )
        parser.add_argument(
            "--method-column", default="method", help="method column of a wide table"
        )
        parser.add_argument(
            "--story-column", default="story", help="story column of a wide table"
        )
        parser.add_argument(
            "--value-columns",
            type=split_names,
            default=(),
            metavar='"A,B"',
            help="columns of a wide table that are questions even if they look like "
            "ids or times",
        )
        parser.add_argument(
            "--create",
            action="store_true",
            help="create the benchmark and missing stories, methods and outputs",
        )
        self.add_owner(parser)

    def handle(self, **options: Any) -> None:
        # pandas is slow to load, and only tables need it.
        from analysis.commands.given_tables import remarks_on
        from analysis.reading.inputs import read_choices, read_ratings

        slug, create = str(options["benchmark"]), bool(options["create"])
        path = Path(str(options["ratings"] or options["choices"]))
        owner = str(options["owner"])
        self.check_owner(owner)
        benchmark = self.benchmark(slug, create=create)
        is_new = benchmark.pk is None
        common: dict[str, Any] = {
            "study": str(options["study"]),
            "benchmark": benchmark,
            "file": path.name,
            "create": create,
        }
        try:
            if options["ratings"]:
                table, earlier = self.read(
                    read_ratings,
                    path,
                    wide=bool(options["wide"]),
                    method_column=str(options["method_column"]),
                    story_column=str(options["story_column"]),
                    value_columns=options["value_columns"],
                    scale=options["scale"],
                )
                self.warn(remarks_on(table, "ratings"))
                summary = import_ratings(
                    table, scale=options["scale"], earlier=earlier, **common
                )
            else:
                table, earlier = self.read(read_choices, path)
                summary = import_choices(table, earlier=earlier, **common)
        except InputError as error:
            raise self.refuse(error) from error
        self.warn(summary.notes)
        self.stdout.write(summary.line())
        self.give(slug, owner, is_new=is_new)
