"""Public links of a study, its crowd platform, and pay."""

from typing import Any

from django.http import Http404, HttpResponseBase
from django.shortcuts import get_object_or_404
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from pydantic import ValidationError
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.access.server_address import links_begin_with
from annotate.api.base import (
    AnyType,
    Body,
    Listed,
    StudyView,
    attachment,
    created,
    read,
)
from annotate.api.people import address
from annotate.api.refusals import Refused
from annotate.models import JoinLink
from annotate.payment import deciding
from annotate.payment.costs import costs
from annotate.payment.exports import FILES
from annotate.payment.rules import BonusRule, bonus_signals, read_amount
from annotate.payment.table import PersonRow, people_rows
from annotate.people import joining, outcomes, places
from annotate.people.invitation_list import LONGEST_NOTE
from annotate.schema import problems_of
from annotate.studies.changing import change_recruitment
from annotate.studies.recruitment import Recruitment

MOST = places.MOST_JOINERS


class LinkSerializer(serializers.ModelSerializer):
    address = serializers.SerializerMethodField()
    places = serializers.IntegerField(source="most")
    is_open = serializers.BooleanField()

    class Meta:
        model = JoinLink
        fields = (
            "id",
            "address",
            "places",
            "joined",
            "language",
            "cap",
            "any_device",
            "note",
            "is_open",
            "created_at",
            "closed_at",
        )

    def get_address(self, link: JoinLink) -> str:
        base = links_begin_with(self.context["request"])
        query = outcomes.platform_of(link.study).query
        return base + reverse("join", args=[link.token]) + query


class LinkBody(Body):
    places = serializers.IntegerField(min_value=1, max_value=MOST)
    language = serializers.CharField(default="", allow_blank=True, max_length=10)
    cap = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="most stories"
    )
    any_device = serializers.BooleanField(
        default=False, help_text="people may switch device"
    )
    note = serializers.CharField(default="", allow_blank=True, max_length=LONGEST_NOTE)


class LinkChangeBody(Body):
    places = serializers.IntegerField(required=False, min_value=1, max_value=MOST)
    any_device = serializers.BooleanField(required=False)


