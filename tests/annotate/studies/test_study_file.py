"""Tests of writing and reading study files, including hostile ones."""

import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.rankings.composite_weights import Composite
from annotate.kinds.base import Kind
from annotate.kinds.question import DEGRADATIONS
from annotate.kinds.registry import KINDS
from annotate.studies.definition import (
    StudyDefinition,
    template_names,
)
from annotate.studies.parts import (
    Adaptive,
    CellPairs,
    Checks,
    DrawnSample,
    KnownUnit,
    Presentation,
    StorySample,
    Subset,
    Training,
)
from annotate.studies.study_file import (
    DefinitionError,
    load_definition,
    read_definition,
    write_definition,
)
from annotate.studies.yaml_text import LONGEST

ROOT = Path(__file__).resolve().parents[3]


def again(definition: StudyDefinition) -> StudyDefinition:
    text = write_definition(definition)
    return read_definition(text, file="again.yaml", name=definition.name)


@pytest.mark.parametrize("name", template_names())
def test_template_survives_writing(name):
    definition = load_definition(name)
    assert again(definition) == definition


words = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
texts = st.dictionaries(st.sampled_from(["en", "zh", "de"]), words, max_size=3)
keys = st.from_regex(r"[a-z][a-z0-9_-]{0,9}", fullmatch=True)
numbers = st.integers(1, 50)
shares = st.floats(0, 1)
some = {"number": numbers, "by": st.just("") | words}
samples = st.builds(StorySample, **some)
drawn = st.builds(DrawnSample, **some, spread_of=st.just("") | words)
tags = st.dictionaries(words, st.lists(words, min_size=1, max_size=2).map(tuple))


@st.composite
def questions(draw, kind):
    question = {
        "key": draw(keys),
        "kind": kind,
        "title": draw(texts.filter(bool)),
        "text": draw(texts),
        "help": draw(texts),
        "metric": draw(st.just("") | words),
        "degradation": draw(st.sampled_from(["", *DEGRADATIONS])),
        "stories": draw(tags),
    }
    if kind == "choice":
        return question | {"allow_tie": draw(st.booleans())}
    low = draw(st.integers(-3, 3))
    scale = (low, low + draw(st.integers(1, 6)))
    anchors = st.dictionaries(st.integers(*scale), texts, max_size=3)
    return question | {"scale": scale, "anchors": draw(anchors)}


@st.composite
def known_units(draw, question):
    is_scale = "scale" in question
    methods = ("Alder",) if is_scale else ("Alder", "Birch")
    answers = (
        st.tuples(*[st.integers(*question["scale"])] * 2).map(sorted).map(tuple)
        if is_scale
        else st.sampled_from([*methods, "tie"])
    )
    return KnownUnit(
        story=draw(words),
        methods=methods,
        expected={question["key"]: draw(answers)},
        feedback=draw(texts),
    )


def pairs():
    two = st.lists(words, min_size=2, max_size=2, unique=True).map(tuple)
    return st.one_of(
        st.sampled_from(["all", "ring"]),
        st.lists(two, min_size=1, max_size=3).map(tuple),
        st.builds(CellPairs, number=numbers, by=st.lists(words, min_size=1).map(tuple)),
    )


def composites(key):
    """Return a composite of questions and one of unknown metrics."""
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
        st.lists(questions(kind), min_size=1, max_size=3, unique_by=lambda q: q["key"])
    )
    known = st.lists(known_units(asked[0]), min_size=1, max_size=2).map(tuple)
    twins = numbers if any(one["degradation"] for one in asked) else st.just(0)
    assignment = draw(st.sampled_from(["planned", "open"]))
    changes = {}
    if kind == "choice":
        changes["pairs"] = draw(pairs())
    if (kind, assignment) == ("choice", "open"):
        question = st.just(asked[0]["key"])
        adaptive = st.builds(
            Adaptive,
            top=numbers,
            confidence=shares,
            least=numbers,
            explore=shares,
            question=question,
        )
        changes["adaptive"] = draw(st.none() | adaptive)
    subset = st.builds(Subset, redundancy=numbers, stories=samples)
    training = st.builds(
        Training, units=known, pass_mark=shares, attempts=numbers, twins=twins
    )
    checks = st.builds(
        Checks,
        per_session=st.integers(0, 3),
        kinds=st.lists(st.sampled_from(Kind.controls), unique=True).map(tuple),
        degradations=st.lists(st.sampled_from(DEGRADATIONS), unique=True).map(tuple),
        share=shares,
        gold=st.just(()) | known,
    )
    presentation = st.builds(
        Presentation,
        same_size=st.booleans(),
        overview=st.booleans(),
        must_watch=st.booleans(),
        must_see=st.floats(0, 60),
        comments=st.booleans(),
    )
    return StudyDefinition(
        name=draw(keys),
        title=draw(words),
        questions=asked,
        redundancy=draw(numbers),
        session_size=draw(numbers),
        rounds=draw(numbers),
        lease_minutes=draw(numbers),
        seed=draw(st.integers(0, 2**40)),
        assignment=assignment,
        cap=draw(st.none() | numbers),
        languages=draw(st.dictionaries(keys, numbers, max_size=2)),
        stories=draw(st.none() | drawn),
        subset=draw(st.none() | subset),
        training=draw(st.none() | training),
        checks=draw(checks),
        rules=draw(st.sampled_from([[], "default"])),
        consent={"version": draw(words), **draw(texts)},
        instructions=draw(texts),
        presentation=draw(presentation),
        composites=draw(st.just(()) | composites(asked[0]["key"])),
        **changes,
    )


