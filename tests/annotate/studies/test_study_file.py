"""What is written reads as the same; a hostile file is refused, quickly."""

import re
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.rankings.composite_weights import Composite
from annotate.kinds.base import Kind
from annotate.studies.definition import (
    Adaptive,
    CellPairs,
    Checks,
    KnownUnit,
    Presentation,
    QuestionDefinition,
    StorySample,
    StudyDefinition,
    Subset,
    Training,
    template_names,
)
from annotate.studies.study_file import (
    DEGRADATIONS,
    KEYS,
    QUESTION_KEYS,
    DefinitionError,
    load_definition,
    read_definition,
)
from annotate.studies.study_writing import write_definition
from annotate.studies.yaml_lines import LONGEST

ROOT = Path(__file__).resolve().parents[3]


def again(definition: StudyDefinition) -> StudyDefinition:
    text = write_definition(definition)
    return read_definition(text, file="again.yaml", name=definition.name)


@pytest.mark.parametrize("name", template_names())
def test_a_template_survives_writing(name):
    definition = load_definition(name)
    assert again(definition) == definition


words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
texts = st.dictionaries(st.sampled_from(["en", "zh", "de"]), words, max_size=3)
keys = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
numbers = st.integers(1, 50)
shares = st.floats(0, 1)
samples = st.builds(StorySample, numbers, st.just("") | words)
tags = st.dictionaries(words, st.lists(words, min_size=1, max_size=2).map(tuple))


@st.composite
def questions(draw, kind):
    low = draw(st.integers(-3, 3))
    scale = (low, low + draw(st.integers(1, 6)))
    values = st.integers(*scale).map(str)
    likert = kind == "likert"
    return QuestionDefinition(
        key=draw(keys),
        kind=kind,
        titles=draw(texts.filter(bool)),
        texts=draw(texts),
        help_texts=draw(texts),
        anchors=draw(st.dictionaries(values, texts, max_size=3)) if likert else {},
        scale=scale if likert else None,
        allow_tie=likert or draw(st.booleans()),
        metric=draw(st.just("") | words),
        degradation=draw(st.sampled_from(["", *DEGRADATIONS])),
        stories=draw(tags),
    )


@st.composite
def known_units(draw, question):
    methods = ("Alder",) if question.scale else ("Alder", "Birch")
    answers = (
        st.tuples(*[st.integers(*question.scale)] * 2).map(sorted).map(tuple)
        if question.scale
        else st.sampled_from([*methods, "tie"])
    )
    return KnownUnit(draw(words), methods, {question.key: draw(answers)}, draw(texts))


def sets(kind):
    if kind == "likert":
        return st.just("all")
    two = st.lists(words, min_size=2, max_size=2, unique=True).map(tuple)
    return st.one_of(
        st.sampled_from(["all", "ring"]),
        st.lists(two, min_size=1, max_size=3).map(tuple),
        st.builds(CellPairs, numbers, st.lists(words, min_size=1).map(tuple)),
    )


def composites(key):
    """One over questions, and one over metrics that nobody knows yet."""
    weights = st.floats(0.001, 100)
    named = st.dictionaries(keys, weights, min_size=2, max_size=2)
    return st.tuples(
        weights.map(lambda w: Composite(f"{key} alone", {key: w}, "questions")),
        st.builds(
            Composite,
            st.just(f"{key} made"),
            named,
            st.just("metrics"),
            st.sampled_from(["mean", "ranks", "drop"]),
        ),
    )


