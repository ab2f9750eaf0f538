"""Tests of training units and examples made of degraded copies."""

import pytest

from annotate.audit_log.verifying import problems
from annotate.models import Purpose
from annotate.studies.planning import Setup, plan_study, prepare
from annotate.studies.study_file import load_definition, read_definition
from evalcore.models import Output
from tests.browser.reels import make_drawn_reels
from tests.factories import make_benchmark
from tests.working import make_planned

pytestmark = pytest.mark.django_db

LIKERT = """
kind: likert
scale: [0, 5]
questions:
  - {key: cast, title: {en: Cast, zh: 角色}, degradation: foreign_shot}
  - {key: place, title: {en: Place, zh: 地点}, degradation: foreign_shot}
  - {key: beauty, title: {en: Beauty, zh: 美感}, degradation: blurred, scale: [1, 7]}
  - {key: text, title: {en: Text}}
training: {twins: 3}
"""
PAIRS = """
kind: choice
questions:
  - {key: cast, title: {en: Cast, zh: 角色}, degradation: foreign_shot}
  - {key: order, title: {en: Order, zh: 顺序}, degradation: shuffled}
training: {twins: 2}
"""


def definition(text, **changes):
    definition = read_definition(text, file="s.yaml", name="s")
    return definition.with_changes(**changes)


def chosen(text, benchmark=None, **setup):
    """Return the draft of a study of four stories by three methods."""
    benchmark = benchmark or make_benchmark(stories=4)
    return prepare(Setup("s", benchmark, definition(text), 3, **setup))


def training(study):
    return list(study.units.filter(purpose=Purpose.TRAINING).order_by("pk"))


def test_degraded_copy_follows_original_and_must_get_lower_rating():
    study = make_planned(LIKERT, annotators=3)
    units = training(study)
    originals, twins = units[::2], units[1::2]
    assert [unit.output_a.degradation for unit in twins] == [
        "foreign_shot",
        "blurred",
        "foreign_shot",
    ]
    assert [unit.output_a.twin_of for unit in twins] == [u.output_a for u in originals]
    assert [unit.original for unit in twins] == originals
    assert [unit.expected for unit in originals] == [{}, {}, {}]
    assert [unit.expected for unit in twins] == [
        {"cast": [0, 4], "place": [0, 4]},
        {"beauty": [1, 6]},
        {"cast": [0, 4], "place": [0, 4]},
    ]
    assert problems(study) == []


def test_feedback_describes_degradation_and_announces_comparison():
    original, twin = training(make_planned(LIKERT, annotators=3))[:2]
    assert original.feedback["en"] == "You will compare the next story with this one."
    assert original.feedback["zh"] == "下一个故事将与这个故事作比较。"
    shots = [
        number
        for number in (1, 2, 3)
        if twin.output_a.frames.get(number=number).media
        != original.output_a.frames.get(number=number).media
    ]
    assert twin.feedback["en"] == (
        "This is the previous story, made worse on purpose. "
        f"Shot {shots[0]} comes from another story. "
        "It should score lower than the original on “Cast” and “Place”."
    )
    assert len(shots) == 1
    assert f"第 {shots[0]} 个镜头来自另一个故事。" in twin.feedback["zh"]
    assert "它在“角色”和“地点”方面" in twin.feedback["zh"]


@pytest.mark.slow
def test_original_is_expected_winner_side_by_side():
    study = make_planned(PAIRS, annotators=3)
    for unit, key in zip(training(study), ("cast", "order"), strict=True):
        assert unit.output_b.twin_of == unit.output_a
        assert unit.expected == {key: "a"}
        assert "the other version is better on “" in unit.feedback["en"]
    assert problems(study) == []


def test_training_covers_questions_in_order_up_to_number():
    for number, expected in ((1, ["foreign_shot"]), (2, ["foreign_shot", "blurred"])):
        text = LIKERT.replace("twins: 3", f"twins: {number}")
        draft = chosen(text, make_benchmark(stories=4, slug=f"w{number}"))
        assert [one.degradation for one in draft.material.training] == expected
        assert draft.material.note() == ""


def test_question_with_tags_is_trained_on_matching_story():
    text = LIKERT.replace(
        "degradation: blurred,", "degradation: blurred, stories: {angle: [TR]},"
    )
    benchmark = make_benchmark(stories=4)
    for story in benchmark.stories.all():
        story.tags = {"angle": "TR" if story.key == "03" else "LI"}
        story.save()
    material = chosen(text, benchmark).material
    (blurred,) = (one for one in material.training if one.degradation == "blurred")
    assert blurred.original.story.key == "03"
    benchmark.stories.update(tags={"angle": "LI"})
    draft = chosen(text, benchmark)
    assert draft.material.training
    assert [q.key for one in draft.material.examples for q in one.questions] == [
        "cast",
        "place",
    ]


def test_training_uses_each_output_once():
    study = make_planned(
        LIKERT.replace("twins: 3", "twins: 8"),
        benchmark=make_benchmark(stories=4, methods=("Alder",)),
        annotators=1,
        redundancy=1,
    )
    originals = training(study)[::2]
    assert len({unit.output_a for unit in originals}) == len(originals) == 4


