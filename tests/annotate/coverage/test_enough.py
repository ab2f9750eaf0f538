"""Goals of a study: rows, reasons, form and study file."""

import random

import pytest
from django.urls import reverse
from django.utils import timezone

from annotate.audit_log.log_lines import details
from annotate.coverage import snapshots
from annotate.coverage.enough import enough
from annotate.models import Event, Slot, Study
from annotate.responses.bulk import SlotAnswers, store_judgements
from annotate.studies.drafting import file_of, setup_of
from annotate.studies.goals import set_goals
from annotate.studies.planning import plan_study
from annotate.studies.study_file import DefinitionError, read_definition
from annotate.studies.units import PlanningError
from evalcore.models import Frame, Method, MetricRun, MetricScore, Output
from tests.cases import slow_cases
from tests.factories import (
    make_benchmark,
    make_study,
    picture_bytes,
    store_picture,
)
from tests.people import alice, answer_everything, rob
from tests.studies import QUALITY

pytestmark = pytest.mark.django_db
METHODS = ("Alder", "Birch", "Elm")  # 3.2, 2.4 and 0.9


def rated_study(goals, *, people=6, stories=12, kind="likert", share=1.0):
    """Return a study whose items people rate in order, up to a share of them."""
    benchmark = make_benchmark(
        stories=stories, shots=1, methods=METHODS, pictures=False
    )
    study = make_study(
        benchmark=benchmark, annotators=people, consented=True, kind=kind, goals=goals
    )
    study.questions.last().delete()
    dice = random.Random(1)
    slots = study.slots.select_related(*study.output_paths("unit__", "__method"))
    done = list(slots.order_by("position", "annotator"))
    store_judgements(
        SlotAnswers(slot, answers(study, slot, dice), timezone.now(), 20.0)
        for slot in done[: int(share * len(done))]
    )
    snapshots.refresh(study)
    return study


def answers(study, slot, dice):
    qualities = [QUALITY[name] for name in slot.unit.methods]
    if study.outputs_at_once == 2:
        better = qualities[0] + dice.gauss(0, 1.5) > qualities[1] + dice.gauss(0, 1.5)
        return dict.fromkeys(study.questions.all(), "a" if better else "b")
    return {
        question: min(max(round(qualities[0] + dice.gauss(0, 0.8)), 0), 4)
        for question in study.questions.all()
    }


def add_scores(study, error=0.3, **fields):
    run = MetricRun.objects.create(
        benchmark=study.benchmark, source="imported", finished_at=timezone.now()
    )
    dice = random.Random(2)
    outputs = Output.objects.filter(story__benchmark=study.benchmark)
    MetricScore.objects.bulk_create(
        MetricScore(
            run=run,
            benchmark=study.benchmark,
            method=output.method,
            story=output.story,
            metric="good",
            value=QUALITY[output.method.name] + dice.gauss(0, error),
            **fields,
        )
        for output in outputs.select_related("method", "story")
    )
    snapshots.refresh(study)


def declare(study, metric):
    study.questions.update(metric=metric)
    return Study.objects.get(pk=study.pk)


def first_row(study):
    return enough(study)[0]


def page(study, client=None):
    address = reverse("study-detail", args=[study.slug])
    return (client or alice(study)).get(address).content.decode()


def test_study_without_goals_has_no_rows():
    study = rated_study({}, stories=2)
    assert enough(study) == []
    assert "Set goals" in page(study)
    assert "Set goals" not in page(study, rob(study))


def test_mean_goal_is_reached_or_says_what_is_needed():
    study = rated_study({"mean": 1.2})
    row = first_row(study)
    assert (row.state, row.now, row.needed) == ("stop", "±1.20", "none")
    assert "new stories and new people" in row.sentence
    assert not row.is_beyond_plan


