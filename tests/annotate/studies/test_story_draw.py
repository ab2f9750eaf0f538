"""Stories drawn for a study with known probabilities."""

import pytest
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from annotate.audit_log import as_of_event
from annotate.audit_log.log_lines import details
from annotate.audit_log.verifying import problems
from annotate.bundles import exporting
from annotate.bundles.importing import import_bundle
from annotate.models import StoryDraw, Study, User
from annotate.reports import (
    downloads,
    score_tables,
    story_tables,
    study_scores,
    study_tables,
)
from annotate.studies import changing, drafting, lifecycle, planning
from annotate.studies.changing import withdraw_units
from annotate.studies.extending import extend
from annotate.studies.planning import PlanningError, Setup
from annotate.studies.study_file import DefinitionError, read_definition
from evalcore import members
from evalcore.models import Method, MetricRun, MetricScore
from tests.annotate.bundles.studies import empty_server
from tests.factories import make_benchmark

pytestmark = pytest.mark.django_db

LIKERT = """\
kind: likert
redundancy: 1
assignment: open
seed: 4
stories: {stories}
questions:
  - {{key: look, scale: [0, 4], text: "Nice?"{question}}}
{more}
"""
KEYS = [f"{n:02}" for n in range(1, 7)]


def planned(stories, benchmark=None, *, question="", more="", **setup) -> Study:
    text = LIKERT.format(stories=stories, question=question, more=more)
    definition = read_definition(text, file="pilot.yaml", name="pilot")
    benchmark = benchmark or make_benchmark(stories=6, shots=1)
    whole = Setup("pilot", benchmark, definition, **setup)
    return planning.store(planning.prepare(whole), user=None)


def score(benchmark, spreads, *, metric="taste", posted_to=""):
    """Score each story's methods -x, 0 and x."""
    run = MetricRun.objects.create(
        benchmark=benchmark,
        source="imported",
        posted_to=posted_to,
        finished_at=timezone.now(),
    )
    stories = {story.key: story for story in benchmark.stories.all()}
    methods = Method.objects.filter(outputs__story__benchmark=benchmark).distinct()
    MetricScore.objects.bulk_create(
        MetricScore(
            run=run,
            benchmark=benchmark,
            story=stories[key],
            method=method,
            metric=metric,
            posted_to=posted_to,
            value=spread * side,
        )
        for key, spread in spreads.items()
        for side, method in zip((-1, 0, 1), methods.order_by("name"), strict=True)
    )


def rated(study):
    return {*study.units.values_list("story__key", flat=True)}


@pytest.mark.postgresql
def test_only_drawn_stories_are_rated_and_all_keep_their_scores():
    benchmark = make_benchmark(stories=6, shots=1)
    score(benchmark, dict.fromkeys(KEYS, 1.0))
    study = planned(2, benchmark)
    assert len(rated(study)) == 2
    assert study.slots.count() == 2 * 3
    known = story_tables.drawing_probabilities(study)
    assert known == dict.fromkeys(KEYS, pytest.approx(1 / 3))
    drawn = study.story_draws.filter(is_drawn=True)
    assert {*drawn.values_list("story__key", flat=True)} == rated(study)
    assert {row["story"] for row in score_tables.score_rows(study)} == {*KEYS}
    assert study_scores.missing_now(study) == []
    assert problems(study) == []
    event = study.events.get(kind="stories drawn")
    assert set(details(event)) == {
        "stories drawn: 2",
        "drawn from: 6",
        "seed: 4",
        "probabilities: 0.333",
    }


def test_study_that_rates_all_stories_has_no_probabilities():
    study = planned("null")
    assert rated(study) == {*KEYS}
    assert story_tables.drawing_probabilities(study) == {}
    assert "stories" not in downloads.exported_tables(study)
    assert story_tables.stories_frame(study) is None
    assert not study.events.filter(kind="stories drawn").exists()


