"""Queries that are compiled once return the same rows as fresh ones."""

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection, transaction
from django.db.models import Count, F
from django.db.transaction import TransactionManagementError
from hypothesis import given
from hypothesis import strategies as st

from annotate.models import Event, Slot, Study
from evalcore.database.prepared import Prepared, add, store
from evalcore.models import Benchmark, Character, Story
from tests.factories import make_benchmark, make_study

pytestmark = pytest.mark.postgresql

NOON = datetime(2026, 5, 1, 12, 0, 0, 123, tzinfo=UTC)


@pytest.fixture
def study(db):
    return make_study(benchmark=make_benchmark(stories=2))


def same(prepared, query, **values):
    """Say whether both find the same rows, field by field."""
    return list(map(told, prepared.rows(**values))) == list(map(told, query))


def told(row):
    if not hasattr(row, "_meta"):
        return row
    return {field.name: getattr(row, field.attname) for field in row._meta.fields}


def test_rows_of_a_table(study):
    asked = Prepared(
        lambda study, state: Slot.objects.filter(study=study, state=state).order_by(
            "pk"
        ),
        study=int,
        state=str,
    )
    for state in ("open", "leased", "open"):
        found = Slot.objects.filter(study=study, state=state).order_by("pk")
        assert same(asked, found, study=study.pk, state=state)
    assert asked.rows(study=study.pk, state="open")
    assert asked.rows(study=-1, state="open") == []
    assert asked.first(study=-1, state="open") is None


def test_prepared_query_reads_related_rows(study, django_assert_num_queries):
    asked = Prepared(
        lambda pk: Slot.objects.filter(pk=pk).select_related(
            "unit__story", "unit__output_a__method", "unit__output_b", "annotator"
        ),
        pk=int,
    )
    pk = study.slots.values_list("pk", flat=True).first()
    slot = asked.one(pk=pk)
    with django_assert_num_queries(0):
        assert slot.unit.story.pk
        assert slot.unit.output_a.method.name
        assert slot.unit.output_b is None
    assert slot == Slot.objects.get(pk=pk)
    slot.refresh_from_db()
    with pytest.raises(Slot.DoesNotExist):
        asked.one(pk=-1)


def test_deferred_fields_load_on_access(study):
    asked = Prepared(
        lambda pk: Study.objects.filter(pk=pk).defer("consent", "seed"), pk=int
    )
    found = asked.one(pk=study.pk)
    assert found.get_deferred_fields() == {"consent", "seed"}
    assert found.consent == study.consent


def test_lists_of_values_and_counts(study):
    story = Story.objects.first()
    for key in "ab":
        Character.objects.create(story=story, key=key)
    counted = Prepared(
        lambda story: (
            Character.objects.filter(story=story)
            .annotate(pictures=Count("images"))
            .order_by("-key")
        ),
        story=int,
    )
    assert [(row.key, row.pictures) for row in counted.rows(story=story.pk)] == [
        ("b", 0),
        ("a", 0),
    ]
    listed = Prepared(
        lambda study: Slot.objects.filter(study=study).order_by("pk"), study=int
    )
    rows = Slot.objects.filter(study=study).order_by("pk")
    for names in (["pk"], ["code", "started_at", "in_sight", "unit__story"]):
        asked = Prepared(
            lambda study, names=tuple(names): (
                Slot.objects.filter(study=study).order_by("pk").values_list(*names)
            ),
            study=int,
        )
        assert asked.rows(study=study.pk) == list(rows.values_list(*names))
    assert listed.rows(study=study.pk) == list(rows)


def test_times_are_converted_in_parameters_and_rows(study):
    slot = study.slots.first()
    slots = Slot.objects.filter(pk=slot.pk)
    slots.update(offered_at=NOON, in_sight={"1": 2.5})
    asked = Prepared(
        lambda at: Slot.objects.filter(offered_at__gte=at).values_list(
            "offered_at", "in_sight"
        ),
        at=datetime,
    )
    assert asked.rows(at=NOON) == [(NOON, {"1": 2.5})]
    assert asked.rows(at=NOON + timedelta(microseconds=1)) == []


@pytest.mark.django_db
@given(text=st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20))
def test_text_values_are_never_interpreted(text):
    asked = Prepared(
        lambda title: Story.objects.filter(title=title).exclude(key="50%s 'x"),
        title=str,
    )
    with transaction.atomic():
        benchmark = Benchmark.objects.create(slug="texts", title="Texts")
        story = Story.objects.create(benchmark=benchmark, key="a", title=text)
        Story.objects.create(benchmark=benchmark, key="50%s 'x", title=text)
        assert asked.rows(title=text) == [story]
        assert asked.rows(title=f"{text}'") == []
        transaction.set_rollback(True)


@pytest.mark.django_db(transaction=True)
def test_rows_are_locked_in_a_transaction_only():
    if not connection.features.has_select_for_update:
        pytest.skip("locks no rows")
    asked = Prepared(lambda pk: Slot.objects.select_for_update().filter(pk=pk), pk=int)
    with transaction.atomic():
        assert asked.rows(pk=1) == []
    with pytest.raises(TransactionManagementError):
        asked.rows(pk=1)


def test_fields_are_written_as_save_writes_them(study):
    def save(row, *names):
        row.save(update_fields=names)

    slot, other = study.slots.filter(annotator__name="A01")[:2]
    for row, write in ((slot, store), (other, save)):
        row.state, row.lease, row.in_sight = Slot.State.LEASED, 3, {"2": 0.5}
        row.started_at = row.offered_at = row.lease_until = NOON
        row.position = 900 + row.pk
        row.code = f"changed {row.pk}"  # is not written
        write(row, "state", "lease", "in_sight", "started_at", "lease_until")
        write(row, "annotator", "position")
    written = [told(Slot.objects.get(pk=row.pk)) for row in (slot, other)]
    for row in written:
        assert row["lease_until"] == NOON
        assert not row.pop("code").startswith("changed")
        assert row.pop("position") == 900 + row["id"]
        for name in ("id", "draw", "ordinal", "level", "unit", "a_is_left", "turn"):
            row.pop(name)
    assert written[0] == written[1]


def test_update_of_a_deleted_row_writes_nothing(study):
    slot = study.slots.first()
    Slot.objects.filter(pk=slot.pk).delete()
    with pytest.raises(Slot.DoesNotExist):
        store(slot, "lease")


def test_new_row_equals_one_from_create(study):
    slot = study.slots.first()
    said = {"kind": Event.Kind.SLOT_TAKEN, "slot": slot, "details": {"lease": 1}}
    event, later = (Event(study=study, at=NOON, **said) for _which in range(2))
    add(event, later)
    assert event.pk < later.pk
    created = Event.objects.create(study=study, at=NOON, **said)
    assert created.pk > later.pk
    first, second = (told(Event.objects.get(pk=row.pk)) for row in (event, created))
    assert {**first, "id": None} == {**second, "id": None}
    with pytest.raises(TypeError):
        event.save()  # it is stored already
    assert Slot.objects.filter(pk=slot.pk, lease=F("lease")).exists()
