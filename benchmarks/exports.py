"""Measure exports of a million answers, and annotators' submissions meanwhile.

    python -m benchmarks.exports [--ratings 56] [--people 8] [--pause 5]
    python -m tests.with_postgres python -m benchmarks.exports

Each export is a process of its own, as it is of a worker. Prints its seconds, its peak
memory, the size of the file, and the milliseconds of annotators' submissions (median /
p95) before and during it. The annotators' own study, `small`, has few answers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
from benchmarks.figures import head, median_p95, memory, row
from benchmarks.human_pace import Person, open_study
from benchmarks.temporary_site import serve, temporary_site

# By so many people, of 3 questions: a million answers of 56 people.
SIZE = {"methods": 20, "stories": 300}
QUESTIONS = 3
WAYS = (
    ("small", "parquet", "long"),
    ("large", "csv", "long"),
    ("large", "parquet", "long"),
    ("large", "jsonl", "long"),
    ("large", "parquet", "wide"),
    ("large", "csv", "crowd-kit"),
)
QUIET_SECONDS = 20


def main() -> None:
    """Export in every way beside a crowd that rates."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ratings", type=int, default=56, help="of each output")
    parser.add_argument("--people", type=int, default=8, help="who rate meanwhile")
    parser.add_argument("--pause", type=float, default=5.0, help="seconds a story")
    given = parser.parse_args()
    with temporary_site(), tempfile.TemporaryDirectory() as out:
        from django.db import connection

        from annotate.models import Rating

        _fill("large", given.ratings)
        answers = Rating.objects.count()
        size = {"redundancy": given.people + 1, "stories": 48, "shots": 1}
        tokens = open_study(given.people, slug="small", **size)
        print(f"{answers:,} answers, {connection.vendor}")
        with serve() as base:
            crowd = [Person(base, token, given.pause) for token in tokens]
            for person in crowd:
                person.start()
            time.sleep(2 * given.pause + QUIET_SECONDS)
            quiet = _saves(crowd, time.perf_counter() - QUIET_SECONDS)
            head("study", "format", "layout", "seconds", "peak MB", "file MB", "ms")
            row(["none", "", "", "", "", "", quiet])
            for study, form, layout in WAYS:
                began, peak, size = _export(study, form, layout, Path(out))
                took, saves = time.perf_counter() - began, _saves(crowd, began)
                figures = [f"{took:.1f}", f"{peak:.0f}", f"{size / 1e6:.1f}", saves]
                row([study, form, layout, *figures])
            for person in crowd:
                person.ended.set()
            print("failed:", [one.failed for one in crowd if one.failed])


def _fill(slug: str, people: int) -> None:
    """Store a study whose every output everybody has rated, by copies of one slot."""
    from django.db import connection
    from django.utils import timezone

    from annotate.models import Question, Rating, Slot, Unit
    from evalcore.database.postgresql import analyze
    from tests.pressure.grids import add_people, make_grid

    study = make_grid(slug, redundancy=people, slots=False, **SIZE)
    person, *_others = add_people(study, people)
    scale, now = {"scale_min": 0, "scale_max": 4}, timezone.now()
    first = study.questions.get()
    for number in range(2, QUESTIONS + 1):
        key, titles = f"q{number}", {"en": f"Question {number}"}
        about = {"kind": first.kind, "ordinal": number, "titles": titles, **scale}
        Question.objects.create(study=study, key=key, **about)
    unit = study.units.first()
    done = {"state": "submitted", "started_at": now, "submitted_at": now, "seconds": 30}
    slot = Slot.objects.create(
        study=study, unit=unit, ordinal=1, level=1, position=0, annotator=person, **done
    )
    whose = {"slot": slot, "annotator": person}
    Rating.objects.create(question=first, value=1, **whose, **scale)
    with connection.cursor() as cursor:
        own = {
            "unit_id": "u.id",
            "annotator_id": "a.id",
            "ordinal": f"a.id - {person.pk} + 1",
            "level": f"a.id - {person.pk} + 1",
            "position": "u.id",
            "code": "'c' || u.id || '-' || a.id",
        }
        others = f"a.id <> {person.pk} OR u.id <> {unit.pk}"
        tables = f"{Unit._meta.db_table} u, annotate_annotator a"
        of_study = f"u.study_id = {study.pk} AND a.study_id = {study.pk} AND ({others})"
        cursor.execute(_copies(Slot, own, slot.pk, tables, of_study))
        own = {
            "slot_id": "s.id",
            "annotator_id": "s.annotator_id",
            "question_id": "q.id",
            "value": "(s.id * 7 + s.annotator_id + 3 * q.ordinal) % 5",
        }
        others = f"s.id <> {slot.pk} OR q.id <> {first.pk}"
        tables = f"{Slot._meta.db_table} s, {Question._meta.db_table} q"
        of_study = f"s.study_id = {study.pk} AND q.study_id = {study.pk} AND ({others})"
        pk = Rating.objects.get().pk
        cursor.execute(_copies(Rating, own, pk, tables, of_study))
    analyze(Unit, Slot, Rating)


def _copies(model: Any, own: dict[str, str], pk: int, tables: str, where: str) -> str:
    """Return the SQL that copies a row for all rows of other tables."""
    columns = [one.column for one in model._meta.concrete_fields if one.column != "id"]
    values = [own.get(name, f't."{name}"') for name in columns]
    table, names = model._meta.db_table, ", ".join(f'"{name}"' for name in columns)
    return (
        f"INSERT INTO {table} ({names}) SELECT {', '.join(values)} "
        f"FROM {table} t, {tables} WHERE t.id = {pk} AND {where} ORDER BY 1"
    )


def _export(study: str, form: str, layout: str, out: Path) -> tuple[float, float, int]:
    """Return when an export began, its peak memory in MB, and its file's bytes."""
    command = [sys.executable, "manage.py", "export_study", study, "--table", "ratings"]
    folder = out / f"{study}-{form}-{layout}"
    command += ["--format", form, "--layout", layout, "--out", str(folder)]
    began, peak = time.perf_counter(), 0.0
    child = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    while child.poll() is None:
        peak = max(peak, memory("VmHWM", child.pid))
        time.sleep(0.05)
    if child.returncode:
        raise SystemExit("The export failed; it says why above.")
    return began, peak, max(path.stat().st_size for path in folder.iterdir())


def _saves(crowd: list[Person], since: float) -> str:
    """Return median and 95th percentile of the submissions since a moment."""
    times = [t for one in crowd for at, t in one.times["save"] if at >= since]
    return f"{median_p95(times)} (n {len(times)})"


if __name__ == "__main__":
    main()
