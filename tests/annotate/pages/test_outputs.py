"""The page of one output: who sees it, and that it says what the database holds."""

import html
import re

import pandas as pd
import pytest
from django.urls import reverse
from django.utils import timezone

from analysis.options import AlignOptions
from analysis.reading.cells import annotator_cells, human_cells
from analysis.reading.column_cleaning import kept_rows
from analysis.reading.identities import one_identity
from analysis.reading.scores import score_table
from annotate.models import Question, Rating, Slot
from annotate.quality import exclusion
from annotate.reports import score_tables, study_tables
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.models import Method, MetricAbsence, MetricRun, MetricScore, Output, Story
from tests.factories import METHODS, make_benchmark, make_study
from tests.people import answer_everything, rob

pytestmark = pytest.mark.django_db

HOSTILE = 'A/b "c" <i>d</i> & e?x=1#y + 50%, 狐狸'


def page(study, story="01", method="Alder", client=None):
    url = reverse("output-detail", args=[study.slug])
    return (client or rob(study)).get(url, {"story": story, "method": method})


def text(answer) -> str:
    """Return what is read on a page: without tags, on one line."""
    body = answer.content.decode().partition("<main")[2]
    return " ".join(html.unescape(re.sub("<[^>]*>", " ", body)).split())


def answer_differently(study):
    """Give every slot answers of its own, as its questions allow."""
    dice = [1, 4, 2, 0, 3, 3, 1, 2, 4, 0, 2]
    slots = study.slots.order_by("pk").filter(state="open")
    store_judgements(
        SlotAnswers(
            slot,
            {
                question: dice[(slot.pk * 3 + question.pk) % len(dice)]
                for question in study.questions.all()
            },
            timezone.now(),
            20.0,
        )
        for slot in slots
    )


def score(study, metric, values, story="01", shot=None, **fields):
    """Store values of methods, in the order of their names."""
    run = MetricRun.objects.create(
        benchmark=study.benchmark, finished_at=timezone.now(), source="imported"
    )
    row = Story.objects.get(key=story) if story else None
    for method, value in zip(sorted(METHODS), values, strict=False):
        MetricScore.everything.create(
            run=run,
            benchmark=study.benchmark,
            method=Method.objects.get(name=method),
            story=row,
            shot=row.shots.get(number=shot) if shot else None,
            metric=metric,
            value=value,
            **fields,
        )
    return run


@pytest.fixture
def study():
    row = make_study(annotators=3)
    answer_differently(row)
    return row


def scores(answer) -> dict:
    shown = answer.context["shown"].scores
    return {one.name: one for one in shown}


def test_means_are_those_of_reports(study):
    """The cells of a report, computed from the study's table by `analysis`."""
    answer_differently(study)
    slots = study.slots.filter(
        unit__story__key="01", unit__output_a__method__name="Alder"
    )
    excluded, surplus, *_rest = slots
    exclusion.exclude(excluded, reason="asleep", author=None)
    Slot.objects.filter(pk=surplus.pk).update(ordinal=None)
    rows = kept_rows(study_tables.answers_frame(study, "ratings"), ["story", "method"])
    cells = human_cells(annotator_cells(rows))
    for method in METHODS:
        shown = page(study, method=method).context["shown"]
        for one in shown.means:
            mine = cells[
                (cells["dimension"] == one.question.key) & (cells["story"] == "01")
            ].set_index("method")["human"]
            assert float(one.mean) == pytest.approx(mine[method], rel=1e-3)
            assert one.people == (1 if method == "Alder" else 3)


@pytest.mark.slow
def test_rounds_of_one_person_count_once(study):
    """Computed by hand: (mean of 0 and 4, 4) of two people is 3."""
    question = study.questions.first()
    first, second, third = study.slots.filter(
        unit__story__key="01", unit__output_a__method__name="Alder"
    ).order_by("annotator__name")
    own = Rating.objects.filter(question=question)
    Slot.objects.filter(pk=second.pk).update(
        annotator=first.annotator, round=2, position=None
    )
    own.filter(slot=second).update(annotator=first.annotator, value=4)
    own.filter(slot=first).update(value=0)
    own.filter(slot=third).update(value=4)
    mean = page(study).context["shown"].means[0]
    assert (mean.mean, mean.people, mean.answers) == ("3", 2, 3)
    assert "3 answers" in text(page(study))


def test_changed_answer_and_a_draft_of_somebody_else_are_left_out(study):
    slot = study.slots.filter(unit__story__key="01").first()
    rating = slot.ratings.first()
    method = slot.unit.output_a.method.name
    before = page(study, method=method).context["shown"]
    other = study.annotators.exclude(pk=slot.annotator_id).first()
    fields = {"scale_min": 0, "scale_max": 4, "slot": slot, "question": rating.question}
    Rating.objects.create(annotator=other, value=4, **fields)
    Rating.objects.create(
        annotator=slot.annotator, value=4, revision=2, is_current=False, **fields
    )
    after = page(study, method=method).context["shown"]
    assert after.means == before.means


