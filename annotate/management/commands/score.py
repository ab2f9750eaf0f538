import argparse

from django.core.management.base import BaseCommand, CommandError
from tqdm import tqdm

from annotate.models import Study
from evalcore import scoring
from evalcore.metrics import registry
from evalcore.models import Benchmark, MetricRun


class Command(BaseCommand):
    help = (
        "Compute the metric scores that a study or a benchmark lacks. "
        "Example: score pilot --metrics palette_consistency,sharpness"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="short name of a study or a benchmark")
        parser.add_argument("--metrics", help='"a,b"; default: all that are ready')
        parser.add_argument(
            "--background", action="store_true", help="leave it to the worker"
        )

    def handle(self, *, name: str, **options: object) -> None:
        study = Study.objects.filter(slug=name).select_related("benchmark").first()
        benchmark = study.benchmark if study else None
        benchmark = benchmark or Benchmark.objects.filter(slug=name).first()
        if benchmark is None:
            names = [
                *Study.objects.values_list("slug", flat=True),
                *Benchmark.objects.values_list("slug", flat=True),
            ]
            raise CommandError(
                f"No study or benchmark {name!r}. "
                f"There are: {', '.join(names) or 'none yet'}.",
                returncode=2,
            )
        wanted = str(options["metrics"] or ",".join(_ready())).split(",")
        try:
            run = scoring.queue_run(benchmark, [metric.strip() for metric in wanted])
        except registry.UnknownMetricError as error:
            raise CommandError(str(error), returncode=2) from error
        if options["background"]:
            self.stdout.write("Queued; the worker takes it within a minute.")
            return
        with tqdm(desc="outputs", disable=None) as bar:

            def show(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            run = scoring.run(run.pk, show)
        if run.state == MetricRun.State.FAILED:
            raise CommandError(run.error)
        self.stdout.write(
            f"{run.total} outputs lacked a score; {run.scores.count()} values computed."
        )


def _ready() -> list[str]:
    return [name for name in registry.names() if not registry.load(name).missing()]
