"""Training and examples made of degraded twins, as a study is planned."""

from dataclasses import replace

import pytest

from annotate.history.verifying import problems
from annotate.models import Purpose
from annotate.studies import lessons
from annotate.studies.planning import Setup, plan_study, prepare
from annotate.studies.study_file import load_definition, read_definition
from evalcore.models import Output
from tests.annotate.pages.test_videos import video_benchmark
from tests.browser.reels import make_drawn_reels
from tests.factories import make_benchmark
from tests.working import make_planned

pytestmark = [pytest.mark.django_db, pytest.mark.once]

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
    return replace(read_definition(text, file="s.yaml", name="s"), **changes)


def chosen(text, benchmark=None, **setup):
    """What is chosen for a study of four stories by three methods."""
    benchmark = benchmark or make_benchmark(stories=4)
    asked = definition(text)
    return prepare(Setup("s", benchmark, asked, 3, **setup))


def training(study):
    return list(study.units.filter(purpose=Purpose.TRAINING).order_by("pk"))


def test_a_likert_question_expects_the_lower_half_of_its_scale():
    study = make_planned(LIKERT, annotators=3)
    units = training(study)
    assert [unit.output_a.degradation for unit in units] == [
        "foreign_shot",
        "blurred",
        "foreign_shot",
    ]
    assert [unit.expected for unit in units] == [
        {"cast": [0, 2], "place": [0, 2]},
        {"beauty": [1, 4]},
        {"cast": [0, 2], "place": [0, 2]},
    ]
    assert problems(study) == []
    assert len({unit.output_a.twin_of_id for unit in units}) == 3
    first = units[0].feedback
    (shot,) = (
        number
        for number in (1, 2, 3)
        if units[0].output_a.frames.get(number=number).media
        != units[0].output_a.twin_of.frames.get(number=number).media
    )
    assert first["en"] == (
        f"This story was made worse on purpose. Shot {shot} shows another story. So it "
        "deserves little for “Cast” and “Place”."
    )
    assert f"第 {shot} 个镜头来自另一个故事。" in first["zh"]
    assert "“角色” 和 “地点”" in first["zh"]


def test_side_by_side_the_original_is_expected():
    study = make_planned(PAIRS, annotators=3)
    for unit, key in zip(training(study), ("cast", "order"), strict=True):
        assert unit.output_b.twin_of == unit.output_a
        assert unit.expected == {key: "a"}
        assert "the other one is better in “" in unit.feedback["en"]
    assert problems(study) == []


def test_each_question_comes_first_until_the_number_is_reached():
    for number, expected in ((1, ["foreign_shot"]), (2, ["foreign_shot", "blurred"])):
        text = LIKERT.replace("twins: 3", f"twins: {number}")
        draft = chosen(text, make_benchmark(stories=4, slug=f"w{number}"))
        assert [one.degradation for one in draft.taught.training] == expected
        assert draft.taught.note() == ""


def test_a_question_of_some_stories_is_trained_with_one_of_them():
    text = LIKERT.replace(
        "degradation: blurred,", "degradation: blurred, stories: {angle: [TR]},"
    )
    benchmark = make_benchmark(stories=4)
    for story in benchmark.stories.all():
        story.tags = {"angle": "TR" if story.key == "03" else "LI"}
        story.save()
    taught = chosen(text, benchmark).taught
    (blurred,) = (one for one in taught.training if one.degradation == "blurred")
    assert blurred.original.story.key == "03"
    benchmark.stories.update(tags={"angle": "LI"})
    draft = chosen(text, benchmark)
    assert draft.taught.training
    assert [q.key for one in draft.taught.examples for q in one.questions] == [
        "cast",
        "place",
    ]


def test_a_unit_is_about_no_question_that_its_story_is_not_asked():
    text = LIKERT.replace("key: place,", "key: place, stories: {angle: [LI]},")
    benchmark = make_benchmark(stories=4)
    benchmark.stories.update(tags={"angle": "TR"})
    taught = chosen(text, benchmark).taught.training
    assert [[q.key for q in one.questions] for one in taught] == [
        ["cast"],
        ["beauty"],
        ["cast"],
    ]


def test_stories_that_are_not_judged_come_first():
    draft = chosen(LIKERT, stories=("01", "02", "03"))
    taught = draft.taught
    used = [one.original for one in (*taught.examples, *taught.training)]
    assert {output.story.key for output in used[:3]} == {"04"}
    pairs = {
        (output.pk, one.degradation)
        for one, output in zip((*taught.examples, *taught.training), used, strict=True)
    }
    assert len(pairs) == len(used), "nothing is shown twice with the same fault"


def test_no_output_of_gold_or_of_a_method_that_is_not_judged_is_taken():
    gold = (
        "checks: {per_session: 1, kinds: [gold], gold: "
        "[{story: '04', method: Alder, expected: {cast: 5}}]}"
    )
    draft = chosen(
        LIKERT + gold, stories=("01", "02", "03"), methods=("Alder", "Birch")
    )
    names = {
        (one.original.story.key, one.original.method.name)
        for one in (*draft.taught.examples, *draft.taught.training)
    }
    assert ("04", "Birch") in names
    assert ("04", "Alder") not in names
    assert "Cedar" not in {method for _story, method in names}