@st.composite
def definitions(draw):
    kind = draw(st.sampled_from(["likert", "choice"]))
    asked = draw(
        st.lists(questions(kind), min_size=1, max_size=3, unique_by=lambda q: q.key)
    )
    known = st.lists(known_units(asked[0]), min_size=1, max_size=2).map(tuple)
    twins = numbers if any(one.degradation for one in asked) else st.just(0)
    adaptive = st.none()
    assignment = draw(st.sampled_from(["planned", "open"]))
    if (kind, assignment) == ("choice", "open"):
        adaptive |= st.builds(
            Adaptive, numbers, shares, numbers, shares, st.just(asked[0].key)
        )
    return StudyDefinition(
        name=draw(keys),
        title=draw(words),
        outputs_at_once=1 if kind == "likert" else 2,
        questions=tuple(asked),
        redundancy=draw(numbers),
        session_size=draw(numbers),
        rounds=draw(numbers),
        lease_minutes=draw(numbers),
        seed=draw(st.integers(0, 2**40)),
        assignment=assignment,
        cap=draw(st.none() | numbers),
        languages=draw(
            st.none() | st.dictionaries(keys, numbers, min_size=1, max_size=2)
        ),
        sets=draw(sets(kind)),
        stories=draw(st.none() | samples),
        subset=draw(st.none() | st.builds(Subset, numbers, samples)),
        training=draw(st.none() | st.builds(Training, known, shares, numbers, twins)),
        checks=draw(
            st.builds(
                Checks,
                st.integers(0, 3),
                st.lists(st.sampled_from(Kind.controls), unique=True).map(tuple),
                st.lists(st.sampled_from(DEGRADATIONS), unique=True).map(tuple),
                shares,
                st.just(()) | known,
            )
        ),
        rules=draw(st.sampled_from([[], "default"])),
        adaptive=draw(adaptive),
        consent=draw(texts),
        consent_version=draw(words),
        instructions=draw(texts),
        presentation=draw(
            st.builds(
                Presentation,
                st.booleans(),
                st.booleans(),
                st.floats(0, 60),
                st.booleans(),
            )
        ),
        composites=draw(st.just(()) | composites(asked[0].key)),
    )


@given(definitions())
def test_whatever_is_written_reads_as_the_same(definition):
    assert again(definition) == definition


def test_composites_that_name_nothing_are_refused_with_their_lines():
    text = (
        "kind: likert\nscale: [0, 4]\nquestions: [{key: style}, {key: plot}]\n"
        "composites:\n  all:\n    over: questions\n    weights:\n      stile: 1\n"
        "      plot@SF: 2\n  plot: {over: metrics, weights: [csd]}\n"
    )
    with pytest.raises(DefinitionError) as caught:
        read_definition(text, file="s.yaml", name="s")
    assert str(caught.value).splitlines() == [
        "s.yaml:8: composites: all: stile: expected one of plot, style (nearest: "
        "style)",
        "s.yaml:10: composites: plot: expected a name that no question and "
        "no metric has",
    ]


