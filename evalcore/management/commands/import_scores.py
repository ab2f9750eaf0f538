import argparse
from pathlib import Path

from analysis.arguments import split_names
from analysis.tables import InputError
from evalcore.importing.commands import ImportCommand, short_name
from evalcore.importing.scores import import_scores


class Command(ImportCommand):
    help = (
        "Read metric scores computed elsewhere (story, method, metric, score). "
        "Example: import_scores cids.csv --benchmark vistory"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help=".csv, .jsonl or .parquet")
        parser.add_argument(
            "--benchmark", required=True, type=short_name, help="its short name here"
        )
        parser.add_argument("--wide", action="store_true", help="one column a metric")
        parser.add_argument(
            "--method-column", default="method", help="its name in a wide table"
        )
        parser.add_argument(
            "--story-column", default="story", help="its name in a wide table"
        )
        parser.add_argument(
            "--metric-version", default="", help="for rows that name none"
        )
        parser.add_argument(
            "--lower-is-better",
            default="",
            metavar='"fid,fvd"',
            help="metrics whose small values are good; default: none",
        )
        parser.add_argument(
            "--create",
            action="store_true",
            help="make the benchmark, and missing stories, shots, methods and outputs",
        )
        parser.add_argument(
            "--replace", action="store_true", help="overwrite values that differ"
        )

    def handle(self, *, path: Path, **options: object) -> None:
        # pandas is loaded only where a table is read.
        from analysis.reading.inputs import read_scores

        create = bool(options["create"])
        benchmark = self.benchmark(str(options["benchmark"]), create=create)
        lower = split_names(str(options["lower_is_better"]))
        try:
            scores, earlier = self.read(
                read_scores,
                path,
                wide=bool(options["wide"]),
                method_column=str(options["method_column"]),
                story_column=str(options["story_column"]),
            )
            summary = import_scores(
                scores,
                benchmark=benchmark,
                file=path.name,
                create=create,
                replace=bool(options["replace"]),
                lower_is_better=frozenset(lower),
                metric_version=str(options["metric_version"]),
                earlier=earlier,
            )
        except InputError as error:
            raise self.refuse(error) from error
        self.stdout.write(summary.line())
