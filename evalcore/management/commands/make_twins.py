import argparse
from collections.abc import Sequence
from typing import Any

from django.db.models import QuerySet

from analysis.commands.option_values import split_names
from analysis.problems import InputError, Problem
from evalcore.importing.commands import ImportCommand
from evalcore.models import Benchmark, Output
from evalcore.perturbations.degraded_copies import Degradation, make_perturbations


class Command(ImportCommand):
    help = (
        "Make degraded copies of outputs. Annotators who look closely rate them below "
        "the originals, so a study can check attention. Example: make_twins vistory "
        "--methods UNO --degradations shuffled,blurred --seed 7"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("benchmark", help="identifier (slug) of the benchmark")
        parser.add_argument(
            "--methods",
            default="",
            help='degrade only outputs of these methods, such as "A,B"',
        )
        parser.add_argument(
            "--stories",
            default="",
            help='degrade only outputs of these stories, such as "01,02"',
        )
        parser.add_argument(
            "--degradations",
            default="",
            help=f"kinds of degradation, from {', '.join(Degradation.values)}; "
            "default: all",
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            help="random seed; the same seed gives the same copies",
        )

    def handle(self, *, benchmark: str, seed: int, **options: Any) -> None:
        row = self.benchmark(benchmark)
        degradations = split_names(options["degradations"])
        _check("--degradations", degradations, Degradation.values)
        outputs = _outputs(
            row,
            methods=split_names(options["methods"]),
            stories=split_names(options["stories"]),
        )
        summary = make_perturbations(outputs, degradations or Degradation.values, seed)
        self.warn(summary.reasons())
        self.stdout.write(summary.line())


def _outputs(
    benchmark: Benchmark, methods: Sequence[str], stories: Sequence[str]
) -> QuerySet[Output]:
    outputs = Output.objects.filter(story__benchmark=benchmark)
    chosen = outputs
    for option, lookup, names in (
        ("--methods", "method__name", methods),
        ("--stories", "story__key", stories),
    ):
        if names:
            known = outputs.order_by(lookup).values_list(lookup, flat=True).distinct()
            _check(option, names, list(known))
            chosen = chosen.filter(**{f"{lookup}__in": names})
    return chosen.select_related("story", "method").order_by(
        "story__key", "method__name"
    )


def _check(option: str, names: Sequence[str], known: Sequence[str]) -> None:
    expected = f"one of {', '.join(known) or 'none yet'}"
    problems = [
        Problem(option, expected, value=name) for name in names if name not in known
    ]
    if problems:
        raise InputError(problems)