def test_probabilities_grow_with_the_spread_of_a_metric():
    benchmark = make_benchmark(stories=6, shots=1)
    score(benchmark, {key: float(n) for n, key in enumerate(KEYS)})
    # Scores that were posted to a study are not the benchmark's.
    score(benchmark, dict.fromkeys(KEYS, 9.0), posted_to="other")
    study = planned("{number: 3, spread_of: taste}", benchmark)
    known = story_tables.drawing_probabilities(study)
    # A fifth of the mean spread 2.5, and four fifths of the own one.
    sizes = [0.2 * 2.5 + 0.8 * n for n in range(6)]
    assert [known[key] for key in KEYS] == pytest.approx([s / 5 for s in sizes])
    assert sum(known.values()) == pytest.approx(3)
    assert len(rated(study)) == 3


def test_story_without_scores_counts_as_one_of_mean_spread():
    benchmark = make_benchmark(stories=6, shots=1)
    score(benchmark, {key: float(n) for n, key in enumerate(KEYS, 1) if n < 6})
    definition = read_definition(
        LIKERT.format(stories="{number: 3, spread_of: taste}", question="", more=""),
        file="pilot.yaml",
        name="pilot",
    )
    draft = planning.outline(Setup("pilot", benchmark, definition))
    assert draft.draw.probabilities["06"] == draft.draw.probabilities["03"]
    assert draft.notes() == [
        "1 story has fewer than two scores of taste and counts as one of mean spread: "
        "06."
    ]


def test_draw_is_stratified_by_a_tag():
    benchmark = make_benchmark(stories=6, shots=1)
    for story in benchmark.stories.all():
        story.tags = {"genre": "myth" if int(story.key) % 2 else "fairy"}
        story.save()
    study = planned("{number: 2, by: genre}", benchmark)
    assert {int(key) % 2 for key in rated(study)} == {0, 1}
    header = next(iter(downloads.csv_lines(study, "stories"))).splitlines()[0]
    assert header == "story,genre,drawing_probability"
    assert story_tables.tag_names(study) == ["genre"]
    stories = story_tables.stories_frame(study)
    assert [*story_tables.tags_frame(stories)] == ["story", "genre"]


def test_more_stories_than_there_are_are_all_rated():
    study = planned(40)
    assert rated(study) == {*KEYS}
    assert not study.story_draws.exists()
    (note,) = planning.outline(drafting.setup_of(study)).notes()
    assert note == "There are 6 stories, and 40 were to be drawn: all are rated."


@pytest.mark.parametrize(
    ("stories", "error", "reason"),
    [
        ("0", DefinitionError, "stories.number: write a whole number of at least 1"),
        ("{number: 2, spread_of: taste}", PlanningError, "No scores of taste"),
        ("-3", DefinitionError, "stories.number: write a whole number of at least 1"),
        ("{number: 2, floor: 1}", DefinitionError, "unknown key"),
    ],
)
def test_impossible_draw_is_refused(stories, error, reason):
    with pytest.raises(error, match=reason):
        planned(stories)
    assert not Study.objects.exists()


def test_probability_of_a_story_chosen_by_hand_is_unknown_until_that_is_undone():
    study = planned(2)
    lifecycle.launch(study)
    inside, *others = sorted(rated(study))
    outside = next(key for key in KEYS if key not in rated(study))
    assert withdraw_units(study, stories=[inside]).unknown == (inside,)
    assert extend(study, stories=[outside]).unknown == (outside,)
    known = story_tables.drawing_probabilities(study)
    assert known.keys() == {*KEYS} - {inside, outside}
    rows = {key: cells for key, *cells in story_tables.story_rows(study)}
    assert rows[inside] == rows[outside] == [""]
    logged = [line for event in study.events.all() for line in details(event)]
    for key in (inside, outside):
        assert f"drawing probability now unknown: {key}" in logged
    # It was drawn, and is rated again.
    assert extend(study, stories=[inside]).unknown == ()
    assert story_tables.drawing_probabilities(study).keys() == {*KEYS} - {outside}
    # Its answers may stay, so the other is not as it was.
    assert withdraw_units(study, stories=[outside]).unknown == ()
    assert outside not in story_tables.drawing_probabilities(study)
    assert withdraw_units(study, methods=["Alder"]).unknown == ()
    assert others[0] in story_tables.drawing_probabilities(study)


