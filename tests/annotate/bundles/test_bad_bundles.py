"""Bundles that are damaged, forged or from other versions leave nothing behind."""

import functools
import hashlib
import json
import stat
import tempfile
import zipfile
from pathlib import Path

import pytest

from analysis.problems import InputError
from analysis.reading.bundles import opened
from annotate.audit_log.verifying import problems
from annotate.bundles import exporting
from annotate.bundles.importing import import_bundle
from annotate.models import Study
from evalcore.models import Benchmark, MediaFile
from tests.annotate.bundles.studies import empty_server
from tests.factories import make_benchmark, make_study

pytestmark = pytest.mark.django_db


@functools.cache
def small_bundle() -> bytes:
    """Return a small bundle, written once for all tests."""
    study = make_study(benchmark=make_benchmark(stories=1, shots=1), annotators=1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "trial.zip")
        exporting.write_bundle(study, path)
        return path.read_bytes()


@pytest.fixture
def bundle(tmp_path, settings):
    """Return the path of a small bundle; the server is empty."""
    path = tmp_path / "trial.zip"
    path.write_bytes(small_bundle())
    empty_server(settings, tmp_path / "elsewhere")
    return path


def rewritten(path, change, *, is_told=True):
    """Write a bundle again with changed files; `is_told`: the manifest agrees."""
    with zipfile.ZipFile(path) as packed:
        files = {name: packed.read(name) for name in packed.namelist()}
    manifest = json.loads(files.pop("manifest.json"))
    change(files, manifest)
    if is_told:
        manifest["files"] = {
            name: {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
            for name, data in files.items()
        }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, data in (files | {"manifest.json": json.dumps(manifest)}).items():
            packed.writestr(name, data)
    return path


def refused(path, match):
    with pytest.raises(InputError, match=match):
        import_bundle(path)
    assert not Study.objects.exists()
    assert not Benchmark.objects.exists()
    assert not MediaFile.objects.exists()
    media = path.parent / "elsewhere"
    assert not [one for one in media.rglob("*") if one.is_file()]


@pytest.mark.parametrize("name", ["rows/Slot.jsonl", "stories.jsonl", "README.md"])
def test_changed_byte_names_its_file(bundle, name):
    def change(files, _manifest):
        files[name] = files[name][:-1] + b"~"

    refused(rewritten(bundle, change, is_told=False), f"trial.zip: {name}: .*SHA-256")


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.8, 0.97])
def test_flipped_byte_of_the_zip_is_found_or_harmless(bundle, share):
    data = bytearray(bundle.read_bytes())
    data[int(len(data) * share)] ^= 0x55
    bundle.write_bytes(data)
    try:
        found = import_bundle(bundle)
    except InputError:
        assert not Study.objects.exists()
    else:
        assert problems(found.study) == []


def test_cut_off_zip_is_refused(bundle):
    bundle.write_bytes(bundle.read_bytes()[:-500])
    refused(bundle, "a whole zip")


def test_newer_format_names_the_version_that_reads_it(bundle):
    def change(_files, manifest):
        manifest |= {"format": 2, "plumbline": "7.1.0"}

    refused(rewritten(bundle, change), "format 2, which Plumbline 7.1.0 reads")


def in_row(part, number=0, **values):
    """Return a change of one row of a part."""

    def change(files, _manifest):
        name = f"rows/{part}.jsonl"
        rows = [json.loads(line) for line in files[name].splitlines()]
        rows[number] |= values
        files[name] = b"".join(json.dumps(row).encode() + b"\n" for row in rows)

    return change


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (in_row("Slot", 1, unit=99), r"rows/Slot.jsonl:2: .*Unit 99"),
        (in_row("Slot", 1, unit=-1), "rows/Slot.jsonl:2:"),
        (in_row("Slot", 0, invented=1), "columns that this version knows"),
        (in_row("Slot", 0, state="asleep"), "rows/Slot.jsonl:1:"),
        (in_row("Slot", 1, id=1), "rows/Slot.jsonl:2:"),
        (in_row("Slot", 1, position=1), "rows that fit one another"),
        (in_row("Study", 0, created_at="2026-01-01T00:00:00"), "with its zone"),
        (in_row("Study", 0, slug="../etc"), "a name of a study"),
        (in_row("MediaFile", 0, sha256="../../etc/passwd"), "a picture or video"),
        (
            in_row("Event", 0, details={"slots": [[77, "open", 1, 1]]}),
            "rows/Event.jsonl:1:",
        ),
    ],
)
def test_forged_row_names_file_and_line(bundle, change, match):
    refused(rewritten(bundle, change), match)


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("../evil.txt", "stay inside"),
        ("/etc/evil.txt", "stay inside"),
        ("a\\..\\b.txt", "stay inside"),
        ("media/evil.svg", "pictures and videos"),
        (f"media/{'0' * 64}.png", "a name that is its SHA-256"),
    ],
)
def test_tricky_names_are_refused(bundle, name, match):
    def change(files, _manifest):
        files[name] = b"evil"

    refused(rewritten(bundle, change), match)


def test_link_is_refused(bundle):
    with zipfile.ZipFile(bundle, "a") as packed:
        entry = zipfile.ZipInfo("reports/1/link")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(entry, "/etc/passwd")
    refused(bundle, "no link or device")


def test_file_beside_the_manifest_is_refused(bundle):
    with zipfile.ZipFile(bundle, "a") as packed:
        packed.writestr("more.txt", "more")
    refused(bundle, "does not name: more.txt")


@pytest.mark.slow
def test_zip_bomb_is_refused_before_it_is_read(bundle):
    with (
        zipfile.ZipFile(bundle, "a", zipfile.ZIP_DEFLATED) as packed,
        packed.open("rows/bomb.jsonl", "w") as out,
    ):
        for _ in range(110):
            out.write(b" " * 10**6)
    refused(bundle, "times its own size")


def test_other_zip_is_no_bundle(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as packed:
        packed.writestr("notes.txt", "hello")
    with (
        pytest.raises(InputError, match="a bundle, which has a manifest"),
        opened(tmp_path / "x.zip"),
    ):
        pass


@pytest.mark.parametrize("has_ties", [True, False])
def test_ranking_keeps_no_ties_from_a_version_without_them(bundle, has_ties):
    def change(files, manifest):
        in_row("Question", kind="ranking", allow_tie=True)(files, manifest)
        if not has_ties:
            manifest["migrations"]["annotate"].remove("0024_ties")

    study = import_bundle(rewritten(bundle, change)).study
    assert study.questions.get(kind="ranking").allow_tie is has_ties
