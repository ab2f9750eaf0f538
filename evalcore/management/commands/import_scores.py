import argparse
from pathlib import Path

from analysis.commands.arguments import split_names
from analysis.problems import InputError, Problem
from evalcore.importing.commands import ImportCommand, short_name
from evalcore.importing.score_formats import (
    FORMATS,
    TABLE,
    GivenByUser,
    guess,
    read_found,
)
from evalcore.importing.scores import ScoreImport, import_found, import_scores
from evalcore.models import Benchmark, Method, Story

# Options that say what a table says itself.
OF_OTHERS = ("method", "metric", "backend", "mode", "language", "timestamp")
OF_TABLES = ("wide", "value_columns", "lower_is_better")


class Command(ImportCommand):
    help = (
        "Read metric scores computed elsewhere: a table (story, method, metric, "
        "score), a folder of ViStoryBench's results, Envision's records, DOVER's "
        "table, StoryBench's result.txt. Example: import_scores cids.csv --benchmark "
        "vistory, or import_scores data/bench_results --benchmark vistory"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("path", type=Path, help="file, or folder of results")
        parser.add_argument(
            "--benchmark", required=True, type=short_name, help="its short name here"
        )
        parser.add_argument(
            "--format",
            default="",
            choices=list(FORMATS),
            help="default: told by the name and the first line",
        )
        parser.add_argument("--wide", action="store_true", help="one column a metric")
        parser.add_argument(
            "--method-column", default="method", help="its name in a wide table"
        )
        parser.add_argument(
            "--story-column", default="story", help="its name in a wide table"
        )
        parser.add_argument(
            "--value-columns",
            default="",
            metavar='"A,B"',
            help="of a wide table: metrics, though they look like ids or times",
        )
        parser.add_argument(
            "--metric-version", default="", help="for rows that name none"
        )
        parser.add_argument(
            "--lower-is-better",
            default="",
            metavar='"fid,fvd"',
            help="metrics of a table whose small values are good",
        )
        for option, what in (
            ("--method", "whose results a file without methods has; or only this one"),
            ("--metric", "which metric the numbers of result.txt are"),
            ("--backend", "which judge or network the results come from"),
            ("--mode", "of ViStoryBench's results only this"),
            ("--language", "of ViStoryBench's results only en or zh"),
            ("--timestamp", "run of ViStoryBench's results; default: the newest"),
        ):
            parser.add_argument(option, default="", help=what)
        parser.add_argument(
            "--create",
            action="store_true",
            help="make the benchmark, and missing stories, shots, methods and outputs",
        )
        parser.add_argument(
            "--replace", action="store_true", help="overwrite values that differ"
        )
        self.add_owner(parser)

    def handle(self, *, path: Path, **options: object) -> None:
        create, owner = bool(options["create"]), str(options["owner"])
        self.check_owner(owner)
        target = self.benchmark(str(options["benchmark"]), create=create)
        is_new = target.pk is None
        form = str(options["format"]) or guess(path)
        alien = OF_OTHERS if form == TABLE else OF_TABLES
        _refuse_options(form, {name: options[name] for name in alien})
        if form == TABLE:
            summary = self.table(path, target, **options)
        else:
            summary = self.found(path, form, target, **options)
        self.stdout.write(summary.line())
        self.give(target.slug, owner, is_new=is_new)

    def table(self, path: Path, target: Benchmark, **options: object) -> ScoreImport:
        # pandas is loaded only where a table is read.
        from analysis.commands.given_tables import remarks_on
        from analysis.reading.inputs import read_scores

        lower = split_names(str(options["lower_is_better"]))
        scores, earlier = self.read(
            read_scores,
            path,
            wide=bool(options["wide"]),
            method_column=str(options["method_column"]),
            story_column=str(options["story_column"]),
            value_columns=split_names(str(options["value_columns"])),
        )
        self.warn(remarks_on(scores, "scores"))
        summary = import_scores(
            scores,
            benchmark=target,
            file=path.name,
            create=bool(options["create"]),
            replace=bool(options["replace"]),
            lower_is_better=frozenset(lower),
            metric_version=str(options["metric_version"]),
            earlier=earlier,
        )
        self.warn(
            f"{name}: nothing says whether higher is better; taken as such "
            "(--lower-is-better, or a column higher_is_better, says otherwise)"
            for name in summary.guessed
        )
        self.warn(
            f"{name}: lower is taken to be better, by the name alone (a column "
            "higher_is_better says otherwise)"
            for name in summary.turned
        )
        return summary

    def found(
        self, path: Path, form: str, target: Benchmark, **options: object
    ) -> ScoreImport:
        told = GivenByUser(
            metric_version=str(options["metric_version"]),
            **{name: str(options[name]) for name in OF_OTHERS},
        )
        stories = Story.objects.filter(benchmark__slug=target.slug)
        found = read_found(
            path,
            form,
            told,
            methods=set(Method.objects.values_list("name", flat=True)),
            stories=set(stories.values_list("key", flat=True)),
        )
        summary = import_found(
            found,
            benchmark=target,
            create=bool(options["create"]),
            replace=bool(options["replace"]),
        )
        self.warn(found.notes)
        return summary


def _refuse_options(form: str, given: dict[str, object]) -> None:
    problems = [
        Problem(f"--{name.replace('_', '-')}", f"no such option for {FORMATS[form]}")
        for name, value in given.items()
        if value
    ]
    if problems:
        raise InputError(problems)
