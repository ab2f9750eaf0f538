"""The page of people: filters, decisions, files, and what researchers may see."""

import csv
import io

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.models import Payment
from annotate.payment import deciding
from annotate.payment.table import people_rows
from annotate.personal_data import erasing, record
from tests.annotate.payment.crowd import crowd_study
from tests.people import alice, rob

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return crowd_study()


def page(study, **query):
    return alice(study).get(reverse("annotator-list", args=[study.slug]), query)


def names(answer):
    return [row.annotator.name for row in answer.context["rows"]]


def pay(study, action, *numbers, query="", follow=False, **fields):
    people = study.annotators.filter(name__in=[f"A{n:02}" for n in numbers])
    return alice(study).post(
        reverse("annotator-pay", args=[study.slug]) + query,
        {"action": action, "person": [person.pk for person in people], **fields},
        follow=follow,
    )


def file(study, name):
    answer = alice(study).get(reverse("annotator-file", args=[study.slug, name]))
    assert f"{study.slug}-{name}.csv" in answer["Content-Disposition"]
    return answer.content.decode()


def test_people_who_left_or_are_doubtful_come_first(study):
    assert names(page(study))[:5] == ["A07", "A08", "A14", "A15", "A01"]
    assert names(page(study, show="left")) == ["A14", "A15"]
    assert names(page(study, show="undecided")) == (
        ["A07", "A08", "A14", "A15", "A01", "A02", "A03", "A04", "A05", "A06", "A17"]
    )
    assert "Nobody matches" in page(study, show="paid").content.decode()


def test_ticked_people_are_approved_rejected_and_paid(study):
    shown = pay(study, "approve", 1, 2, 18, query="?show=finished", follow=True)
    assert shown.redirect_chain[-1][0].endswith("?show=finished")
    text = shown.content.decode()
    assert "2 people approved." in text
    assert "Left unchanged: A18 (has not started)." in text
    pay(study, "reject", 8, reason="<b>Too fast</b>")
    text = page(study).content.decode()
    assert "&lt;b&gt;Too fast" in text
    pay(study, "bonus", 1, amount="0.10", rule="story")
    assert "bonus 0.60 GBP" in page(study).content.decode()
    pay(study, "paid", 1)
    payment = Payment.objects.get(annotator__name="A01")
    assert payment.paid_at
    assert payment.decided_by.username == "alice"
    assert names(page(study, show="due")) == ["A02"]
    assert names(page(study, show="paid")) == ["A01"]


def test_box_for_everybody_means_the_filter(study):
    everybody = {"everybody": "1", "follow": True}
    text = pay(study, "approve", query="?show=finished", **everybody).content.decode()
    assert "8 people approved." in text
    assert Payment.objects.count() == 8


@pytest.mark.slow
def test_invalid_requests_change_nothing(study):
    for fields, said in (
        ({"action": "approve"}, "tick the people first"),
        ({"action": "approve", "person": ["x", "99999"]}, "tick the people first"),
        ({"action": "reject", "everybody": 1}, "give a reason"),
        ({"action": "bonus", "everybody": 1, "amount": "much"}, "such as 1.50"),
        (
            {"action": "bonus", "everybody": 1, "amount": "1", "rule": "x"},
            "bonus is for",
        ),
        (
            {"action": "bonus", "everybody": 1, "amount": "9999", "rule": "story"},
            "the most is 10000",
        ),
    ):
        url = reverse("annotator-pay", args=[study.slug])
        text = alice(study).post(url, fields, follow=True).content.decode()
        assert said in text, fields
    assert alice(study).post(url, {"action": "x", "everybody": 1}).status_code == 404
    assert not Payment.objects.exists()


def test_people_of_another_study_are_not_decided_about(study):
    person = study.annotators.get(name="A01")
    other = crowd_study_of_two("hills")
    url = reverse("annotator-pay", args=[other.slug])
    alice(other).post(url, {"action": "approve", "person": [person.pk]})
    assert not Payment.objects.exists()


def crowd_study_of_two(slug):
    from tests.factories import make_benchmark, make_study

    return make_study(slug=slug, benchmark=make_benchmark(slug=slug), consented=True)


