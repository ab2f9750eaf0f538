import argparse
from pathlib import Path

from analysis.tables import InputError
from evalcore import scoring
from evalcore.importing.commands import ImportCommand, short_name
from evalcore.importing.folder import import_outputs
from evalcore.metrics import registry


class Command(ImportCommand):
    help = (
        "Read rendered stories from folders. Example: import_outputs path/to/outputs "
        "--benchmark vistory (all methods), or import_outputs path/to/uno --method UNO "
        "--benchmark vistory (one method's folder)"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="folder with a folder per method")
        parser.add_argument(
            "--benchmark", required=True, type=short_name, help="its short name here"
        )
        parser.add_argument("--method", default="", help="PATH is this method's folder")
        parser.add_argument(
            "--mode",
            default="",
            help="take only this folder below the method, such as base or ref",
        )
        parser.add_argument("--language", default="", help="take only en or zh")
        parser.add_argument(
            "--timestamp", default="", help="run to take; default: the newest"
        )
        parser.add_argument(
            "--create-stories",
            action="store_true",
            help="make stories without text (and the benchmark) from the folders",
        )
        parser.add_argument(
            "--without-baselines",
            action="store_true",
            help="do not have workers compute the metrics that need no weights",
        )

    def handle(self, *, path: Path, **options: object) -> None:
        slug = str(options["benchmark"])
        benchmark = self.benchmark(slug, create=bool(options["create_stories"]))
        try:
            summary = import_outputs(
                path,
                benchmark=benchmark,
                method=str(options["method"]),
                mode=str(options["mode"]),
                language=str(options["language"]),
                timestamp=str(options["timestamp"]),
                create_stories=bool(options["create_stories"]),
            )
        except InputError as error:
            raise self.refuse(error) from error
        self.warn(summary.warnings)
        self.warn(f"missing: {shot}" for shot in summary.missing)
        self.stdout.write(summary.line())
        if summary.new_outputs and not options["without_baselines"]:
            scoring.queue_run(benchmark, registry.ready_baselines())
            self.stdout.write(
                f"Baselines are queued for the worker; `score {slug}` does them now."
            )
