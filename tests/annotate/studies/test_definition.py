import pytest

from annotate.studies.definition import template_names
from annotate.studies.study_file import DefinitionError, load_definition


def test_it_works():
    definition = load_definition("vistorybench-user-study")
    assert definition.kinds[0].name == "likert"
    assert definition.redundancy == 10
    assert [q.scale for q in definition.questions] == [(0, 4)] * 3
    assert 6 <= definition.session_size <= 8


@pytest.mark.parametrize("name", template_names())
def test_templates_speak_both_languages(name):
    definition = load_definition(name)
    assert {"en", "zh"} <= set(definition.consent.texts)
    assert {"en", "zh"} <= set(definition.instructions)
    for question in definition.questions:
        assert {"en", "zh"} <= set(question.title)
        assert {"en", "zh"} <= set(question.text)
        if question.kind == "likert":
            low, high = question.scale
            assert set(question.anchors) == set(range(low, high + 1))


def test_the_papers_protocols_are_there():
    assert template_names() == [
        "envision-expert",
        "storybench-diagnostics",
        "storybench-side-by-side",
        "vistar-pairwise",
        "vistorybench-crowd",
        "vistorybench-user-study",
    ]
    assert len(load_definition("vistar-pairwise").questions) == 9
    envision = load_definition("envision-expert")
    assert (len(envision.questions), envision.rounds) == (9, 5)
    assert envision.questions[0].scale == (0, 5)


def test_one_question_is_asked_of_each_angle_of_vistar():
    angles = [q.stories["angle"] for q in load_definition("vistar-pairwise").questions]
    assert angles == [
        ("TR",),
        ("LI",),
        ("CSE",),
        ("CPA",),
        ("PSC",),
        ("GC",),
        ("SF",),
        ("CUL",),
        ("MA",),
    ]


def test_the_crowd_is_asked_what_the_study_asks():
    study, crowd = map(
        load_definition, ("vistorybench-user-study", "vistorybench-crowd")
    )
    assert crowd.questions == study.questions
    assert (crowd.assignment, crowd.cap) == ("open", 42)


@pytest.mark.parametrize("name", template_names())
def test_templates_look_after_their_quality(name):
    definition = load_definition(name)
    assert definition.rules == "default"
    # Rounds repeat every unit anyway.
    assert definition.checks.per_session == (definition.rounds == 1)
    # A worse picture makes no box of a checklist wrong.
    worse = definition.rounds == 1 and definition.kinds[0].name != "checklist"
    assert bool(definition.checks.degradations) == worse


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kind: likert\nscale: [0, 4\n", r"study.yaml:3:1: "),
        ("kind: stars\n", "study.yaml:1:7: kind: write one of likert, choice"),
        (
            "title: x\nkind: likert\nredundancy: 0\nscale: [0, 4]\n"
            "questions: [{key: a}]\n",
            "study.yaml:3:13: redundancy: write a whole number",
        ),
        (
            "kind: likert\nquestions:\n  - key: a\n",
            "study.yaml:3:5: questions.0.scale: is missing",
        ),
        ("kind: likert\nscale: [4, 0]\nquestions: [{key: a}]\n", "yaml:2:8: scale"),
        (
            "kind: choice\nquestions:\n  - key: a\n  - key: a\n",
            "study.yaml:4:10: questions.1.key: a is used twice",
        ),
        ("kind: choice\nquestoins: []\n", "study.yaml:2:12: questoins: unknown key"),
        (
            "kind: likert\nscale: [0, 2]\nquestions:\n  - key: a\n    anchors:\n"
            "      7: high\n",
            "study.yaml:6:10: questions.0.anchors.7",
        ),
        ("- 1\n", "a study file is a mapping"),
    ],
)
def test_mistakes_are_named_with_their_line(tmp_path, text, message):
    path = tmp_path / "study.yaml"
    path.write_text(text)
    with pytest.raises(DefinitionError, match=message):
        load_definition(path)


def test_an_unknown_template_names_the_known_ones():
    with pytest.raises(DefinitionError, match="vistar-pairwise"):
        load_definition("vistory")
