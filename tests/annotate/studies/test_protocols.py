"""Tests that templates match the papers: names, metrics, labels, designs."""

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
def test_template_contains_questions_of_paper(name):
    asked = load_definition(name).questions
    found = {one.key: one.title["en"].lower() for one in asked}
    assert found == {key: title.lower() for key, title in ASKED[name].items()}


@pytest.mark.shared
def test_vistar_angles_match_published_table(shared):
    rows = csv.DictReader((shared / "published/vistar_ppa.csv").open(encoding="utf-8"))
    published = {row["metric"]: row["angle"] for row in rows}
    asked = load_definition("vistar-pairwise").questions
    assert {one.stories["angle"][0]: one.title["en"] for one in asked} == published
    assert tuple(published) == tuple(ANGLES)


def test_vistar_question_applies_to_its_angle_only():
    """The key spells out the code of the tag."""
    for one in load_definition("vistar-pairwise").questions:
        (code,) = one.stories["angle"]
        assert one.key.split("_")[0] == re.split("[ -]", ANGLES[code].lower())[0]


def test_vistar_core_is_mean_of_nine_angles():
    """Each angle counts over its own prompts; the questions declare its metric."""
    vistar = load_definition("vistar-pairwise")
    (core,) = vistar.composites
    assert core.parts == {
        f"{one.key}@{one.stories['angle'][0]}": 1.0 for one in vistar.questions
    }
    assert [one.metric for one in vistar.questions[-3:]] == ["hwpq"] * 3


def test_envision_overall_weights_three_dimensions():
    """In the order of the questions: .4 / 3 six times, and .2 / 3 three times."""
    known = by_name(load_definition("envision-expert").composites)
    asked = ASKED["envision-expert"]
    weights = [0.4 / 3] * 6 + [0.2 / 3] * 3
    assert leaves(known, "overall") == pytest.approx(
        dict(zip(asked, weights, strict=True))
    )


def test_declared_metrics_exist():
    for name in template_names():
        named = {one.metric for one in load_definition(name).questions} - {""}
        assert named <= {*registry.names()}, name


def test_envision_judge_gets_questions_of_experts():
    """Sub-scores stand in the order of the paper, in both."""
    questions = load_definition("envision-expert").questions
    assert [one.metric for one in questions] == [f"envision_{s}" for s in SUB_SCORES]


def test_crowd_template_has_questions_of_user_study():
    crowd, study = map(
        load_definition, ("vistorybench-crowd", "vistorybench-user-study")
    )
    assert crowd.questions == study.questions
    assert (crowd.assignment, crowd.cap) == ("open", 42)


def test_labels_match_storybench():
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
        # "all non-tie pairs": annotators may choose no preference.
        ("vistar-pairwise", {"allow_tie": True, "rounds": 1}),
        # "five domain experts", "(K=5)"
        ("envision-expert", {"scale": (0, 5), "redundancy": 5, "rounds": 5}),
    ],
)
def test_design_matches_paper(name, design):
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
def test_templates_contain_both_languages(name):
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
def test_templates_have_rules_and_checks(name):
    definition = load_definition(name)
    assert definition.rules == "default"
    # Rounds repeat every unit anyway.
    assert definition.checks.per_session == (definition.rounds == 1)
    # Degradation changes no correct answer of a checklist.
    worse = definition.rounds == 1 and definition.kinds[0].name != "checklist"
    assert bool(definition.checks.degradations) == worse


@pytest.mark.django_db
def test_study_keeps_wording_when_template_changes(monkeypatch, tmp_path):
    """A corrected template changes neither studies nor their new versions."""
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