def test_own_rules_survive_writing():
    rules = [{"key": "a", "signal": "skips", "above": 0.3, "action": "note"}]
    definition = replace(load_definition("vistar-pairwise"), rules=rules)
    assert again(definition) == definition


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]\n"
    for old, new in zip("abcdefgh", "bcdefghi", strict=True)
)
MERGED = "a: &a {k: v}\n" + "".join(
    f"{new}: &{new} {{<<: [*{old}, *{old}, *{old}, *{old}, *{old}, *{old}]}}\n"
    for old, new in zip("abcdefghij", "bcdefghijk", strict=True)
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (BOMB, "more than 50,000 values"),
        (MERGED, "more than 50,000 values"),
        ("a: &a [*a]", "contains itself"),
        ("[" * 100_000, "too deep"),
        ("x" * (LONGEST + 1), "at most 256,000 bytes"),
        ("seed: " + "9" * 5000, "integer string"),
        ("when: 2001-99-99", "month"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine"),
        ("a: \x01", "special characters"),
        ("", "a mapping of keys"),
        ("consent: yes please\nkind: choice\nquestions: [{key: a}]", "consent"),
        ("title: [1]\nkind: choice\nquestions: [{key: a}]", "title: write a"),
        ("kind: likert\nscale: [0, 9999]\nquestions: [{key: a}]", "100 apart"),
        (
            "kind: likert\nscale: [0, 4]\npairs: ring\nquestions: [{key: a}]",
            "only a study of two outputs",
        ),
        ("kind: choice\npairs: {number: 3}\nquestions: [{key: a}]", "pairs.by"),
        (
            "kind: likert\nscale: [0, 4]\nquestions: [{key: a, anchors: [b]}]",
            "anchors: write keys",
        ),
        ("kind: choice\nquestions: [{key: a, allow_tie: maybe}]", "true, false"),
        (
            "kind: choice\nquestions: [{key: a}]\npresentation:\n  same_size: 1",
            r"bad.yaml:4: presentation.same_size: write true or false",
        ),
        (
            "kind: choice\nquestions: [{key: a}]\npresentation: {size: 1}",
            "expected comments, must_see, must_watch, same_size",
        ),
        ("kind: choice\nquestions: [{key: a}]\npresentation: yes", "write keys"),
        *(
            (
                "kind: choice\nquestions: [{key: a}]\n"
                f"presentation:\n  must_see: {seconds}",
                "bad.yaml:4: presentation.must_see: write a number of seconds",
            )
            for seconds in ("-0.1", "60.5", "true", "soon", ".nan")
        ),
        (
            "kind: choice\nquestions:\n  - key: a\n    degradation: smeared",
            r"bad.yaml:4: questions.0.degradation: write one of shuffled, foreign_shot",
        ),
        (
            "kind: checklist\nquestions:\n  - {key: a, degradation: blurred}",
            "bad.yaml:3: questions.0.degradation: unknown key",
        ),
        (
            "kind: choice\nquestions: [{key: a}]\ntraining:\n  twins: 3",
            "bad.yaml:4: training.twins: no question says which degradation",
        ),
        (
            "kind: choice\nquestions: [{key: a}]\ntraining:\n  twins: 0",
            "training.units: write at least one unit, or twins: 3",
        ),
    ],
)
def test_a_wrong_or_hostile_file_is_refused(text, reason):
    with pytest.raises(DefinitionError, match=reason):
        read_definition(text, file="bad.yaml", name="bad")


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda b: b.decode("latin1")))
def test_any_text_is_read_or_refused(text):
    for start in ("", "kind: choice\nquestions: [{key: a}]\n"):
        with suppress(DefinitionError):
            read_definition(start + text, file="any.yaml", name="any")


@pytest.mark.parametrize("key", sorted(KEYS | QUESTION_KEYS))
def test_every_key_is_documented(key):
    text = (ROOT / "docs/study-file.md").read_text()
    assert f"`{key}`" in text


@pytest.mark.parametrize("questions", ["", "questions: []", "questions: [{key: '?'}]"])
def test_a_mistake_in_the_questions_hides_no_other_and_makes_none(questions):
    """What else names a question cannot be held against those that were read."""
    text = (
        f"kind: choice\nassignment: open\nadaptive: {{question: a, top: x}}\n"
        f"{questions}"
    )
    for read in (text, text.replace("question: a, ", "")):
        with pytest.raises(DefinitionError) as caught:
            read_definition(read, file="a.yaml", name="a")
        first, second = [".".join(map(str, e.path)) for e in caught.value.each()]
        assert first.startswith("questions")
        assert second == "adaptive.top"


@pytest.mark.parametrize("number", range(4))
def test_the_examples_of_the_page_are_read(number):
    text = (ROOT / "docs/study-file.md").read_text()
    examples = re.findall(r"```yaml\n(.*?)```", text, re.S)
    if number == 0:
        whole = examples[0]
    elif number == 1:
        keys = ", ".join(f"{{key: {key}}}" for key in ("character", "place", "beauty"))
        whole = f"kind: likert\nscale: [0, 4]\nquestions: [{keys}]\n" + examples[1]
    elif number == 2:
        whole = (
            "kind: choice\nassignment: open\nquestions: [{key: quality}]\n"
            + examples[2]
        )
    else:
        whole = examples[0] + examples[3]
    assert read_definition(whole, file="page.yaml", name="page")


def test_a_mistake_in_every_question_is_said_three_times_and_counted():
    questions = "".join(f"  - {{key: q{n}, colour: red}}\n" for n in range(40))
    text = f"title: T\nkind: likert\nredundancy: 0\nquestions:\n{questions}"
    with pytest.raises(DefinitionError) as caught:
        read_definition(text, file="s.yaml", name="s")
    said = str(caught.value).splitlines()
    assert any("redundancy" in line for line in said)
    assert sum("colour" in line for line in said) == 3
    assert "... and 37 more" in said


