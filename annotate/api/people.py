"""People of a study: invited, changed, their personal data."""

from collections.abc import Callable
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers
from rest_framework.request import Request

from annotate.access.server_address import links_begin_with
from annotate.api import fields
from annotate.api.base import StudyView, attachment
from annotate.api.operations import operation
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
    decision = fields.CharField()
    reason = fields.CharField()
    bonus = fields.DecimalField(max_digits=8, decimal_places=2)
    paid_at = fields.DateTimeField(allow_null=True)


class PersonSerializer(serializers.Serializer):
    id = fields.IntegerField(source="annotator.pk")
    name = fields.CharField(source="annotator.name")
    state = fields.ChoiceField(Annotator.State.values, source="annotator.state")
    status = fields.ChoiceField(Status.values)
    language = fields.CharField(source="annotator.language")
    external_id = fields.CharField(source="annotator.external_id")
    cap = fields.IntegerField(source="annotator.cap", allow_null=True)
    note = fields.CharField(source="invitation.note", default="")
    link = fields.SerializerMethodField(help_text="the personal link, if it works")
    submitted = fields.IntegerField(source="work.submitted")
    planned = fields.IntegerField(source="work.planned")
    surplus = fields.IntegerField(source="work.surplus")
    left_out = fields.IntegerField(source="work.left_out")
    minutes = fields.IntegerField(source="work.minutes", allow_null=True)
    seconds_per_story = fields.FloatField(source="work.per_story", allow_null=True)
    last_seen = fields.DateTimeField(source="last", allow_null=True)
    agreement = fields.FloatField(
        source="rest", allow_null=True, help_text="with the others"
    )
    verdict = fields.ChoiceField(Verdict.values)
    reasons = fields.texts(help_text="why the verdict is not good")
    pay = PaySerializer(source="payment", allow_null=True)

    def get_link(self, row: PersonRow) -> str:
        return address(self.context["request"], row.token) if row.token else ""


def address(request: Request, token: str) -> str:
    """Return a personal link."""
    return links_begin_with(request) + reverse("rate-entry", args=[token])


class PeopleQuery(fields.Query):
    status = fields.ChoiceField(Status.values, required=False)


class PersonList(StudyView):
    readers = "manager"

    @operation("list_people", PersonSerializer, query=PeopleQuery, many=True)
    def get(self, given: dict[str, Any]) -> list[PersonRow]:
        """List the people with links, work, verdict and pay; first those to look at."""
        rows, wanted = people_rows(self.study), given.get("status")
        return [row for row in rows if wanted in (None, row.status)]


class InviteBody(fields.Body):
    count = fields.IntegerField(min_value=1, max_value=MOST_AT_ONCE, default=1)
    new = fields.BooleanField(
        default=False, help_text="new people, not those whom the plan has"
    )
    language = fields.CharField(default="", allow_blank=True, max_length=10)
    note = fields.CharField(default="", allow_blank=True, max_length=LONGEST_NOTE)


class InvitationSerializer(serializers.Serializer):
    person = fields.CharField(source="annotator.name")
    id = fields.IntegerField(source="annotator.pk")
    link = fields.SerializerMethodField()
    note = fields.CharField()

    def get_link(self, invitation: Invitation) -> str:
        return address(self.context["request"], invitation.token)


class Invited(serializers.Serializer):
    made = InvitationSerializer(many=True)
    known = fields.texts(help_text="already taking part")


class Invite(StudyView):
    @operation("invite_people", Invited, takes=InviteBody, status=201)
    @transaction.atomic
    def post(self, given: dict[str, Any]) -> dict[str, Any]:
        """Create personal links for the next planned people, or for new ones."""
        study, user = self.study, self.user
        note, count = given["note"], given["count"]
        if not given["new"]:
            made = inviting.invite(study, count=count, note=note, user=user)
            return {"made": made, "known": []}
        about = {"language": given["language"], "note": note, "user": user}
        made = [inviting.invite_new(study, **about) for _n in range(count)]
        return {"made": made, "known": []}


class ListBody(fields.Body):
    people = fields.CharField(
        max_length=LARGEST_LIST,
        help_text="a line a person: an e-mail or id; further columns after a header "
        "of person, language, cap, note",
    )


EXAMPLE = {"people": "person,language\nada@example.org,en\nwei@example.org,zh"}


