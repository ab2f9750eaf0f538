"""Pages of the documentation carried out: their shell blocks, in the shell.

`plumbline` is a program that hands its arguments to the test's own process, so that a
command takes no seconds to start and works on the test's database. The shell, its loops
and the files are real.
"""

import contextlib
import csv
import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

from django.core.management import CommandError, get_commands, load_command_class
from django.db.models import F
from django.utils import timezone
from PIL import Image

from analysis.__main__ import main as analyse
from analysis.options import DOES
from annotate.models import Annotator, Purpose, Question, Slot, Study
from annotate.rehearsal.answers import right_answer
from annotate.responses.bulk import SlotAnswers, store_judgements
from evalcore.management.command_line import NAMES, joined

PAGES = Path(__file__).resolve().parents[1] / "docs" / "how-to"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.M | re.S)
# Paragraphs that offer another way than the block before.
OTHERWISE = re.compile(r"(?:^|\n)[Oo]r [^\n]*(?:\n[^\n]+)*\n+$")
PROGRAM = """#!{python} -SE
import json, os, socket, sys
with socket.socket(socket.AF_UNIX) as asked:
    asked.connect({address!r})
    asked.sendall(json.dumps([os.getcwd(), sys.argv[1:]]).encode())
    asked.shutdown(socket.SHUT_WR)
    status, out, err = json.loads(b"".join(iter(lambda: asked.recv(65536), b"")))
sys.stdout.write(out)
sys.stderr.write(err)
sys.exit(status)
"""
# What carries out a command in its place, by how the command begins.
Instead = dict[str, Callable[[], None]]
# The answer to a question about a slot, for real items.
Answer = Callable[[Slot, Question], int | str]


def blocks(page: str) -> list[str]:
    """Return the shell blocks of a page's main way, in order."""
    text = (PAGES / f"{page}.md").read_text("utf-8")
    return [
        found[1]
        for found in BLOCK.finditer(text)
        if not OTHERWISE.search(text[: found.start()])
    ]


def carry_out(page: str, folder: Path, instead: Instead | None = None) -> str:
    """Carry out a page in a folder; return what its commands print.

    A command that begins as a key of `instead` calls that function first, and is not
    itself called where the key ends with "!".
    """
    programs = folder / ".programs"
    programs.mkdir()
    program, address = programs / "plumbline", programs / "asked"
    program.write_text(PROGRAM.format(python=sys.executable, address=str(address)))
    program.chmod(0o755)
    said = ""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(address))
        server.listen()
        server.settimeout(0.2)
        for block in blocks(page):
            said += _run(block, folder, server, dict(instead or {}))
    return said


def _run(block: str, folder: Path, server: socket.socket, instead: Instead) -> str:
    paths = f"{folder / '.programs'}{os.pathsep}{os.environ['PATH']}"
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", block],
        cwd=folder,
        env={**os.environ, "PATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    while shell.poll() is None:
        with contextlib.suppress(TimeoutError):
            connection, _address = server.accept()
            with connection:
                text = b"".join(iter(lambda: connection.recv(65536), b""))  # noqa: B023
                where, arguments = json.loads(text)
                answer = _answered(where, arguments, instead)
                connection.sendall(json.dumps(answer).encode())
    said, _nothing = shell.communicate()
    assert shell.returncode == 0, f"{block}\n{said}"
    return said


def _answered(
    where: str, arguments: list[str], instead: Instead
) -> tuple[int, str, str]:
    """Carry out one command; return its status and what it prints."""
    called = " ".join(arguments)
    for begin, function in instead.items():
        if called.startswith(begin.removesuffix("!")):
            function()
            if begin.endswith("!"):
                return 0, "", ""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.chdir(where),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = _call(arguments)
        except CommandError as error:
            print(error, file=err)
            status = error.returncode
        except SystemExit as error:
            status = int(error.code or 0)
    return status, out.getvalue(), err.getvalue()


def _call(arguments: Sequence[str]) -> int:
    name, *rest = joined(arguments)
    if name in DOES:
        return analyse(arguments)
    name = NAMES.get(name, name)
    command = load_command_class(get_commands()[name], name)
    options = vars(command.create_parser("plumbline", name).parse_args(rest))
    command.execute(*options.pop("args", ()), **options)
    return 0


def answer_all(slug: str, answer: Answer) -> None:
    """Let everybody answer everything: checks rightly, the rest by a function."""
    study = Study.objects.get(slug=slug)
    people = study.annotators.order_by("name")
    now = timezone.now()
    people.update(
        state=Annotator.State.ACTIVE,
        consented_at=now,
        instructed_at=now,
        trained_at=now,
        consent_version=study.consent_version,
    )
    questions = list(study.questions.all())
    slots = study.slots.filter(state=Slot.State.OPEN, annotator__isnull=False)
    slots = slots.select_related(
        "unit__story", *study.output_paths("unit__", "__method")
    )
    given = []
    order = F("annotator__name"), F("position")
    for place, slot in enumerate(slots.order_by(*order)):
        is_real = slot.purpose == Purpose.REAL
        answers = {
            question: (answer if is_real else _check)(slot, question)
            for question in questions
            if question.is_asked_of(slot.unit.story)
        }
        at = now - timedelta(days=1) + timedelta(seconds=30 * (place % 500))
        given.append(SlotAnswers(slot, answers, at, 25.0))
    store_judgements(given)


def _check(slot: Slot, question: Question) -> int | str:
    """Return a right answer; of repeats, which do not count, any."""
    if slot.purpose == Purpose.REPEAT:
        return "tie" if slot.study.is_side_by_side else question.scale_max or 0
    return right_answer(slot, question)


class Spread:
    """Whole numbers, one after the other, whose mean is a given one.

    >>> spread = Spread()
    >>> [spread.next("a", 2.25) for _ in range(8)]
    [2, 2, 3, 2, 2, 2, 3, 2]
    """

    def __init__(self) -> None:
        self._given: dict[object, tuple[int, int]] = {}

    def next(self, key: object, mean: float) -> int:
        """Return the next number of a key."""
        n, total = self._given.get(key, (0, 0))
        value = round(mean * (n + 1) - total)
        self._given[key] = (n + 1, total + value)
        return value


def published(shared: Path, name: str) -> list[dict[str, str]]:
    with (shared / "published" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_text = isinstance(content, str)
    path.write_text(content if is_text else json.dumps(content), encoding="utf-8")


def draw(path: Path, *, size: tuple[int, int] = (24, 24)) -> None:
    """Draw a picture in a colour of its own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    number = hash(str(path)) % 256**3
    Image.new("RGB", size, (number // 65536, number // 256 % 256, number % 256)).save(
        path
    )


def method_of(slot: Slot) -> str:
    return slot.unit.output_a.method.name
