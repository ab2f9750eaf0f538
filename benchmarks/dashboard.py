"""How long the coverage page of a large study takes, against its limit of 200 ms.

Builds studies of 10,000, 100,000 and 1,000,000 answers (three questions a slot) in
SQLite and in a PostgreSQL of its own, both temporary, lets the worker's part run once,
and asks for the page 20 times through Django's test client:

    python benchmarks/dashboard.py                 # both engines, all sizes
    python benchmarks/dashboard.py sqlite 10000    # one of each
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIMIT_MS, REQUESTS = 200, 20
SIZES = (10_000, 100_000, 1_000_000)
QUESTIONS, REDUNDANCY, METHODS = 3, 10, 34
CHUNK = 5000


def main() -> int:
    """Measure; exit 1 when a page of a million answers takes longer than the limit."""
    engines = [a for a in sys.argv[1:] if not a.isdecimal()] or ["sqlite", "postgresql"]
    sizes = [a for a in sys.argv[1:] if a.isdecimal()] or [str(n) for n in SIZES]
    # -P: benchmarks/analysis.py must not stand in for the package.
    own = [sys.executable, "-P", __file__, "--inside", *sizes]
    failed = 0
    for engine in engines:
        print(f"{engine}: answers, median ms of the page, slowest, queries, bytes;")
        print(
            "  then: the poll without news, the worker's refresh in s, first and again",
            flush=True,
        )
        with tempfile.TemporaryDirectory(prefix="plumbline-dashboard-") as folder:
            environment = os.environ | {"DATA_DIR": folder, "PYTHONPATH": str(ROOT)}
            command = own
            if engine == "sqlite":
                environment["DATABASE_URL"] = f"sqlite:///{folder}/db.sqlite3"
            else:
                command = [sys.executable, "-m", "tests.with_postgres", *own]
            done = subprocess.run(command, env=environment, cwd=ROOT, check=False)
            failed |= done.returncode
    return failed


def inside(sizes: list[int]) -> int:
    """Measure in the database that the environment names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
    import django

    django.setup()
    from django.conf import settings
    from django.core.management import call_command

    settings.ALLOWED_HOSTS, settings.DEBUG = ["*"], False  # DEBUG logs all queries
    call_command("migrate", verbosity=0)
    slow = 0
    for answers in sizes:
        slow |= measure(answers) and answers >= max(SIZES)
    return int(slow)


def measure(answers: int) -> bool:
    """Print how long the pages of one study take; say whether they are too slow."""
    from django.db import connection
    from django.test import Client
    from django.urls import reverse

    from annotate.coverage import snapshots
    from annotate.coverage.dashboard import version
    from annotate.models import User

    study = build(answers)
    user, _created = User.objects.get_or_create(username="alice", is_superuser=True)
    client = Client()
    client.force_login(user)
    refreshes = []
    for _first_then_again in range(2):
        began = time.perf_counter()
        snapshots.refresh(study)
        refreshes.append(time.perf_counter() - began)
    url = reverse("study-coverage", args=[study.slug])
    queries = []

    def counted(execute, *call):
        queries.append(call[0])
        return execute(*call)

    with connection.execute_wrapper(counted):
        page = client.get(url)
    assert page.status_code == 200, page.status_code
    times = [timed(client, url) for _ in range(REQUESTS)]
    poll = f"{url}?since={version(study)}"
    polls = [
        timed(client, poll, headers={"hx-request": "true"}) for _ in range(REQUESTS)
    ]
    middle = statistics.median(times)
    print(
        f"  {answers:>9,}  {middle:6.0f} {max(times):6.0f}  {len(queries):3d} "
        f"{len(page.content):8,}   {statistics.median(polls):5.0f}  "
        f"{refreshes[0]:6.1f} {refreshes[1]:6.1f}",
        flush=True,
    )
    return middle > LIMIT_MS


def timed(client, url: str, **options) -> float:
    began = time.perf_counter()
    client.get(url, **options)
    return 1000 * (time.perf_counter() - began)


