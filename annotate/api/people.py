"""People of a study: invited, changed, their personal data."""

from typing import Any

from django.db import transaction
from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.server_address import links_begin_with
from annotate.api.base import (
    AnyType,
    Body,
    Listed,
    Query,
    StudyView,
    asked,
    attachment,
    read,
)
from annotate.models import Annotator, Invitation
from annotate.payment.table import PersonRow, Verdict, people_rows
from annotate.people import inviting
from annotate.people.invitation_list import LONGEST_NOTE, invite_list
from annotate.people.status import Status
from annotate.personal_data import erasing, record
from annotate.quality import exclusion, follow_up

MOST_AT_ONCE = 500
LARGEST_LIST = 1_000_000


class PaySerializer(serializers.Serializer):
    decision = serializers.CharField()
    reason = serializers.CharField()
    bonus = serializers.DecimalField(max_digits=8, decimal_places=2)
    paid_at = serializers.DateTimeField(allow_null=True)


class PersonSerializer(serializers.Serializer):
    id = serializers.IntegerField(source="annotator.pk")
    name = serializers.CharField(source="annotator.name")
    state = serializers.ChoiceField(Annotator.State.values, source="annotator.state")
    status = serializers.ChoiceField(Status.values)
    language = serializers.CharField(source="annotator.language")
    external_id = serializers.CharField(source="annotator.external_id")
    cap = serializers.IntegerField(source="annotator.cap", allow_null=True)
    note = serializers.CharField(source="invitation.note", default="")
    link = serializers.SerializerMethodField(help_text="the personal link, if it works")
    submitted = serializers.IntegerField(source="work.submitted")
    planned = serializers.IntegerField(source="work.planned")
    surplus = serializers.IntegerField(source="work.surplus")
    left_out = serializers.IntegerField(source="work.left_out")
    minutes = serializers.IntegerField(source="work.minutes", allow_null=True)
    seconds_per_story = serializers.FloatField(source="work.per_story", allow_null=True)
    last_seen = serializers.DateTimeField(source="last", allow_null=True)
    agreement = serializers.FloatField(
        source="rest", allow_null=True, help_text="with the others"
    )
    verdict = serializers.ChoiceField(Verdict.values)
    reasons = serializers.ListField(
        child=serializers.CharField(), help_text="why the verdict is not good"
    )
    pay = PaySerializer(source="payment", allow_null=True)

    def get_link(self, row: PersonRow) -> str:
        return address(self.context["request"], row.token) if row.token else ""


def address(request: Request, token: str) -> str:
    """Return a personal link."""
    return links_begin_with(request) + reverse("rate-entry", args=[token])


class PeopleQuery(Query):
    status = serializers.ChoiceField(Status.values, required=False)


