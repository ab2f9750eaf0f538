import argparse
from pathlib import Path
from typing import Any

from evalcore.formats.oneig.pictures import FORM as ONEIG
from evalcore.importing.commands import ImportCommand, source
from evalcore.importing.outputs import OutputOptions, import_outputs
from evalcore.metrics import registry
from evalcore.scoring import metric_runs


class Command(ImportCommand):
    help = (
        "Import generated stories from folders. Example: import outputs "
        "path/to/outputs --benchmark vistory (all methods), or import outputs "
        "path/to/uno --method UNO --benchmark vistory (the folder of one method)"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path",
            type=source,
            help="folder that contains one folder per method, here or in an object "
            "store (s3://bucket/outputs)",
        )
        self.add_benchmark(parser)
        for option, what in (
            ("--method", "name of the method when PATH is the folder of one method"),
            (
                "--mode",
                "import only this subfolder of each method, such as base or ref",
            ),
            ("--language", "import only this language: en or zh"),
            ("--timestamp", "import this run; default: the newest"),
        ):
            parser.add_argument(option, default="", help=what)
        parser.add_argument(
            "--format",
            dest="form",
            default="",
            choices=[ONEIG],
            help="layout of the folder; default: detected from the benchmark's stories",
        )
        parser.add_argument(
            "--create-stories",
            action="store_true",
            help="create stories without text (and the benchmark) from the folders",
        )
        self.add_skip_unreadable(parser)
        parser.add_argument(
            "--without-baselines",
            action="store_true",
            help="do not queue the metrics that need no weights",
        )
        self.add_owner(parser)

    def handle(self, *, path: Path, **options: Any) -> None:
        slug, owner = options["benchmark"], options["owner"]
        self.check_owner(owner)
        benchmark = self.benchmark(slug, create=options["create_stories"])
        is_new = benchmark.pk is None
        read_as = {name: options[name] for name in OutputOptions.__annotations__}
        summary = import_outputs(path, benchmark=benchmark, **read_as)
        self.warn(summary.warnings)
        self.warn((f"missing: {shot}" for shot in summary.missing), "missing shot")
        self.stdout.write(summary.line())
        self.give(slug, owner, is_new=is_new)
        if summary.new_outputs and not options["without_baselines"]:
            metric_runs.queue_run(benchmark, registry.ready_baselines())
            self.stdout.write(
                "Baseline metrics are queued for the worker. To compute them now, run "
                f"`score {slug}`."
            )
        self.report_unreadable(summary.unreadable, "their shots or videos are missing")
        self.report_unreadable(summary.spoilt, "what is stored stays")
