"""How long the database takes to hand out a slot and to close it, by size of study.

    python -m tests.with_postgres python benchmarks/leases.py [10000 100000 1000000]

Prints, for open and planned studies, the median and the 95th percentile of the
milliseconds that the queries of "next slot" (outlook and lease), of an answer, and of
"submit" take, how many they are, and for how long the database's process had a
processor (commits included; this is what the limit is compared with): on a busy machine
the former counts others' work as well. The yardstick is one UPDATE of a slot by its
key: how fast the machine is at the moment.
It writes into an empty database only.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "evalcore.settings")
os.environ["DATA_DIR"] = tempfile.mkdtemp(prefix="plumbline-leases-")

import django

django.setup()

from django.core.management import call_command
from django.db import connection
from django.db.models import F

from annotate.assignment import choosing
from annotate.models import Annotator, Slot, Study, Unit
from annotate.responses import giving_back
from annotate.responses.writing import AnswerRow
from evalcore.database.postgresql import analyze
from tests import answering
from tests.pressure.grids import add_people, make_grid

SIZES = (10_000, 100_000, 1_000_000)
METHODS, REDUNDANCY, OWN_PLAN = 25, 10, 500
OPERATIONS, PEOPLE = 100, 20
VETERAN = 2000
LIMIT_MILLISECONDS = 5.0


class Stopwatch:
    """Sums the time of all queries of each operation."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = {}
        self.queries: dict[str, list[int]] = {}
        self.worked: dict[str, list[float]] = {}
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            self.process = Path(f"/proc/{cursor.fetchone()[0]}/schedstat")

    def _processor(self) -> float:
        """Return for how many milliseconds the database has had a processor."""
        return int(self.process.read_text().split()[0]) / 1e6

    @contextmanager
    def of(self, operation: str):
        spent: list[float] = []

        def timed(execute, sql, params, many, context):
            start = time.perf_counter()
            try:
                return execute(sql, params, many, context)
            finally:
                spent.append(time.perf_counter() - start)

        before = self._processor()
        with connection.execute_wrapper(timed):
            yield
        self.worked.setdefault(operation, []).append(self._processor() - before)
        self.spent.setdefault(operation, []).append(1000 * sum(spent))
        self.queries.setdefault(operation, []).append(len(spent))

    def report(self, name: str) -> None:
        for operation, values in self.spent.items():
            median = statistics.median(values)
            late = statistics.quantiles(values, n=20)[-1]
            number = statistics.median(self.queries[operation])
            worked = statistics.median(self.worked[operation])
            verdict = "ok" if worked <= LIMIT_MILLISECONDS else "TOO SLOW"
            print(
                f"{name:36} {operation:9} median {median:5.2f} ms  p95 {late:5.2f} ms"
                f"  {number:2.0f} queries  processor {worked:5.2f} ms  {verdict}",
                flush=True,
            )


def work(study: Study, people: list[Annotator], watch: Stopwatch) -> None:
    question = study.questions.get()
    for number in range(OPERATIONS):
        person = people[number % len(people)]
        with watch.of("next slot"):
            slot = choosing.next_for(person).slot
        with watch.of("answer"):
            row = AnswerRow(question=question.key, value=number % 5)
            answering.send(slot, person, row)
        with watch.of("submit"):
            answering.submit(slot=slot, annotator=person)


SLOTS = """
INSERT INTO annotate_slot (study_id, unit_id, code, purpose, round, ordinal, level,
    state, draw, lease, claimed, language, a_is_left, turn, annotator_id,
    session, position)
SELECT u.study_id, u.id, md5(u.id || '-' || n)::varchar(20), 'real', 1, n, n, 'open',
    (random() * 2147483646)::int, 0, false, '', true, 0, {holder}
FROM (SELECT id, study_id, row_number() OVER (ORDER BY id) - 1 AS place
      FROM annotate_unit WHERE study_id = %s) u, generate_series(1, %s) n
"""
FREE = "NULL, NULL, NULL"
PLANNED = """
    (%s::bigint[])[1 + ((u.place * 10 + n - 1) %% %s)],
    1 + ((u.place * 10 + n - 1) / %s) / 7, 100 + 10 * ((u.place * 10 + n - 1) / %s)
"""


