from collections import Counter

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotate.assignment import choosing
from annotate.audit_log.verifying import problems
from annotate.models import Slot, Study, Unit, User
from annotate.people import inviting
from annotate.responses import leasing
from annotate.studies import lifecycle
from annotate.studies.planning import PlanningError, plan_study
from annotate.studies.study_file import load_definition
from tests.factories import make_benchmark
from tests.untrained import untrained
from tests.working import PAIRWISE, join, make_planned

pytestmark = pytest.mark.django_db


def planned(read=load_definition, name="vistorybench-user-study", **given) -> Study:
    benchmark = make_benchmark(stories=4)
    return plan_study(
        read(name),
        benchmark=benchmark,
        slug="pilot",
        **{"annotators": 4, "redundancy": 2, "session_size": 3, **given},
    )


@pytest.mark.postgresql
def test_template_becomes_draft_study():
    alice = User.objects.create(username="alice")
    study = planned(user=alice)
    assert study.state == Study.State.DRAFT
    assert study.units.filter(purpose="real").count() == 3 * 4
    assert study.slots.count() == 3 * 4 * 2
    assert study.members.get().user == alice
    assert study.questions.count() == 3
    assert problems(study) == []
    assert study.events.last().kind == "study planned"


@pytest.mark.slow
def test_pairs_are_in_alphabetical_order_with_balanced_sides():
    study = planned(name="storybench-side-by-side")
    for unit in Unit.objects.filter(study=study, purpose="real"):
        assert unit.output_a.method.name < unit.output_b.method.name
        sides = list(unit.slots.values_list("a_is_left", flat=True))
        assert sorted(sides) == [False, True]
    assert problems(study) == []


def test_outputs_without_pictures_are_refused():
    benchmark = make_benchmark(pictures=False)
    with pytest.raises(PlanningError, match="6 outputs have no picture"):
        plan_study(
            load_definition("vistorybench-user-study"),
            benchmark=benchmark,
            slug="blank",
            annotators=10,
        )
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"annotators": 0}, "at least 1"),
        ({"seed": 2**70}, "In the study, seed: .* less than or equal to"),
        ({"title": "x" * 201}, "In the study, title: .* at most 200 characters"),
    ],
)
def test_invalid_value_is_refused_with_reason(given, reason):
    with pytest.raises(PlanningError, match=reason):
        planned(**given)
    assert not Study.objects.exists()


def test_invalid_question_is_refused_with_reason(tmp_path):
    file = tmp_path / "wide.yaml"
    file.write_text(f"kind: likert\nscale: [0, 4]\nquestions: [{{key: {'k' * 81}}}]\n")
    with pytest.raises(PlanningError, match=r"In question k+, key: .* at most 80"):
        plan_study(
            load_definition(file), benchmark=make_benchmark(), slug="wide", annotators=3
        )


def test_command_prints_balance(capsys):
    make_benchmark(stories=4)
    call_command(
        "plan_study",
        "pilot",
        benchmark="woods",
        template="vistorybench-user-study",
        annotators=4,
        set=["redundancy=2"],
        launch=True,
    )
    assert "ratings per item and round: 2" in capsys.readouterr().out
    assert Study.objects.get().state == Study.State.OPEN


@pytest.mark.postgresql
def test_impossible_design_exits_with_status_2_without_storing():
    make_benchmark()
    with pytest.raises(CommandError, match="Nearest possible") as caught:
        call_command(
            "plan_study",
            "pilot",
            benchmark="woods",
            template="vistorybench-user-study",
            annotators=7,
        )
    assert caught.value.returncode == 2
    assert not Study.objects.exists()


@pytest.mark.postgresql
def test_revoked_slots_become_free_for_new_person():
    study = lifecycle.launch(planned(untrained))
    inviting.invite(study)
    ann = study.annotators.get(name="A01")
    held = ann.slots.count()
    assert inviting.revoke(ann) == held
    assert Slot.objects.filter(study=study, annotator=None).count() == held
    new = join(study, inviting.invite_new(study).annotator.name)
    for _ in range(held):
        leasing.take(choosing.next_slot(new), new)
        Slot.objects.filter(annotator=new, state="leased").update(
            state="submitted", submitted_at="2025-01-01T00:00Z", lease_until=None
        )
    assert choosing.next_slot(new) is None
    stories = list(new.slots.values_list("session", "unit__story"))
    assert len(stories) == len(set(stories)), "no story repeats in a session"


