"""The templates ask what the papers ask: names, defining words, scales, designs.

Each row holds a question's key, the paper's name of it, what the paper says of it (one
quotation), and stems of the words that make up that meaning. The quotations are looked
up in the papers where these are at hand.
"""

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

PAPERS = {
    "vistorybench-user-study": "000_ada067de0ade67c0.txt",
    "storybench-side-by-side": "001_c0c866fba8dbcca1.txt",
    "storybench-diagnostics": "001_c0c866fba8dbcca1.txt",
    "vistar-pairwise": "002_227f6f667a692679.txt",
    "envision-expert": "003_8b46a90303421807.txt",
}
ASKED = {
    "vistorybench-user-study": [
        (
            "character_identification",
            "Character Identification Consistency",
            "Measures whether the main characters remain visually consistent and "
            "recognizable across different shots in the story.",
            "main characters;same;recognisable;all shots",
            "主要角色;同一个;可辨认",
        ),
        (
            "environment_consistency",
            "Environment Consistency",
            "Assesses the consistency of environmental elements—such as furniture, "
            "architecture, or background settings—across the sequence of generated "
            "images.",
            "furniture;architecture;background;stay the same",
            "家具;建筑;背景;一致",
        ),
        (
            "subjective_aesthetics",
            "Subjective Aesthetics",
            "Evaluates the overall visual appeal of the story, including character "
            "quality, composition, artistic style, and storytelling clarity.",
            "appealing;quality of the "
            "characters;composition;style;clarity;storytelling",
            "吸引;角色质量;构图;风格;清晰",
        ),
    ],
    "storybench-side-by-side": [
        (
            "visual_quality",
            "Visual quality",
            "Visual quality: Which video looks better?",
            "looks better",
            "更好",
        ),
        (
            "text_adherence",
            "Text adherence",
            "Text adherence: Which video better reflects the caption?",
            "reflects;text;better",
            "体现;文本",
        ),
        (
            "entity_consistency",
            "Entity consistency",
            "Entity consistency: Throughout which video are entities more consistent "
            "(e.g., clothes do not change without a change described in the caption)?",
            "throughout;more consistent;clothes;unless the text says so",
            "始终;一致;服装;除非",
        ),
        (
            "background_consistency",
            "Background consistency",
            "Background consistency: In which video is the background more consistent "
            "(e.g., the room does not change without a change described in the "
            "caption)?",
            "background;more consistent;room;unless the text says so",
            "背景;一致;房间;除非",
        ),
        (
            "action_realism",
            "Action realism",
            "Action realism: In which video do actions look more realistic (e.g., "
            "according to physics)?",
            "actions;more realistic;physics",
            "动作;真实;物理",
        ),
    ],
    "vistar-pairwise": [
        (
            "text_rendering",
            "Text Rendering",
            "a **Character-Level** analysis measures fine-grained spelling accuracy, "
            "while a **Token-Level** analysis assesses word presence and order",
            "text;letter;word;order;missing",
            "文字;字母;词;顺序",
        ),
        (
            "lighting_integrity",
            "Light Consistency",
            "This inferred vector is compared against the ground-truth light direction "
            "specified in the prompt",
            "light;direction;shadows",
            "光;方向;投影",
        ),
        (
            "compositional_scene",
            "Compositional Scene",
            "The **Step Coverage** module (left path) uses CLIP to verify *what* is "
            "depicted, ensuring each panel matches its textual description. In "
            "parallel, the **Subject-Level Visual Consistency** module",
            "scene;part;panel;asked for;subject;same",
            "场景;部分;主体;一致",
        ),
        (
            "character_portrayal",
            "Character Portrayal",
            "*person count*, *posture*, and *facial expression*",
            "people;how many;posture;expression;faces",
            "人物;人数;姿势;面部表情",
        ),
        (
            "physical_spatial_consistency",
            "Physical-Spatial Consistency",
            "two opaque solids cannot occupy the same space at the same time",
            "solid;pass through;perspective;covers",
            "实心;穿透;遮挡;透视",
        ),
        (
            "geometric_coherence",
            "Geometric Consistency",
            "the worst-case (minimum) value among them, ensuring sensitivity to the "
            "single *most salient* geometric defect",
            "geometric;surfaces;outlines;curvature;highlights;texture;worst",
            "几何;表面;轮廓;曲率;高光;最严重",
        ),
        (
            "style_fusion",
            "Style Fusion",
            "*Stylistic*: neon light from one style correctly illuminates a Hanfu "
            "garment",
            "styles;fused;light of one;asked for",
            "风格;融合",
        ),
        (
            "cultural_fidelity",
            "Cultural-Historical Fidelity",
            "Cultural-Historical Fidelity",
            "cultur;histor;faithful;period",
            "文化;历史;忠实;时代",
        ),
        (
            "material_accuracy",
            "Material Accuracy",
            "assess abstract semantics (style fusion, cultural fidelity, material "
            "accuracy)",
            "material;accurate;texture",
            "材质;准确;质感",
        ),
    ],
    "envision-expert": [
        (
            "semantic_consistency",
            "Semantic Consistency",
            "Assesses the alignment between the visual output and the conceptual "
            "meaning of the prompt.",
            "mean;implied",
            "含义;隐含",
        ),
        (
            "factual_consistency",
            "Factual Consistency",
            "Gauges the adherence to empirical facts and established logical "
            "relationships.",
            "facts;logic;science;history",
            "事实;逻辑;科学;历史",
        ),
        (
            "spatial_temporal_consistency",
            "Spatial-Temporal Consistency",
            "Coherence in spatial evolution and temporal progression across the "
            "sequence",
            "space;time;coherent;order",
            "空间;时间;连贯;顺序",
        ),
        (
            "basic_properties",
            "Basic Properties",
            "the precise maintenance of object counts, the preservation of fundamental "
            "geometric shapes and sizes, and the consistency of scale and proportions",
            "number;shape;size;proportions;stay",
            "数量;形状;大小;比例",
        ),
        (
            "dynamics_interactivity",
            "Dynamics and Interactivity",
            "motion trajectories, force interactions, fluid/rigid body behaviors, and "
            "object interactions across the sequence",
            "move;act on each other;forces;fluids;solid",
            "运动;相互作用;力;流体;刚体",
        ),
        (
            "physical_reliability",
            "Physical Reliability",
            "checking for violations of thermodynamics, conservation laws, gravity, "
            "and other invariant principles",
            "whole sequence;laws of physics;gravity;conservation",
            "整个序列;物理定律;守恒",
        ),
        (
            "expressiveness",
            "Expressiveness",
            "the composition, character expressions, lighting, and color are used to "
            "convey the narrative's mood, action, and underlying causality",
            "tell;move;mood;action;composition;light;colour",
            "讲述;打动;情绪;构图",
        ),
        (
            "aesthetic_quality",
            "Aesthetic Quality",
            "the visual style is appropriate, consistent, and effectively supports the "
            "narrative through masterful execution of composition, color, and lighting",
            "appealing;art;execution;style;supports the story;composition;colour;light",
            "吸引;艺术;风格;叙事;构图;色彩",
        ),
        (
            "authenticity",
            "Authenticity",
            "Measures the believability and naturalness of the generated imagery",
            "believable;natural;traces of generation",
            "可信;自然;痕迹",
        ),
    ],
}
QUESTIONS = [(name, *row) for name, rows in ASKED.items() for row in rows]
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
# Appendix E.4 of Envision.
LEVELS = {
    "0": (
        "Irrelevant, nonsensical, or non-compliant output.",
        "failure;beside the point;senseless;not what was asked",
        "失败;离题;毫无意义;不符合要求",
    ),
    "1": (
        "Fundamentally flawed, bearing little resemblance to a correct outcome.",
        "wrong at the root;little",
        "根本错误;几乎没有",
    ),
    "2": (
        "Significant errors that violate causal narrative or visual consistency.",
        "grave errors;break;consistency",
        "严重错误;破坏;一致性",
    ),
    "3": (
        "Noticeable errors that do not fundamentally undermine the causal chain or "
        "primary objective.",
        "noticeable errors;course;aim;stand",
        "明显错误;过程;目的;成立",
    ),
    "4": (
        "Minor, inconsequential deviations.",
        "minor deviations;consequence",
        "无关紧要;小偏差",
    ),
    "5": (
        "Flawless execution regarding the specific sub-dimension.",
        "flawless",
        "没有缺陷",
    ),
}
# ViStoryBench gives the ends of the first scale only; more is better in all.
ENDS = {
    "character_identification": (
        "no character can be identified",
        "无法辨认",
        "nearly perfect continuity",
        "几乎完全一致",
    ),
    "environment_consistency": (
        "no place can be recognised",
        "没有一个地点",
        "nearly perfect continuity",
        "几乎完全一致",
    ),
    "subjective_aesthetics": ("repellent", "不适", "excellent", "优秀"),
}