class InviteList(StudyView):
    @operation(
        "invite_list",
        Invited,
        takes=ListBody,
        status=201,
        examples=[OpenApiExample("two people", EXAMPLE, request_only=True)],
    )
    def post(self, given: dict[str, Any]) -> Any:
        """Invite everybody on a list, or nobody if a line is wrong."""
        return invite_list(self.study, given["people"], user=self.user)


class OfPerson(StudyView):
    """A view of one person; `shown` is the person with work and pay."""

    readers = "manager"

    def rows(self) -> QuerySet[Annotator]:
        return self.study.annotators.all()

    def shown(self) -> PersonRow:
        pk = self.kwargs["pk"]
        rows = (one for one in people_rows(self.study) if one.annotator.pk == pk)
        if (found := next(rows, None)) is None:
            raise Http404
        return found


class CapBody(fields.Body):
    cap = fields.IntegerField(
        min_value=1,
        max_value=2**31 - 1,
        allow_null=True,
        help_text="most stories; null: the study's",
    )


class Person(OfPerson):
    @operation("get_person", PersonSerializer)
    def get(self) -> PersonRow:
        """Return one person."""
        return self.shown()

    @operation("limit_person", PersonSerializer, takes=CapBody)
    def patch(self, given: dict[str, Any]) -> PersonRow:
        """Set the most stories of a person; what is beyond becomes free."""
        inviting.set_cap(self.row(), given["cap"], user=self.user)
        return self.shown()


CHANGES: dict[str, Callable[..., object]] = {
    "pause": follow_up.pause,
    "resume": follow_up.resume,
    "remove": inviting.revoke,
    "reissue": inviting.reissue,
}


class PersonBody(fields.Body):
    do = fields.ChoiceField(
        [*CHANGES, "exclude", "restore"],
        help_text="remove: from the study; reissue: a new personal link; exclude: "
        "leave out all answers; restore: count them again",
    )
    reason = fields.CharField(
        required=False, max_length=exclusion.LONGEST_REASON, help_text="to exclude"
    )

    def validate(self, given: dict[str, Any]) -> dict[str, Any]:
        if (given["do"] == "exclude") != ("reason" in given):
            text = "Give a reason with exclude, and with nothing else."
            raise serializers.ValidationError({"reason": text})
        return given


class PersonState(OfPerson):
    @operation("change_person", PersonSerializer, takes=PersonBody)
    def post(self, given: dict[str, Any]) -> PersonRow:
        """Pause, resume or remove a person, replace the link, or leave answers out."""
        person, change, user = self.row(), given["do"], self.user
        if change == "exclude":
            exclusion.exclude_annotator(person, reason=given["reason"], author=user)
        elif change == "restore":
            exclusion.undo_annotator(person, author=user)
        elif change == "reissue" and not hasattr(person, "invitation"):
            raise inviting.InvitingError(f"{person.name} has no link yet.")
        else:
            CHANGES[change](person, user=user)
        return self.shown()


class PersonalData(OfPerson):
    @operation("download_personal_data", "application/zip")
    def get(self) -> HttpResponseBase:
        """Download all data of a person, to hand out to them."""
        name = f"{self.study.slug}-{self.kwargs['pk']}-personal-data.zip"
        return attachment(name, record.zipped(self.row()), "application/zip")


class WithdrawBody(fields.Body):
    answers = fields.BooleanField(help_text="leave out their answers, too")


class WithdrawnSerializer(serializers.Serializer):
    freed = fields.IntegerField()
    left_out = fields.IntegerField()


class PersonWithdraw(OfPerson):
    @operation("withdraw_consent", WithdrawnSerializer, takes=WithdrawBody)
    def post(self, given: dict[str, Any]) -> Any:
        """Withdraw a person's consent on their request; it cannot be undone."""
        return erasing.withdraw(self.row(), **given, user=self.user)


class EraseBody(fields.Body):
    comments = fields.BooleanField(default=False, help_text="and their free texts")


class ErasedSerializer(serializers.Serializer):
    freed = fields.IntegerField()
    comments = fields.IntegerField()
    is_new = fields.BooleanField(help_text="false: erased before")


class PersonErase(OfPerson):
    @operation("erase_person", ErasedSerializer, takes=EraseBody)
    def post(self, given: dict[str, Any]) -> Any:
        """Erase a person's data for good; the answers stay."""
        return erasing.erase(self.row(), **given, user=self.user)
