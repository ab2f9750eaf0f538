from datetime import UTC, datetime
from pathlib import Path

import pytest

from annotate.health import gauges
from tests.factories import make_benchmark, make_study

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


def test_two_folders_of_one_disk_are_one_disk(settings):
    settings.MEDIA_ROOT.mkdir()
    (found,) = gauges.disks()
    assert found.names == ("DATA_DIR", "MEDIA_ROOT")
    assert found.folder == settings.DATA_DIR
    assert 0 < found.free < found.total


def test_folder_that_is_gone_is_left_out(settings):
    settings.MEDIA_ROOT = Path("/nowhere")
    assert [one.names for one in gauges.disks()] == [("DATA_DIR",)]


@pytest.mark.postgresql
@pytest.mark.django_db
def test_database_takes_room():
    assert gauges.database_bytes() > 100_000


@pytest.mark.sqlite
@pytest.mark.django_db
def test_no_count_reads_all_slots():
    make_study(benchmark=make_benchmark(shots=1, pictures=False))
    for slots in (gauges.in_hand(), gauges.submitted(NOW, NOW)):
        assert "SEARCH annotate_slot USING" in slots.order_by().explain()
