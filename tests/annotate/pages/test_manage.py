"""Pages of a study: permissions and numbers."""

import csv
import html
import io
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotate.assignment import choosing
from annotate.models import Annotator, Invitation, Slot, Study, StudyMember, User
from annotate.people import inviting
from annotate.quality import exclusion
from annotate.responses import leasing
from tests.cases import slow
from tests.factories import make_benchmark, make_study
from tests.people import alice, answer_everything, rob
from tests.working import join

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study()


def address(name: str, study: Study) -> str:
    of_slot = [study.slots.first().code] if name == "slot-detail" else []
    return reverse(name, args=[study.slug, *of_slot])


def test_list_shows_only_own_studies(study):
    other = make_study(slug="secret", benchmark=make_benchmark(slug="other"))
    page = alice(study).get(reverse("study-list")).content.decode()
    assert study.title in page
    assert other.title not in page


def test_list_counts_rows_by_study(study):
    answer_everything(study)
    exclusion.exclude(study.slots.first(), reason="x", author=None)
    Study.objects.filter(pk=study.pk).update(rounds=2)
    empty = make_study(annotators=1, slug="empty", benchmark=make_benchmark(slug="b"))
    empty.slots.all().delete()
    empty.units.all().delete()
    empty.annotators.all().delete()
    client = alice(study)
    StudyMember.objects.create(
        study=empty, user=User.objects.get(username="alice"), role="researcher"
    )
    client.get(reverse("study-list"))
    with CaptureQueriesContext(connection) as asked:
        page = client.get(reverse("study-list"))
    assert [
        (s.slug, s.wanted, s.submitted, s.people)
        for s, _alert in page.context["studies"]
    ] == [("empty", 0, 0, 0), ("trial", 24, 11, 2)]
    slots = [q["sql"] for q in asked if '"annotate_slot"' in q["sql"]]
    assert slots == [], "there may be a million; the units count theirs"


def test_annotators_are_invited_revoked_and_added(study):
    Invitation.objects.all().delete()
    study.annotators.update(state="planned")
    client = alice(study)
    invite = reverse("annotator-invite", args=[study.slug])
    client.post(invite, {"count": 2, "note": "friends"})
    assert Invitation.objects.filter(note="friends").count() == 2
    ann = study.annotators.get(name="A01")
    page = client.post(
        reverse("annotator-action", args=[study.slug, ann.pk, "revoke"]), follow=True
    )
    assert "6 ratings are available to others" in page.content.decode()
    Annotator.objects.create(study=study, name="A00")
    client.post(invite, {"new": "1"})
    assert Annotator.objects.get(name="A00").state == "planned"
    assert Annotator.objects.get(name="A03").state == "invited"
    client.post(invite, {"count": 1})
    page = client.post(invite, {"count": 5}, follow=True).content.decode()
    assert "Everybody who was planned is already invited" in page


def test_picture_outside_study_is_not_found(study):
    unit = study.units.first()
    frame = unit.output_a.frames.first()
    url = reverse("frame-thumb", args=[study.slug, frame.pk])
    client = alice(study)
    assert client.get(url).status_code == 200
    study.slots.filter(unit=unit).delete()
    unit.delete()
    assert client.get(url).status_code == 404


def with_surplus(study):
    """Make one slot surplus, one leased, one excluded with an open replacement."""
    value = "a" if study.is_side_by_side else 3
    answer_everything(study, value)
    slots = list(study.slots.all())
    row = exclusion.exclude(slots[0], reason="asleep", author=None)
    study.annotators.create(name="A03")
    carol = join(study, "A03")
    leasing.take(choosing.next_slot(carol), carol)
    Slot.objects.filter(annotator=carol).update(state="open")
    answer_everything(study, value)
    exclusion.undo(row, author=None)
    exclusion.exclude(slots[3], reason="asleep", author=None)
    exclusion.exclude(slots[5], reason="asleep", author=None)
    leasing.take(choosing.next_slot(carol), carol)


