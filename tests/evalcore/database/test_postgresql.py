"""PostgreSQL analyses tables that have grown; other databases do not."""

import pytest
from django.core.management import call_command
from django.db import connection

from annotate.models import Rating, Slot, Unit
from evalcore.models import MetricScore, Output
from evalcore.serving.environment import PREPARE_AFTER
from tests.factories import METHODS, make_study
from tests.people import answer_everything

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


def known_rows(model):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples FROM pg_class WHERE relname = %s",
            [model._meta.db_table],
        )
        return cursor.fetchone()[0]


def counted_as_they_are(*models):
    """Say whether the planner knows the tables; true where there is nothing to know."""
    return connection.vendor != "postgresql" or all(
        known_rows(model) == model.objects.count() for model in models
    )


@pytest.mark.skipif(connection.vendor != "postgresql", reason="asks PostgreSQL")
def test_frequent_query_is_planned_once():
    kept = []
    with connection.cursor() as cursor:
        for number in range(PREPARE_AFTER + 1):
            cursor.execute(
                "SELECT count(*) FROM pg_prepared_statements"
                " WHERE statement LIKE '%%planned once%%' AND %s >= 0",
                [number],
            )
            kept.append(cursor.fetchone()[0])
    # The last time it was prepared, and saw itself.
    assert kept == [*[0] * PREPARE_AFTER, 1]


def test_answers_and_scores_leave_their_tables_counted(tmp_path):
    study = make_study()
    answer_everything(study)
    assert counted_as_they_are(Unit, Slot, Rating)
    rows = [f"{story},{m},fid,{len(m)}" for story in ("01", "02") for m in METHODS]
    (tmp_path / "scores.csv").write_text(
        "\n".join(["story,method,metric,score", *rows])
    )
    call_command(
        "import_scores", tmp_path / "scores.csv", benchmark=study.benchmark.slug
    )
    assert counted_as_they_are(Output, MetricScore)
