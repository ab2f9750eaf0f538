"""Dashboard: numbers, tables, permissions and number of queries."""

import csv
import html
import io
import json
import re

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate import tasks
from annotate.coverage import counts, dashboard, snapshots
from annotate.models import (
    Annotator,
    Event,
    Flag,
    Purpose,
    Rating,
    Skip,
    Slot,
    Study,
    Unit,
)
from annotate.quality import exclusion
from annotate.studies.changing import withdraw_units
from tests.factories import make_benchmark, make_study
from tests.people import alice, answer_everything
from tests.studies import flag, running_study, set_aside

pytestmark = pytest.mark.django_db


@pytest.fixture
def study():
    return make_study(consented=True)


@pytest.fixture
def running():
    return running_study(timezone.now())


def page(study, client=None, **query):
    url = reverse("study-detail", args=[study.slug])
    return (client or alice(study)).get(url, query).content.decode()


def table(study, name):
    answer = alice(study).get(reverse("coverage-csv", args=[study.slug, name]))
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


def posts(study):
    ann = study.annotators.first()
    found = flag(ann, "warn", "fast")
    return [
        reverse("annotator-action", args=[study.slug, ann.pk, "pause"]),
        reverse("annotator-action", args=[study.slug, ann.pk, "resume"]),
        reverse("annotator-action", args=[study.slug, ann.pk, "revoke"]),
        reverse("flag-resolve", args=[study.slug, found.pk]),
        reverse("unit-hand-out", args=[study.slug, study.units.first().pk]),
    ]


def test_dashboard_buttons_pause_resume_revoke_and_resolve(study):
    client = alice(study)
    pause, resume, revoke, settle, hand_out = posts(study)
    ann = study.annotators.first()
    for url, state in ((pause, "paused"), (resume, "active"), (revoke, "revoked")):
        answer = client.post(url, follow=True)
        assert ann.name in answer.content.decode()
        assert Annotator.objects.get(pk=ann.pk).state == state
    assert "not paused" in client.post(resume, follow=True).content.decode()
    client.post(settle)
    settled = Flag.objects.get()
    assert settled.resolved_by.username == "alice"
    assert client.post(hand_out).status_code == 302
    odd = reverse("annotator-action", args=[study.slug, ann.pk, "praise"])
    assert client.post(odd).status_code == 404


@pytest.mark.slow
def test_alert_has_actions_for_paused_annotator(study):
    ann = study.annotators.first()
    warning, pause = flag(ann, "warn", "fast"), flag(ann, "pause", "faster")
    answer_everything(study)
    client = alice(study)
    client.post(reverse("annotator-action", args=[study.slug, ann.pk, "pause"]))
    box = re.search('<article class="alert.*?</article>', page(study, client), re.S)[0]
    views = reverse("view-list", args=[study.slug])
    assert 'name="then" value="leave out"' in box
    assert reverse("annotator-action", args=[study.slug, ann.pk, "resume"]) in box
    assert 'name="then" value="remove"' in box
    chosen = client.get(views, {"annotator": ann.name}).content.decode()
    assert f'<option value="{ann.name}" selected>' in chosen
    assert 'id="exclude-all"' in chosen
    assert 'value="faster"' in chosen
    settle = reverse("alert-settle", args=[study.slug])
    for found in (warning, pause):
        assert f'name="flag" value="{found.pk}"' in box
    sent = {"person": ann.pk, "flag": [pause.pk, warning.pk, "x"], "then": ""}
    told = client.post(settle, sent, follow=True)
    assert f"about {ann.name} are marked as handled. {ann.name} stays paused." in (
        told.content.decode()
    )
    assert not Flag.objects.filter(resolved_at=None).exists()
    assert '<article class="alert' not in page(study, client)


def test_flag_of_another_annotator_is_not_resolved(study):
    first, second = study.annotators.all()
    mine, other = flag(first, "warn", "fast"), flag(second, "warn", "fast")
    url = reverse("alert-settle", args=[study.slug])
    alice(study).post(url, {"person": first.pk, "flag": [mine.pk, other.pk]})
    assert list(Flag.objects.filter(resolved_at=None)) == [other]


@pytest.mark.slow
def test_checks_are_counted_beside_slots_and_linked(study):
    ann = study.annotators.first()
    answer_everything(study)
    gold = Unit.objects.create(
        study=study,
        story=study.units.first().story,
        purpose=Purpose.GOLD,
        output_a=study.units.first().output_a,
        expected={"character": [3, 4]},
    )
    now = timezone.now()
    for state in ("submitted", "open"):
        done = {"submitted_at": now, "started_at": now} if state == "submitted" else {}
        Slot.objects.create(
            study=study,
            unit=gold,
            annotator=ann,
            purpose=Purpose.GOLD,
            state=state,
            round=1 + (state == "open"),
            **done,
        )
    shown = page(study)
    assert "6/6" in shown
    assert "+1 check<" in shown
    link = html.unescape(re.search(r'href="([^"]+part=checks[^"]*)"', shown)[1])
    listed = alice(study).get(link)
    assert listed.context["page"].paginator.count == 1
    text = listed.content.decode()
    assert ">known-answer check</td>" in text
    assert ">extra (not counted)</td>" not in text
    slot = Slot.objects.get(purpose=Purpose.GOLD, state="submitted")
    own = reverse("slot-detail", args=[study.slug, slot.code])
    assert "<dd>known-answer check</dd>" in alice(study).get(own).content.decode()


