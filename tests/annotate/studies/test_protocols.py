"""The templates ask what the papers ask: names, metrics, labels, designs."""

import csv
import re

import pytest
from django.urls import reverse

from analysis.rankings.composite_weights import by_name, leaves
from annotate.models import Study
from annotate.studies import drafting, planning, study_file
from annotate.studies.definition import template_names
from annotate.studies.study_file import load_definition
from evalcore.metrics import registry
from evalcore.metrics.envision import SUB_SCORES
from evalcore.metrics.vistar.prompt_language import ANGLES
from tests.factories import make_benchmark
from tests.people import alice

# The papers' names of the questions, by template and key, in the papers' order.
ASKED = {
    "vistorybench-user-study": {
        "character_identification": "Character Identification Consistency",
        "environment_consistency": "Environment Consistency",
        "subjective_aesthetics": "Subjective Aesthetics",
    },
    "storybench-side-by-side": {
        "visual_quality": "Visual quality",
        "text_adherence": "Text adherence",
        "entity_consistency": "Entity consistency",
        "background_consistency": "Background consistency",
        "action_realism": "Action realism",
    },
    "vistar-pairwise": {
        "text_rendering": "Text Rendering",
        "lighting_integrity": "Light Consistency",
        "compositional_scene": "Compositional Scene",
        "character_portrayal": "Character Portrayal",
        "physical_spatial_consistency": "Physical-Spatial Consistency",
        "geometric_coherence": "Geometric Consistency",
        "style_fusion": "Style Fusion",
        "cultural_fidelity": "Cultural-Historical Fidelity",
        "material_accuracy": "Material Accuracy",
    },
    "envision-expert": {
        "semantic_consistency": "Semantic Consistency",
        "factual_consistency": "Factual Consistency",
        "spatial_temporal_consistency": "Spatial-Temporal Consistency",
        "basic_properties": "Basic Properties",
        "dynamics_interactivity": "Dynamics and Interactivity",
        "physical_reliability": "Physical Reliability",
        "expressiveness": "Expressiveness",
        "aesthetic_quality": "Aesthetic Quality",
        "authenticity": "Authenticity",
    },
}
# Table 2 of StoryBench.
LABELS = {
    "Camera movements": "static shot, pan, tilt, zoom, tracking shot, aerial shot, "
    "point-of-view shot",
    "Foreground entities": "people, animals, vehicles, food/drinks, containers, tools",
    "Foreground actions": "humans moving, animals moving, objects moving, humans using "
    "objects, animals using objects, static actions",
    "Background actions": "animate entities moving, objects moving, animate entities "
    "using objects, static actions, dynamic background",
    "Foreground interactions": "dialogues, direct, indirect, object-based",
    "Foreground transitions": "new entities, new objects, entities vanish, objects "
    "vanish, entities re-enter, objects re-enter",
}


@pytest.mark.parametrize("name", ASKED)
def test_template_asks_the_papers_questions(name):
    asked = load_definition(name).questions
    found = {one.key: one.title["en"].lower() for one in asked}
    assert found == {key: title.lower() for key, title in ASKED[name].items()}


@pytest.mark.shared
def test_angles_of_vistar_are_those_of_its_table(shared):
    rows = csv.DictReader((shared / "published/vistar_ppa.csv").open(encoding="utf-8"))
    published = {row["metric"]: row["angle"] for row in rows}
    asked = load_definition("vistar-pairwise").questions
    assert {one.stories["angle"][0]: one.title["en"] for one in asked} == published
    assert tuple(published) == tuple(ANGLES)


def test_question_of_vistar_is_asked_only_of_its_angle():
    """The key says in words what the code of the tag says."""
    for one in load_definition("vistar-pairwise").questions:
        (code,) = one.stories["angle"]
        assert one.key.split("_")[0] == re.split("[ -]", ANGLES[code].lower())[0]


def test_vistars_core_is_the_mean_of_all_nine_angles():
    """Each over the prompts of its angle, and beside it the metric of each angle."""
    vistar = load_definition("vistar-pairwise")
    (core,) = vistar.composites
    assert core.parts == {
        f"{one.key}@{one.stories['angle'][0]}": 1.0 for one in vistar.questions
    }
    assert [one.metric for one in vistar.questions[-3:]] == ["hwpq"] * 3


def test_envisions_overall_weighs_its_three_dimensions():
    """In the order of the questions: .4 / 3 six times, and .2 / 3 three times."""
    known = by_name(load_definition("envision-expert").composites)
    asked = ASKED["envision-expert"]
    weights = [0.4 / 3] * 6 + [0.2 / 3] * 3
    assert leaves(known, "overall") == pytest.approx(
        dict(zip(asked, weights, strict=True))
    )