@pytest.mark.slow
def test_unreached_goal_says_what_is_needed():
    study = rated_study({"mean": 0.9}, share=0.85)
    row = first_row(study)
    assert row.state == "not_yet"
    assert 0.9 < row.found["half"] < 2
    assert row.found["left"] == study.slots.filter(state="open").count()
    assert f"known to {row.now} only" in row.sentence
    assert row.question.title in page(study)


@pytest.mark.slow
def test_few_people_are_the_population():
    """Three people stand for nobody else, so that their severities are no error."""
    three = first_row(rated_study({"mean": 1.2}, people=3))
    assert "these 3 people" in three.sentence


@pytest.mark.slow
def test_too_few_stories_or_people_give_a_reason():
    study = rated_study({"mean": 1.5}, share=0.5)
    row = first_row(study)
    assert row.state == "unknown"
    assert "needs 10 rated stories; one has 6" in row.sentence
    answer_everything(study)
    study.slots.filter(annotator__name__gt="A02").update(state=Slot.State.EXCLUDED)
    snapshots.refresh(study)
    assert "Ratings of 5 people are needed; there are 2." in first_row(study).sentence


@pytest.mark.slow
def test_study_of_few_stories_cannot_reach_a_goal():
    row = first_row(rated_study({"mean": 1.5}, stories=6))
    assert row.sentence == "This needs 10 stories; the study has 6."


@pytest.mark.slow
def test_excluded_and_surplus_answers_are_not_used():
    study = rated_study({"mean": 0.75})
    before = first_row(study).found
    extra = study.slots.filter(annotator__name="A06")
    extra.update(ordinal=None)
    snapshots.refresh(study)
    fewer = first_row(study).found
    extra.update(ordinal=6, state=Slot.State.EXCLUDED)
    snapshots.refresh(study)
    assert first_row(study).found["half"] == fewer["half"] != before["half"]


@pytest.mark.slow
def test_top_goal_names_the_best_or_the_closest():
    study = rated_study({"top": 2}, people=4, stories=24)
    assert first_row(study).state == "stop"
    assert "Alder, Birch" in first_row(study).sentence
    study.goals = {"top": 1}
    study.save()
    snapshots.refresh(study)
    assert first_row(study).state == "not_yet"
    assert "Alder and Birch may be in either order" in first_row(study).sentence


def test_win_rate_goal_of_comparisons():
    study = rated_study({"win_rate": 0.3, "top": 2}, kind="choice")
    rows = enough(study)
    assert [row.goal for row in rows] == ["win_rate", "top"]
    assert rows[0].state == "stop"


@pytest.mark.slow
def test_adaptive_pairs_have_no_win_rate():
    study = rated_study({"win_rate": 0.3}, kind="choice")
    study.adaptive = {"top": 1}
    study.save()
    snapshots.refresh(study)
    assert "chosen by earlier answers" in first_row(study).sentence


@pytest.mark.slow
def test_correlation_goal_needs_scores_and_complete_items():
    study = rated_study({"correlation": 0.45}, stories=24)
    assert "No metric has scores" in first_row(study).sentence
    add_scores(study)
    other = MetricScore.objects.last()
    other.pk, other.metric = None, "elsewhere"
    other.method = Method.objects.create(name="Oak")
    other.save()
    snapshots.refresh(study)
    assert first_row(study).state == "stop"
    MetricScore.objects.update(value=2)
    snapshots.refresh(study)
    assert "all scores of a metric, are the same" in first_row(study).sentence
    study.slots.filter(annotator__name="A01").update(state=Slot.State.EXCLUDED)
    snapshots.refresh(study)
    assert "there are 0" in first_row(study).sentence


@pytest.mark.parametrize(
    ("kind", "scores", "state", "words"),
    [
        ("likert", {}, "stop", "more often than chance"),
        *slow_cases(
            ("choice", {}, "stop", "more often than chance"),
            ("likert", {"higher_is_better": False}, "stop", "less often than chance"),
            ("likert", {"error": 9}, "not_yet", "not distinguishable from chance"),
        ),
    ],
)
def test_declared_metric_is_compared_with_chance(kind, scores, state, words):
    study = declare(rated_study({}, stories=24, kind=kind), "good")
    snapshots.refresh(study)
    assert enough(study) == []
    add_scores(study, **scores)
    row = first_row(study)
    assert (row.goal, row.state) == ("accuracy", state)
    assert words in row.sentence
    assert "good against chance" in page(study)
    assert enough(declare(study, "other")) == []