@pytest.mark.slow
def test_output_page_shows_won_comparisons():
    """A01 chooses a, A02 b, A03 neither; 1.5 of 3 by hand, against each of two."""
    study = make_study(kind="choice", annotators=3)
    for name, value in (("A01", "a"), ("A02", "b"), ("A03", "tie")):
        store_judgements(
            SlotAnswers(
                slot, dict.fromkeys(study.questions.all(), value), timezone.now(), 20.0
            )
            for slot in study.slots.filter(annotator__name=name)
        )
    first = page(study)
    (mean, _other) = first.context["shown"].means
    assert (mean.mean, mean.people, mean.answers) == ("0.5", 3, 6)
    of_pair = study.slots.filter(
        unit__story__key="01", unit__output_b__method__name="Birch"
    )
    of_pair.get(annotator__name="A02").choices.update(value="both_bad")
    of_pair.get(annotator__name="A03").choices.update(value="a")
    answer = page(study)
    mean = answer.context["shown"].means[0]
    assert float(mean.mean) == pytest.approx((1 + 0.5 + 1 + 1 + 0 + 0.5) / 6, rel=1e-3)
    slot = study.slots.get(
        annotator__name="A02",
        unit__story__key="01",
        unit__output_a__method__name="Alder",
        unit__output_b__method__name="Cedar",
    )
    exclusion.exclude(slot, reason="asleep", author=None)
    mean = page(study).context["shown"].means[0]
    assert mean.mean == "0.8"


@pytest.mark.slow
def test_output_page_shows_mean_rank():
    """Of three: the best is above both others, the second above half of them."""
    study = make_study(kind="ranking", annotators=2)
    for name, order in (("A01", "bac"), ("A02", "acb")):
        slots = study.slots.filter(annotator__name=name)
        answers = dict.fromkeys(study.questions.all(), order)
        store_judgements(SlotAnswers(s, answers, timezone.now(), 20.0) for s in slots)
    for method, mean in (("Alder", "0.75"), ("Birch", "0.5"), ("Cedar", "0.25")):
        assert page(study, method=method).context["shown"].means[0].mean == mean


def test_output_page_shows_ticked_share_by_shot():
    """Of three shots pan is ticked in two by A01 and in none by A02: a third."""
    study = make_study(kind="checklist", annotators=2)
    answer_everything(study, 0)
    pan = Question.objects.get(key="pan|text")
    ticked = Rating.objects.filter(
        question=pan,
        shot__gte=2,
        slot__annotator__name="A01",
        slot__unit__story__key="01",
        slot__unit__output_a__method__name="Birch",
    )
    ticked.update(value=1)
    answer = page(study, method="Birch")
    shown = answer.context["shown"]
    by_key = {one.question.key: one for one in shown.means}
    mean = by_key["pan|text"]
    assert (mean.mean, mean.people, mean.answers) == ("0.3333", 2, 6)
    regions = re.findall('role="region" aria-label="([^"]*)"', answer.content.decode())
    assert len(regions) == len(set(regions))


def test_scores_are_those_of_reports(study):
    for shot in (1, 2, 3):
        score(study, "sharpness", (0.1 * shot, 0.5, 0.2), shot=shot)
    score(study, "colour", (1, 2, 3), higher_is_better=False)
    score(study, "colour", (9, 9, 9), story="02", higher_is_better=False)
    score(study, "clip", (5, 5, 4), metric_version="2", backend="cpu")
    score(study, "clip", (1, 2, 3), metric_version="")
    score(study, "fid", (30, 20, 10), story="")
    score(study, "colour", (7, 7, 7), story="", higher_is_better=False)
    score(study, "both", (1, 2, 3), shot=1)
    score(study, "both", (5,))
    score(study, "elsewhere", (1, 2, 3), story="02")
    score(study, "elsewhere", (1, 2, 3), story="")
    for metric in ("late", "sharpness"):
        run = score(study, metric, (1, 2, 3), metric_version="next")
        MetricRun.objects.filter(pk=run.pk).update(finished_at=None)
    frame = pd.DataFrame(score_tables.score_rows(study))
    frame = frame.query("metric_version != 'next'")
    named, _ = one_identity(frame, AlignOptions(compare_identities=True))
    cells = score_table(named).cells
    for method in METHODS:
        found = scores(page(study, method=method))
        of_story = cells[cells["story"].isin(["01", ""])]
        own = of_story[of_story["method"] == method]
        # A report that compares identities has other names for them.
        assert sorted(
            (name.partition(" (")[0], float(one.score)) for name, one in found.items()
        ) == [
            (metric, pytest.approx(value))
            for metric, value in sorted(
                (name.partition(" (")[0], value)
                for name, value in zip(own["metric"], own["score"], strict=True)
            )
        ]
    assert set(found) == {
        "both",
        "sharpness",
        "colour",
        "clip (2, cpu)",
        "clip (no version)",
        "fid",
    }
    assert found["fid"].is_of_method
    answer = page(study, method="Alder")
    assert "lower is better" in text(answer)
    assert "score of the whole method" in text(answer)


