"""What must be true after a study was drained, asked in SQL of the tables alone."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.db import connection

from annotate.history.verifying import problems
from annotate.models import Annotator, Study
from tests.pressure.rater import Acknowledged

# Each returns the rows that break a promise.
ALWAYS = {
    "an ordinal twice": """
        SELECT unit_id, round, ordinal FROM annotate_slot
        WHERE study_id = %s AND ordinal IS NOT NULL
        GROUP BY unit_id, round, ordinal HAVING count(*) > 1""",
    "a unit twice for one annotator": """
        SELECT unit_id, annotator_id FROM annotate_slot
        WHERE study_id = %s AND annotator_id IS NOT NULL
        GROUP BY unit_id, round, annotator_id HAVING count(*) > 1""",
    "a submitted slot without exactly one current answer of its annotator": """
        SELECT s.id, count(r.id) FROM annotate_slot s
        LEFT JOIN annotate_rating r ON r.slot_id = s.id AND r.is_current
            AND r.annotator_id = s.annotator_id
        WHERE s.study_id = %s AND s.state = 'submitted'
        GROUP BY s.id HAVING count(r.id) <> 1""",
    "a slot that was not submitted exactly once by the log": """
        SELECT s.id, count(e.id) FROM annotate_slot s
        LEFT JOIN annotate_event e ON e.slot_id = s.id AND e.kind = 'slot submitted'
        WHERE s.study_id = %s AND s.state = 'submitted'
        GROUP BY s.id HAVING count(e.id) <> 1""",
}
AT_THE_END = {
    "a slot within the redundancy that is not submitted": """
        SELECT id FROM annotate_slot WHERE study_id = %s
        AND ordinal IS NOT NULL AND state <> 'submitted'""",
    "a unit without exactly its redundancy of submitted slots": """
        SELECT u.id, count(s.id) FROM annotate_unit u
        LEFT JOIN annotate_slot s ON s.unit_id = u.id AND s.ordinal IS NOT NULL
            AND s.state = 'submitted'
        WHERE u.study_id = %s GROUP BY u.id, u.redundancy, u.submitted
        HAVING count(s.id) <> u.redundancy OR u.submitted <> u.redundancy""",
}
OVER = """
    SELECT u.id, count(s.id) FROM annotate_unit u
    JOIN annotate_slot s ON s.unit_id = u.id AND s.ordinal IS NOT NULL
        AND s.state = 'submitted'
    WHERE u.study_id = %s GROUP BY u.id, u.redundancy
    HAVING count(s.id) > u.redundancy"""
KEYS = """
    SELECT r.client_key, r.value, r.is_current, s.state FROM annotate_rating r
    JOIN annotate_slot s ON s.id = r.slot_id WHERE s.study_id = %s"""
STORED = """
    SELECT s.code, a.name, r.value FROM annotate_slot s
    JOIN annotate_annotator a ON a.id = s.annotator_id
    JOIN annotate_rating r ON r.slot_id = s.id AND r.annotator_id = a.id
    WHERE s.study_id = %s AND s.state = 'submitted' ORDER BY r.revision"""


def rows(sql: str, study: Study) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [study.pk])
        return cursor.fetchall()


def acknowledged(folder: Path) -> list[tuple[str, str, int]]:
    """Return slot, annotator and value of each answer that a client saw accepted."""
    found = []
    for path in folder.glob("*.txt"):
        # Whoever was killed while writing did not see the end of the line.
        for line in path.read_text().splitlines(keepends=True):
            if line.endswith("\n"):
                code, value = line.split()
                found.append((code, path.stem, int(value)))
    return found


def complaints(study: Study, folder: Path, replaced: set[str]) -> list[str]:
    """Return a sentence for each promise that does not hold.

    A request of a client that was killed may reach the database after those of the one
    that `replaced` it. Then it is the later revision, and the acknowledged one is kept.
    """
    found = problems(study)
    for promise, sql in (AT_THE_END | ALWAYS).items():
        found += [f"{promise}: {row}" for row in rows(sql, study)]
    stored: dict[tuple[str, str], list[int]] = defaultdict(list)
    for code, name, value in rows(STORED, study):
        stored[code, name].append(value)
    for code, name, value in acknowledged(folder):
        kept = stored[code, name]
        if value not in (kept if name in replaced else kept[-1:]):
            found.append(f"{name} was told that {code} = {value}; stored is {kept}")
    return found


@dataclass
class Witnessed:
    """What became of answers that were acknowledged; each row breaks a promise."""

    stored: int
    lost: list[str]
    twice: list[str]
    over: list[str]
    verify: list[str]


def witnessed(study: Study, told: Iterable[Acknowledged]) -> Witnessed:
    """Look for every acknowledged answer, in a study that is under way or not."""
    stored: dict[str, list[tuple]] = defaultdict(list)
    for key, *row in rows(KEYS, study):
        stored[key].append(tuple(row))
    lost = []
    for one in told:
        kept = stored[one.key]
        right = [row for row in kept if row[0] == one.value]
        right = [row for row in right if row[1] or not one.is_last]
        right = [row for row in right if row[2] == "submitted" or not one.submitted]
        lost += [] if right else [f"{one}: {kept}"]
    twice = [f"{key}: {kept}" for key, kept in stored.items() if len(kept) > 1]
    for promise, sql in ALWAYS.items():
        twice += [f"{promise}: {row}" for row in rows(sql, study)]
    over = [str(row) for row in rows(OVER, study)]
    return Witnessed(sum(map(len, stored.values())), lost, twice, over, problems(study))


def last_answers(person: Annotator) -> dict[str, dict[str, int]]:
    """Return somebody's answers to submitted stories, by slot and question."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    current = person.ratings.filter(is_current=True, slot__state="submitted")
    for code, question, value in current.values_list(
        "slot__code", "question__key", "value"
    ):
        found[code][question] = value
    return found


def spread(study: Study) -> int:
    """Return by how many answers the units of a study differ now."""
    sql = (
        "SELECT max(submitted) - min(submitted) FROM annotate_unit WHERE study_id = %s"
    )
    return rows(sql, study)[0][0]


def kinds(study: Study) -> Counter:
    """Return how often each kind of event happened."""
    sql = "SELECT kind, count(*) FROM annotate_event WHERE study_id = %s GROUP BY kind"
    return Counter(dict(rows(sql, study)))
