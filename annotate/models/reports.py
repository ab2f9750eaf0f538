"""Report, export, plan and rehearsal jobs of studies, with their state."""

from datetime import timedelta
from typing import Any

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from analysis.options import AlignOptions
from analysis.problems import listed
from annotate.models.events import Event
from annotate.models.flags import MAIN, AnalysisView
from annotate.models.people import account_if_known, new_token
from annotate.models.studies import Study
from evalcore.models import Benchmark
from evalcore.models.columns import known, once


class Job(models.Model):
    """A background job with its step, heartbeats and end."""

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    UNFINISHED = (State.QUEUED, State.RUNNING)
    # A job without a heartbeat for this long has lost its worker.
    SILENT = timedelta(seconds=90)

    created_by = account_if_known()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    step = models.CharField(max_length=200, blank=True, help_text="What is done now.")
    error = models.TextField(blank=True)

    class Meta:
        abstract = True

    @classmethod
    def cancel_all(cls, rows: models.QuerySet[Any]) -> int:
        """Cancel those that are not finished; return how many."""
        return rows.filter(state__in=cls.UNFINISHED).update(
            state=cls.State.CANCELLED, finished_at=timezone.now()
        )

    @classmethod
    def claim(cls, rows: models.QuerySet[Any]) -> bool:
        """Mark a waiting job as running; return whether no other worker has it."""
        return bool(rows.update(state=cls.State.RUNNING, heartbeat_at=timezone.now()))

    @classmethod
    def sign(cls, pk: int, **also: object) -> bool:
        """Renew a running job's heartbeat; return whether it is still wanted."""
        running = cls._default_manager.filter(pk=pk, state=cls.State.RUNNING)
        return bool(running.update(heartbeat_at=timezone.now(), **also))


STATES = ("queued", "running", "done", "failed", "cancelled")


