"""Commands on one study: what they print, and how they refuse."""

import csv
import io
import sys

import pytest
from django.core.management import CommandError, call_command, get_commands
from django.core.management import load_command_class as load
from django.utils import timezone

from annotate.models import Annotator, Invitation, Study, StudyMember, User
from annotate.people import inviting
from tests.factories import make_benchmark, make_study

pytestmark = pytest.mark.django_db

OURS = ("annotate", "evalcore", "annotate.reports", "fixtures")
COMMANDS = sorted(name for name, app in get_commands().items() if app in OURS)


def typed(monkeypatch, password: str) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(password + "\n"))


def test_unknown_study_error_lists_the_studies():
    make_study(slug="pilot")
    for command in ("coverage", "launch", "verify", "score", "invite"):
        with pytest.raises(CommandError, match="There are: pilot") as caught:
            call_command(command, "pilto")
        assert caught.value.returncode == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_an_example_and_explains_its_options(name):
    command = load(get_commands()[name], name)
    assert "Example: " in command.help
    parser = command.create_parser("manage.py", name)
    silent = [action.dest for action in parser._actions if not action.help]
    assert silent == []


def test_launch_opens_a_study_once(capsys):
    study = make_study(state="draft")
    for _time in range(2):
        call_command("launch", study.slug)
    assert capsys.readouterr().out.splitlines() == [
        "trial is running.",
        "trial is running already.",
    ]
    assert Study.objects.get().state == Study.State.OPEN


def test_coverage_table_defuses_formulas(capsys):
    study = make_study(benchmark=make_benchmark(methods=("=1+2",), stories=1))
    call_command("coverage", study.slug, csv="cells")
    first = capsys.readouterr().out.splitlines()[1]
    assert first == "'=1+2,01,character,0,0,0,2,0"


def test_list_has_valid_links_and_completion_codes(capsys):
    study = make_study(annotators=3)
    ann, bob, eve = study.annotators.order_by("name")
    Annotator.objects.filter(name__in=["A01", "A03"]).update(
        state=Annotator.State.FINISHED,
        consented_at=timezone.now(),
        finished_at=timezone.now(),
        completed_at=timezone.now(),
    )
    Invitation.objects.filter(annotator=bob).update(note="=by mail")
    inviting.revoke(eve)
    before = Invitation.objects.count()
    call_command("invite", study.slug, list=True, base_url="https://rate.example/")
    output, errors = capsys.readouterr()
    rows = list(csv.DictReader(io.StringIO(output)))
    link = "https://rate.example/rate/"
    assert [(r["annotator"], r["state"], r["note"]) for r in rows] == [
        ("A01", "finished", ""),
        ("A02", "invited", "'=by mail"),
        ("A03", "revoked", ""),
    ]
    assert [r["link"].startswith(link) for r in rows] == [True, True, False]
    assert rows[0]["link"] == f"{link}{ann.invitation.token}/"
    assert [r["completion_code"] for r in rows] == [
        ann.completion_code,
        "",
        eve.completion_code,
    ]
    assert [r["outcome"] for r in rows] == ["completed", "", "completed"]
    assert errors == ""
    assert Invitation.objects.count() == before


def test_local_links_are_printed_with_a_note(capsys):
    study = make_study()
    call_command("invite", study.slug, list=True)
    output, errors = capsys.readouterr()
    assert ",http://127.0.0.1:" in output
    assert "work on this machine only" in errors


@pytest.mark.parametrize("name", ["", "bad name", "bad/..", "x" * 151])
def test_invalid_name_makes_no_account(monkeypatch, name):
    typed(monkeypatch, "a-good-password-4711")
    with pytest.raises(CommandError, match=r"^Name '") as caught:
        call_command("create_manager", name)
    assert caught.value.returncode == 2
    assert not User.objects.exists()


def test_manager_runs_every_study(monkeypatch, capsys):
    typed(monkeypatch, "a-good-password-4711")
    call_command("create_manager", "alice")
    alice = User.objects.get()
    assert alice.is_superuser
    assert alice.check_password("a-good-password-4711")
    with pytest.raises(CommandError, match="already"):
        call_command("create_manager", "alice")


def test_researcher_reads_one_study_and_then_another(monkeypatch, capsys):
    first = make_study(slug="first")
    second = make_study(slug="second", benchmark=first.benchmark)
    typed(monkeypatch, "a-good-password-4711")
    call_command("create_manager", "rob", researcher="first")
    call_command("create_manager", "rob", researcher="second")
    call_command("create_manager", "rob", researcher="second")
    rob = User.objects.get()
    assert not rob.is_superuser
    assert not rob.is_staff
    found = StudyMember.objects.filter(user=rob).values_list("study", "role")
    assert set(found) == {(first.pk, "researcher"), (second.pk, "researcher")}
    assert found.count() == 2
    assert "rob can now read second." in capsys.readouterr().out


def test_short_password_makes_no_account(monkeypatch):
    typed(monkeypatch, "short")
    with pytest.raises(CommandError, match="too short"):
        call_command("create_manager", "rob")
    assert not User.objects.exists()
