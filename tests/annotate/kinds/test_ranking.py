"""Ranking studies, from the study file to the leaderboard."""

from collections import Counter
from itertools import combinations

import pandas as pd
import pytest
from django.core.management import call_command
from django.db import IntegrityError
from django.urls import reverse

import analysis
from analysis.reading.rankings import implied_choices
from annotate.assignment import choosing, reassignment
from annotate.audit_log.verifying import problems
from annotate.coverage import counts, snapshots
from annotate.kinds.base import AnswerError, BadAnswerError
from annotate.kinds.registry import KINDS, answer_tables
from annotate.models import Annotator, Ranking, Slot, Unit
from annotate.presentation import slot_view
from annotate.quality import exclusion, monitoring
from annotate.reports import study_tables
from annotate.responses import bulk
from annotate.studies.study_file import (
    DefinitionError,
    read_definition,
    write_definition,
)
from evalcore.models import Output
from tests import answering
from tests.factories import make_benchmark
from tests.working import Browser, join, make_planned, save, work

pytestmark = pytest.mark.django_db

METHODS = ("Alder", "Birch", "Cedar", "Elm")
FILE = """\
kind: ranking
outputs: 3
redundancy: 3
questions:
  - {key: quality, title: Quality, text: "Which is best?"}
  - {key: text, title: Text, text: "Which follows best?"}
"""


@pytest.fixture
def study():
    benchmark = make_benchmark(stories=2, methods=METHODS)
    return make_planned(FILE, benchmark=benchmark, annotators=6)


# The true order of methods; an alphabetical one would prove nothing.
BEST = ("Cedar", "Alder", "Elm", "Birch")


def in_order(slot: Slot, _key: str) -> str:
    sides = slot_view.sides(slot)
    return ">".join(sorted(sides, key=lambda n: BEST.index(sides[n].method.name)))


def backwards(slot: Slot, key: str) -> str:
    return ">".join(reversed(in_order(slot, key).split(">")))


# Study file


@pytest.mark.parametrize("sets", ["ring", "[[Alder, Birch, Elm]]", "all"])
def test_ranking_study_file_round_trips(sets):
    text = FILE.replace("Text,", "Text, allow_tie: true,")
    read = read_definition(f"{text}sets: {sets}\n", file="study.yaml", name="trial")
    assert (read.outputs, read.kinds[0].name) == (3, "ranking")
    assert [question.allow_tie for question in read.questions] == [False, True]
    again = read_definition(write_definition(read), file="again.yaml", name="trial")
    assert again == read


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("redundancy", "pairs: all\nredundancy", "3:8: pairs: only a study that"),
        ("redundancy", "sets: none\nredundancy", "3:7: sets: write all, ring, or a"),
        ("redundancy", "sets: [[A, B]]\nredundancy", "3:8: sets.0: write 3 methods"),
        ("redundancy", "sets: [[A, B, B]]\nredundancy", "write 3 methods"),
        ("redundancy", "scale: [0, 4]\nredundancy", "scale: a ranking has no scale"),
        ("redundancy", "checks: {kinds: [gold]}\nredundancy", "write one of repeat"),
        ("redundancy", "training: {units: []}\nredundancy", "3:19: training.units: "),
        ("redundancy", "adaptive: {}\nredundancy", "only a study of pairs can be"),
        ("outputs: 3", "outputs: 2", "2:10: outputs: write 3 to 5 for ranking"),
        ("outputs: 3", "outputs: 6", "2:10: outputs: write 3 to 5 for ranking"),
        ("{key: text,", "{key: text, kind: choice,", "make two studies"),
    ],
)
def test_ranking_refuses_invalid_fields_with_their_line(before, after, message):
    with pytest.raises(DefinitionError) as caught:
        read_definition(FILE.replace(before, after), file="study.yaml", name="trial")
    assert message in str(caught.value)


# Plan


@pytest.mark.parametrize("number", [3, 4, 5])
def test_outputs_have_every_position_equally_often(number):
    methods = [*METHODS, "Fir"]
    text = FILE.replace("outputs: 3", f"outputs: {number}")
    text = text.replace("redundancy: 3", f"redundancy: {2 * number}")
    study = make_planned(
        text, benchmark=make_benchmark(stories=1, methods=methods), annotators=10
    )
    for unit in study.units.all():
        slots = unit.slots.all()
        stood = Counter(
            (place, output.pk)
            for slot in slots
            for place, output in slot_view.sides(slot).items()
        )
        assert set(stood.values()) == {2}


