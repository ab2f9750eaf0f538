"""Exports in the background: asked for, written, downloaded, removed."""

import hashlib
import io
import zipfile
from datetime import timedelta

import pandas as pd
import pytest
from django.urls import reverse
from django.utils import timezone

from analysis.reading.bundles import opened
from annotate import tasks
from annotate.audit_log import as_of_event
from annotate.bundles import exports
from annotate.models import MAIN, Export, User
from annotate.personal_data import erasing
from annotate.quality import exclusion
from annotate.reports.layouts import ExportError
from evalcore.serving.workers import Heartbeat
from tests.cases import slow
from tests.factories import make_study
from tests.people import alice, answer_everything, eve, rob

pytestmark = pytest.mark.django_db

FORM = {"table": "", "layout": "long", "format": "csv", "view": MAIN}


@pytest.fixture
def study():
    study = make_study()
    answer_everything(study)
    return study


def written(study, **options) -> Export:
    export = exports.ask(study, None, **options)
    exports.write(export.pk)
    export.refresh_from_db()
    return export


def address(study, name, *more):
    return reverse(name, args=[study.slug, *more])


def content(reply) -> bytes:
    return b"".join(reply.streaming_content)


@pytest.mark.postgresql
def test_export_is_asked_for_written_and_downloaded(study, monkeypatch):
    monkeypatch.setattr("annotate.pages.exports.wake_exports", lambda: None)
    client = rob(study)
    reply = client.post(address(study, "export-create"), FORM, follow=True)
    assert "queued" in reply.content.decode()
    tasks.work_on_exports()
    export = Export.objects.get()
    page = client.get(address(study, "export-list")).content.decode()
    assert export.sha256 in page
    data = content(client.get(address(study, "export-file", export.pk)))
    assert hashlib.sha256(data).hexdigest() == export.sha256
    assert len(data) == export.bytes
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        assert {"ratings.csv", "datapackage.json", "study.json"} <= {
            *archive.namelist()
        }


@pytest.mark.postgresql
@pytest.mark.parametrize("pictures", [True, *slow(False)])
def test_bundle_is_asked_for_written_and_opened(study, pictures, monkeypatch):
    monkeypatch.setattr("annotate.pages.exports.wake_exports", lambda: None)
    data = {"pictures": "on"} if pictures else {}
    assert rob(study).post(address(study, "bundle-create"), data).status_code == 403
    alice(study).post(address(study, "bundle-create"), data)
    tasks.work_on_exports()
    export = Export.objects.get()
    assert export.name == "trial.zip"
    with opened(exports.path_of(export)) as bundle:
        bundle.check()
        assert bundle.manifest["rows"]["Slot"] == study.slots.count()
        assert any(name.startswith("media/") for name in bundle.files) == pictures
    listed = address(study, "export-list")
    offer = address(study, "bundle-create")
    managers, researchers = (
        user(study).get(listed).content.decode() for user in (alice, rob)
    )
    assert "trial.zip" in managers
    assert offer in managers
    assert "trial.zip" not in researchers
    assert offer not in researchers
    file = address(study, "export-file", export.pk)
    assert rob(study).get(file).status_code == 404


def test_single_file_is_sent_as_it_is(study):
    export = written(study, table="ratings", format="parquet")
    assert export.name == "trial-ratings-long.parquet"
    assert len(pd.read_parquet(exports.path_of(export))) == 6 * 2 * 2


def test_export_is_of_its_view_and_moment(study):
    before = as_of_event.mark(study).pk
    slot = study.slots.first()
    exclusion.exclude(slot, reason="asleep", author=None)
    then = written(study, table="ratings", format="parquet", as_of=before)
    now = written(study, table="ratings", format="parquet")
    every = written(study, table="ratings", format="parquet", view="everything")
    marked = [
        pd.read_parquet(exports.path_of(one))["excluded"].sum()
        for one in (then, now, every)
    ]
    assert marked == [0, 2, 0]


def test_wrong_request_is_refused(study, subtests):
    for options, message in [
        ({"format": "xml"}, "expected one of csv, parquet, jsonl"),
        ({"layout": "tall"}, "expected one of long, wide"),
        ({"view": "mine"}, "expected one of main, everything"),
        ({"table": "choices"}, "Expected: ratings, scores"),
        ({"as_of": 10**9}, "not in the log"),
    ]:
        with subtests.test(message):
            with pytest.raises(ExportError, match=message):
                exports.ask(study, None, **options)
            assert not Export.objects.exists()


def test_account_has_few_unfinished_exports(study):
    user = User.objects.create(username="rob")
    for _ in range(3):
        exports.ask(study, user)
    client = rob(study)
    reply = client.post(address(study, "export-create"), FORM)
    assert reply.status_code == 429
    assert "You have 3 unfinished exports" in reply.content.decode()
    assert Export.objects.count() == 3


@pytest.mark.postgresql
def test_export_of_lost_worker_is_written_again(study, monkeypatch):
    woken = []
    monkeypatch.setattr(
        tasks.work_on_exports, "apply_async", lambda **kw: woken.append(1)
    )
    export = exports.ask(study, None, table="ratings")
    left = exports.root() / str(export.pk) / "draft" / "ratings.csv.part"
    left.parent.mkdir(parents=True)
    left.write_text("story,")
    heard = timezone.now()
    Export.objects.update(state="running", heartbeat_at=heard)
    tasks.sweep_exports()
    assert woken == []
    Export.objects.update(heartbeat_at=heard - timedelta(minutes=2))
    tasks.sweep_exports()
    assert woken == [1]
    tasks.work_on_exports()
    export.refresh_from_db()
    assert export.state == "done"
    assert not left.exists()


def test_failed_export_says_why_and_leaves_nothing(study):
    export = exports.ask(study, None, layout="wide")
    study.questions.filter(key="character").update(key="round")
    exports.write(export.pk)
    page = rob(study).get(address(study, "export-list")).content.decode()
    assert "ratings has a column round already" in page
    assert not any(exports.root().iterdir())


def test_export_deleted_while_it_is_written_leaves_no_file(study, monkeypatch):
    export = exports.ask(study, None)
    exit_ = Heartbeat.__exit__

    def gone(self, *error):
        exit_(self, *error)
        Export.objects.all().delete()

    monkeypatch.setattr(Heartbeat, "__exit__", gone)
    exports.write(export.pk)
    assert not any(exports.root().iterdir())


def test_only_its_author_or_a_manager_deletes_an_export(
    study, django_capture_on_commit_callbacks
):
    export = written(study)
    for client, status in ((eve(), 404), (rob(study), 403)):
        reply = client.post(address(study, "export-delete", export.pk))
        assert reply.status_code == status
    assert eve().get(address(study, "export-file", export.pk)).status_code == 404
    with django_capture_on_commit_callbacks(execute=True):
        alice(study).post(address(study, "export-delete", export.pk))
    assert not Export.objects.exists()
    assert not exports.path_of(export).exists()


def test_old_exports_are_removed(study):
    old, new = written(study), written(study)
    then = timezone.now() - timedelta(days=7, seconds=1)
    Export.objects.filter(pk=old.pk).update(finished_at=then)
    exports.tidy_up()
    assert list(Export.objects.all()) == [new]
    assert not exports.path_of(old).exists()
    assert exports.path_of(new).exists()


def test_erasing_texts_removes_the_files_that_hold_them(study):
    export = written(study)
    erasing.erase(study.annotators.first(), comments=True)
    assert not Export.objects.exists()
    exports.tidy_up()
    assert not exports.path_of(export).exists()
