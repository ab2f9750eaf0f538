"""Short names of commands, and the list of them."""

import re
from contextlib import suppress

import pytest
from django.core.management import call_command, get_commands

from evalcore.management.command_line import NAMES, OURS, run
from evalcore.models import Worker
from evalcore.serving import workers

HERE = sorted(name for name, app in get_commands().items() if app in OURS)


@pytest.mark.parametrize(
    "words", [["plan"], ["export"], ["import", "outputs"], ["import", "judgements"]]
)
@pytest.mark.parametrize("form", ["{} --help", "help {}"])
def test_short_name_shows_the_usage_of_its_command(capsys, words, form):
    name = " ".join(words)
    with suppress(SystemExit):  # argparse ends so
        run(form.format(name).split())
    printed = capsys.readouterr().out
    assert printed.startswith(f"usage: plumbline {name} [-h]")


def test_help_lists_every_command_once_by_its_short_name(capsys):
    assert run([]) == 0
    listed = re.findall(r"[\w-]+(?: [a-z_]+)?(?=[,\n])", capsys.readouterr().out)
    short = {own: name for name, own in NAMES.items()}
    for name in HERE:
        assert listed.count(short.get(name, name)) == 1, name


def test_unknown_command_is_refused(capsys):
    with pytest.raises(SystemExit) as end:
        run(["exprot"])
    assert end.value.code == 1
    assert "Unknown command: 'exprot'" in capsys.readouterr().err


def examined(capsys) -> tuple[object, str]:
    with pytest.raises(SystemExit) as end:
        call_command("doctor")
    return end.value.code, capsys.readouterr().out


@pytest.mark.django_db
def test_doctor_exit_status_grows_with_the_problem(capsys, settings):
    settings.MEDIA_ROOT.mkdir()
    workers.sign(Worker.Kind.values)
    code, text = examined(capsys)
    assert (code, "broken" in text) == (0, False), text
    assert f"DATA_DIR: {settings.DATA_DIR}" in text
    Worker.objects.filter(kind=Worker.Kind.CPU).delete()
    code, text = examined(capsys)
    assert code == 1
    assert "note    The worker for reports and scores is not responding." in text
    settings.MEDIA_ROOT.rmdir()
    code, text = examined(capsys)
    assert code == 2
    assert "broken  MEDIA_ROOT is not writable." in text
