import argparse
from pathlib import Path
from typing import Any

from evalcore.exporting import BENCHMARK_FORMATS, export_benchmark
from evalcore.importing.commands import ImportCommand


class Command(ImportCommand):
    help = (
        "Write a benchmark's stories as files of the format they came in. Example: "
        "export_benchmark oops path/to/folder"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("benchmark", help="its short name here")
        parser.add_argument("folder", type=Path, help="where the files are written")
        parser.add_argument(
            "--format",
            default="",
            choices=sorted(BENCHMARK_FORMATS),
            help="default: the format in which the stories came",
        )
        parser.add_argument(
            "--replace", action="store_true", help="overwrite other files there"
        )

    def handle(self, *, benchmark: str, folder: Path, **options: Any) -> None:
        stories, written = export_benchmark(
            self.benchmark(benchmark),
            folder,
            form=options["format"],
            replace=options["replace"],
        )
        self.stdout.write(written.line(f"{stories} stories"))