def check(study, purpose, value, **of):
    """Create a check answered by the first annotator, on the first slot's unit."""
    first = study.slots.filter(annotator__name="A01").first()
    now = timezone.now()
    slot = Slot.objects.create(
        study=study,
        annotator=first.annotator,
        purpose=purpose,
        state="submitted",
        started_at=now,
        submitted_at=now,
        **{"unit": first.unit, **of},
    )
    for question in study.questions.all():
        Rating.objects.create(
            slot=slot,
            question=question,
            annotator=first.annotator,
            value=value,
            scale_min=0,
            scale_max=4,
        )
    return slot


def slot_page(study, slot):
    url = reverse("slot-detail", args=[study.slug, slot.code])
    return alice(study).get(url).content.decode()


def test_gold_slot_shows_expected_answers(study):
    one = study.units.first()
    gold = Unit.objects.create(
        study=study, story=one.story, output_a=one.output_a, purpose=Purpose.GOLD
    )
    keys = list(study.questions.values_list("key", flat=True))
    gold.expected = dict(zip(keys, ([3, 4], [1, 1]), strict=True))
    gold.save()
    shown = slot_page(study, check(study, Purpose.GOLD, 3, unit=gold))
    assert shown.count("badge good") == 2, "the study is open, one answer is right"
    assert "Expected: 3 to 4 (perfect)" in shown
    assert "not as expected</span>" in shown
    assert "Expected: 1<" in shown


def test_repeat_and_degraded_copy_link_to_compared_slot(study):
    first = study.slots.filter(annotator__name="A01").first()
    twin = Unit.objects.create(
        study=study,
        story=first.unit.story,
        output_a=first.unit.output_a,
        purpose=Purpose.TWIN,
        original=first.unit,
    )
    link = reverse("slot-detail", args=[study.slug, first.code])
    for slot in (
        check(study, Purpose.REPEAT, 3, repeat_of=first),
        check(study, Purpose.TWIN, 1, unit=twin),
    ):
        shown = slot_page(study, slot)
        assert f'<a href="{link}">the answer to the original' in shown
        assert "Expected" not in shown
    assert "the answer to the original" not in slot_page(study, first)


@pytest.mark.slow
def test_set_aside_unit_is_offered_again(running):
    set_aside(running, timezone.now())
    assert "Offer to others" in page(running)
    assert "⚑" in page(running)
    unit = running.units.get(set_aside_at__isnull=False)
    alice(running).post(reverse("unit-hand-out", args=[running.slug, unit.pk]))
    assert Unit.objects.get(pk=unit.pk).set_aside_at is None
    assert "Offer to others" not in page(running)


@pytest.mark.slow
def test_question_counts_only_stories_it_applies_to(running):
    Study.objects.filter(pk=running.pk).update(template="own")
    running.refresh_from_db()
    first, other, *untagged = running.benchmark.stories.all()
    first.tags, other.tags = {"angle": "TR"}, {"angle": "LI"}
    first.save()
    other.save()
    question = running.questions.first()
    question.stories = {"angle": ["TR", "IQ"]}
    question.save()
    grid = counts.grid(counts.of_question(counts.units(running), running, question))
    asked = [first, *untagged]  # those without the tag, too
    assert [column.label for column in grid.columns] == [one.key for one in asked]
    assert {row.wanted for row in grid.rows} == {6 * len(asked)}
    shown = page(running, question=question.key)
    assert shown.count('<th scope="col" class="number">') < page(running).count(
        '<th scope="col" class="number">'
    )
    assert "All" in page(running, question="nonsense")


def test_imported_answers_may_be_partial(study):
    answer_everything(study)
    question = study.questions.first()
    Rating.objects.filter(question=question, slot=study.slots.first()).delete()
    found = counts.of_question(counts.units(study), study, question)
    assert sorted(unit.done for unit in found) == [1, 2, 2, 2, 2, 2]


