"""The rehearsal of a study by simulated people."""

from typing import Any

from django.http import Http404
from rest_framework import serializers

from annotate.api import fields
from annotate.api.base import StudyView
from annotate.api.operations import operation, show_operation
from annotate.models import Rehearsal
from annotate.rehearsal import queue
from annotate.rehearsal.person import PersonKind, usual_people
from annotate.tasks import wake_rehearsals


class RehearsalSerializer(serializers.ModelSerializer):
    people = fields.counts()
    result = fields.DictField()
    Meta = fields.meta(
        Rehearsal,
        "state step error people differences rated wanted created_at finished_at "
        "result",
    )


class RehearsalBody(fields.Body):
    people = fields.DictField(
        child=fields.IntegerField(min_value=0, max_value=queue.MOST_PEOPLE),
        required=False,
        help_text=f"by kind: {', '.join(PersonKind.values)}; as planned if not given",
    )
    differences = fields.ChoiceField(
        Rehearsal.Differences.choices, default=Rehearsal.Differences.CLEAR
    )

    def validate_people(self, given: dict[str, int]) -> dict[str, int]:
        if unknown := sorted(given.keys() - set(PersonKind.values)):
            raise serializers.ValidationError(f"Unknown kind {unknown[0]}.")
        return given


class Rehearse(StudyView):
    tag = "studies"
    readers = "manager"
    get = show_operation(
        "get_rehearsal",
        RehearsalSerializer,
        "Return the last rehearsal and its result.",
    )

    def row(self, **of: Any) -> Rehearsal:
        row = Rehearsal.objects.filter(study=self.study).first()
        if row is None:
            raise Http404("The study was not rehearsed.")
        return row

    @operation("rehearse", RehearsalSerializer, takes=RehearsalBody, status=202)
    def post(self, given: dict[str, Any]) -> Rehearsal:
        """Rehearse the study with simulated people."""
        people = given.get("people") or usual_people(self.study)
        row = queue.ask(self.study, self.user, people, given["differences"])
        self.queue(wake_rehearsals, "rehearsal", self.study.slug)
        return row

    @operation("delete_rehearsal")
    def delete(self) -> None:
        """Stop the rehearsal, or delete its result."""
        queue.forget(self.row())