@pytest.mark.slow
def test_method_sets_are_all_sets_or_a_ring():
    benchmark = make_benchmark(stories=1, methods=[*METHODS, "Fir"])
    every = make_planned(FILE, benchmark=benchmark, annotators=6)
    shown = {unit.methods for unit in every.units.all()}
    assert shown == set(combinations(sorted([*METHODS, "Fir"]), 3))
    ring = make_planned(
        f"{FILE}sets: ring\n", benchmark=benchmark, slug="ring", annotators=6
    )
    often = Counter(name for unit in ring.units.all() for name in unit.methods)
    assert set(often.values()) == {3}
    assert ring.units.count() == 5
    assert problems(every) == problems(ring) == []


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("shown", "broken"),
    [
        ("aba", "unit_outputs_differ"),
        ("abb", "unit_outputs_differ"),
        ("abc", "(?i)unique"),
    ],
)
def test_unit_has_distinct_outputs_and_is_unique(study, shown, broken):
    unit = study.units.first()
    outputs = dict(zip("abc", unit.outputs, strict=True))
    named = {f"output_{at}": outputs[o] for at, o in zip("abc", shown, strict=True)}
    with pytest.raises(IntegrityError, match=broken):
        Unit(study=study, story=unit.story, **named).save()


def test_verify_finds_unit_with_two_outputs_of_one_method(study):
    unit = study.units.first()
    shown = unit.output_b
    unit.output_c = Output.twins.create(
        story=shown.story, method=shown.method, twin_of=shown, degradation="blurred"
    )
    unit.save()
    told = f"unit {unit.pk}: its methods are repeated or not in alphabetical order"
    assert told in problems(study)


# Answering


def test_ranking_is_stored_as_letters_of_the_unit(study):
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    question = study.questions.get(key="quality")
    row = answering.record_answer(
        slot=slot, annotator=person, question=question, value="3>1>2"
    )
    seen = list(slot_view.sides(slot).values())
    letters = dict(zip("abc", slot.unit.outputs, strict=True))
    assert [letters[letter] for letter in row.value] == [seen[2], seen[0], seen[1]]
    assert [letters[letter] for letter in row.shown] == seen
    (shown, _other) = slot_view.shown_questions(slot)
    assert shown.answer == "3>1>2"
    again = answering.record_answer(
        slot=slot, annotator=person, question=question, value="1>2>3"
    )
    assert (again.revision, again.value) == (2, again.shown)


def test_incomplete_ranking_is_refused(study, subtests):
    person = join(study, "A01")
    slot = choosing.next_for(person).slot
    for value in ["", "1", "1>2", "1>2>2", "1>2>3>4", "a>b>c", "0>1>2"]:
        with subtests.test(value):
            with pytest.raises(BadAnswerError, match="such as 1>2>3"):
                answering.record_answer(
                    slot=slot,
                    annotator=person,
                    question=study.questions.first(),
                    value=value,
                )
            with pytest.raises(AnswerError, match="no order of a, b, c"):
                bulk.store_judgements(
                    [
                        bulk.SlotAnswers(
                            Slot.objects.filter(state="open").first(),
                            {study.questions.first(): "aab"},
                            slot.started_at,
                        )
                    ]
                )
            assert not Ranking.objects.exists()


@pytest.mark.postgresql
def test_equal_ranks_are_stored_shown_and_exported_as_tie(study, client):
    study.questions.update(allow_tie=True)
    browser = Browser(client, join(study, "A01"))
    browser.start()
    form = {f"q:text:{place}": "1" for place in (1, 2, 3)}
    form |= {"q:quality:1": "3", "q:quality:2": "1", "q:quality:3": "1"}
    assert client.post(f"{browser.at}submit/", form).status_code == 302
    slot = Slot.objects.get(state="submitted")
    first, second = slot_view.shown_questions(slot)
    assert (first.answer, second.answer) == ("2=3>1", "1=2=3")
    value = Ranking.objects.get(question=first.question).value
    text = first.kind.text_for_annotator(slot, first.question, [value])
    assert text == "Version 2 = Version 3 > Version 1"
    frame = study_tables.answers_frame(study, "rankings")
    own = frame[frame["criterion"] == "quality"]
    assert dict(zip(own["place"], own["rank"], strict=True)) == {1: 2, 2: 1, 3: 1}
    choices = implied_choices(own)
    tied = choices.loc[choices["choice"] == "tie", ["method_a", "method_b"]]
    seen = slot_view.sides(slot)
    assert [*tied.to_numpy()[0]] == sorted(seen[place].method.name for place in "23")
    assert problems(study) == []


