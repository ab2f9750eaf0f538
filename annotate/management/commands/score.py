import argparse

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import Count

from analysis.sentences import counted
from annotate.models import Study
from evalcore.metrics import registry
from evalcore.metrics.llm_judge.settings import JudgeSettingsError
from evalcore.models import Benchmark, MetricChunk, MetricRun
from evalcore.scoring import judge_preview, metric_runs
from evalcore.scoring.chunks import ScoringError
from evalcore.scoring.gpu_workers import run_on
from evalcore.scoring.time_left import shown_progress
from evalcore.serving.supervisor import devices

MOST_REASONS = 20
KEPT = "Values computed so far are kept; the same command continues from there."


class Command(BaseCommand):
    help = (
        "Compute the missing metric scores of a study or a benchmark. Example: score "
        "pilot --metrics csd_self,aesthetic@vsb-paper; score films --metrics fid,fvd "
        "--truth original"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("name", help="identifier (slug) of a study or a benchmark")
        parser.add_argument(
            "--metrics",
            help='metrics, such as "a,b@profile"; default: all that are ready here '
            "and need neither a judge nor true outputs",
        )
        parser.add_argument(
            "--truth",
            default="",
            metavar="METHOD",
            help="method with the true outputs, for metrics that compare with them",
        )
        parser.add_argument(
            "--with-baselines",
            action="store_true",
            help="also compute the baselines that are ready here",
        )
        parser.add_argument(
            "--background",
            action="store_true",
            help="queue the run for the workers and return",
        )
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="print one full request to the judge for each metric, and the price; "
            "send nothing",
        )
        parser.add_argument(
            "--gpus",
            metavar="0,1",
            help="compute with a worker on each of these GPUs of this machine",
        )
        parser.add_argument(
            "--stop",
            action="store_true",
            help="stop all runs of this benchmark, on every machine, and compute "
            "nothing",
        )

    def handle(self, *, name: str, **options: object) -> None:
        benchmark = _benchmark(name)
        if options["stop"]:
            stopped = metric_runs.stop(benchmark.metric_runs.all())
            self.stdout.write(f"{counted(stopped, 'run')} stopped. {KEPT}")
            return
        gpus = _gpus(str(options["gpus"] or ""))
        if gpus and options["background"]:
            text = "--gpus: expected no --background; the workers have their own GPUs"
            raise CommandError(text, returncode=2)
        wanted = _wanted(str(options["metrics"] or ""))
        if options["with_baselines"]:
            wanted += [n for n in registry.ready_baselines() if n not in wanted]
        dry = options["dry_run"]
        try:
            if not (options["background"] or dry):
                _check_ready(wanted)
            with transaction.atomic():
                run = metric_runs.queue_run(
                    benchmark, wanted, truth=str(options["truth"])
                )
                if dry:
                    self.stdout.write(_previewed(run))
                    transaction.set_rollback(True)
                    return
        except (registry.UnknownMetricError, ScoringError) as error:
            raise CommandError(str(error), returncode=2) from error
        if options["background"]:
            self.stdout.write("Queued. The workers start within a minute.")
            if lacking := registry.lacking(wanted):
                lines = "\n  ".join(lacking)
                self.stdout.write(f"Not ready on this machine:\n  {lines}")
            return
        if price := _price(run):
            self.stdout.write(price)
        with shown_progress(run, by_one_worker=not gpus) as show:
            try:
                if gpus:
                    run = run_on(gpus, run.pk, show)
                else:
                    run = metric_runs.run(run.pk, show)
            except ScoringError as error:
                raise CommandError(str(error)) from error
            except KeyboardInterrupt as error:
                metric_runs.stop(MetricRun.objects.filter(pk=run.pk))
                raise CommandError(f"Stopped. {KEPT}", returncode=130) from error
        if run.state == MetricRun.State.FAILED:
            raise CommandError(run.error)
        if run.state == MetricRun.State.STOPPED:
            raise CommandError(f"The run was stopped by somebody else. {KEPT}")
        self.stdout.write(_said(run))


def _gpus(text: str) -> tuple[str, ...]:
    """Return the devices of the GPUs that were named."""
    try:
        return devices(text) if text else ()
    except ValueError as error:
        raise CommandError(f"--gpus: {text}: {error}", returncode=2) from error


def _benchmark(name: str) -> Benchmark:
    study = Study.objects.filter(slug=name).select_related("benchmark").first()
    found = study.benchmark if study else Benchmark.objects.filter(slug=name).first()
    if found is None:
        names = [
            *Study.objects.values_list("slug", flat=True),
            *Benchmark.objects.values_list("slug", flat=True),
        ]
        raise CommandError(
            f"No study or benchmark {name!r}. "
            f"There are: {', '.join(names) or 'none yet'}.",
            returncode=2,
        )
    return found


def _wanted(text: str) -> list[str]:
    """Return the metrics that were named, or all that cost nothing and are ready."""
    if text:
        return [name.strip() for name in text.split(",") if name.strip()]
    infos = {name: registry.load(name).info for name in registry.ready()}
    return [
        name
        for name, info in infos.items()
        if info.queue != "judge" and not info.against_truth
    ]


def _previewed(run: MetricRun) -> str:
    """Return one request for each metric that asks a judge, and the price."""
    try:
        preview = judge_preview.preview(run)
    except JudgeSettingsError as error:
        raise CommandError(str(error), returncode=2) from error
    return f"{preview or 'None of these metrics asks a judge.'}\nNothing was sent."


def _price(run: MetricRun) -> str:
    """Return what a judge will cost; empty without one, or if it is free."""
    preview = judge_preview.preview(run)
    if preview is None or not preview.settings.costs_money:
        return ""
    return f"{preview.price_in_words} {preview.budget}"


def _check_ready(names: list[str]) -> None:
    """Refuse at once what cannot be computed on this machine."""
    if lacking := registry.lacking(names):
        lines = "\n  ".join(lacking)
        raise ScoringError(
            f"Not ready here:\n  {lines}\nFor details, run manage.py metrics. To "
            "compute on other machines, use --background."
        )


def _said(run: MetricRun) -> str:
    """Return what was computed, as a sentence, and why some of it has no value."""
    values, absences = run.scores.count(), run.absences.count()
    said = f"{run.total} tasks were missing; {values} values computed"
    if absences:
        said += f", {absences} undefined"
    if run.dollars:
        said += f"; the judge cost {run.dollars:.2f} dollars"
        judged = run.chunks.filter(queue=MetricChunk.Queue.JUDGE)
        if outputs := {key for chunk in judged for key in chunk.outputs}:
            each = 1000 * run.dollars / len(outputs)
            said += f", or {each:.2f} per thousand outputs"
    remarks = [
        f"\n  {name}: {n} of {total} prompts ask for it"
        for name, (n, total) in run.options.get("asked", {}).items()
    ]
    reasons = run.absences.values_list("metric", "reason").annotate(n=Count("pk"))
    undefined = [
        f"\n  {n} undefined: {metric}: {reason}"
        for metric, reason, n in reasons.order_by("metric", "-n")
    ]
    return f"{said}.{''.join([*remarks, *undefined[:MOST_REASONS]])}" + (
        f"\n  and {len(undefined) - MOST_REASONS} more reasons"
        if len(undefined) > MOST_REASONS
        else ""
    )