def numbers(page: str, pattern: str) -> list[tuple[str, str]]:
    """Return (address, text) of every link whose text is a number like that."""
    found = re.findall(r'<a [^>]*?href="([^"]+)"[^>]*>([^<]+)', page)
    return [(html.unescape(a), text) for a, text in found if re.match(pattern, text)]


@pytest.mark.parametrize("kind", ["likert", *slow("choice")])
@pytest.mark.parametrize("name", ["study-detail", *slow("annotator-list")])
def test_numbers_link_to_exactly_their_slots(kind, name):
    study = make_study(kind=kind)
    with_surplus(study)
    client = alice(study)
    page = client.get(reverse(name, args=[study.slug])).content.decode()

    def listed(address):
        context = client.get(address).context
        return context["page"].paginator.count

    checked = 0
    for link, text in numbers(page, r"\+?[0-9]+(/[0-9]+)?$"):
        if "/slots/?" not in link or "session=" in link:
            continue
        done, _, wanted = text.lstrip("+").partition("/")
        assert listed(link) == int(wanted or done), (link, text)
        if wanted:
            assert listed(f"{link}&state=submitted") == int(done), (link, text)
        checked += 1
    assert checked >= {"study-detail": 15, "annotator-list": 4}[name]


def test_slot_is_excluded_and_restored(study):
    answer_everything(study)
    slot = study.slots.first()
    client = alice(study)
    url = reverse("slot-exclude", args=[study.slug, slot.code])
    client.post(url, {"reason": ""})
    assert Slot.objects.get(pk=slot.pk).state == "submitted"
    client.post(url, {"reason": "asleep"})
    assert Slot.objects.get(pk=slot.pk).state == "excluded"
    page = client.get(reverse("slot-detail", args=[study.slug, slot.code]))
    assert "asleep" in page.content.decode()
    client.post(reverse("slot-restore", args=[study.slug, slot.code]))
    assert Slot.objects.get(pk=slot.pk).state == "submitted"


@pytest.mark.slow
def test_slot_page_shows_answers_and_outputs(study):
    answer_everything(study, value=4)
    client = alice(study)
    listed = reverse("slot-list", args=[study.slug]) + "?method=Alder&state=submitted"
    slots = list(client.get(listed).context["page"])
    page = client.get(listed)
    assert f"{slots[1].code}/?method=Alder&amp;state=submitted" in page.content.decode()
    url = reverse("slot-detail", args=[study.slug, slots[1].code])
    page = client.get(f"{url}?method=Alder&state=submitted").content.decode()
    for text in (
        "How good is character?",
        "perfect",
        "Fox walks 2",
        "Back to the list",
    ):
        assert text in page
    frame = slots[1].unit.output_a.frames.first()
    large = reverse("frame-display", args=[study.slug, frame.pk])
    assert large in page
    assert client.get(large).status_code == 200
    assert f"{slots[0].code}/?method=Alder" in page
    assert f"{slots[2].code}/?method=Alder" in page
    assert "?annotator=" in page
    ends = [
        client.get(
            f"{reverse('slot-detail', args=[study.slug, slot.code])}?method=Alder"
        ).context
        for slot in (slots[0], slots[-1])
    ]
    assert ends[0]["before"] == ends[1]["after"] == ""


def test_slot_page_of_pair_names_chosen_method():
    study = make_study(kind="choice")
    answer_everything(study, value="b")
    slot = study.slots.first()
    context = (
        alice(study).get(reverse("slot-detail", args=[study.slug, slot.code])).context
    )
    chosen = slot.unit.output_b.method.name
    assert [words for _answer, words, _mark in context["answers"]] == [chosen, chosen]


@pytest.mark.slow
def test_too_long_text_is_refused_with_its_length(study):
    answer_everything(study)
    slot = study.slots.first()
    client = alice(study)
    url = reverse("slot-exclude", args=[study.slug, slot.code])
    page = client.post(url, {"reason": "x" * 301}, follow=True).content.decode()
    assert "at most 300 characters" in page
    assert Slot.objects.get(pk=slot.pk).state == "submitted"
    Annotator.objects.create(study=study, name="A00")
    url = reverse("annotator-invite", args=[study.slug])
    page = client.post(url, {"count": 1, "note": "x" * 201}, follow=True)
    assert "at most 200 characters; these are 201" in page.content.decode()
    assert Annotator.objects.get(name="A00").state == "planned"