def test_tied_output_is_worth_half_a_win():
    kind = KINDS["ranking"]
    assert [kind.worth("b=dac", n) * 6 for n in range(4)] == [2, 5, 0, 5]
    assert kind.judgements("q", "ca=b") == {"q ab": "tie", "q ac": "b", "q bc": "b"}
    assert kind.is_right("ca=b", "ca")
    assert not kind.is_right("ca=b", "ab")


def test_tie_is_refused_without_permission(study):
    slot, question = study.slots.first(), study.questions.first()
    with pytest.raises(BadAnswerError, match="a different rank: 1=2>3 is not"):
        KINDS["ranking"].fields(slot, question, "1=2>3")
    question.allow_tie = True
    for value in ("1=2", "1=1>2", "1=>2>3"):
        with pytest.raises(BadAnswerError, match="Give each version a rank: "):
            KINDS["ranking"].fields(slot, question, value)


def test_form_without_scripts_has_a_rank_per_version(study, client):
    person = join(study, "A01")
    browser = Browser(client, person)
    browser.start()
    assert "Version 3" in client.get(browser.at).content.decode()
    form = {"q:quality:1": "2", "q:quality:2": "1", "q:quality:3": "3"}
    refused = client.post(f"{browser.at}submit/", form)
    assert refused.status_code == 422
    assert "Not answered yet: Text" in refused.content.decode()
    twice = form | {"q:text:1": "1", "q:text:2": "1", "q:text:3": "2"}
    refused = client.post(f"{browser.at}submit/", twice)
    assert refused.status_code == 422
    assert "1&gt;1&gt;2 is not an order of 1, 2, 3" in refused.content.decode()
    for odd in ("9" * 5000, "0", "-1", "x", ""):
        refused = client.post(f"{browser.at}submit/", form | {"q:text:1": odd})
        assert refused.status_code == 422
    # An earlier answer does not replace an invalid one.
    save(client, browser.at, quality="3>2>1", text="3>2>1")
    for ranks in (("1", "2", "2"), ("1", "2", ""), ("2", "3", "")):
        sent = {f"q:text:{place}": rank for place, rank in enumerate(ranks, start=1)}
        refused = client.post(f"{browser.at}submit/", sent)
        assert "is not an order of 1, 2, 3" in refused.content.decode()
    whole = form | {"q:text:1": "3", "q:text:2": "1", "q:text:3": "2"}
    assert client.post(f"{browser.at}submit/", whole).status_code == 302
    slot = Slot.objects.get(state="submitted")
    given = {s.question.key: s.answer for s in slot_view.shown_questions(slot)}
    assert given == {"quality": "2>1>3", "text": "2>3>1"}


@pytest.mark.slow
def test_replacement_keeps_the_order_of_the_excluded_slot(study):
    work(join(study, "A01"), in_order)
    slot = Slot.objects.filter(state="submitted").exclude(turn=0).first()
    exclusion.exclude(slot, reason="asleep", author=None)
    new = slot.unit.slots.latest("pk")
    assert (new.turn, new.order) == (slot.turn, slot.order)


def test_ranking_pages_do_not_reveal_methods(study, client):
    person = join(study, "A01")
    browser = Browser(client, person)
    browser.start()
    html = client.get(browser.at).content.decode()
    assert not [name for name in METHODS if name in html]
    code = browser.at.rstrip("/").split("/")[-1]
    args = [browser.token, code]
    for place, status in (("1", 200), ("3", 200), ("4", 404), ("left", 404)):
        address = reverse("rate-picture", args=[*args, place, 1, "display"])
        assert client.get(address).status_code == status


# Results


@pytest.fixture
def done(study):
    people = list(Annotator.objects.filter(study=study).order_by("name"))
    for person in people:
        contrary = person == people[-1]
        work(join(study, person.name), backwards if contrary else in_order)
    return study


