from datetime import UTC, datetime
from pathlib import Path

import pytest

from annotate.health import gauges
from tests.factories import make_benchmark, make_study

NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


def test_folders_on_one_disk_count_once(settings):
    settings.MEDIA_ROOT.mkdir()
    (found,) = gauges.disks()
    assert found.names == ("DATA_DIR", "MEDIA_ROOT")
    assert found.folder == settings.DATA_DIR
    assert 0 < found.free < found.total


def test_missing_folder_is_left_out(settings):
    settings.MEDIA_ROOT = Path("/nowhere")
    assert [one.names for one in gauges.disks()] == [("DATA_DIR",)]


@pytest.mark.postgresql
@pytest.mark.django_db
def test_database_size_is_measured():
    assert gauges.database_bytes() > 100_000


@pytest.mark.sqlite
@pytest.mark.django_db
def test_counts_use_indexes():
    make_study(benchmark=make_benchmark(shots=1, pictures=False))
    for slots in (gauges.in_hand(), gauges.submitted(NOW, NOW)):
        assert "SEARCH annotate_slot USING" in slots.order_by().explain()