def test_draft_that_is_planned_again_has_the_same_draw_and_a_log_of_it():
    user = User.objects.create(username="alice")
    study = planned(3)
    before = rated(study), story_tables.drawing_probabilities(study)
    setup = drafting.setup_of(study)
    again = drafting.replace(study, setup, user)
    assert (rated(again), story_tables.drawing_probabilities(again)) == before
    own, earlier = [one.details for one in again.events.filter(kind="stories drawn")]
    assert own["seed"] == earlier["seed"] == 4
    assert (earlier["earlier"], earlier["stories"]) == (True, sorted(before[0]))
    whole = setup.definition.with_changes(stories=None)
    setup = Setup(setup.slug, setup.benchmark, whole)
    again = drafting.replace(again, setup, user)
    assert rated(again) == {*KEYS}
    assert not StoryDraw.objects.exists()


def test_drawn_stories_without_pairs_have_no_probabilities():
    benchmark = make_benchmark(stories=6, shots=1)
    definition = read_definition(
        "kind: choice\nassignment: open\nstories: 5\npairs: [[Alder, Birch]]\n"
        'questions:\n  - {key: look, text: "Nicer?"}\n',
        file="pairs.yaml",
        name="pairs",
    )
    for story in benchmark.stories.exclude(key__in=["01", "02"]):
        story.outputs.filter(method__name="Birch").delete()
    draft = planning.outline(Setup("pairs", benchmark, definition))
    study = planning.store(draft, user=None)
    assert "drawing probabilities are unknown" in draft.notes()[0]
    assert not study.story_draws.exists()


@pytest.mark.slow
def test_bundle_carries_the_draw_and_what_was_not_drawn(tmp_path, settings):
    benchmark = make_benchmark(stories=6, shots=1)
    score(benchmark, dict.fromkeys(KEYS, 1.0))
    more = "trained_on: {Alder: taste}"
    study = planned(2, benchmark, question=", metric: taste, epsilon: 0.1", more=more)
    known, scores = story_tables.drawing_probabilities(study), _scores(study)
    assert len(scores) == 6 * 3
    exporting.write_bundle(study, tmp_path / "pilot.zip")
    empty_server(settings, tmp_path / "elsewhere")
    study = import_bundle(tmp_path / "pilot.zip").study
    assert story_tables.drawing_probabilities(study) == known
    assert _scores(study) == scores
    assert study.benchmark.stories.count() == 6
    hypotheses = study_tables.hypotheses_frame(study)
    assert hypotheses.to_dict("list") == {
        "question": ["look"],
        "metric": ["taste"],
        "epsilon": [0.1],
    }
    trained = study_tables.trained_on_frame(study)
    assert trained.to_dict("list") == {"method": ["Alder"], "metric": ["taste"]}


def _scores(study):
    rows = score_tables.score_rows(study)
    return {(row["story"], row["method"], row["score"]) for row in rows}


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"question": ", epsilon: 0.1"}, "only a declared metric has an epsilon"),
        ({"question": ", metric: csd, epsilon: 1.5"}, "a number from 0 to 1"),
        ({"more": "trained_on: {Elm: csd}"}, "Elm: not a method of this study"),
        ({"more": "trained_on: {Alder: []}"}, "a name, or a list of names"),
    ],
)
def test_wrong_declarations_are_refused(given, reason):
    with pytest.raises((DefinitionError, PlanningError), match=reason):
        planned("null", **given)


@pytest.mark.postgresql
@pytest.mark.parametrize("probability", [0, -0.1, 1.01])
def test_database_refuses_impossible_probabilities(probability):
    study = planned(2)
    row = study.story_draws.first()
    row.probability = probability
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save()


