import argparse
from pathlib import Path

from analysis.tables import InputError
from evalcore.importing.commands import ImportCommand, short_name
from evalcore.importing.formats import FORMATS
from evalcore.importing.stories import import_benchmark


class Command(ImportCommand):
    help = (
        "Read a benchmark: a ViStoryBench data set (stories, shots, characters), "
        "StoryBench's tasks, Envision's sequences, VISTAR's or OneIG's prompts. "
        "Example: import_benchmark path/to/ViStory --benchmark vistory, or "
        "import_benchmark data/tasks/oops-test/story_cont.json --benchmark oops"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "path", type=Path, help="folder with stories 01, 02, ..., or a list's file"
        )
        parser.add_argument(
            "--benchmark", required=True, type=short_name, help="its short name here"
        )
        parser.add_argument("--title", default="", help="default: the short name")
        parser.add_argument(
            "--format",
            default="",
            choices=sorted(FORMATS),
            help="default: told by the file's fields",
        )

    def handle(self, *, path: Path, **options: str) -> None:
        try:
            summary = import_benchmark(
                path,
                slug=options["benchmark"],
                title=options["title"],
                form=options["format"],
            )
        except InputError as error:
            raise self.refuse(error) from error
        self.warn(summary.warnings)
        self.stdout.write(summary.line())