@pytest.mark.slow
def test_many_stories_are_folded_and_unfold():
    study = make_study(
        annotators=1,
        benchmark=make_benchmark(stories=45, methods=("Alder",), pictures=False),
    )
    Unit.objects.filter(story__key="05").update(submitted=1)
    shown = page(study)
    assert "01 – 05" in shown
    assert "1/5" in shown
    assert "≥0/1" in shown
    assert "?stories=1-5" in shown
    part = page(study, stories="4-6")
    assert 'story=05&amp;part=wanted">1/1' in part
    assert "story=07" not in part
    assert "show all" in part
    for odd in ("0-3", "9-2", "x", "1-99999999999999999999", "99-100"):
        assert "01 – 05" in page(study, stories=odd)
    assert counts.fold([], "", 15) == []


def test_former_address_leads_to_progress(study):
    url = reverse("study-coverage", args=[study.slug])
    moved = alice(study).get(url, {"stories": "1-3"})
    assert moved.status_code == 301
    assert moved["Location"] == f"/studies/{study.slug}/?stories=1-3"


def test_four_tabs_say_where_a_page_belongs(study, subtests):
    for name, current in [
        ("study-detail", {"Progress": "page"}),
        ("study-redistribute", {"Progress": "true"}),
        ("annotator-list", {"Progress": "true", "People and pay": "page"}),
        ("slot-list", {"Ratings": "page"}),
        ("view-list", {"Ratings": "true", "Filters": "page"}),
        ("report-list", {"Reports": "page"}),
        ("study-scoring", {"Reports": "true", "Metric scores": "page"}),
        ("study-settings", {"Settings": "page"}),
        ("study-extend", {"Settings": "true"}),
        ("event-list", {"Settings": "true", "Log": "page"}),
    ]:
        with subtests.test(name):
            shown = alice(study).get(reverse(name, args=[study.slug])).content.decode()
            tabs = re.search('(?s)<nav class="tabs".*?</nav>', shown)[0]
            links = re.findall(
                r'(?s)<a href="[^"]+"\s*(?:aria-current="(.*?)")?\s*>(.*?)</a>', tabs
            )
            assert [title for _state, title in links][:4] == [
                "Progress",
                "Ratings",
                "Reports",
                "Settings",
            ]
            assert {title: state for state, title in links if state} == current


def test_page_is_sent_only_after_changes(study, clock):
    clock.stop()
    client = alice(study)
    url = reverse("study-detail", args=[study.slug])
    htmx = {"hx-request": "true"}
    part = client.get(url, headers=htmx).content.decode()
    since = re.search(r'name="since" value="([^"]+)"', part)[1]
    assert client.get(url, {"since": since}, headers=htmx).status_code == 204
    assert client.get(url, {"since": since}).status_code == 200
    Event.objects.create(study=study, kind=Event.Kind.STUDY_PAUSED)
    assert client.get(url, {"since": since}, headers=htmx).status_code == 200


def test_worker_computes_snapshot(running):
    assert "Being computed" in page(running)
    tasks.refresh_snapshots()
    shown = page(running)
    assert "Being computed" not in shown
    row = dashboard.dashboard(running).alphas[0]
    assert 0.2 < row.low < row.alpha < row.high < 0.8
    assert row.alpha < row.reliability < 1
    before = running.snapshot.at
    tasks.refresh_snapshots()
    running.snapshot.refresh_from_db()
    assert running.snapshot.at == before
    assert snapshots.stale_studies() == []


def test_alpha_matches_analysis(running):
    from analysis.reliability.chance_corrected import alpha_value
    from analysis.reliability.matrices import rating_reliability
    from annotate.reports.study_tables import answers_frame

    question = running.questions.first()
    snapshots.refresh(running)
    stored = running.snapshot.data["alphas"][question.key]["alpha"]
    rows = answers_frame(running, "ratings")
    rows = rows[rows["dimension"] == question.key]
    assert stored == pytest.approx(
        alpha_value(rating_reliability(rows), "ordinal"), abs=1e-4
    )


@pytest.mark.slow
def test_agreement_of_pairs_is_nominal():
    study = make_study(kind="choice", consented=True)
    answer_everything(study, "a")
    for slot in study.slots.filter(annotator__name="A02")[:3]:
        slot.choices.update(value="b")
    snapshots.refresh(study)
    row = dashboard.dashboard(study).alphas[0]
    assert row.alpha < 0.5
    assert row.reliability is None
    assert "Nominal alpha" in page(study)


@pytest.mark.slow
def test_undefined_agreement_has_a_reason(study):
    answer_everything(study)
    snapshots.refresh(study)
    assert "Undefined" in page(study)
    empty = make_study(slug="empty", benchmark=make_benchmark(slug="none"))
    assert "No answer yet." in page(empty)