@pytest.mark.slow
def test_ranking_table_has_a_row_per_output(done):
    frame = study_tables.answers_frame(done, "rankings")
    slots = done.slots.filter(state="submitted").count()
    assert len(frame) == slots * 2 * 3
    assert set(frame["place"].astype(int)) == {1, 2, 3}
    agreeing = frame[frame["annotator"] != "A06"]
    for _answer, rows in agreeing.groupby(["slot", "criterion"]):
        by_rank = rows.sort_values("rank")["method"].tolist()
        assert by_rank == sorted(by_rank, key=BEST.index)
    assert answer_tables(done) == ["rankings"]
    assert problems(done) == []


@pytest.mark.slow
def test_plackett_luce_ranks_the_methods(done):
    frame = study_tables.answers_frame(done, "rankings")
    found = analysis.leaderboard(rankings=frame, resamples=20)
    board = found.tables["ranking_leaderboard"]
    board = board[board["criterion"] == "quality"]
    assert board.sort_values("rank")["method"].tolist() == list(BEST)


@pytest.mark.slow
def test_contrary_annotator_is_detected(done):
    people = {person.name: person for person in done.annotators.all()}
    with_others = monitoring.signals_of(people["A01"])["majority"]
    against = monitoring.signals_of(people["A06"])["majority"]
    assert with_others.value > 0.9
    assert against.value < 0.1
    alphas = snapshots.alphas(done)
    assert 0 < alphas["quality"]["alpha"] < 1
    assert alphas["quality"]["n_units"] == done.units.count()
    for name in ("straight_line", "same_answer", "flat", "side_bias"):
        assert monitoring.signals_of(people["A01"])[name].value is None
    sets = {unit.methods for unit in counts.units(done)}
    assert sets == set(combinations(METHODS, 3))


@pytest.mark.slow
def test_report_has_the_leaderboard_of_rankings(done, tmp_path):
    call_command("report", done.slug, out=tmp_path, images="none")
    board = pd.read_csv(tmp_path / "tables" / "ranking_leaderboard.csv")
    assert set(board["method"]) == set(METHODS)


@pytest.mark.slow
def test_repeated_ranking_is_compared_with_the_first():
    text = f"{FILE}session_size: 2\nchecks: {{per_session: 1}}\n"
    benchmark = make_benchmark(stories=6, methods=METHODS[:3])
    study = make_planned(text, benchmark=benchmark, annotators=3)
    steady, fickle = join(study, "A01"), join(study, "A02")
    work(steady, in_order)
    turned = {"repeat": backwards}
    work(fickle, lambda slot, key: turned.get(slot.purpose, in_order)(slot, key))
    assert steady.slots.filter(purpose="repeat").exists()
    assert monitoring.signals_of(steady)["repeat"].value == 0
    assert monitoring.signals_of(fickle)["repeat"].value == 1
    repeats = study_tables.answers_frame(study, "rankings")["is_repeat"]
    assert repeats.any()
    assert problems(study) == []


@pytest.mark.postgresql
@pytest.mark.parametrize(
    ("fields", "broken"),
    [
        ({"value": "abz"}, "ranking_letters_known"),
        ({"shown": "AB1"}, "ranking_letters_known"),
        ({"value": "ab"}, "ranking_is_whole"),
        ({"value": "a=b"}, "ranking_is_whole"),
    ],
)
def test_database_refuses_incomplete_rankings(study, fields, broken):
    work(join(study, "A01"), in_order, most=1)
    with pytest.raises(IntegrityError, match=broken):
        Ranking.objects.update(**fields)


@pytest.mark.slow
def test_verify_finds_impossible_ranking(done):
    first, second = Ranking.objects.order_by("pk")[:2]
    Ranking.objects.filter(pk=first.pk).update(value="aab")
    Ranking.objects.filter(pk=second.pk).update(shown=second.shown[::-1])
    found = "\n".join(problems(done))
    assert f"ranking {first.pk}: aab is no order of" in found
    assert f"ranking {second.pk}: its places are not those of its slot" in found


def test_ranking_keeps_the_planned_balance(study):
    """All three methods of a unit count when slots are redistributed."""
    assert reassignment.measured(study) == study.balance_report
