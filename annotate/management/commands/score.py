import argparse
import getpass
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import transaction
from django.db.models import Count

from analysis.commands.option_values import split_names
from analysis.options import OptionError
from analysis.sentences import counted
from analysis.tracking import SERVICES, add_tracking, check_clients, track
from annotate.models import Study
from annotate.reports.score_changes import delete_values, queue_again, uses_of
from evalcore.metrics import registry
from evalcore.metrics.llm_judge.settings import JudgeSettingsError
from evalcore.models import Benchmark, MetricChunk, MetricRun
from evalcore.scoring import judge_preview, metric_runs
from evalcore.scoring.asked_again import Which, replaced_by
from evalcore.scoring.chunks import ScoringError
from evalcore.scoring.deleting import (
    StoredValues,
    values_of,
    values_of_identity,
    values_of_run,
)
from evalcore.scoring.gpu_workers import run_on
from evalcore.scoring.run_options import RunOptions
from evalcore.scoring.time_left import shown_progress
from evalcore.scoring.tracked import scores_run
from evalcore.serving.supervisor import devices

MOST_REASONS = 20
STORED = "A judge's answers stay stored; score --again asks for new ones."
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
            help='metrics, such as "a,b@profile"; cids stands for all cids_*; default: '
            "all that are ready here and need neither a judge nor true outputs",
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
        add_tracking(parser)
        again = parser.add_argument_group("existing values")
        again.add_argument(
            "--again",
            action="store_true",
            help="compute the named metrics again; an old value stays until its new "
            "one is stored",
        )
        again.add_argument(
            "--undefined",
            action="store_true",
            help="with --again: only what is undefined or has failed",
        )
        again.add_argument(
            "--outputs",
            default="",
            metavar="METHOD/STORY,...",
            help="compute only these outputs",
        )
        again.add_argument(
            "--repeat",
            type=int,
            default=0,
            metavar="N",
            help="ask the judge everything once more, as repetition number N, and "
            "keep its values beside the others",
        )
        again.add_argument(
            "--delete",
            metavar="METRIC[@PROFILE]",
            help="delete a metric's values, and compute nothing",
        )
        again.add_argument(
            "--identity",
            default="",
            metavar="ID",
            help="with --delete METRIC: only the values of this identity",
        )
        again.add_argument(
            "--delete-run",
            type=int,
            metavar="N",
            help="delete the values of one run, and compute nothing",
        )
        again.add_argument(
            "--yes", action="store_true", help="delete without asking back"
        )

    def handle(self, *, name: str, **options: Any) -> None:
        benchmark = _benchmark(name)
        if options["stop"]:
            stopped = metric_runs.stop(benchmark.metric_runs.all())
            self.stdout.write(f"{counted(stopped, 'run')} stopped. {KEPT}")
            return
        if options["delete"] or options["delete_run"]:
            self._delete(benchmark, options)
            return
        asked = _asked(options)
        _check_tracking(options)
        gpus = _gpus(str(options["gpus"] or ""))
        if gpus and options["background"]:
            text = "--gpus: expected no --background; the workers have their own GPUs"
            raise CommandError(text, returncode=2)
        dry = options["dry_run"]
        try:
            wanted = _wanted(str(options["metrics"] or ""))
            if options["with_baselines"]:
                wanted += [n for n in registry.ready_baselines() if n not in wanted]
            if not (options["background"] or dry):
                _check_ready(wanted)
            queue = queue_again if asked["again"] else metric_runs.queue_run
            with transaction.atomic():
                run = queue(benchmark, wanted, **asked)
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
            raise CommandError(f"{run.error}\n{_what_to_do(run)}")
        if run.state == MetricRun.State.STOPPED:
            raise CommandError(f"The run was stopped by somebody else. {KEPT}")
        self.stdout.write(_said(run))
        try:
            tracked = track(scores_run(run, wanted), options)
        except OptionError as error:
            raise CommandError(str(error), returncode=2) from error
        for line in tracked:
            self.stdout.write(line)

    def _delete(self, benchmark: Benchmark, options: dict[str, Any]) -> None:
        values = _stored_values(benchmark, options)
        scores, absences = values.scores.count(), values.absences.count()
        if not scores + absences:
            raise CommandError(f"{values.what} has no values here.", returncode=2)
        said = f"{counted(scores, 'value')} and {counted(absences, 'undefined value')}"
        uses = uses_of(values)
        if not options["yes"]:
            studies = ", ".join(study.slug for study in uses.studies) or "none"
            self.stdout.write(
                f"This would delete {said} of {values.what}.\n"
                f"Studies that use them: {studies}.\n"
                f"Questions that name the metric: {', '.join(uses.questions) or '-'}.\n"
                f"{counted(uses.reports, 'report')} keep their own numbers.\n"
                "Write the command again with --yes."
            )
            return
        try:
            delete_values(values, None, getpass.getuser())
        except ScoringError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"Deleted {said}. {STORED}")


def _asked(options: dict[str, Any]) -> RunOptions:
    """Return the options of the run; refuse those that need a named metric."""
    again: Which | None = "all" if options["again"] else None
    if options["undefined"]:
        again = "undefined"
    if not options["metrics"] and (again or options["repeat"]):
        raise CommandError("Name the metrics: --metrics a,b@profile", returncode=2)
    if again and options["with_baselines"]:
        raise CommandError("--again takes no --with-baselines", returncode=2)
    if options["repeat"] < 0:
        raise CommandError("--repeat takes a number from 1", returncode=2)
    return {
        "truth": options["truth"],
        "outputs": split_names(options["outputs"]),
        "again": again,
        "repeat": options["repeat"],
    }


def _stored_values(benchmark: Benchmark, options: dict[str, Any]) -> StoredValues:
    """Return the values that the options name."""
    metric, number = options["delete"], options["delete_run"]
    if metric and options["identity"]:
        return values_of_identity(benchmark, metric, options["identity"])
    if metric:
        return values_of(benchmark, metric)
    run = benchmark.metric_runs.filter(pk=number or 0).first()
    if run is None:
        raise CommandError(f"{benchmark.slug} has no run {number}.", returncode=2)
    return values_of_run(run)


def _check_tracking(options: dict[str, Any]) -> None:
    """Refuse services that cannot store the scores of this command."""
    for service in SERVICES:
        if options[service] is not None and (
            options["background"] or options["dry_run"]
        ):
            text = f"--{service}: expected no --background and no --dry-run"
            raise CommandError(text, returncode=2)
    try:
        check_clients(options)
    except OptionError as error:
        raise CommandError(str(error), returncode=2) from error


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
        return registry.select(text)
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
            f"Not ready here:\n  {lines}\nFor details, run plumbline metrics. To "
            "compute on other machines, use --background."
        )


def _what_to_do(run: MetricRun) -> str:
    """Say how failed values are computed later."""
    if "again" in run.options:
        return (
            "Values that failed keep their old value. To try them: --again --undefined."
        )
    return "Nothing was stored for what failed: the same command tries it again."


def _said(run: MetricRun) -> str:
    """Return what was computed, as a sentence, and why some of it has no value."""
    values, absences = run.scores.count(), run.absences.count()
    what = "to do again" if "again" in run.options else "missing"
    said = f"{run.total} tasks were {what}; {values} values computed"
    if replaced := replaced_by(run):
        said += f", {len(replaced)} old values replaced (kept with run {run.pk})"
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