class PersonList(Listed, StudyView):
    readers = "manager"

    @extend_schema(
        operation_id="list_people",
        tags=["people"],
        parameters=[PeopleQuery],
        responses=PersonSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the people with links, work, verdict and pay; first those to look at."""
        status = asked(PeopleQuery, request).get("status")
        rows = [one for one in people_rows(self.study) if status in (None, one.status)]
        return self.page(rows, PersonSerializer, request=request)


class InviteBody(Body):
    count = serializers.IntegerField(min_value=1, max_value=MOST_AT_ONCE, default=1)
    new = serializers.BooleanField(
        default=False, help_text="new people, not those whom the plan has"
    )
    language = serializers.CharField(default="", allow_blank=True, max_length=10)
    note = serializers.CharField(default="", allow_blank=True, max_length=LONGEST_NOTE)


class InvitationSerializer(serializers.Serializer):
    person = serializers.CharField(source="annotator.name")
    id = serializers.IntegerField(source="annotator.pk")
    link = serializers.SerializerMethodField()
    note = serializers.CharField()

    def get_link(self, invitation: Invitation) -> str:
        return address(self.context["request"], invitation.token)


class Invited(serializers.Serializer):
    made = InvitationSerializer(many=True)
    known = serializers.ListField(
        child=serializers.CharField(), help_text="already taking part"
    )


def _invited(request: Request, made: Any, known: Any = ()) -> Response:
    shown = Invited({"made": made, "known": known}, context={"request": request})
    return Response(shown.data, status=201)


class Invite(StudyView):
    @extend_schema(
        operation_id="invite_people",
        tags=["people"],
        request=InviteBody,
        responses={201: Invited},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create personal links for the next planned people, or for new ones."""
        given, study, user = read(InviteBody, request), self.study, request.user
        note, count = given["note"], given["count"]
        if not given["new"]:
            made = inviting.invite(study, count=count, note=note, user=user)
            return _invited(request, made)
        with transaction.atomic():
            made = [
                inviting.invite_new(
                    study, language=given["language"], note=note, user=user
                )
                for _n in range(count)
            ]
        return _invited(request, made)


class ListBody(Body):
    people = serializers.CharField(
        max_length=LARGEST_LIST,
        help_text="a line a person: an e-mail or id; further columns after a header "
        "of person, language, cap, note",
    )


class InviteList(StudyView):
    @extend_schema(
        operation_id="invite_list",
        tags=["people"],
        request=ListBody,
        responses={201: Invited},
        examples=[
            OpenApiExample(
                "two people",
                {"people": "person,language\nada@example.org,en\nwei@example.org,zh"},
                request_only=True,
            )
        ],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Invite everybody on a list, or nobody if a line is wrong."""
        text = read(ListBody, request)["people"]
        done = invite_list(self.study, text, user=request.user)
        return _invited(request, done.made, done.known)


class OfPerson(StudyView):
    readers = "manager"

    def person(self, pk: int) -> Annotator:
        return get_object_or_404(self.study.annotators, pk=pk)

    def shown(self, pk: int) -> Response:
        rows = (one for one in people_rows(self.study) if one.annotator.pk == pk)
        found = next(rows, None)
        if found is None:
            raise Http404
        context = {"request": self.request}
        return Response(PersonSerializer(found, context=context).data)


class CapBody(Body):
    cap = serializers.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        allow_null=True,
        help_text="most stories; null: the study's",
    )


class Person(OfPerson):
    @extend_schema(
        operation_id="get_person", tags=["people"], responses=PersonSerializer
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return one person."""
        return self.shown(pk)

    @extend_schema(
        operation_id="limit_person",
        tags=["people"],
        request=CapBody,
        responses=PersonSerializer,
    )
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Set the most stories of a person; what is beyond becomes free."""
        person, given = self.person(pk), read(CapBody, request)
        inviting.set_cap(person, given["cap"], user=request.user)
        return self.shown(pk)


class PersonBody(Body):
    do = serializers.ChoiceField(
        ["pause", "resume", "remove", "reissue", "exclude", "restore"],
        help_text="remove: from the study; reissue: a new personal link; exclude: "
        "leave out all answers; restore: count them again",
    )
    reason = serializers.CharField(
        required=False, max_length=exclusion.LONGEST_REASON, help_text="to exclude"
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if (given["do"] == "exclude") != ("reason" in given):
            text = "Give a reason with exclude, and with nothing else."
            raise serializers.ValidationError({"reason": text})
        return given


class PersonState(OfPerson):
    @extend_schema(
        operation_id="change_person",
        tags=["people"],
        request=PersonBody,
        responses=PersonSerializer,
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Pause, resume or remove a person, replace the link, or leave answers out."""
        person, given, user = self.person(pk), read(PersonBody, request), request.user
        change = given["do"]
        if change == "pause":
            follow_up.pause(person, user=user)
        elif change == "resume":
            follow_up.resume(person, user=user)
        elif change == "remove":
            inviting.revoke(person, user=user)
        elif change == "reissue":
            if not hasattr(person, "invitation"):
                raise inviting.InvitingError(f"{person.name} has no link yet.")
            inviting.reissue(person, user=user)
        elif change == "exclude":
            exclusion.exclude_annotator(person, reason=given["reason"], author=user)
        else:
            exclusion.undo_annotator(person, author=user)
        return self.shown(pk)


class PersonalData(OfPerson):
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="download_personal_data",
        tags=["people"],
        responses={(200, "application/zip"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, slug: str, pk: int) -> HttpResponseBase:
        """Download all data of a person, to hand out to them."""
        data = record.zipped(self.person(pk))
        return attachment(f"{slug}-{pk}-personal-data.zip", data, "application/zip")


class WithdrawBody(Body):
    answers = serializers.BooleanField(help_text="leave out their answers, too")


class WithdrawnSerializer(serializers.Serializer):
    freed = serializers.IntegerField()
    left_out = serializers.IntegerField()


class PersonWithdraw(OfPerson):
    @extend_schema(
        operation_id="withdraw_consent",
        tags=["people"],
        request=WithdrawBody,
        responses=WithdrawnSerializer,
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Withdraw a person's consent on their request; it cannot be undone."""
        person, given = self.person(pk), read(WithdrawBody, request)
        done = erasing.withdraw(person, answers=given["answers"], user=request.user)
        return Response(WithdrawnSerializer(done).data)


class EraseBody(Body):
    comments = serializers.BooleanField(default=False, help_text="and their free texts")


class ErasedSerializer(serializers.Serializer):
    freed = serializers.IntegerField()
    comments = serializers.IntegerField()
    is_new = serializers.BooleanField(help_text="false: erased before")


class PersonErase(OfPerson):
    @extend_schema(
        operation_id="erase_person",
        tags=["people"],
        request=EraseBody,
        responses=ErasedSerializer,
    )
    def post(self, request: Request, slug: str, pk: int) -> Response:
        """Erase a person's data for good; the answers stay."""
        person, given = self.person(pk), read(EraseBody, request)
        done = erasing.erase(person, comments=given["comments"], user=request.user)
        return Response(ErasedSerializer(done).data)
