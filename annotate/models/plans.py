"""Plans of large studies, which a worker makes."""

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from annotate.models.studies import Study
from annotate.models.users import account_if_known
from evalcore.models import Benchmark


class StudyPlan(models.Model):
    """A plan that somebody waits for: what was asked for, and how far it is."""

    class Action(models.TextChoices):
        CHECK = "check"
        CREATE = "create"
        EDIT = "edit"

    class State(models.TextChoices):
        QUEUED = "queued", _("queued")
        RUNNING = "running", _("running")
        DONE = "done", _("done")
        FAILED = "failed", _("failed")
        CANCELLED = "cancelled", _("cancelled")

    benchmark = models.ForeignKey(
        Benchmark, on_delete=models.CASCADE, related_name="plans"
    )
    study = models.ForeignKey(
        Study, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    action = models.CharField(max_length=10, choices=Action.choices)
    definition = models.TextField()
    chosen = models.JSONField(default=dict)
    created_by = account_if_known()
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    heartbeat_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)
    step = models.CharField(max_length=200, blank=True, help_text="What is done now.")
    balance = models.JSONField(default=dict, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        ordering = ["pk"]
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=["queued", "running", "done", "failed", "cancelled"]
                ),
                name="study_plan_state_known",
            ),
            models.CheckConstraint(
                condition=Q(action__in=["check", "create", "edit"]),
                name="study_plan_action_known",
            ),
        ]