def test_scores_posted_to_the_study_stand_instead(study):
    score(study, "clip", (1, 2, 3))
    score(study, "clip", (9,), posted_to=study.slug, higher_is_better=False)
    score(study, "clip", (5,), posted_to="another")
    one = scores(page(study))["clip"]
    assert (one.score, one.higher_is_better) == ("9", False)


def test_metric_without_a_value_of_it_says_why(study):
    run = score(study, "faces", (1, 2), story="02")
    for method in METHODS[1:]:
        MetricScore.objects.create(
            run=run,
            benchmark=study.benchmark,
            method=Method.objects.get(name=method),
            story=Story.objects.get(key="01"),
            metric="faces",
            value=1,
        )
    MetricAbsence.objects.create(
        run=run,
        benchmark=study.benchmark,
        method=Method.objects.get(name="Alder"),
        story=Story.objects.get(key="01"),
        metric="faces",
        reason="no face was found",
    )
    answer = page(study)
    assert scores(answer)["faces"].score == ""
    assert "no face was found" in text(answer)
    assert "no face was found" not in text(page(study, method="Birch"))


@pytest.mark.slow
def test_output_page_is_not_found_when_not_in_study(study):
    make_benchmark(slug="hills", methods=["Elm"])
    for story, method in (
        ("01", "Oak"),
        ("01", "Elm"),
        ("77", "Alder"),
        ("01", ""),
        ("", ""),
        ("01", "alder"),
    ):
        answer = page(study, story, method)
        assert answer.status_code == 404
        assert f"story “{story}” by method “{method}”" in text(answer)
    url = reverse("output-detail", args=[study.slug])
    assert rob(study).get(url).status_code == 404
    answer = page(study, "<script>x</script>", "Alder")
    assert "<script>x" not in answer.content.decode()
    assert page(study, "01", "\0").status_code == 400


def test_output_shown_for_training_only_is_not_judged(study):
    study.units.filter(output_a__method__name="Alder").update(purpose="training")
    assert page(study).status_code == 404


@pytest.mark.slow
def test_hostile_names_lead_where_they_should():
    benchmark = make_benchmark(stories=1, methods=["Alder", HOSTILE, "Cedar"])
    benchmark.stories.update(key=HOSTILE, title="")
    study = make_study(benchmark=benchmark, kind="choice", annotators=1)
    answer_everything(study, "a")
    client = rob(study)
    answer = page(study, HOSTILE, "Alder", client)
    shown = answer.content.decode()
    assert "<i>" not in shown
    assert HOSTILE in text(answer)
    links = {
        html.unescape(one) for one in re.findall('href="([^"]*story=[^"]*)"', shown)
    }
    assert len(links) == 4  # three methods of the story, and the slots of this one
    for link in links:
        assert client.get(link).status_code == 200
    led = [client.get(link).context for link in sorted(links)]
    methods = {one["shown"].output.method.name for one in led if "shown" in one}
    assert methods == {"Alder", HOSTILE, "Cedar"}
    (listed,) = (one["page"] for one in led if "page" in one)
    assert {slot.unit.methods[0] for slot in listed} <= {HOSTILE, "Alder"}
    assert listed


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["choice", "likert", "ranking", "checklist"])
def test_output_page_needs_constant_number_of_queries(
    kind, django_assert_max_num_queries
):
    value = {"likert": 3, "choice": "a", "ranking": "abc", "checklist": 1}[kind]
    small, large = (
        make_study(
            kind=kind,
            slug=slug,
            annotators=people,
            benchmark=make_benchmark(
                slug=slug, stories=1, shots=shots, methods=METHODS, pictures=False
            ),
        )
        for slug, people, shots in (("small", 1, 1), ("large", 12, 6))
    )
    for study in (small, large):
        answer_everything(study, value)
    client = rob(small)
    rob(large)
    page(small, client=client)
    with django_assert_max_num_queries(30) as few:
        assert page(small, client=client).status_code == 200
    run = MetricRun.objects.create(
        benchmark=large.benchmark, finished_at=timezone.now(), source="imported"
    )
    MetricScore.objects.bulk_create(
        MetricScore(
            run=run,
            benchmark=large.benchmark,
            method=output.method,
            story=output.story,
            metric=f"m{n}",
            value=n,
        )
        for n in range(40)
        for output in Output.objects.filter(story__benchmark=large.benchmark)
    )
    with django_assert_max_num_queries(len(few)):
        assert page(large, client=client).status_code == 200
