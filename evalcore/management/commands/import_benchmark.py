import argparse
from pathlib import Path

from evalcore.importing.commands import ImportCommand, source
from evalcore.importing.formats import FORMATS
from evalcore.importing.stories import import_benchmark
from evalcore.models import Benchmark


class Command(ImportCommand):
    help = (
        "Import a benchmark: a ViStoryBench data set (stories, shots, characters), "
        "StoryBench tasks, Envision sequences, or VISTAR or OneIG prompts. Example: "
        "import benchmark path/to/ViStory --benchmark vistory, or import benchmark "
        "data/tasks/oops-test/story_cont.json --benchmark oops"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path",
            type=source,
            help="folder of stories named 01, 02, ..., or a file "
            "with a list of stories",
        )
        self.add_benchmark(parser)
        parser.add_argument(
            "--title",
            default="",
            help="title of the benchmark; default: its identifier",
        )
        parser.add_argument(
            "--format",
            default="",
            choices=sorted(FORMATS),
            help="format of the input; default: detected from the fields of the file",
        )
        self.add_owner(parser)
        self.add_skip_unreadable(parser)

    def handle(self, *, path: Path, skip_unreadable: bool, **options: str) -> None:
        slug = options["benchmark"]
        self.check_owner(options["owner"])
        is_new = not Benchmark.objects.filter(slug=slug).exists()
        summary = import_benchmark(
            path,
            slug=slug,
            title=options["title"],
            form=options["format"],
            skip_unreadable=skip_unreadable,
        )
        self.warn(summary.warnings)
        self.stdout.write(summary.line())
        self.report_unreadable(
            summary.unreadable, "their reference pictures are missing"
        )
        self.give(slug, options["owner"], is_new=is_new)