def test_pages_offer_the_draw_and_warn_about_choices_by_hand(client):
    benchmark = make_benchmark(stories=6, shots=1)
    score(benchmark, dict.fromkeys(KEYS, 1.0))
    study = planned("{number: 2, spread_of: taste}", benchmark)
    user = User.objects.create(username="alice")
    study.members.create(user=user, role="manager")
    client.force_login(user)
    # Without the benchmark, other stories cannot be added.
    outside = next(key for key in KEYS if key not in rated(study))
    asked = {"story": outside, "check": "1"}
    address = reverse("study-extend", args=[study.slug])
    assert client.post(address, asked).status_code == 403
    members.add(benchmark, user, members.Role.OWNER)
    page = client.get(reverse("study-edit", args=[study.slug])).content.decode()
    assert '<option value="taste" selected>' in " ".join(page.split())
    lifecycle.launch(study)
    warned = client.post(address, asked).content.decode()
    assert "drawing probability becomes unknown" in warned
    assert outside not in rated(study)


@pytest.mark.slow
@pytest.mark.postgresql
def test_metrics_that_shaped_a_method_are_declared_on_a_page(client):
    study = planned("null", more="trained_on: {Cedar: [clip_i]}")
    lifecycle.launch(study)
    user = User.objects.create(username="alice")
    study.members.create(user=user, role="researcher")
    client.force_login(user)
    address = reverse("study-trained-on", args=[study.slug])
    given = {"trained_on.Alder": " taste, csd,taste ", "trained_on.Cedar": "clip_i"}
    assert client.post(address, given).status_code == 403
    study.members.update(role="manager")
    withdraw_units(study, methods=["Birch"])
    for _again in range(2):
        client.post(address, given | {"trained_on.Birch": "x", "trained_on.Elm": "x"})
    study.refresh_from_db()
    assert study.trained_on == {"Cedar": ["clip_i"], "Alder": ["csd", "taste"]}
    edited = study.events.filter(kind="study edited", details__has_key="trained_on")
    assert "metrics that shaped a method" in details(edited.get())[0]
    # A copy without a withdrawn method declares nothing about it.
    changing.set_trained_on(study, {"Cedar": []})
    assert drafting.setup_of(study).definition.trained_on.keys() == {"Alder"}
    assert (
        'value="csd, taste"'
        in client.get(reverse("study-extend", args=[study.slug])).content.decode()
    )
    refused = client.post(address, {"trained_on.Alder": "x" * 101})
    assert refused.status_code == 422
    assert "x" * 101 in refused.content.decode()
    study.refresh_from_db()
    assert study.trained_on == {"Alder": ["csd", "taste"]}
    # A method that the form does not have keeps its declaration.
    client.post(address, {"trained_on.Cedar": "taste"})
    study.refresh_from_db()
    assert study.trained_on == {"Alder": ["csd", "taste"], "Cedar": ["taste"]}
    page = client.get(reverse("study-extend", args=[study.slug])).content.decode()
    assert "No scores so far of: csd, taste." in " ".join(page.split())


def test_declarations_and_probabilities_are_those_of_the_moment():
    study = planned(2, more="trained_on: {Alder: taste}")
    lifecycle.launch(study)
    before = as_of_event.now(study)
    table = [*story_tables.story_rows(study)]
    trained = study_tables.trained_on(study)
    changing.set_trained_on(study, {"Alder": ["csd"]})
    outside = next(key for key in KEYS if key not in rated(study))
    extend(study, stories=[outside])
    withdraw_units(study, stories=[next(iter(rated(study) - {outside}))])
    assert [*story_tables.story_rows(study, before)] == table
    assert study_tables.trained_on(study, before) == trained


def test_studies_without_a_seed_draw_their_own_stories():
    text = LIKERT.format(stories=2, question="", more="").replace("seed: 4", "seed: 0")
    definition = read_definition(text, file="pilot.yaml", name="pilot")
    woods = make_benchmark(stories=6, shots=1)
    seeds = [
        planning.prepare(Setup(slug, woods, definition)).definition.seed
        for slug in ("pilot", "pilot", "main")
    ]
    assert seeds[0] == seeds[1] != seeds[2]
    assert 0 not in seeds
