import argparse
import re
from pathlib import Path
from typing import Any

from analysis.commands.option_values import split_names
from evalcore.exporting import SCORE_FORMATS, ScoreSelection, export_scores
from evalcore.importing.commands import ImportCommand


def timestamp(text: str) -> str:
    """Parse a run's timestamp as ViStoryBench names folders."""
    if not re.fullmatch(r"\d{8}[-_]\d{6}", text):
        raise argparse.ArgumentTypeError(f"{text!r}: write YYYYMMDD_HHMMSS")
    return text.replace("-", "_")


class Command(ImportCommand):
    help = (
        "Write a benchmark's scores as a table with what made them, as ViStoryBench "
        "result folders, or as Envision's records, rows and report. Example: "
        "export_scores vistory data/bench_results --format vistorybench"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        self.add_folder(parser)
        parser.add_argument(
            "--format",
            required=True,
            choices=sorted(SCORE_FORMATS),
            help="format of the files",
        )
        parser.add_argument("--methods", default="", help="export only these methods")
        parser.add_argument(
            "--metrics",
            default="",
            help='export only these metrics, such as "cids_self"',
        )
        parser.add_argument(
            "--identity",
            default="",
            help="export only scores of these identities, by their first digits, where "
            "a metric has several",
        )
        parser.add_argument(
            "--timestamp",
            type=timestamp,
            help="timestamp in the folder names of scores computed here; default: the "
            "time when they were completed",
        )

    def handle(self, *, benchmark: str, folder: Path, **options: Any) -> None:
        choice = ScoreSelection(
            methods=split_names(options["methods"]),
            metrics=split_names(options["metrics"]),
            identities=split_names(options["identity"]),
            timestamp=options["timestamp"] or "",
        )
        scores, written = export_scores(
            self.benchmark(benchmark),
            folder,
            form=options["format"],
            choice=choice,
            replace=options["replace"],
        )
        self.stdout.write(written.line(f"{scores} scores"))
