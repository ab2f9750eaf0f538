"""PostgreSQL is told how large tables have become; other databases are left alone."""

import pytest
from django.db import connection

from annotate.models import Rating, Slot
from evalcore.postgresql import analyze
from tests.factories import make_study
from tests.people import answer_everything

pytestmark = pytest.mark.django_db


def known_rows(model):
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples FROM pg_class WHERE relname = %s",
            [model._meta.db_table],
        )
        return cursor.fetchone()[0]


def test_an_import_leaves_the_tables_counted(django_assert_num_queries):
    answer_everything(make_study())
    if connection.vendor != "postgresql":
        with django_assert_num_queries(0):
            analyze(Slot, Rating)
        return
    for model in (Slot, Rating):
        assert known_rows(model) == model.objects.count()