@given(definitions())
def test_written_definition_reads_as_equal(definition):
    assert again(definition) == definition


def test_composites_with_unknown_names_are_refused_with_lines():
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


def test_custom_rules_survive_writing():
    rules = [{"key": "a", "signal": "skips", "above": 0.3, "action": "note"}]
    definition = load_definition("vistar-pairwise").with_changes(rules=rules)
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
        pytest.param(
            "a: [" + "x," * 60_000 + "]",
            "more than 50,000 values",
            marks=pytest.mark.slow,
        ),
        ("a: !!bool x", "does not fit the tag"),
        ("composites: {? [a] : 2}\nkind: choice\nquestions: [{key: a}]", "composites"),
        (
            "<<: {composites: {? [a] : 2}}\nkind: choice\nquestions: [{key: a}]",
            "a name",
        ),
        ("kind: choice\ncap: 99999999999\nquestions: [{key: a}]", "cap: write a whole"),
        ("a: &a [*a]", "contains itself"),
        ("[" * 1_000, "too deep"),
        ("x" * (LONGEST + 1), "at most 256,000 bytes"),
        ("kind: choice\nseed: " + "9" * 5000, "seed: write a whole number"),
        ("a: !!python/object/apply:os.system [ls]", "could not determine"),
        ("a: \x01", "special characters"),
        ("", "a mapping of keys"),
        ("consent: yes please\nkind: choice\nquestions: [{key: a}]", "consent"),
        ("title: [1]\nkind: choice\nquestions: [{key: a}]", "title: write text"),
        ("kind: likert\nscale: [0, 9999]\nquestions: [{key: a}]", "100 apart"),
        (
            "kind: likert\nscale: [0, 4]\npairs: ring\nquestions: [{key: a}]",
            "only a study that shows two outputs",
        ),
        ("kind: choice\npairs: {number: 3}\nquestions: [{key: a}]", "pairs.by"),
        (
            "kind: likert\nscale: [0, 4]\nquestions: [{key: a, anchors: [b]}]",
            "anchors: write key: value",
        ),
        ("kind: choice\nquestions: [{key: a, allow_tie: maybe}]", "true or false"),
        (
            "kind: choice\nquestions: [{key: a}]\npresentation:\n  same_size: 1",
            r"bad.yaml:4:\d+: presentation.same_size: write true or false",
        ),
        (
            "kind: choice\nquestions: [{key: a}]\npresentation: {size: 1}",
            "expected comments, must_see, must_watch, overview, same_size",
        ),
        ("kind: choice\nquestions: [{key: a}]\npresentation: yes", "write key: value"),
        *(
            (
                "kind: choice\nquestions: [{key: a}]\n"
                f"presentation:\n  must_see: {seconds}",
                r"bad.yaml:4:\d+: presentation.must_see: write a number of seconds",
            )
            for seconds in ("-0.1", "60.5", "true", "soon", ".nan")
        ),
        (
            "kind: choice\nquestions:\n  - key: a\n    degradation: smeared",
            r"bad.yaml:4:\d+: questions.0.degradation: write one of shuffled",
        ),
        (
            "kind: checklist\nquestions:\n  - {key: a, degradation: blurred}",
            r"bad.yaml:3:\d+: questions.0.degradation: unknown key",
        ),
        (
            "kind: choice\nquestions: [{key: a}]\ntraining:\n  twins: 3",
            r"bad.yaml:4:\d+: training.twins: no question names a degradation",
        ),
        (
            "kind: choice\nquestions: [{key: a}]\ntraining:\n  twins: 0",
            "training.units: write at least one unit, or twins: 3",
        ),
        ("kind: likert\nscale: [0, 4\n", r"bad.yaml:3:1: "),
        ("kind: stars\n", "bad.yaml:1:7: kind: write one of likert, choice"),
        (
            "title: x\nkind: likert\nredundancy: 0\nscale: [0, 4]\n"
            "questions: [{key: a}]\n",
            "bad.yaml:3:13: redundancy: write a whole number",
        ),
        (
            "kind: likert\nquestions:\n  - key: a\n",
            "bad.yaml:3:5: questions.0.scale: is missing",
        ),
        ("kind: likert\nscale: [4, 0]\nquestions: [{key: a}]\n", "bad.yaml:2:8: scale"),
        (
            "kind: choice\nquestions:\n  - key: a\n  - key: a\n",
            "bad.yaml:4:10: questions.1.key: a is used twice",
        ),
        ("kind: choice\nquestoins: []\n", "bad.yaml:2:12: questoins: unknown key"),
        (
            "kind: likert\nscale: [0, 2]\nquestions:\n  - key: a\n    anchors:\n"
            "      7: high\n",
            "bad.yaml:6:10: questions.0.anchors.7",
        ),
        ("- 1\n", "a study file is a mapping"),
    ],
)
def test_wrong_or_hostile_file_is_refused(text, reason):
    with pytest.raises(DefinitionError, match=reason):
        read_definition(text, file="bad.yaml", name="bad")


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda b: b.decode("latin1")))
def test_arbitrary_text_is_read_or_refused(text):
    for start in ("", "kind: choice\nquestions: [{key: a}]\n"):
        with suppress(DefinitionError):
            read_definition(start + text, file="any.yaml", name="any")


