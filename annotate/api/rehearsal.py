"""The rehearsal of a study by simulated people."""

from django.http import Http404
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.api.base import Body, StudyView, created, read
from annotate.models import Rehearsal
from annotate.rehearsal import queue
from annotate.rehearsal.person import PersonKind, usual_people
from annotate.tasks import ring, wake_rehearsals


class RehearsalSerializer(serializers.ModelSerializer):
    people = serializers.DictField(child=serializers.IntegerField())
    result = serializers.DictField()

    class Meta:
        model = Rehearsal
        fields = (
            "state",
            "step",
            "error",
            "people",
            "differences",
            "rated",
            "wanted",
            "created_at",
            "finished_at",
            "result",
        )


class RehearsalBody(Body):
    people = serializers.DictField(
        child=serializers.IntegerField(min_value=0, max_value=queue.MOST_PEOPLE),
        required=False,
        help_text=f"by kind: {', '.join(PersonKind.values)}; as planned if not given",
    )
    differences = serializers.ChoiceField(
        Rehearsal.Differences.choices, default=Rehearsal.Differences.CLEAR
    )

    def validate_people(self, given: dict[str, int]) -> dict[str, int]:
        if unknown := sorted(given.keys() - set(PersonKind.values)):
            raise serializers.ValidationError(f"Unknown kind {unknown[0]}.")
        return given


class Rehearse(StudyView):
    readers = "manager"

    def row(self) -> Rehearsal:
        row = Rehearsal.objects.filter(study=self.study).first()
        if row is None:
            raise Http404("The study was not rehearsed.")
        return row

    @extend_schema(
        operation_id="get_rehearsal", tags=["studies"], responses=RehearsalSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the last rehearsal and its result."""
        return Response(RehearsalSerializer(self.row()).data)

    @extend_schema(
        operation_id="rehearse",
        tags=["studies"],
        request=RehearsalBody,
        responses={202: RehearsalSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Rehearse the study with simulated people."""
        given = read(RehearsalBody, request)
        people = given.get("people") or usual_people(self.study)
        row = queue.ask(self.study, request.user, people, given["differences"])
        ring(wake_rehearsals)
        shown = RehearsalSerializer(row).data
        return created(shown, "api-rehearsal", slug, status=202)

    @extend_schema(
        operation_id="delete_rehearsal", tags=["studies"], responses={204: None}
    )
    def delete(self, request: Request, slug: str) -> Response:
        """Stop the rehearsal, or delete its result."""
        queue.forget(self.row())
        return Response(status=204)
