"""Public links of a study, ways back, its crowd platform, and pay."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet
from django.http import Http404, HttpResponseBase
from django.urls import reverse
from drf_spectacular.utils import OpenApiParameter
from pydantic import ValidationError
from rest_framework import serializers

from annotate.access.server_address import links_begin_with
from annotate.api import fields
from annotate.api.base import StudyView, attachment, refuse_unknown
from annotate.api.operations import list_operation, operation, show_operation
from annotate.api.people import address
from annotate.api.refusals import Refused
from annotate.models import JoinLink, Visit
from annotate.payment import deciding
from annotate.payment.costs import costs
from annotate.payment.exports import FILES
from annotate.payment.rules import BonusRule, bonus_signals, read_amount
from annotate.payment.table import PersonRow, people_rows
from annotate.people import joining, outcomes, places, visits
from annotate.people.invitation_list import LONGEST_NOTE
from annotate.schema import problems_of
from annotate.studies.changing import change_recruitment
from annotate.studies.recruitment import Recruitment

MOST = places.MOST_JOINERS


class LinkSerializer(serializers.ModelSerializer):
    address = fields.SerializerMethodField()
    places = fields.IntegerField(source="most")
    is_open = fields.BooleanField()
    any_device = fields.BooleanField(help_text="people may switch device")
    Meta = fields.meta(
        JoinLink,
        "id address places joined language cap any_device note is_open created_at "
        "closed_at",
    )

    def get_address(self, link: JoinLink) -> str:
        base = links_begin_with(self.context["request"])
        query = outcomes.platform_of(link.study).query
        return base + reverse("join", args=[link.token]) + query


class LinkBody(fields.Body):
    places = fields.IntegerField(min_value=1, max_value=MOST)
    language = fields.CharField(default="", allow_blank=True, max_length=10)
    cap = fields.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="most stories"
    )
    any_device = fields.BooleanField(
        default=False, help_text="people may switch device"
    )
    note = fields.CharField(default="", allow_blank=True, max_length=LONGEST_NOTE)


class LinkChangeBody(fields.Body):
    places = fields.IntegerField(required=False, min_value=1, max_value=MOST)
    any_device = fields.BooleanField(required=False)


class RecruitmentView(StudyView):
    tag = "people"
    readers = "manager"


class OfLinks(RecruitmentView):
    def rows(self) -> QuerySet[JoinLink]:
        return self.study.join_links.select_related("study")


class LinkList(OfLinks):
    get = list_operation(
        "list_public_links",
        LinkSerializer,
        "List the public links, with places left and taken.",
    )

    @operation("make_public_link", LinkSerializer, takes=LinkBody, status=201)
    def post(self, given: dict[str, Any]) -> JoinLink:
        """Create a public link."""
        most = given.pop("places")
        link = joining.make_link(self.study, most=most, user=self.user, **given)
        self.locate("public-link", self.study.slug, link.pk)
        return link


class Link(OfLinks):
    get = show_operation("get_public_link", LinkSerializer, "Return one public link.")

    @operation("change_public_link", LinkSerializer, takes=LinkChangeBody)
    def patch(self, given: dict[str, Any]) -> Any:
        """Change the number of places, or let people switch device."""
        link, user = self.row(), self.user
        if "places" in given:
            places.set_places(link, given["places"], user=user)
        if "any_device" in given:
            joining.trust_ids(link, any_device=given["any_device"], user=user)
        return self.row()

    @operation("close_public_link")
    def delete(self) -> None:
        """Close a public link; people who have joined can continue."""
        joining.close_link(self.row(), user=self.user)


class VisitSerializer(serializers.ModelSerializer):
    person = fields.CharField(source="annotator.name")
    code = fields.CharField(help_text="what the person tells you")
    Meta = fields.meta(Visit, "id person code created_at admitted_at")


class VisitList(RecruitmentView):
    get = list_operation(
        "list_requests_to_return",
        VisitSerializer,
        "List the people who ask to continue in another browser.",
    )

    def rows(self) -> list[Visit]:
        return visits.requests(self.study)


class VisitAdmit(RecruitmentView):
    def rows(self) -> QuerySet[Visit]:
        own = Visit.objects.filter(annotator__study=self.study)
        return own.select_related("annotator")

    @operation("admit_browser", VisitSerializer)
    def post(self) -> Any:
        """Let a browser in as the person who asked; repeating is harmless."""
        visits.admit(self.row(), user=self.user)
        return self.row()


class CostsSerializer(serializers.Serializer):
    currency = fields.CharField()
    spent = fields.DecimalField(max_digits=12, decimal_places=2)
    committed = fields.DecimalField(max_digits=12, decimal_places=2)
    to_finish = fields.DecimalField(max_digits=12, decimal_places=2)


class RecruitmentBody(fields.Body):
    settings = fields.DictField(help_text="as `recruitment` in the study file")


class RecruitmentSerializer(serializers.Serializer):
    settings = fields.DictField(help_text="as `recruitment` in the study file")
    costs = CostsSerializer(allow_null=True)


class Recruiting(RecruitmentView):
    get = show_operation(
        "get_recruitment",
        RecruitmentSerializer,
        "Return platform, codes, pay and costs.",
    )

    def row(self, **of: Any) -> dict[str, Any]:
        return {"settings": self.study.recruitment, "costs": costs(self.study)}

    @operation("change_recruitment", RecruitmentSerializer, takes=RecruitmentBody)
    def put(self, given: dict[str, Any]) -> dict[str, Any]:
        """Set the crowd platform, its codes and the pay."""
        try:
            recruitment = Recruitment.model_validate(given["settings"])
        except ValidationError as error:
            found = [(".".join(map(str, p.path)), p.text) for p in problems_of(error)]
            raise Refused(
                {path or "settings": [text] for path, text in found}
            ) from error
        change_recruitment(self.study, recruitment, user=self.user)
        return self.row()


NAME = OpenApiParameter("name", str, "path", enum=[*FILES])


class PeopleFile(RecruitmentView):
    @operation("download_people", "text/csv", parameters=[NAME])
    def get(self) -> HttpResponseBase:
        """Download the table of people, or what a platform takes of it."""
        name = self.kwargs["name"]
        if name not in FILES:
            raise Http404
        _label, contents = FILES[name]
        rows = people_rows(self.study)
        text = contents(rows, lambda token: address(self.request, token))
        file = f"{self.study.slug}-{name}.csv"
        return attachment(file, text, "text/csv; charset=utf-8")


DECISIONS: dict[str, Callable[..., deciding.Decided]] = {
    "approve": deciding.approve,
    "reject": deciding.reject,
    "bonus": deciding.give_bonus,
    "paid": deciding.mark_paid,
    "take-back": deciding.take_back,
}


class PayBody(fields.Body):
    do = fields.ChoiceField([*DECISIONS])
    people = fields.ids(allow_empty=False, max_length=10_000, help_text="ids")
    reason = fields.CharField(
        default="", allow_blank=True, max_length=deciding.LONGEST_REASON
    )
    amount = fields.CharField(default="", max_length=10, help_text="such as 1.50")
    rule = fields.ChoiceField(
        BonusRule.values, default=BonusRule.FIXED, help_text="what earns the amount"
    )


class UnchangedSerializer(serializers.Serializer):
    person = fields.CharField()
    reason = fields.CharField()


class DecidedSerializer(serializers.Serializer):
    changed = fields.IntegerField()
    unchanged = UnchangedSerializer(many=True)


class Pay(RecruitmentView):
    @operation("decide_pay", DecidedSerializer, takes=PayBody)
    def post(self, given: dict[str, Any]) -> dict[str, Any]:
        """Approve, reject, set a bonus, mark as paid, or take back."""
        rows = {row.annotator.pk: row for row in people_rows(self.study)}
        text = "The study has nobody with the id {}."
        refuse_unknown(given["people"], rows, "people", text)
        done = self.decide(given, [rows[pk] for pk in rows if pk in given["people"]])
        unchanged = [{"person": name, "reason": why} for name, why in done.unchanged]
        return {"changed": done.changed, "unchanged": unchanged}

    def decide(self, given: dict[str, Any], rows: list[PersonRow]) -> deciding.Decided:
        """Carry out a decision about the pay of people."""
        decide, more = DECISIONS[given["do"]], list[Any]()
        if given["do"] == "reject":
            more = [given["reason"]]
        elif given["do"] == "bonus":
            more = [given["rule"], read_amount(given["amount"])]
            rows = bonus_signals(rows) if given["rule"] == BonusRule.CHECK else rows
        return decide(rows, *more, user=self.user)
