"""Uploads of stories, outputs, scores and judgements, with their state."""

from django.db import models
from django.db.models import F, Q

from annotate.models.reports import STATES, Job
from annotate.models.studies import Study
from evalcore.models import Benchmark
from evalcore.models.columns import holds, known


class Upload(Job):
    """Files on their way into a benchmark: received, inspected, imported.

    The state is that of the stage: a preview is an inspection that is done. Files lie
    in the folder of `annotate.uploads.storage`.
    """

    class Stage(models.TextChoices):
        RECEIVE = "receive"
        INSPECT = "inspect"
        IMPORT = "import"

    # What its parts can be, those first that others build on.
    KINDS = ("stories", "outputs", "scores", "ratings", "choices", "rankings")

    stage = models.CharField(
        max_length=10, choices=Stage.choices, default=Stage.RECEIVE
    )
    name = models.CharField(max_length=200, help_text="Of the file or folder.")
    total = models.PositiveBigIntegerField(default=0, help_text="Bytes to receive.")
    received = models.PositiveBigIntegerField(default=0)
    fingerprint = models.CharField(
        max_length=64, blank=True, help_text="Of the list of files, to find it again."
    )
    entry = models.CharField(
        max_length=255, blank=True, help_text="Name in UPLOAD_FOLDER, if it lies there."
    )
    language = models.CharField(max_length=10, blank=True)
    chosen = models.JSONField(
        default=dict, blank=True, help_text='{"kind": "outputs", "benchmark": ...}'
    )
    found = models.JSONField(default=dict, blank=True, help_text="The preview.")
    benchmark = models.ForeignKey(
        Benchmark,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="uploads",
    )
    study = models.ForeignKey(
        Study, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ["-pk"]
        constraints = [
            known("upload_state_known", state=STATES),
            known("upload_stage_known", stage=["receive", "inspect", "import"]),
            holds("upload_received_at_most_total", Q(received__lte=F("total"))),
        ]

    @property
    def is_waiting(self) -> bool:
        """Say whether a worker has to do something for it."""
        return self.stage != self.Stage.RECEIVE and self.state in self.UNFINISHED

    @property
    def is_previewed(self) -> bool:
        return (self.stage, self.state) == (self.Stage.INSPECT, self.State.DONE)

    @property
    def is_imported(self) -> bool:
        return (self.stage, self.state) == (self.Stage.IMPORT, self.State.DONE)

    @property
    def percent(self) -> int:
        return self.received * 100 // max(self.total, 1)
