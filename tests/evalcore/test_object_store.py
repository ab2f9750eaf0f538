"""Imports from object stores: S3 by moto's server, gs:// by fsspec's interface."""

import sys

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from fsspec.implementations.dirfs import DirFileSystem
from fsspec.registry import _registry

from evalcore.importing import copies
from evalcore.importing.copies import copied
from evalcore.models import Frame, MetricScore, Output
from evalcore.object_store import StoredFile, StoreError, check_places
from tests.factories import make_benchmark, picture_bytes

pytestmark = pytest.mark.django_db


def pictures(*methods: str) -> dict[str, bytes]:
    return {
        f"{method}/{story}/shot_0{n}.png": picture_bytes(f"{method} {story} {n}")
        for method in methods
        for story in ("01", "02")
        for n in (1, 2, 3)
    }


def fill(folder, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def import_outputs(address: str, *options: str) -> None:
    command = ["import_outputs", address, "--benchmark", "woods", *options]
    call_command(*command, "--without-baselines")


def test_outputs_of_an_address_are_imported_and_the_copy_removed(
    shelf,
    settings,
    capsys,
):
    make_benchmark(methods=())
    fill(shelf / "run1", pictures("Dogwood", "Elm"))
    import_outputs("gs://shelf/run1/")
    told = capsys.readouterr()
    assert "Imported 2 stories by 2 methods" in told.out
    assert "Copying 12 files (0.00 GB) to " in told.err
    assert Frame.objects.filter(media__isnull=False).count() == 12
    assert {one.source for one in Output.objects.all()} == {
        f"gs://shelf/run1/{method}/{story}"
        for method in ("Dogwood", "Elm")
        for story in ("01", "02")
    }
    assert not [*(settings.DATA_DIR / "fetched").iterdir()]


def test_errors_name_the_address_and_copies_are_continued(
    shelf,
    monkeypatch,
):
    make_benchmark(methods=())
    fill(shelf / "run1", pictures("Dogwood") | {"Dogwood/01/shot_02.png": b"no"})
    with pytest.raises(CommandError, match=r"gs://shelf/run1/Dogwood/01/shot_02\.png"):
        import_outputs("gs://shelf/run1")
    assert not Output.objects.exists()
    fill(shelf / "run1", {"Dogwood/01/shot_02.png": picture_bytes("better")})
    got: list[str] = []
    get = DirFileSystem.get

    def listen(store, paths, copies, **options):
        got.extend(paths)
        get(store, paths, copies, **options)

    monkeypatch.setattr(DirFileSystem, "get", listen)
    import_outputs("gs://shelf/run1")
    assert [name.rpartition("/")[2] for name in got] == ["shot_02.png"]


def test_table_of_scores_is_imported_from_an_address(shelf):
    make_benchmark()
    table = b"story,method,metric,score\n01,Alder,lpips,.5\n"
    fill(shelf, {"scores.csv": table})
    call_command("import_scores", "gs://shelf/scores.csv", "--benchmark", "woods")
    assert MetricScore.objects.get().value == 0.5


@pytest.mark.parametrize(
    "address",
    ["memory://bucket/x", "file:///etc", "s3://", "gs::memory://x", "nowhere://x/y"],
)
def test_other_addresses_are_refused(address):
    make_benchmark()
    with pytest.raises(CommandError, match="Nothing was written"):
        import_outputs(address)


def test_missing_package_is_named_with_its_extra(monkeypatch):
    make_benchmark()
    monkeypatch.setitem(sys.modules, "s3fs", None)
    monkeypatch.delitem(_registry, "s3", raising=False)
    with pytest.raises(CommandError, match=r"pip install 'plumbline\[s3\]'"):
        import_outputs("s3://bucket/run1")


@pytest.mark.parametrize("place", ["../x", "a//b", "/etc/x", "a/../b", "x\0y"])
def test_name_that_leads_out_of_the_copy_is_refused(place):
    with pytest.raises(StoreError, match="cannot be a file"):
        check_places("s3://b", [StoredFile("b/x", place, 1, None)])


def test_file_that_is_a_folder_as_well_is_refused():
    files = [StoredFile(f"b/{name}", name, 1, None) for name in ("a", "a/b")]
    with pytest.raises(StoreError, match="'a/b' cannot be a file"):
        check_places("s3://b", files)


def test_address_is_copied_by_one_import_at_a_time(shelf):
    fill(shelf, {"x.csv": b"a"})
    with (
        copied("gs://shelf/x.csv", tell=str),
        pytest.raises(StoreError, match="another import"),
        copied("gs://shelf/x.csv", tell=str),
    ):
        pass


def test_full_disk_is_reported_before_anything_is_copied(shelf, monkeypatch):
    fill(shelf, {"x.csv": b"a"})
    monkeypatch.setattr(copies, "RESERVE_BYTES", 10**18)
    with (
        pytest.raises(StoreError, match=r"needs 0\.0 GB in .* has room for 0\.0 GB"),
        copied("gs://shelf/x.csv", tell=str),
    ):
        pass


@pytest.mark.slow
def test_outputs_are_imported_from_s3(bucket, capsys):
    make_benchmark(methods=())
    for name, data in pictures("Dogwood", "Elm").items():
        bucket.put(f"lab/run 1/{name}", data)
    bucket.put("lab/run 1/Dogwood/", b"")  # a folder, as some programs store it
    bucket.put("lab/run 10/Dogwood/01/shot_01.png", b"another run")
    import_outputs(f"{bucket.address}/lab/run 1")
    assert "Imported 2 stories by 2 methods" in capsys.readouterr().out
    assert Frame.objects.filter(media__isnull=False).count() == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("address", "variables", "expected"),
    [
        ("s3://no-such-bucket/run1", {}, "no such bucket"),
        ("{bucket}/nothing", {}, "no such bucket, folder or file|no files"),
        (
            "{bucket}/run1",
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:9"},
            "not usable .* AWS_ENDPOINT_URL",
        ),
        (
            "{bucket}/run1",
            {"AWS_ACCESS_KEY_ID": "", "AWS_EC2_METADATA_DISABLED": "true"},
            "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ),
    ],
)
def test_unusable_bucket_is_explained(
    bucket,
    monkeypatch,
    address,
    variables,
    expected,
):
    make_benchmark(methods=())
    bucket.put("run1/A/01/shot_01.png", picture_bytes("A"))
    for name, value in variables.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    with pytest.raises(CommandError, match=expected):
        import_outputs(address.format(bucket=bucket.address))
    assert not Output.objects.exists()


@pytest.mark.slow
def test_wrong_credentials_are_explained(bucket, monkeypatch):
    """Moto checks signatures and policies once they are switched on."""
    import requests

    make_benchmark(methods=())
    bucket.put("run1/A/01/shot_01.png", picture_bytes("A"))
    requests.post(f"{bucket.endpoint}/moto-api/reset-auth", data=b"0", timeout=10)
    try:
        with pytest.raises(CommandError, match=r"access is refused .* Set AWS_ACC"):
            import_outputs(f"{bucket.address}/run1")
    finally:
        url = f"{bucket.endpoint}/moto-api/reset-auth"
        requests.post(url, data=b"inf", timeout=10)