def test_files_for_prolific_leave_out_people_who_are_paid(study):
    ids = dict(study.annotators.values_list("name", "external_id"))
    deciding.approve(
        [row for row in people_rows(study) if row.work.counted == 6], user=None
    )
    pay(study, "bonus", 1, 14, amount="1.5", rule="fixed")
    pay(study, "paid", 2)
    study.annotators.filter(name="A03").update(external_id="=1+1")
    approved = file(study, "prolific-approve").splitlines()
    assert approved == [ids[f"A{n:02}"] for n in (7, 8, 1, 4, 5, 6)]
    bonuses = file(study, "prolific-bonus").splitlines()
    assert bonuses == [f"{ids['A01']},1.50", f"{ids['A14']},1.50"]
    pay(study, "paid", 1)
    assert ids["A01"] not in file(study, "prolific-bonus")


@pytest.mark.slow
def test_files_for_mechanical_turk_have_its_columns(study):
    ids = dict(study.annotators.values_list("name", "external_id"))
    pay(study, "approve", 1)
    pay(study, "reject", 8, reason="=Too fast")
    pay(study, "bonus", 1, amount="2", rule="fixed")
    approved, rejected = csv.DictReader(io.StringIO(file(study, "mturk-review")))
    assert (approved["WorkerId"], approved["Approve"]) == (ids["A01"], "X")
    assert (rejected["WorkerId"], rejected["Reject"]) == (ids["A08"], "'=Too fast")
    assert rejected["Approve"] == approved["Reject"] == ""
    (given,) = csv.DictReader(io.StringIO(file(study, "mturk-bonus")))
    assert (given["WorkerId"], given["BonusAmount"]) == (ids["A01"], "2.00")
    assert given["Reason"]


def test_researcher_sees_no_ids_codes_or_pay(study):
    pay(study, "reject", 1, reason="Too fast")
    client = rob(study)
    ann = study.annotators.get(name="A01")
    urls = [reverse("annotator-file", args=[study.slug, "people"])]
    urls += [
        reverse(name, args=[study.slug]) for name in ("annotator-list", "annotator-pay")
    ]
    assert client.post(urls[-1], {"action": "approve"}).status_code == 403
    assert all(client.get(url).status_code in (403, 405) for url in urls)
    log = client.get(reverse("event-list", args=[study.slug]) + "?kind=payment+decided")
    table = client.get(reverse("coverage-csv", args=[study.slug, "events"]))
    progress = client.get(reverse("study-detail", args=[study.slug])).content
    texts = [log.content, b"".join(table.streaming_content), progress]
    for text in texts:
        for secret in (
            b"Too fast",
            ann.external_id.encode(),
            ann.completion_code.encode(),
        ):
            assert secret not in text
    assert b"left" in progress
    mine = alice(study).get(reverse("event-list", args=[study.slug]))
    assert "Too fast" in mine.content.decode()


@pytest.mark.slow
def test_button_of_a_row_returns_to_the_filter(study):
    ann = study.annotators.get(name="A09")
    url = reverse("annotator-action", args=[study.slug, ann.pk, "pause"])
    answer = alice(study).post(f"{url}?show=working", {"back": "people"})
    people = reverse("annotator-list", args=[study.slug])
    assert answer["Location"] == f"{people}?show=working"
    assert alice(study).post(url)["Location"] == reverse(
        "study-detail", args=[study.slug]
    )


@pytest.mark.slow
def test_number_of_queries_does_not_grow(study, django_assert_max_num_queries):
    client, url = alice(study), reverse("annotator-list", args=[study.slug])
    client.get(url)
    with django_assert_max_num_queries(45) as few:
        client.get(url)
    study.annotators.bulk_create(
        type(study.annotators.first())(study=study, name=f"B{n:03}", state="invited")
        for n in range(60)
    )
    with django_assert_max_num_queries(len(few)):
        answer = client.get(url)
    assert len(answer.context["rows"]) == 50
    assert answer.context["page"].paginator.num_pages == 2


@pytest.mark.slow
def test_pay_is_in_the_record_and_erased_names_leave_its_reasons(study):
    pay(study, "reject", 1, reason="Jane Doe was too fast")
    study.annotators.filter(name="A01").update(external_id="Jane Doe")
    ann = study.annotators.get(name="A01")
    known = dict(record.known(ann))
    assert known["pay"] == "rejected: Jane Doe was too fast"
    erasing.erase(ann)
    payment = Payment.objects.get()
    assert payment.reason == "A01 was too fast"
    told = [str(event.details) for event in study.events.all()]
    assert not any("Jane" in text for text in told)
    assert payment.decided_at < timezone.now()