def test_unknown_key_is_told_without_advice_on_its_value():
    text = "kind: likert\ncomments: true\nquestions: [{key: a, scale: [0, 1]}]"
    with pytest.raises(DefinitionError, match="2: comments: unknown key") as caught:
        read_definition(text, file="s.yaml", name="s")
    assert "quotes" not in str(caught.value)


# Words that YAML takes for something else ---------------------------------------------

QUOTED = [
    (
        "kind: likert\nscale: [0, 1]\nquestions:\n"
        "  - key: same\n    anchors: {0: No, 1: Yes}",
        [
            r'bad.yaml:5: .*"No" \(column 18\); without them YAML reads false',
            r'bad.yaml:5: .*"Yes" \(column 25\)',
        ],
    ),
    (
        "kind: choice\nlanguages: {en: 2, no: 2}\nquestions: [{key: a}]",
        [r'bad.yaml:2: put it in quotes: "no" \(column 20\)'],
    ),
    ("kind: choice\nquestions: [{key: on}]", [r'bad.yaml:2: .*"on" \(column 19\)']),
    ("title: Yes\nkind: choice\nquestions: [{key: a}]", [r'bad.yaml:1: .*"Yes"']),
    ("title: 12:30\nkind: choice\nquestions: [{key: a}]", [r'"12:30".* reads 750']),
    (
        "kind: choice\nquestions: [{key: a, stories: {on: [x]}}]",
        [r'bad.yaml:2: .*"on"'],
    ),
    (
        "kind: choice\nquestions: [{key: a, stories: {genre: [x, off]}}]",
        [r'bad.yaml:2: .*"off"'],
    ),
    ("kind: choice\nquestions: [{key: a}]\npairs: [[No, B]]", [r'yaml:3: .*"No"']),
    (
        "kind: choice\nquestions: [{key: a}]\nrules:\n"
        "  - {key: on, signal: side_bias, above: 0.1, action: note}",
        [r'bad.yaml:4: .*"on" \(column 11\)'],
    ),
    (
        "kind: choice\nquestions: [{key: a}]\ntraining:\n  units:\n"
        "  - {story: No, methods: [Yes, B], expected: {a: B}}",
        [r'bad.yaml:5: .*story.*"No"', r'bad.yaml:5: .*methods.*"Yes"'],
    ),
    (
        "kind: ranking\noutputs: 3\nquestions: [{key: a}]\ntraining:\n  units:\n"
        "  - {story: x, methods: ['No', B, C], expected: {a: [No, B]}}",
        [r'bad.yaml:6: .*"No" \(column'],
    ),
    (
        "kind: choice\nquestions:\n  - key: a\n    text: Better: left or right?",
        ["put a text with a colon in quotes"],
    ),
]


@pytest.mark.parametrize(("text", "reasons"), QUOTED)
def test_word_that_yaml_reads_otherwise_is_to_be_quoted(text, reasons):
    with pytest.raises(DefinitionError) as refused:
        read_definition(text, file="bad.yaml", name="bad")
    for reason in reasons:
        assert re.search(reason, str(refused.value)), str(refused.value)


def test_words_in_quotes_numbers_and_dates_are_texts_as_written():
    definition = read_definition(
        "title: 2024\nkind: likert\nscale: [0, 1]\nlanguages: {en: 1, 'no': 1}\n"
        "questions:\n  - key: 'on'\n    text: 2024-05-01\n"
        "    anchors: {0: 'No', 1: 'Yes'}\n"
        "training:\n  units: [{story: 7, method: 'Off', expected: {'on': 1}}]",
        file="good.yaml",
        name="good",
    )
    (question,) = definition.questions
    assert definition.title == "2024"
    assert definition.languages == {"en": 1, "no": 1}
    assert (question.key, question.texts) == ("on", {"en": "2024-05-01"})
    assert question.anchors == {"0": {"en": "No"}, "1": {"en": "Yes"}}
    (unit,) = definition.training.units
    assert (unit.story, unit.methods) == ("7", ("Off",))