class LinkList(Listed, StudyView):
    readers = "manager"

    @extend_schema(
        operation_id="list_public_links",
        tags=["people"],
        responses=LinkSerializer(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """List the public links, with places left and taken."""
        links = self.study.join_links.select_related("study")
        return self.page(links, LinkSerializer, request=request)

    @extend_schema(
        operation_id="make_public_link",
        tags=["people"],
        request=LinkBody,
        responses={201: LinkSerializer},
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create a public link."""
        given = read(LinkBody, request)
        most = given.pop("places")
        link = joining.make_link(self.study, most=most, user=request.user, **given)
        shown = LinkSerializer(link, context={"request": request}).data
        return created(shown, "api-public-link", slug, link.pk)


class Link(StudyView):
    readers = "manager"

    def link(self, pk: int) -> JoinLink:
        return get_object_or_404(self.study.join_links, pk=pk)

    def shown(self, pk: int) -> Response:
        shown = LinkSerializer(self.link(pk), context={"request": self.request})
        return Response(shown.data)

    @extend_schema(
        operation_id="get_public_link", tags=["people"], responses=LinkSerializer
    )
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return one public link."""
        return self.shown(pk)

    @extend_schema(
        operation_id="change_public_link",
        tags=["people"],
        request=LinkChangeBody,
        responses=LinkSerializer,
    )
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Change the number of places, or let people switch device."""
        link, given = self.link(pk), read(LinkChangeBody, request)
        if "places" in given:
            places.set_places(link, given["places"], user=request.user)
        if "any_device" in given:
            any_device = given["any_device"]
            joining.trust_ids(link, any_device=any_device, user=request.user)
        return self.shown(pk)

    @extend_schema(
        operation_id="close_public_link", tags=["people"], responses={204: None}
    )
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Close a public link; people who have joined can continue."""
        joining.close_link(self.link(pk), user=request.user)
        return Response(status=204)


class CostsSerializer(serializers.Serializer):
    currency = serializers.CharField()
    spent = serializers.DecimalField(max_digits=12, decimal_places=2)
    committed = serializers.DecimalField(max_digits=12, decimal_places=2)
    to_finish = serializers.DecimalField(max_digits=12, decimal_places=2)


class RecruitmentSerializer(serializers.Serializer):
    settings = serializers.DictField(help_text="as `recruitment` in the study file")
    costs = CostsSerializer(allow_null=True)


class RecruitmentBody(Body):
    settings = serializers.DictField(help_text="as `recruitment` in the study file")


class Recruiting(StudyView):
    readers = "manager"

    def shown(self) -> Response:
        found = {"settings": self.study.recruitment, "costs": costs(self.study)}
        return Response(RecruitmentSerializer(found).data)

    @extend_schema(
        operation_id="get_recruitment", tags=["people"], responses=RecruitmentSerializer
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return platform, codes, pay and costs."""
        return self.shown()

    @extend_schema(
        operation_id="change_recruitment",
        tags=["people"],
        request=RecruitmentBody,
        responses=RecruitmentSerializer,
    )
    def put(self, request: Request, slug: str) -> Response:
        """Set the crowd platform, its codes and the pay."""
        given = read(RecruitmentBody, request)["settings"]
        try:
            recruitment = Recruitment.model_validate(given)
        except ValidationError as error:
            found = [(".".join(map(str, p.path)), p.text) for p in problems_of(error)]
            raise Refused(
                {path or "settings": [text] for path, text in found}
            ) from error
        change_recruitment(self.study, recruitment, user=request.user)
        return self.shown()


class PeopleFile(StudyView):
    readers = "manager"
    content_negotiation_class = AnyType

    @extend_schema(
        operation_id="download_people",
        tags=["people"],
        parameters=[OpenApiParameter("name", str, "path", enum=[*FILES])],
        responses={(200, "text/csv"): OpenApiTypes.STR},
    )
    def get(self, request: Request, slug: str, name: str) -> HttpResponseBase:
        """Download the table of people, or what a platform takes of it."""
        if name not in FILES:
            raise Http404
        _label, contents = FILES[name]
        rows = people_rows(self.study)
        text = contents(rows, lambda token: address(request, token))
        return attachment(f"{slug}-{name}.csv", text, "text/csv; charset=utf-8")


class PayBody(Body):
    do = serializers.ChoiceField(["approve", "reject", "bonus", "paid", "take-back"])
    people = serializers.ListField(
        child=serializers.IntegerField(min_value=1, max_value=2**63 - 1),
        allow_empty=False,
        max_length=10_000,
        help_text="ids",
    )
    reason = serializers.CharField(
        default="", allow_blank=True, max_length=deciding.LONGEST_REASON
    )
    amount = serializers.CharField(default="", max_length=10, help_text="such as 1.50")
    rule = serializers.ChoiceField(
        BonusRule.values, default=BonusRule.FIXED, help_text="what earns the amount"
    )


class UnchangedSerializer(serializers.Serializer):
    person = serializers.CharField()
    reason = serializers.CharField()


class DecidedSerializer(serializers.Serializer):
    changed = serializers.IntegerField()
    unchanged = UnchangedSerializer(many=True)


class Pay(StudyView):
    @extend_schema(
        operation_id="decide_pay",
        tags=["people"],
        request=PayBody,
        responses=DecidedSerializer,
    )
    def post(self, request: Request, slug: str) -> Response:
        """Approve, reject, set a bonus, mark as paid, or take back."""
        given = read(PayBody, request)
        wanted = set(given["people"])
        rows = [one for one in people_rows(self.study) if one.annotator.pk in wanted]
        if missing := wanted - {row.annotator.pk for row in rows}:
            raise Refused(
                {"people": f"The study has nobody with the id {min(missing)}."}
            )
        done = _decided(given, rows, request.user)
        unchanged = [{"person": name, "reason": why} for name, why in done.unchanged]
        return Response({"changed": done.changed, "unchanged": unchanged})


def _decided(
    given: dict[str, Any], rows: list[PersonRow], user: Any
) -> deciding.Decided:
    match given["do"]:
        case "approve":
            return deciding.approve(rows, user=user)
        case "reject":
            return deciding.reject(rows, given["reason"], user=user)
        case "bonus":
            amount, rule = read_amount(given["amount"]), given["rule"]
            rows = bonus_signals(rows) if rule == BonusRule.CHECK else rows
            return deciding.give_bonus(rows, rule, amount, user=user)
        case "paid":
            return deciding.mark_paid(rows, user=user)
        case _:
            return deciding.take_back(rows, user=user)
