import argparse
import csv
import io
from contextlib import nullcontext
from pathlib import Path

from django.core.management.base import CommandError

from analysis.sentences import counted
from analysis.tables import IDENTITY_COLUMNS, Lines, defused
from evalcore.formats.written_files import write_files
from evalcore.importing.commands import ImportCommand
from evalcore.metrics import registry
from evalcore.models import Output, TwinScore
from evalcore.perturbations.degraded_copies import current_perturbations
from evalcore.perturbations.sensitivity import Sensitivity, sensitivities, store
from evalcore.scoring.identities import Identities
from evalcore.scoring.judge_budget import asking_for_command


class Command(ImportCommand):
    help = (
        "Check whether metrics score original outputs better than their degraded "
        "copies (made by make_twins). Reports show the scores in the table sanity. "
        "Example: compare_twins vistory --metrics csd_self,palette_consistency"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("benchmark", help="identifier (slug) of the benchmark")
        parser.add_argument(
            "--metrics",
            default="",
            help='metrics, such as "a,b@profile"; default: all metrics of single '
            "outputs that are ready here and need neither a judge nor true outputs",
        )
        parser.add_argument(
            "--out",
            type=Path,
            help="also write the scores to this CSV file, for `analysis align --twins`",
        )

    def handle(
        self, *, benchmark: str, metrics: str, out: Path | None, **_options: object
    ) -> None:
        row = self.benchmark(benchmark)
        made = Output.twins.filter(story__benchmark=row).count()
        if not made:
            raise CommandError(
                f"{benchmark} has no degraded copies yet. Make them with `make_twins "
                f"{benchmark}`.",
                returncode=2,
            )
        try:
            chosen = {name: registry.load(name) for name in _names(metrics)}
        except registry.UnknownMetricError as error:
            raise CommandError(str(error), returncode=2) from error
        for name, metric in chosen.items():
            if lacks := metric.missing():
                raise CommandError(f"{name} lacks {lacks}", returncode=2)
            if metric.info.scores not in ("shot", "output"):
                raise CommandError(
                    f"{name} does not score single outputs, so it cannot compare an "
                    "output with its degraded copy.",
                    returncode=2,
                )
        judged = [n for n, metric in chosen.items() if metric.info.queue == "judge"]
        with asking_for_command(row, judged) if judged else nullcontext():
            rows, failed, scores = sensitivities(row, chosen)
        store(scores)
        if outdated := made - len(current_perturbations(row)):
            self.stdout.write(
                f"Left out {counted(outdated, 'degraded copy', 'degraded copies')}: "
                "the original has other shots or pictures since."
            )
        self.stdout.write(
            "Number of originals that score better or worse than their degraded copy:"
        )
        self.stdout.write(
            f"{'metric':26} {'degradation':20} {'better':>6} {'alike':>6} {'worse':>6} "
            f"{'undef.':>6} {'originals':>10} {'twins':>10}"
        )
        for one in rows:
            self.stdout.write(_line(one))
        if out is not None:
            write_files(out.parent, {out.name: _table(scores)}, replace=True)
            self.stdout.write(str(out))
        if failed:
            self.warn(f"{what}: {reason}" for what, reason in failed.items())
            raise CommandError(f"{len(failed)} values could not be computed.")


def _table(scores: list[TwinScore]) -> str:
    text = io.StringIO()
    writer = csv.writer(Lines(text))
    known = Identities()
    columns = ("story", "method", "twin", "metric", *IDENTITY_COLUMNS)
    writer.writerow((*columns, "score", "original"))
    for one in scores:
        names = (one.twin.story.key, one.twin.method.name, one.twin.degradation)
        parts = known.of_row(one).columns
        texts = (*names, one.metric, *(parts[name] for name in IDENTITY_COLUMNS))
        writer.writerow([*map(defused, texts), one.value, one.original])
    return text.getvalue()


def _names(text: str) -> list[str]:
    if text:
        return registry.select(text)
    infos = {name: registry.load(name).info for name in registry.ready()}
    return [
        name
        for name, info in infos.items()
        if info.queue != "judge" and info.scores in ("shot", "output")
    ]


def _line(one: Sensitivity) -> str:
    return (
        f"{one.metric:26} {one.degradation:20} {one.better:6} {one.alike:6} "
        f"{one.worse:6} {one.undefined:6} {one.mean_original:10.4f} "
        f"{one.mean_twin:10.4f}"
    )