def test_changed_goals_wait_for_the_worker_and_are_logged():
    study = rated_study({"mean": 1.2})
    client = alice(study)
    address = reverse("study-goals", args=[study.slug])
    answer = client.post(address, {"mean": "0.8", "top": "2"}, follow=True)
    text = answer.content.decode()
    assert "The goals are changed" in text
    assert "being computed" in text
    study.refresh_from_db()
    assert study.goals == {"mean": 0.8, "top": 2}
    event = study.events.filter(kind=Event.Kind.STUDY_EDITED).get()
    assert details(event) == ["goals: mean 1.2 → mean 0.8, top 2"]
    client.post(address, {"mean": "0.8", "top": "2"})
    assert study.events.filter(kind=Event.Kind.STUDY_EDITED).count() == 1
    snapshots.refresh(study)
    assert "Not yet" in page(study) or "You may stop" in page(study)


REFUSED = [
    ({"mean": "0.1"}, "The smallest goal is ±0.644"),
    ({"mean": "2"}, "Write less than 2"),
    ({"mean": "x"}, "write a number from 0.001 to 100"),
    ({"mean": "nan"}, "write a number from 0.001 to 100"),
    ({"top": "3"}, "There are 3 methods; write a number from 1 to 2"),
    ({"top": "1.5"}, "write a whole number of at least 1"),
    ({"win_rate": "0.1"}, "no question has such a goal"),
    ({"correlation": "0.7"}, "write a number from 0.001 to 0.49"),
]


def test_goal_that_nothing_reaches_is_refused():
    """The smallest half-width is c 4 / (12 sqrt(2)), with c = 2.730 of 0.05 / 3."""
    benchmark = make_benchmark(stories=12, shots=1, methods=METHODS, pictures=False)
    study = make_study(benchmark=benchmark, annotators=1, goals={"top": 1})
    study.questions.last().delete()
    for given, problem in REFUSED:
        with pytest.raises(PlanningError) as refused:
            set_goals(study, given, None)
        assert problem in str(refused.value)
    address = reverse("study-goals", args=[study.slug])
    answer = alice(study).post(address, given, follow=True)
    assert problem in answer.content.decode()
    study.refresh_from_db()
    assert study.goals == {"top": 1}


def test_goals_of_the_study_file_reach_the_study_and_its_export():
    benchmark = make_benchmark(stories=12, shots=1, pictures=False)
    Frame.objects.update(media=store_picture(picture_bytes("any")))
    text = "\n".join(
        (
            "questions: [{key: quality, title: Quality, kind: likert, scale: [0, 4]}]",
            "goals: {mean: 0.8, top: 2}",
        )
    )
    definition = read_definition(text, file="study.yaml", name="own")
    study = plan_study(definition, benchmark=benchmark, slug="own", annotators=3)
    assert study.goals == {"mean": 0.8, "top": 2}
    assert set_goals(study, {"top": "1"}, None)
    assert setup_of(study).definition.goals.model_dump() == {"top": 1}
    assert "goals:\n  top: 1" in file_of(study)
    too_fine = definition.with_changes(goals=definition.goals.with_changes(mean=0.2))
    with pytest.raises(PlanningError, match="12 stories") as refused:
        plan_study(too_fine, benchmark=benchmark, slug="fine", annotators=3)
    assert refused.value.field == "goals.mean"
    with pytest.raises(DefinitionError, match=r"goals\.win_rate: no question"):
        read_definition(
            f"{text}\n".replace("top: 2", "win_rate: 0.1"), file="", name=""
        )