KEYS = StudyDefinition.model_fields.keys() - {"name"}
QUESTION_KEYS = {k for kind in KINDS.values() for k in kind.definition.model_fields}


@pytest.mark.parametrize("key", sorted(KEYS | QUESTION_KEYS))
def test_all_keys_are_documented(key):
    text = (ROOT / "docs/reference/study-file.md").read_text()
    assert f"`{key}`" in text


@pytest.mark.parametrize("questions", ["", "questions: []", "questions: [{key: '?'}]"])
def test_error_in_questions_hides_and_causes_no_others(questions):
    """Other parts that name questions cannot be checked against invalid ones."""
    text = (
        f"kind: choice\nassignment: open\nadaptive: {{question: a, top: x}}\n"
        f"{questions}"
    )
    for read in (text, text.replace("question: a, ", "")):
        with pytest.raises(DefinitionError) as caught:
            read_definition(read, file="a.yaml", name="a")
        paths = [".".join(map(str, e.path)) for e in caught.value.each()]
        first, second = sorted(paths)
        assert first == "adaptive.top"
        assert second.startswith("questions")


@pytest.mark.parametrize("number", range(4))
def test_examples_in_documentation_are_valid(number):
    text = (ROOT / "docs/reference/study-file.md").read_text()
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


def test_repeated_error_is_listed_three_times_and_counted():
    questions = "".join(f"  - {{key: q{n}, colour: red}}\n" for n in range(40))
    text = f"title: T\nkind: likert\nredundancy: 0\nquestions:\n{questions}"
    with pytest.raises(DefinitionError) as caught:
        read_definition(text, file="s.yaml", name="s")
    lines = str(caught.value).splitlines()
    assert any("redundancy" in line for line in lines)
    assert sum("colour" in line for line in lines) == 3
    assert "... and 37 more" in lines


def test_unknown_key_is_reported_without_advice_on_value():
    text = "kind: likert\ncomments: true\nquestions: [{key: a, scale: [0, 1]}]"
    with pytest.raises(DefinitionError, match="2:11: comments: unknown key") as caught:
        read_definition(text, file="s.yaml", name="s")
    assert "quotes" not in str(caught.value)


@pytest.mark.parametrize("word", ["No", "on", "12:30", "2024-05-01", "1.50", "007"])
def test_text_without_quotes_is_read_as_written(word):
    text = (
        f"title: {word}\nkind: likert\nscale: [0, 1]\nquestions:\n"
        f"  - {{key: a, text: {word}, anchors: {{0: {word}}}}}\n"
        f"training:\n  units: [{{story: {word}, method: {word}, expected: {{a: 1}}}}]"
    )
    definition = read_definition(text, file="good.yaml", name="good")
    (question,), (unit,) = definition.questions, definition.training.units
    assert (definition.title, unit.story, unit.methods) == (word, word, (word,))
    assert (question.text, question.anchors) == ({"en": word}, {0: {"en": word}})
    assert again(definition) == definition


def test_yes_and_no_are_read_as_switches():
    text = "kind: choice\nquestions: [{key: a, allow_tie: no}]\n"
    text += "presentation: {comments: yes}"
    definition = read_definition(text, file="s.yaml", name="s")
    assert definition.questions[0].allow_tie is False
    assert definition.presentation.comments is True


def test_duplicate_key_is_refused():
    text = "kind: choice\ntitle: A\ntitle: B\nquestions: [{key: a}]"
    with pytest.raises(DefinitionError, match=r'bad.yaml:3:1: .*duplicate key "title"'):
        read_definition(text, file="bad.yaml", name="bad")


def test_text_with_colon_needs_quotes():
    text = "kind: choice\nquestions:\n  - key: a\n    text: Better: left or right?"
    with pytest.raises(DefinitionError, match="put text with a colon in quotes"):
        read_definition(text, file="bad.yaml", name="bad")


def test_unknown_template_error_lists_known_ones():
    with pytest.raises(DefinitionError, match="vistar-pairwise"):
        load_definition("vistory")