class Export(Job):
    """A file of a study's tables, or a bundle, written in the background."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="exports")
    view = models.ForeignKey(AnalysisView, on_delete=models.CASCADE, related_name="+")
    as_of = models.ForeignKey(
        Event, on_delete=models.RESTRICT, null=True, related_name="+"
    )
    table = models.CharField(max_length=20, blank=True, help_text="Empty: all.")
    form = models.CharField(max_length=10)
    layout = models.CharField(max_length=20)
    with_scores = models.BooleanField(default=False)
    bom = models.BooleanField(default=False)
    pictures = models.BooleanField(
        default=True, db_default=True, help_text="In a bundle."
    )
    name = models.CharField(max_length=200, blank=True, help_text="Of the file.")
    bytes = models.PositiveBigIntegerField(default=0)
    sha256 = models.CharField(max_length=64, blank=True)
    notes = models.JSONField(default=list, blank=True)

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [known("export_state_known", state=STATES)]


class StudyPlan(Job):
    """A queued plan: its input and progress."""

    class Action(models.TextChoices):
        CHECK = "check"
        CREATE = "create"
        EDIT = "edit"

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="plans"
    )
    study = models.ForeignKey(
        Study, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    action = models.CharField(max_length=10, choices=Action.choices)
    definition = models.TextField()
    chosen = models.JSONField(default=dict)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    balance = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            known("study_plan_state_known", state=STATES),
            known("study_plan_action_known", action=["check", "create", "edit"]),
        ]


class Rehearsal(Job):
    """A rehearsal of a study by simulated people, and its result.

    The people answer in a database of their own; this row is all that the study has.
    """

    class Differences(models.TextChoices):
        CLEAR = "clear", _("Clear differences")
        SMALL = "small", _("Small differences")
        NONE = "none", _("No differences")

    study = models.OneToOneField(
        Study, on_delete=models.CASCADE, related_name="rehearsal"
    )
    people = models.JSONField(default=dict, help_text='By kind: {"careful": 10, ...}.')
    differences = models.CharField(
        max_length=10, choices=Differences.choices, default=Differences.CLEAR
    )
    language = models.CharField(
        max_length=20, blank=True, help_text="Language of the result."
    )
    rated = models.PositiveIntegerField(default=0)
    wanted = models.PositiveIntegerField(default=0)
    result = models.JSONField(default=dict, blank=True)

    class Meta:
        constraints = [
            known("rehearsal_state_known", state=STATES),
            known(
                "rehearsal_differences_known", differences=["clear", "small", "none"]
            ),
        ]


# The option that leaves metrics out.
PEOPLE_ALONE = ("metrics", ())
# Shown for reports with these inputs.
OWN_PARTS = {
    "hypotheses": _("hypotheses of its own"),
    "composites": _("composites of its own"),
}


def _as_text(value: object) -> str:
    """Return the value of an option as a list of reports shows it."""
    if isinstance(value, dict):
        return listed([f"{name}={one}" for name, one in value.items()])
    if value is True:
        return ""
    return listed(value) if isinstance(value, tuple) else str(value)


class Report(Job):
    """One report of a study: its options and location."""

    class Command(models.TextChoices):
        ALIGN = "align", _("Agreement of metrics with people")
        POWER = "power", _("Forecast of a larger study")
        SUBSET = "subset", _("Subsets of stories")
        STABILITY = "stability", _("Stability of a judge")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="reports")
    view = models.ForeignKey(
        AnalysisView, on_delete=models.RESTRICT, related_name="reports"
    )
    as_of = models.ForeignKey(
        Event, on_delete=models.RESTRICT, null=True, related_name="+"
    )
    waits = models.BooleanField(
        default=False, help_text="Built, as of then, when no scores are being computed."
    )
    command = models.CharField(
        max_length=10, choices=Command.choices, default=Command.ALIGN
    )
    options = models.JSONField(default=dict, blank=True)
    inputs = models.JSONField(
        default=dict,
        blank=True,
        help_text="Texts that stand instead of what the study declares, by their part.",
    )

    class Meta:
        ordering = ["-created_at", "-id"]
        constraints = [
            known("report_state_known", state=STATES),
            known(
                "report_command_known",
                command=["align", "power", "subset", "stability"],
            ),
        ]

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Store the report; by default through `main` and as of now."""
        if self._state.adding and not self.view_id:
            self.view = self.study.analysis_views.get(key=MAIN)
        if self._state.adding and self.as_of_id is None and not self.waits:
            self.as_of = Event.objects.create(
                study=self.study, kind=Event.Kind.REPORT_ASKED, user=self.created_by
            )
        super().save(*args, **kwargs)

    @property
    def is_plan(self) -> bool:
        return self.command != self.Command.ALIGN

    @property
    def resamples(self) -> int:
        asked: int = self.options.get("resamples", AlignOptions().resamples)
        return asked

    @property
    def choices_made(self) -> list[str]:
        """Return the options that differ from the defaults, as command arguments."""
        usual = vars(AlignOptions())
        given = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in self.options.items()
        }
        choices = [
            f"{name.replace('_', '-')} {_as_text(value)}".rstrip()
            for name, value in given.items()
            if name != "resamples" and value != usual.get(name, "")
            if (name, value) != PEOPLE_ALONE
        ]
        if PEOPLE_ALONE in given.items():
            choices.append(str(_("people alone")))
        return choices + [str(OWN_PARTS[name]) for name in self.inputs]


class PublicReport(models.Model):
    """A report that everybody can read at an address, until that is withdrawn."""

    report = models.OneToOneField(
        Report, on_delete=models.CASCADE, related_name="public"
    )
    name = models.SlugField(max_length=60, default=new_token, db_index=False)
    policy = models.TextField(help_text="Of content security, for its page.")
    with_data = models.BooleanField(default=False)
    data_event = models.PositiveBigIntegerField(
        null=True, help_text="Last event of the log that its data contain."
    )
    published_by = account_if_known()
    published_at = models.DateTimeField(default=timezone.now)
    withdrawn_at = models.DateTimeField(null=True, blank=True)
    error = models.TextField(
        blank=True, db_default="", help_text="Why page or data could not be written."
    )

    class Meta:
        constraints = [once("public_report_name_unique", "name")]

    @property
    def failure(self) -> str:
        """Return why the report could not be built or written again; "" if it was."""
        is_built = self.report.state not in (Job.State.FAILED, Job.State.CANCELLED)
        return self.error if is_built else self.report.error or self.report.state