def question(name, key):
    return next(one for one in load_definition(name).questions if one.key == key)


def flat(text):
    """The text on one line, as quotations are compared."""
    return " ".join(text.split())


@pytest.fixture(scope="session")
def papers(shared):
    return {
        name: flat((shared / "papers" / file).read_text("utf-8"))
        for name, file in PAPERS.items()
    }


@pytest.mark.parametrize(
    ("name", "key", "title"), [row[:3] for row in QUESTIONS], ids=lambda value: value
)
def test_a_question_has_the_papers_name(name, key, title):
    assert question(name, key).title["en"].lower() == title.lower()


@pytest.mark.parametrize(
    ("name", "key", "english", "chinese"),
    [(name, key, en, zh) for name, key, _title, _quote, en, zh in QUESTIONS],
    ids=lambda value: value if ";" not in value else "",
)
def test_a_question_says_what_the_paper_means(name, key, english, chinese):
    asked = question(name, key)
    for language, words in (("en", english), ("zh", chinese)):
        said = f"{asked.text[language]} {asked.help[language]}".lower()
        lacking = [word for word in words.split(";") if word not in said]
        assert lacking == [], (language, said)


@pytest.mark.parametrize("name", list(ASKED))
def test_no_question_is_left_out_or_made_up(name):
    keys = [one.key for one in load_definition(name).questions]
    assert sorted(keys) == sorted(row[0] for row in ASKED[name])


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "key", "quote"),
    [(name, key, quote) for name, key, _title, quote, _en, _zh in QUESTIONS],
    ids=lambda value: value if len(value) < 40 else "",
)
def test_the_quotations_are_the_papers(papers, name, key, quote):
    assert flat(quote) in papers[name]