def test_nul_character_is_a_bad_request(study):
    answer_everything(study)
    client = alice(study)
    slots = reverse("slot-list", args=[study.slug])
    assert client.get(f"{slots}?method=%00").status_code == 400
    assert client.get(f"{slots}?%00=x").status_code == 400
    assert client.get(f"{slots}%00").status_code == 400
    assert client.get(f"{slots}?method=Alder").status_code == 200
    url = reverse("slot-exclude", args=[study.slug, study.slots.first().code])
    assert client.post(url, {"reason": "a\0b"}).status_code == 400
    assert client.post(url, {"reason": "asleep"}).status_code == 302


def test_picture_address_accepts_small_ascii_numbers_only(study, subtests):
    slot = join(study, "A01").slots.first()
    base = f"/rate/{slot.annotator.invitation.token}/story/{slot.code}"
    client = Client()
    assert client.get(f"{base}/only/1/thumb/").status_code == 200
    for number in ["9" * 5000, "٣", "99999", "-1", "1a"]:
        with subtests.test(number[:9]):
            assert client.get(f"{base}/only/{number}/thumb/").status_code == 404
            assert client.get(f"{base}/character/{number}/1/thumb/").status_code == 404
            assert client.get(f"{base}/character/0/{number}/thumb/").status_code == 404


def test_links_and_codes_share_a_table(study):
    answer_everything(study)
    now = timezone.now()
    study.annotators.filter(name="A01").update(consented_at=now, finished_at=now)
    first, second = Invitation.objects.order_by("annotator__name")
    Invitation.objects.filter(pk=first.pk).update(note="=HYPERLINK(1)")
    client = alice(study)
    inviting.revoke(second.annotator)
    answer = client.get(reverse("annotator-file", args=[study.slug, "people"]))
    assert "no-store" in answer["Cache-Control"]
    assert "trial-people.csv" in answer["Content-Disposition"]
    rows = list(csv.DictReader(io.StringIO(answer.content.decode())))
    assert [row["annotator"] for row in rows] == ["A01", "A02"]
    entry = reverse("rate-entry", args=[first.token])
    assert rows[0]["link"] == f"http://testserver{entry}"
    assert rows[1]["link"] == ""
    assert rows[0]["note"] == "'=HYPERLINK(1)"
    assert rows[0]["completion_code"] == first.annotator.completion_code
    assert rows[0]["outcome"] == "completed"
    assert rows[1]["completion_code"] == "", "has not agreed to anything"
    assert (rows[0]["stories"], rows[0]["planned"]) == ("6", "6")


def test_completion_codes_require_manager(study):
    url = reverse("annotator-list", args=[study.slug])
    code = study.annotators.first().completion_code
    assert code not in alice(study).get(url).content.decode()
    now = timezone.now()
    study.annotators.update(consented_at=now, finished_at=now, completed_at=now)
    assert code in alice(study).get(url).content.decode()
    assert code not in rob(study).get(url).content.decode()


def test_hostile_names_are_shown_as_text(study):
    Annotator.objects.filter(name="A01").update(name="<script>alert(1)</script>")
    page = alice(study).get(reverse("study-detail", args=[study.slug]))
    assert "<script>alert" not in page.content.decode()


def test_pages_have_strict_content_policy(study):
    policy = alice(study).get(reverse("study-list"))["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy


def test_links_begin_with_base_url(study, settings):
    url = reverse("annotator-list", args=[study.slug])
    link = reverse("rate-entry", args=[Invitation.objects.first().token])
    assert f"http://testserver{link}" in alice(study).get(url).content.decode()
    settings.BASE_URL = "https://study.example.org"
    page = alice(study).get(url).content.decode()
    assert f"https://study.example.org{link}" in page