def build(answers: int):
    """Store a study that is all but done, with its answers spread over two weeks."""
    from django.utils import timezone

    from annotate.models import Annotator, Event, Flag, Rating, Slot, Unit
    from annotate.responses.bulk import count_units
    from evalcore.database.postgresql import analyze

    study, units, questions = outline(answers)
    people = Annotator.objects.bulk_create(
        Annotator(study=study, name=f"A{i:04}", state="active")
        for i in range(max(REDUNDANCY * 2, len(units) * REDUNDANCY // 333))
    )
    step = timedelta(days=13) / (len(units) * REDUNDANCY)
    start = timezone.now() - timedelta(days=13)
    in_chunks(Slot, slots(study, units, people, start, step))
    submitted = study.slots.filter(state="submitted").order_by("pk")

    def ratings() -> Iterator[Rating]:
        rows = submitted.values_list("pk", "annotator", "unit")
        for pk, annotator, unit in rows.iterator(CHUNK):
            for i, question in enumerate(questions):
                yield Rating(
                    slot_id=pk,
                    question=question,
                    annotator_id=annotator,
                    value=(unit * 7 + (annotator + pk + i) % 3) % 5,
                    scale_min=0,
                    scale_max=4,
                )

    in_chunks(Rating, ratings())
    count_units(study)
    for person in people[:3]:
        Flag.objects.create(
            annotator=person,
            rule="fast",
            signal="seconds_per_unit",
            action="warn",
            value=5,
            n=30,
            text="5 s a unit",
        )
    Event.objects.create(study=study, kind=Event.Kind.STUDY_LAUNCHED)
    analyze(Unit, Slot, Rating)
    return study


def slots(study, units, people, start, step) -> Iterator:
    """Return the slots of all units, nineteen in twenty done, one after the other."""
    from annotate.models import Slot

    taken = [0] * len(people)
    for n in range(len(units) * REDUNDANCY):
        unit, ordinal = units[n // REDUNDANCY], n % REDUNDANCY
        place = (n // REDUNDANCY * 7 + ordinal) % len(people)
        taken[place] += 1
        done = n % 20 != 0
        at = start + n * step
        yield Slot(
            study=study,
            unit=unit,
            ordinal=ordinal + 1,
            annotator=people[place],
            position=100 + 10 * taken[place],
            session=1 + taken[place] // 7,
            state="submitted" if done else "open",
            started_at=at if done else None,
            submitted_at=at if done else None,
            seconds=30.0 if done else None,
        )


def outline(answers: int):
    """Store the benchmark, the study, its questions and its units."""
    from annotate.models import Question, Study, Unit
    from evalcore.models import Benchmark, Method, Output, Story

    n_stories = -(-answers // (QUESTIONS * REDUNDANCY * METHODS))
    benchmark = Benchmark.objects.create(slug=f"b{answers}", title="Large")
    methods = [
        Method.objects.get_or_create(name=f"Method {i:02}")[0] for i in range(METHODS)
    ]
    stories = Story.objects.bulk_create(
        Story(benchmark=benchmark, key=f"{i:04}") for i in range(1, n_stories + 1)
    )
    outputs = in_chunks(
        Output, (Output(story=s, method=m) for s in stories for m in methods)
    )
    study = Study.objects.create(
        slug=f"large-{answers}",
        title="Large",
        benchmark=benchmark,
        state="open",
        template="own",
        redundancy=REDUNDANCY,
    )
    questions = [
        Question.objects.create(
            study=study,
            key=f"q{i}",
            kind="likert",
            ordinal=i,
            titles={"en": f"Question {i}"},
            scale_min=0,
            scale_max=4,
        )
        for i in range(1, QUESTIONS + 1)
    ]
    units = in_chunks(
        Unit,
        (
            Unit(study=study, story=o.story, output_a=o, redundancy=REDUNDANCY)
            for o in outputs
        ),
    )
    return study, units, questions


def in_chunks(model, rows: Iterator) -> list:
    """Store rows a few thousand at a time; return them where they are few enough."""
    made, chunk = [], []
    for row in rows:
        chunk.append(row)
        if len(chunk) == CHUNK:
            made += _store(model, chunk)
            chunk = []
    return made + _store(model, chunk)


def _store(model, chunk: list) -> list:
    stored = model.objects.bulk_create(chunk, batch_size=CHUNK)
    return stored if len(stored) and model.__name__ in ("Output", "Unit") else []


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        sys.exit(inside([int(n) for n in sys.argv[2:]]))
    sys.exit(main())