def test_what_taught_people_does_not_check_them():
    checks = (
        "checks: {per_session: 1, kinds: [twin], share: 1.0, "
        "degradations: [shuffled, foreign_shot, blurred]}"
    )
    study = make_planned(
        LIKERT + checks, benchmark=make_benchmark(stories=3), annotators=3
    )
    taught = {unit.output_a.twin_of_id for unit in training(study)}
    taught |= {q.example.twin_of_id for q in study.questions.all() if q.example}
    checked = study.units.filter(purpose=Purpose.TWIN)
    assert len(taught) == 6
    assert {unit.output_a.twin_of_id for unit in checked} == {
        output.pk for output in Output.objects.all() if output.pk not in taught
    }


def test_the_same_seed_teaches_the_same():
    benchmark = make_benchmark(stories=4)
    seeds = [
        [
            one.original.pk
            for one in chosen(LIKERT + f"seed: {n}", benchmark).taught.training
        ]
        for n in (1, 1, 2)
    ]
    assert seeds[0] == seeds[1] != seeds[2]


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (
            {"stories": 1},
            "Only 1 of the 3 training stories could be made by degrading outputs: "
            "“Cast” needs another story with other pictures; “Place” needs another "
            "story with other pictures; there are no more outputs for “Beauty”.",
        ),
        ({"stories": 2, "methods": ("Alder",)}, "there are no more outputs for"),
    ],
)
def test_what_is_impossible_is_said_and_nothing_fails(made, told):
    benchmark = make_benchmark(**{"methods": ("Alder", "Birch"), **made})
    draft = chosen(LIKERT, benchmark)
    (note,) = draft.notes()
    assert told in note
    study = make_planned(LIKERT, benchmark=benchmark, annotators=2, redundancy=1)
    assert len(training(study)) == len(draft.taught.training)
    assert problems(study) == []


def test_videos_teach_as_pictures_do(tmp_path):
    benchmark = make_drawn_reels(tmp_path, ["Alder", "Birch"], stories=3, seconds=0.5)
    study = plan_study(
        definition(PAIRS), benchmark=benchmark, slug="films", annotators=3
    )
    units = training(study)
    assert [unit.output_b.degradation for unit in units] == ["foreign_shot", "shuffled"]
    assert all(unit.output_b.video != unit.output_a.video for unit in units)
    (foreign,) = (n for n, _a, _b, differs in units[0].output_b.parts if differs)
    assert f"Shot {foreign} shows another story." in units[0].feedback["en"]
    asked = study.questions.get(key="cast")
    assert len(asked.example_shots) == 3
    assert sum(differs for _n, differs in asked.example_shots) == 1


def test_videos_of_two_shots_are_not_shuffled(tmp_path):
    draft = chosen(PAIRS, video_benchmark(tmp_path))
    assert draft.notes() == [
        "No training story could be made by degrading outputs: “Cast” needs another "
        "story with other pictures; “Order” needs three shots with different pictures."
    ]


def test_videos_check_by_twins(tmp_path):
    checks = "checks: {per_session: 1, kinds: [twin], share: 1.0, degradations: "
    asked = PAIRS.replace("training: {twins: 2}", checks + "[shuffled, blurred]}")
    benchmark = make_drawn_reels(tmp_path, ["Alder", "Birch"], stories=2, seconds=0.5)
    study = plan_study(
        definition(asked),
        benchmark=benchmark,
        slug="films",
        annotators=3,
    )
    checked = study.units.filter(purpose=Purpose.TWIN)
    assert {unit.output_b.degradation for unit in checked} <= {"shuffled", "blurred"}
    assert checked
    assert all(unit.output_b.video_id != unit.output_a.video_id for unit in checked)


def test_the_plan_says_what_people_are_taught_with():
    assert chosen(LIKERT).taught.summary() == (
        "Taught by 3 training stories made worse on purpose and pictured examples of 3 "
        "questions."
    )


def test_too_many_are_refused():
    with pytest.raises(lessons.PlanningError, match="training units, up to 2 times"):
        chosen(LIKERT.replace("twins: 3", "twins: 600"))


@pytest.mark.parametrize(
    ("name", "degradations"),
    [
        ("vistorybench-user-study", {"foreign_shot", "blurred"}),
        ("vistorybench-crowd", {"foreign_shot", "blurred"}),
        ("storybench-side-by-side", {"foreign_shot", "blurred", "shuffled"}),
        ("vistar-pairwise", {"blurred"}),
        ("envision-expert", {"foreign_shot", "blurred", "shuffled"}),
    ],
)
def test_every_template_of_pictures_trains(name, degradations):
    asked = load_definition(name)
    shots = 1 if name == "vistar-pairwise" else 4
    study = plan_study(
        asked,
        benchmark=make_benchmark(stories=5, shots=shots),
        slug="s",
        annotators=0 if asked.assignment == "open" else asked.redundancy,
    )
    units = training(study)
    assert len(units) == 3
    shown = {(unit.output_b or unit.output_a).degradation for unit in units}
    assert shown == degradations
    illustrated = study.questions.filter(example__isnull=False)
    assert {q.key for q in illustrated} == {
        q.key for q in asked.questions if q.degradation
    }
    assert problems(study) == []
