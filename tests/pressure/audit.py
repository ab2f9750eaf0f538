"""Promises about answers, checked in SQL of the tables alone."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from django.db import connection

from annotate.audit_log.verifying import problems
from annotate.models import Study
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
OVER = """
    SELECT u.id, count(s.id) FROM annotate_unit u
    JOIN annotate_slot s ON s.unit_id = u.id AND s.ordinal IS NOT NULL
        AND s.state = 'submitted'
    WHERE u.study_id = %s GROUP BY u.id, u.redundancy
    HAVING count(s.id) > u.redundancy"""
KEYS = """
    SELECT r.client_key, r.value, r.is_current, s.state FROM annotate_rating r
    JOIN annotate_slot s ON s.id = r.slot_id WHERE s.study_id = %s"""


def rows(sql: str, study: Study) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(sql, [study.pk])
        return cursor.fetchall()


@dataclass
class Witnessed:
    """Acknowledged answers that were lost or changed, one row each."""

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