def test_unrated_stories_are_used_first():
    draft = chosen(LIKERT, stories=("01", "02", "03"))
    material = draft.material
    used = [one.original for one in (*material.examples, *material.training)]
    assert {output.story.key for output in used[:3]} == {"04"}
    pairs = {
        (output.pk, one.degradation)
        for one, output in zip(
            (*material.examples, *material.training), used, strict=True
        )
    }
    assert len(pairs) == len(used), "no output is shown twice with the same degradation"


def test_outputs_of_gold_and_of_other_methods_are_not_used():
    gold = (
        "checks: {per_session: 1, kinds: [gold], gold: "
        "[{story: '04', method: Alder, expected: {cast: 5}}]}"
    )
    draft = chosen(
        LIKERT + gold, stories=("01", "02", "03"), methods=("Alder", "Birch")
    )
    names = {
        (one.original.story.key, one.original.method.name)
        for one in (*draft.material.examples, *draft.material.training)
    }
    assert ("04", "Birch") in names
    assert ("04", "Alder") not in names
    assert "Cedar" not in {method for _story, method in names}


@pytest.mark.slow
def test_training_outputs_are_not_used_as_checks():
    checks = (
        "checks: {per_session: 1, kinds: [twin], share: 1.0, "
        "degradations: [shuffled, foreign_shot, blurred]}"
    )
    study = make_planned(
        LIKERT + checks, benchmark=make_benchmark(stories=3), annotators=3
    )
    taught = {unit.output_a.pk for unit in training(study)[::2]}
    taught |= {q.example.twin_of_id for q in study.questions.all() if q.example}
    checked = study.units.filter(purpose=Purpose.TWIN)
    assert len(taught) == 6
    assert {unit.output_a.twin_of_id for unit in checked} == {
        output.pk for output in Output.objects.all() if output.pk not in taught
    }


def test_same_seed_gives_same_training():
    benchmark = make_benchmark(stories=4)
    seeds = [
        [
            one.original.pk
            for one in chosen(LIKERT + f"seed: {n}", benchmark).material.training
        ]
        for n in (1, 1, 2)
    ]
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (
            {"stories": 1},
            "Only 1 of the 3 training stories could be made by degrading outputs: "
            "“Cast” needs another story with other pictures; “Place” needs another "
            "story with other pictures; no further outputs are available for “Beauty”.",
        ),
        ({"stories": 2, "methods": ("Alder",)}, "no further outputs are available for"),
    ],
)
def test_impossible_training_gives_note_without_error(made, reason):
    benchmark = make_benchmark(**{"methods": ("Alder", "Birch"), **made})
    draft = chosen(LIKERT, benchmark)
    (note,) = draft.notes()
    assert reason in note
    study = make_planned(LIKERT, benchmark=benchmark, annotators=2, redundancy=1)
    assert len(training(study)) == 2 * len(draft.material.training)
    assert problems(study) == []


@pytest.mark.slow
def test_videos_make_training_like_pictures(tmp_path):
    benchmark = make_drawn_reels(tmp_path, ["Alder", "Birch"], stories=3, seconds=0.5)
    study = plan_study(
        definition(PAIRS), benchmark=benchmark, slug="films", annotators=3
    )
    units = training(study)
    assert [unit.output_b.degradation for unit in units] == ["foreign_shot", "shuffled"]
    assert all(unit.output_b.video != unit.output_a.video for unit in units)
    (foreign,) = (n for n, _a, _b, shown in units[0].output_b.parts if not shown)
    assert f"Shot {foreign} comes from another story." in units[0].feedback["en"]
    asked = study.questions.get(key="cast")
    assert len(asked.example_shots) == 3
    assert sum(differs for _n, differs, _of in asked.example_shots) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "degradations"),
    [
        ("vistar-pairwise", {"blurred"}),
        ("vistorybench-crowd", {"foreign_shot", "blurred"}),
        ("vistorybench-user-study", {"foreign_shot", "blurred"}),
        ("storybench-side-by-side", {"foreign_shot", "blurred", "shuffled"}),
        ("envision-expert", {"foreign_shot", "blurred", "shuffled"}),
        ("oneig-ratings", {"foreign_shot", "blurred"}),
    ],
)
def test_templates_of_pictures_make_training(name, degradations):
    asked = load_definition(name)
    shots = 1 if name in ("vistar-pairwise", "oneig-ratings") else 4
    study = plan_study(
        asked,
        benchmark=make_benchmark(stories=5, shots=shots),
        slug="s",
        annotators=0 if asked.assignment == "open" else asked.redundancy,
    )
    units = training(study)
    twins = units if asked.outputs == 2 else units[1::2]
    assert len(twins) == asked.training.twins
    shown = {(unit.output_b or unit.output_a).degradation for unit in twins}
    assert shown == degradations
    illustrated = study.questions.filter(example__isnull=False)
    assert {q.key for q in illustrated} == {
        q.key for q in asked.questions if q.degradation
    }
    assert problems(study) == []