def open_study(size: int) -> Study:
    study = _units(f"open-{size}", size, "open")
    _execute(SLOTS.format(holder=FREE), [study.pk, REDUNDANCY])
    return study


def planned_study(size: int) -> tuple[Study, list[Annotator]]:
    study = _units(f"planned-{size}", size, "planned")
    people = add_people(study, max(PEOPLE, size // OWN_PLAN))
    ids, count = [one.pk for one in people], len(people)
    holder = [ids, count, count, count]
    _execute(SLOTS.format(holder=PLANNED), [*holder, study.pk, REDUNDANCY])
    return study, people


def _units(slug: str, size: int, assignment: str) -> Study:
    return make_grid(
        slug,
        stories=size // METHODS // REDUNDANCY,
        methods=METHODS,
        redundancy=REDUNDANCY,
        assignment=assignment,
        slots=False,
    )


def _execute(sql: str, parameters: list) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
    analyze(Unit, Slot)


def leave_behind(people: list[Annotator]) -> None:
    """Free the plans of some, as if they had dropped out."""
    Slot.objects.filter(annotator__in=people, state="open").update(
        annotator=None, session=None, position=None
    )
    analyze(Slot)


def make_veteran(study: Study) -> Annotator:
    """Return somebody who has judged thousands of units."""
    person = add_people(study, 1)[0]
    free = Slot.objects.filter(study=study, level=1, state="open", annotator=None)
    taken = free.order_by("draw").values("pk")[:VETERAN]
    slots = list(Slot.objects.filter(pk__in=taken.values_list("pk", flat=True)))
    now = person.consented_at
    for place, slot in enumerate(slots):
        slot.annotator, slot.state, slot.claimed = person, "submitted", True
        slot.started_at = slot.submitted_at = now
        slot.session, slot.position = 1 + place // 7, 100 + 10 * place
    fields = "annotator", "state", "claimed", "started_at", "submitted_at"
    Slot.objects.bulk_update(slots, [*fields, "session", "position"], batch_size=500)
    analyze(Slot)
    return person


def measure(name: str, study: Study, people: list[Annotator]) -> None:
    watch = Stopwatch()
    ids = list(study.slots.values_list("pk", flat=True)[:OPERATIONS])
    for pk in ids:
        with watch.of("yardstick"):
            Slot.objects.filter(pk=pk).update(lease=F("lease"))
    for _ in range(OPERATIONS):
        with watch.of("release"):
            giving_back.release_expired()
    work(study, people, watch)
    watch.report(name)


def timed(name: str, build: Callable[[], object]) -> object:
    start = time.perf_counter()
    built = build()
    print(f"-- {name} written in {time.perf_counter() - start:.0f} s", flush=True)
    return built


def main(sizes: list[int]) -> None:
    call_command("migrate", verbosity=0)
    if Study.objects.exists():
        sys.exit("This database has studies; run it in an empty one.")
    for size in sizes:
        study = timed(f"open, {size:,} slots", lambda size=size: open_study(size))
        measure(f"open, {size:,} slots", study, add_people(study, PEOPLE))
        if size > 2 * REDUNDANCY * VETERAN:
            veteran = make_veteran(study)
            measure(f"open, {size:,}, {VETERAN} judged before", study, [veteran])
        study, people = timed(
            f"planned, {size:,} slots", lambda size=size: planned_study(size)
        )
        measure(f"planned, {size:,} slots", study, people[:PEOPLE])
        leave_behind(people[-max(2, len(people) // 5) :])
        measure(f"planned, {size:,}, left behind", study, add_people(study, PEOPLE))


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]] or list(SIZES))