def test_allowed_state_changes_are_logged():
    study = planned()
    for move, end in (
        (lifecycle.launch, "open"),
        (lifecycle.pause, "paused"),
        (lifecycle.launch, "open"),
        (lifecycle.close, "closed"),
        (lifecycle.launch, "open"),
    ):
        before = study.events.count()
        study = move(study)
        assert study.state == end
        assert study.events.count() == before + 1
    kinds = list(study.events.order_by("pk").values_list("kind", flat=True))
    assert kinds[:2] == ["slots listed", "study planned"]
    assert len(kinds) == 7


def test_options_replace_values_of_template():
    make_benchmark(stories=4)
    call_command(
        "plan_study",
        "pilot",
        "--benchmark=woods",
        "--template=storybench-side-by-side",
        "--annotators=en=3,zh=4",
        "--set=languages={en: 1, zh: 2}",
        "--set=stories=2",
        "--set=cap=9",
        "--set=lease_minutes=12",
    )
    study = Study.objects.get()
    assert (study.languages, study.cap, study.lease_minutes) == (
        {"en": 1, "zh": 2},
        9,
        12,
    )
    judged = study.units.filter(purpose="real")
    assert judged.values("story").distinct().count() == 2
    assert study.annotators.filter(language="zh").count() == 4
    assert "cap: 9" in study.definition


def test_open_study_needs_no_number_of_annotators():
    make_benchmark(stories=4)
    call_command(
        "plan_study",
        "pilot",
        "--benchmark=woods",
        "--template=vistorybench-user-study",
        "--set=assignment=open",
        "--set=rounds=1",
    )
    assert Study.objects.get().is_open


@pytest.mark.slow
def test_dry_run_prints_cost_and_refuses_taken_name(capsys):
    make_benchmark(stories=4)
    options = [
        "--benchmark=woods",
        "--template=vistorybench-user-study",
        "--annotators=10",
    ]
    call_command("plan_study", "pilot", *options, "--dry-run")
    assert "annotator hours" in capsys.readouterr().out
    assert not Study.objects.exists()
    call_command("plan_study", "pilot", *options)
    with pytest.raises(CommandError, match="already"):
        call_command("plan_study", "pilot", *options, "--dry-run")


def test_invalid_options_are_refused(subtests):
    make_benchmark(stories=4)
    for option, message in [
        ("--annotators=en", "en=10,zh=8"),
        ("--set=cap=0", "cap: write a whole number"),
        ("--set=cap", "cap: write KEY=VALUE"),
        ("--set=cap=[", "--set cap:1:"),
        ("--set=capp=3", "capp: unknown key"),
    ]:
        with subtests.test(option), pytest.raises(CommandError, match=message):
            call_command(
                "plan_study",
                "pilot",
                "--benchmark=woods",
                "--annotators=10",
                "--template=vistorybench-user-study",
                option,
            )


def test_open_study_balances_sides_in_each_language():
    text = PAIRWISE + "assignment: open\nlanguages: {en: 2, zh: 2}\n"
    study = make_planned(text, benchmark=make_benchmark(stories=4, shots=1))
    rows = study.slots.values_list("unit", "language", "a_is_left")
    assert set(Counter(rows).values()) == {1}
    odd = text.replace("en: 2, zh: 2", "en: 1, zh: 3")
    study = make_planned(odd, benchmark=study.benchmark, slug="odd")
    for a, b in study.units.values_list("output_a__method", "output_b__method"):
        rows = study.slots.filter(unit__output_a__method=a, unit__output_b__method=b)
        sides = Counter(rows.values_list("language", "a_is_left"))
        assert sides["en", True] == sides["en", False] == 2
        assert sides["zh", True] == sides["zh", False] == 6