def test_declared_metrics_are_those_that_there_are():
    for name in template_names():
        named = {one.metric for one in load_definition(name).questions} - {""}
        assert named <= {*registry.names()}, name


def test_envisions_judge_is_asked_what_the_experts_are():
    """Sub-scores stand in the order of the paper, in both."""
    questions = load_definition("envision-expert").questions
    assert [one.metric for one in questions] == [f"envision_{s}" for s in SUB_SCORES]


def test_crowd_is_asked_the_questions_of_the_user_study():
    crowd, study = map(
        load_definition, ("vistorybench-crowd", "vistorybench-user-study")
    )
    assert crowd.questions == study.questions
    assert (crowd.assignment, crowd.cap) == ("open", 42)


def test_labels_are_storybenchs():
    found: dict[str, list[str]] = {}
    for one in load_definition("storybench-diagnostics").questions:
        name = one.title["en"].lower().replace(" or ", "/")
        found.setdefault(one.category["en"], []).append(name)
    assert {name: ", ".join(labels) for name, labels in found.items()} == LABELS
    assert sum(map(len, found.values())) == 34


@pytest.mark.parametrize(
    ("name", "design"),
    [
        # "at least 10 independent ratings per dimension", "typically 6-8" stories
        ("vistorybench-user-study", {"scale": (0, 4), "redundancy": 10, "rounds": 1}),
        # "randomly sample 100 stories, and ask three raters to judge each pair"
        (
            "storybench-side-by-side",
            {"stories": 100, "redundancy": 3, "allow_tie": True},
        ),
        ("storybench-diagnostics", {"rounds": 1}),
        # "all non-tie pairs": whoever sees no difference may say so.
        ("vistar-pairwise", {"allow_tie": True, "rounds": 1}),
        # "five domain experts", "(K=5)"
        ("envision-expert", {"scale": (0, 5), "redundancy": 5, "rounds": 5}),
    ],
)
def test_design_is_the_papers(name, design):
    definition = load_definition(name)
    first = definition.questions[0]
    found = {
        "scale": getattr(first, "scale", None),
        "allow_tie": getattr(first, "allow_tie", None),
        "stories": definition.stories and definition.stories.number,
        "redundancy": definition.redundancy,
        "rounds": definition.rounds,
    }
    assert {key: found[key] for key in design} == design
    if name == "vistorybench-user-study":
        assert 6 <= definition.session_size <= 8


@pytest.mark.parametrize("name", template_names())
def test_templates_speak_both_languages(name):
    definition = load_definition(name)
    assert {"en", "zh"} <= set(definition.consent.texts)
    assert {"en", "zh"} <= set(definition.instructions)
    for question in definition.questions:
        assert {"en", "zh"} <= set(question.title)
        assert {"en", "zh"} <= set(question.text)
        if question.kind != "checklist":  # a label's text is its explanation
            assert {"en", "zh"} <= set(question.help)
        if question.kind == "likert":
            low, high = question.scale
            assert set(question.anchors) == set(range(low, high + 1))


@pytest.mark.parametrize("name", template_names())
def test_templates_look_after_their_quality(name):
    definition = load_definition(name)
    assert definition.rules == "default"
    # Rounds repeat every unit anyway.
    assert definition.checks.per_session == (definition.rounds == 1)
    # A worse picture makes no box of a checklist wrong.
    worse = definition.rounds == 1 and definition.kinds[0].name != "checklist"
    assert bool(definition.checks.degradations) == worse


@pytest.mark.django_db
def test_study_keeps_the_wording_with_which_it_was_planned(monkeypatch, tmp_path):
    """A template that is mended changes no study, nor what its new version asks."""
    old = study_file.TEMPLATES / "vistar-pairwise.yaml"
    before = old.read_text("utf-8").replace("Material Accuracy", "Mood")
    (tmp_path / old.name).write_text(before, "utf-8")
    with monkeypatch.context() as patch:
        patch.setattr(study_file, "TEMPLATES", tmp_path)
        definition = load_definition("vistar-pairwise")
    study = planning.plan_study(
        definition.with_changes(rules=[]),
        benchmark=make_benchmark(shots=1),
        slug="earlier",
        annotators=3,
    )
    assert study.template == "vistar-pairwise"
    study = Study.objects.get(pk=study.pk)
    assert "Mood" in [one.title for one in study.questions.all()]
    again = drafting.setup_of(study).definition
    assert again.questions[-1].title["en"] == "Mood"
    client = alice(study)
    file = client.get(reverse("study-file", args=[study.slug])).content.decode()
    assert "Mood" in file
    assert "Material Accuracy" not in file