@pytest.mark.shared
def test_the_angles_of_vistar_are_those_of_its_table(shared):
    rows = csv.DictReader((shared / "published/vistar_ppa.csv").open(encoding="utf-8"))
    published = {row["metric"]: row["angle"] for row in rows}
    asked = load_definition("vistar-pairwise").questions
    assert {one.stories["angle"][0]: one.title["en"] for one in asked} == published
    assert tuple(published) == tuple(ANGLES)


def test_a_question_of_vistar_is_asked_only_of_its_angle():
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
    asked = [key for key, *_rest in ASKED["envision-expert"]]
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


def test_the_levels_of_envisions_scale_mean_what_its_rubric_says():
    for one in load_definition("envision-expert").questions:
        for level, (_quote, *both) in LEVELS.items():
            for language, words in zip(("en", "zh"), both, strict=True):
                said = one.anchors[int(level)][language]
                assert [w for w in words.split(";") if w not in said] == [], said


@pytest.mark.shared
def test_the_levels_are_quoted_from_the_rubric(papers):
    for quote, *_words in LEVELS.values():
        assert flat(quote) in papers["envision-expert"]


@pytest.mark.parametrize("key", ENDS)
def test_the_scales_of_vistorybench_run_from_worst_to_best(key):
    anchors = question("vistorybench-user-study", key).anchors
    said = [anchors[level][language] for level in (0, 4) for language in ("en", "zh")]
    assert [end in text for end, text in zip(ENDS[key], said, strict=True)] == 4 * [
        True
    ]
    assert list(anchors) == [0, 1, 2, 3, 4]


def test_characters_are_held_against_each_other_as_self_cids_does():
    """Whoever looks unlike the reference, and alike in all shots, is consistent."""
    asked = question("vistorybench-user-study", "character_identification")
    assert asked.metric == "cids_self"
    assert "from shot to shot" in asked.help["en"]
    for language, only, against in (
        ("en", "reference pictures only tell who is who", "with the reference"),
        ("zh", "参考图仅用于说明谁是谁", "与参考图比较"),
    ):
        assert only in asked.help[language]
        assert against not in asked.help[language]


def test_a_crowd_is_asked_the_questions_of_the_user_study():
    crowd, study = map(
        load_definition, ("vistorybench-crowd", "vistorybench-user-study")
    )
    assert crowd.questions == study.questions


def test_the_labels_are_storybenchs():
    found: dict[str, list[str]] = {}
    for one in load_definition("storybench-diagnostics").questions:
        name = one.title["en"].lower().replace(" or ", "/")
        found.setdefault(one.category["en"], []).append(name)
    assert {name: ", ".join(labels) for name, labels in found.items()} == LABELS
    assert sum(map(len, found.values())) == 34


@pytest.mark.shared
def test_the_labels_are_quoted_from_its_table(papers):
    for category, labels in LABELS.items():
        assert f"{category.title()} | {labels} |" in papers["storybench-diagnostics"]


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
def test_the_design_is_the_papers(name, design):
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
def test_every_question_has_help_in_both_languages(name):
    for one in load_definition(name).questions:
        if load_definition(name).kinds[0].name == "checklist":
            continue  # A label's text is its explanation.
        assert set(one.help) == {"en", "zh"}, one.key


@pytest.mark.django_db
def test_a_study_keeps_the_wording_with_which_it_was_planned(monkeypatch, tmp_path):
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
