import argparse
from pathlib import Path
from typing import Any

from analysis.commands.arguments import wide_options
from analysis.commands.option_values import split_names
from analysis.problems import InputError, Problem
from evalcore.formats.score_table import read_sidecar
from evalcore.formats.story_scripts import GivenByUser
from evalcore.importing.commands import ImportCommand, source
from evalcore.importing.formats import (
    SCORE_FORMATS,
    TABLE,
    guess_scores,
    read_foreign_scores,
)
from evalcore.importing.scores import ScoreImport, import_foreign_scores, import_scores
from evalcore.models import Benchmark

# Options that say what a table says itself.
OF_OTHERS = ("method", "metric", "backend", "mode", "language", "timestamp")
OF_TABLES = ("wide", "value_columns", "lower_is_better")


class Command(ImportCommand):
    help = (
        "Import metric scores computed elsewhere: a table (story, method, metric, "
        "score), a folder of ViStoryBench results, Envision records, OneIG's CSV "
        "files, a DOVER table, or StoryBench's result.txt. Example: import scores "
        "cids.csv --benchmark vistory, or import scores data/bench_results --benchmark "
        "vistory"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add = parser.add_argument
        add("path", type=source, help="file or folder with the scores")
        self.add_benchmark(parser)
        how = (
            "format of the input; default: detected from the file name and the first "
            "line"
        )
        add("--format", default="", choices=list(SCORE_FORMATS), help=how)
        wide_options(parser)
        add(
            "--lower-is-better",
            type=split_names,
            default=(),
            metavar='"fid,fvd"',
            help="metrics of a table for which lower values are better",
        )
        for option, what in (
            (
                "--metric-version",
                "version of the metrics, for rows that do not name one",
            ),
            (
                "--method",
                "method of a file that names none; otherwise, import only this method",
            ),
            ("--metric", "metric of the numbers in result.txt"),
            ("--backend", "judge or network that computed the scores"),
            ("--mode", "import only this mode of ViStoryBench results"),
            (
                "--language",
                "import only this language of ViStoryBench's or OneIG's results: en or "
                "zh",
            ),
            (
                "--timestamp",
                "import this run of ViStoryBench's or OneIG's results; default: the "
                "newest",
            ),
        ):
            add(option, default="", help=what)
        what = "create the benchmark and missing stories, shots, methods and outputs"
        add("--create", action="store_true", help=what)
        add(
            "--replace", action="store_true", help="overwrite stored values that differ"
        )
        self.add_owner(parser)

    def handle(self, *, path: Path, **options: Any) -> None:
        create, owner = options["create"], options["owner"]
        self.check_owner(owner)
        target = self.benchmark(options["benchmark"], create=create)
        is_new = target.pk is None
        form = options["format"] or guess_scores(path)
        alien = OF_OTHERS if form == TABLE else OF_TABLES
        _refuse_options(form, {name: options[name] for name in alien})
        if form == TABLE:
            summary = self.table(path, target, **options)
        else:
            summary = self.found(path, form, target, **options)
        self.stdout.write(summary.line())
        self.give(target.slug, owner, is_new=is_new)

    def table(self, path: Path, target: Benchmark, **options: Any) -> ScoreImport:
        # pandas is loaded only where a table is read.
        from analysis.commands.given_tables import remarks_on
        from analysis.reading.inputs import read_scores

        scores, earlier = self.read(
            read_scores,
            path,
            wide=options["wide"],
            method_column=options["method_column"],
            story_column=options["story_column"],
            value_columns=options["value_columns"],
        )
        self.warn(remarks_on(scores, "scores"))
        summary = import_scores(
            scores,
            benchmark=target,
            file=path.name,
            create=options["create"],
            replace=options["replace"],
            lower_is_better=frozenset(options["lower_is_better"]),
            metric_version=options["metric_version"],
            files=read_sidecar(path),
            earlier=earlier,
        )
        self.warn(
            f"{name}: assumed higher-is-better, as the file does not say; change this "
            "with --lower-is-better or a column higher_is_better"
            for name in summary.guessed
        )
        self.warn(
            f"{name}: assumed lower-is-better because of its name; change this with a "
            "column higher_is_better"
            for name in summary.turned
        )
        return summary

    def found(
        self, path: Path, form: str, target: Benchmark, **options: Any
    ) -> ScoreImport:
        told = GivenByUser(
            metric_version=options["metric_version"],
            **{name: options[name] for name in OF_OTHERS},
        )
        found = read_foreign_scores(path, form, told, target)
        summary = import_foreign_scores(
            found,
            benchmark=target,
            files=read_sidecar(path),
            create=options["create"],
            replace=options["replace"],
        )
        self.warn(found.notes)
        return summary


def _refuse_options(form: str, given: dict[str, object]) -> None:
    problems = [
        Problem(
            f"--{name.replace('_', '-')}",
            f"this option does not apply to {SCORE_FORMATS[form]}",
        )
        for name, value in given.items()
        if value
    ]
    if problems:
        raise InputError(problems)
