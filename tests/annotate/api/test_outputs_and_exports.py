"""Previews, replaced pictures, ways back, questionnaires, exports and bundles."""

import json
import zipfile
from urllib.parse import urlencode

import pandas as pd
import pytest
from django.urls import reverse
from rest_framework.test import APIClient

from annotate import tasks
from annotate.models import ApiToken, Export, Rating, Study, Upload, User, Visit
from annotate.uploads import storage
from plumbline.client import Client, InvalidError, NotAllowedError, NotFoundError
from tests.factories import make_benchmark, make_study, picture_bytes
from tests.people import alice, answer_everything, program, rob
from tests.robots import ADDRESS, InProcess
from tests.working import LIKERT, make_planned

pytestmark = pytest.mark.django_db


class WithExports(InProcess):
    """Writes the exports that a request left to workers before the next one."""

    def handle_request(self, request):
        answer = super().handle_request(request)
        if Export.objects.filter(state="queued").exists():
            tasks.work_on_exports()
        return answer


@pytest.fixture
def study() -> Study:
    study = make_study()
    alice(study)
    rob(study)
    return study


def client_of(name: str) -> Client:
    user = User.objects.get(username=name)
    _token, secret = ApiToken.issue(user=user, name="test", scope="manage")
    return Client(ADDRESS, secret, every=0, transport=WithExports())


def put_picture(client: APIClient, study: Study, content: bytes, **query):
    output = study.units.first().output_a
    url = reverse("api-output-picture", args=[study.slug, output.pk])
    asked = urlencode({"shot": 1} | query)
    return client.put(
        f"{url}?{asked}", content, content_type="application/octet-stream"
    )


def test_export_arrives_in_the_format_asked_for(study, tmp_path):
    answer_everything(study)
    client = client_of("rob")
    path = client.export(study.slug, tmp_path, table="ratings", format="parquet")
    table = pd.read_parquet(path)
    assert len(table) == Rating.objects.count()
    assert {*table["story"]} == {"01", "02"}
    with pytest.raises(InvalidError, match="no table choices"):
        client.export(study.slug, tmp_path, table="choices")
    with pytest.raises(InvalidError, match="format"):
        client.export(study.slug, tmp_path, format="xlsx")
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.slow
def test_bundle_is_for_managers(study, tmp_path):
    answer_everything(study)
    path = client_of("alice").bundle(study.slug, tmp_path, pictures=False)
    with zipfile.ZipFile(path) as packed:
        manifest = json.loads(packed.read("manifest.json"))
    assert (manifest["study"], manifest["pictures"]) == (study.slug, False)
    with pytest.raises(NotAllowedError):
        client_of("rob").bundle(study.slug, tmp_path)
    export, researcher = Export.objects.get(), program("rob")
    for name in ("api-export", "api-export-file", "export-file"):
        url = reverse(name, args=[study.slug, export.pk])
        assert researcher.get(url).status_code in (302, 404)
        assert rob(study).get(url).status_code == 404
    listed = researcher.get(reverse("api-exports", args=[study.slug])).json()
    assert listed["results"] == []


def test_export_is_deleted_by_its_author_or_a_manager(study):
    made = program("alice").post(
        reverse("api-exports", args=[study.slug]), {"table": "scores"}, format="json"
    )
    assert made.status_code == 202
    url = made["Location"]
    assert program("rob").delete(url).status_code == 403
    assert program("alice").delete(url).status_code == 204
    assert not Export.objects.exists()


def test_damaged_file_is_not_stored(study, tmp_path):
    connection = client_of("rob").connection
    place = tmp_path / "table.csv"
    address = f"/api/v1/studies/{study.slug}/ratings.csv"
    with pytest.raises(Exception, match="damaged"):
        connection.save(address, place, sha256="0" * 64)
    with pytest.raises(NotFoundError):
        connection.save("/api/v1/studies/other/ratings.csv", place, sha256="")
    assert not [*tmp_path.iterdir()]


def test_picture_is_replaced_in_every_study(study):
    frame = study.units.first().output_a.frames.get(number=1)
    old, client = frame.media_id, program("alice")
    new = picture_bytes("new", (96, 64))
    tried = put_picture(client, study, new, dry_run="true").json()
    frame.refresh_from_db()
    assert frame.media_id == old
    assert tried["studies"] == [{"study": study.slug, "set_aside": 0, "restarted": 0}]
    assert put_picture(client, study, new).json() == tried
    frame.refresh_from_db()
    assert frame.media_id != old
    assert put_picture(client, study, new).status_code == 400  # the same picture


def test_wrong_picture_changes_nothing(study, subtests):
    for content, query in [
        (b"no picture", {}),
        (b"", {}),
        (picture_bytes("new"), {"shot": 77}),
    ]:
        with subtests.test(str(query)):
            assert (
                put_picture(program("alice"), study, content, **query).status_code
                == 400
            )
            assert (
                put_picture(program("rob"), study, content, **query).status_code == 403
            )


@pytest.mark.slow
def test_preview_shows_the_first_story_and_stores_nothing():
    study = make_planned(LIKERT, benchmark=make_benchmark(stories=2), annotators=3)
    browser = alice(study)
    rob(study)
    url = reverse("api-preview", args=[study.slug])
    assert program("rob").get(url).status_code == 403
    shown = program("alice").get(url).json()
    assert [one["key"] for one in shown["questions"]] == ["character", "beauty"]
    picture = shown["shots"][0]["pictures"]["only"]
    assert picture.startswith(f"/preview/{study.benchmark.slug}/")
    assert browser.get(picture).status_code == 200
    assert Study.objects.count() == 1


def test_request_to_return_is_admitted(study):
    person = study.annotators.first()
    visit = Visit.objects.create(annotator=person, browser="x")
    client = program("alice")
    url = reverse("api-visits", args=[study.slug])
    (waiting,) = client.get(url).json()["results"]
    assert (waiting["person"], waiting["code"]) == (person.name, visit.code)
    admit = reverse("api-visit-admit", args=[study.slug, visit.pk])
    assert program("rob").post(admit).status_code == 403
    for _again in range(2):
        assert client.post(admit).json()["admitted_at"]
    assert client.get(url).json()["results"] == []


def test_questionnaires_come_as_csv_and_lines(study):
    client, slug = program("alice"), study.benchmark.slug
    for kind in ("csv", "jsonl"):
        url = reverse("api-benchmark-questionnaires", args=[slug, kind])
        assert client.get(url)["Content-Type"].startswith(f"text/{kind}")
        assert program("rob").get(url).status_code == 404
    url = reverse("api-benchmark-questionnaires", args=[slug, "xml"])
    assert client.get(url).status_code == 404


def test_picture_of_an_upload_is_its_owners(study):
    user = User.objects.get(username="alice")
    upload = Upload.objects.create(created_by=user, name="mine", stage="inspect")
    thumbs = storage.thumbs_folder(upload)
    thumbs.mkdir(parents=True)
    (thumbs / "1.webp").write_bytes(b"RIFF")
    url = reverse("api-upload-picture", args=[upload.pk, 1])
    assert program("alice").get(url).getvalue() == b"RIFF"
    assert program("rob").get(url).status_code in (403, 404)
    missing = reverse("api-upload-picture", args=[upload.pk, 2])
    assert program("alice").get(missing).status_code == 404