@pytest.mark.slow
def test_unchanged_annotators_are_not_measured_again(running, monkeypatch):
    asked = []
    honest = snapshots.signals_of
    monkeypatch.setattr(
        snapshots, "signals_of", lambda ann: asked.append(ann.name) or honest(ann)
    )
    snapshots.refresh(running)
    assert len(asked) == 5
    snapshots.refresh(running)
    assert len(asked) == 5
    exclusion.exclude(
        running.slots.filter(state="submitted").first(), reason="x", author=None
    )
    slot = running.slots.filter(annotator__name="A02", state="open").first()
    answer_everything_of(slot)
    snapshots.refresh(running)
    assert asked[5:] == ["A02"]


def answer_everything_of(slot):
    from annotate.responses.bulk import SlotAnswers, store_judgements

    answers = dict.fromkeys(slot.study.questions.all(), 3)
    store_judgements([SlotAnswers(slot, answers, timezone.now(), 20.0)])


@pytest.mark.slow
def test_large_study_is_counted_by_worker(running, monkeypatch):
    monkeypatch.setattr("annotate.coverage.snapshots.SMALL", 100)
    snapshots.refresh(running)
    shown = page(running)
    assert "The same holds for annotators" in shown
    done = running.slots.filter(annotator__name="A01", state="submitted").count()
    assert f"{done}/40" in shown


@pytest.mark.slow
def test_annotators_as_a_table(running):
    flag(running.annotators.get(name="A03"), "warn", '=HYPERLINK("x")')
    snapshots.refresh(running)
    rows = table(running, "annotators")
    first = rows[0]
    assert first["annotator"] == "A03"
    assert float(first["agreement_with_rest"]) > 0.3
    assert 20 < float(first["median_seconds"]) < 60
    assert 'warn: =HYPERLINK("x")' in first["flags"]
    assert int(first["planned"]) == 40


@pytest.mark.slow
def test_log_as_a_table(running):
    rows = table(running, "events")
    assert len(rows) == running.events.count()
    assert rows[0]["kind"] == "slots listed"
    assert json.loads(rows[0]["details"])["slots"]


@pytest.mark.slow
def test_log_is_paged_newest_first(study):
    ann = study.annotators.first()
    for i in range(60):
        Event.objects.create(
            study=study,
            kind=Event.Kind.ANNOTATOR_PAUSED,
            annotator=ann,
            details={"reason": f"reason {i}"},
        )
    client, url = alice(study), reverse("event-list", args=[study.slug])
    first = client.get(url)
    assert len(first.context["lines"]) == 50
    assert "reason 59" in first.content.decode()
    rest = client.get(url, {"before": first.context["older"]})
    assert len(rest.context["lines"]) == 11
    assert rest.context["older"] is None
    assert "ratings: 12" in rest.content.decode()
    for odd in ("x", "-1", "9" * 30):
        assert client.get(url, {"before": odd}).status_code == 200


@pytest.mark.slow
def test_log_is_filtered_and_links_to_slots(running):
    exclusion.exclude(
        running.slots.filter(state="submitted").first(), reason="asleep", author=None
    )
    client, url = alice(running), reverse("event-list", args=[running.slug])
    found = client.get(url, {"kind": "slot excluded"})
    shown = found.content.decode()
    assert len(found.context["lines"]) == 1
    assert "asleep" in shown
    slot = Slot.objects.get(state="excluded")
    assert reverse("slot-detail", args=[running.slug, slot.code]) in shown
    mine = client.get(url, {"annotator": slot.annotator.name})
    assert len(mine.context["lines"]) == 1


@pytest.mark.slow
def test_number_of_queries_does_not_grow(django_assert_max_num_queries):
    for stories in (2, 8):
        benchmark = make_benchmark(slug=f"b{stories}", stories=stories, pictures=False)
        study = make_study(slug=f"s{stories}", benchmark=benchmark, consented=True)
        answer_everything(study)
        snapshots.refresh(study)
        client = alice(study)
        with django_assert_max_num_queries(53):
            page(study, client)


def test_withdrawn_method_leaves_no_gap(study):
    name = study.method_names[0]
    withdraw_units(study, methods=[name])
    row = page(study).split(f">{name}</a></th>")[1].split("</tr>")[0]
    assert '<td class="heat">–</td>' in row
    assert "heat-0" not in row


def test_comments_and_skip_reasons_share_a_table(study):
    slot = study.slots.filter(annotator__isnull=False).order_by("pk").first()
    text = "The fox has =two= tails."
    slot.story_comments.create(annotator=slot.annotator, text=text)
    Skip.objects.create(
        slot=slot,
        unit=slot.unit,
        annotator=slot.annotator,
        reason="unclear",
        comment="Too dark.",
    )
    said, skipped = table(study, "comments")
    assert (said["kind"], said["text"]) == ("comment", "The fox has =two= tails.")
    assert said["methods"] == skipped["methods"] == slot.unit.output_a.method.name
    assert (skipped["kind"], skipped["text"]) == ("skipped: unclear", "Too dark.")
    assert skipped["annotator"] == slot.annotator.name
