"""Archives that are hostile, broken, or of another kind."""

import io
import stat
import struct
import tarfile
import zipfile

import pytest

from annotate.uploads import storage, unpacking
from tests.annotate.uploads.conftest import pictures, zipped

pytestmark = pytest.mark.django_db

GOOD = pictures("A/fox/shot_01.png", "A/moon/shot_01.png", "B/fox/shot_01.png")


def with_link() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        entry = zipfile.ZipInfo("A/fox/shot_01.png")
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        packed.writestr(entry, "/etc/passwd")
    return buffer.getvalue()


def with_password() -> bytes:
    data = bytearray(zipped(GOOD))
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    return bytes(data)


def damaged() -> bytes:
    data = bytearray(zipped(GOOD))
    data[60] ^= 0xFF
    return bytes(data)


def tar() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as packed:
        entry = tarfile.TarInfo("a")
        packed.addfile(entry)
    return buffer.getvalue()


def of_unknown_packing() -> bytes:
    data = bytearray(zipped(GOOD))
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        struct.pack_into("<H", data, data.index(mark) + at, 99)
    return bytes(data)


REFUSED = {
    "links": (with_link, "is a link or device"),
    "cut in half": (lambda: zipped(GOOD)[: len(zipped(GOOD)) // 2], "is cut off"),
    "password": (with_password, "has a password"),
    "damaged": (damaged, "is damaged"),
    "unknown packing": (of_unknown_packing, "cannot be read"),
    "path above": (lambda: zipped({"../a.png": b"x"}), "leads out of its folder"),
    "absolute": (lambda: zipped({"/tmp/a.png": b"x"}), "leads out of its folder"),
    "drive": (lambda: zipped({"C:/a.png": b"x"}), "leads out of its folder"),
    "tar": (tar, "is a tar file"),
    "gzip": (lambda: b"\x1f\x8b\x08" + bytes(30), "is a gzip (.gz, .tgz) file"),
    "pdf": (lambda: b"%PDF-1.7" + bytes(30), "is a PDF file"),
    "text": (lambda: b"hello", "is neither a zip nor a table"),
    "empty zip": (lambda: zipped({}), "Nothing in it looks like"),
}


@pytest.mark.parametrize(("make", "said"), REFUSED.values(), ids=REFUSED)
def test_archive_is_refused_and_leaves_no_files(upload, make, said):
    row = upload({"mine.zip": make()}, "mine.zip")
    assert (row.stage, row.state) == ("inspect", "failed")
    assert said in row.error
    files = storage.files_folder(row)
    assert not files.exists() or not any(files.iterdir())


def test_bomb_is_refused_before_it_is_unpacked(upload, monkeypatch):
    monkeypatch.setattr(unpacking, "FREE_OF_RATIO", 10**6)
    packed = zipped({"a.csv": bytes(2 * 10**6)}, compression=zipfile.ZIP_DEFLATED)
    assert "over 100 times" in upload({"a.zip": packed}, "a.zip").error


def test_zip_that_unpacks_beyond_the_limit_is_refused(upload, settings):
    settings.UPLOAD_MAX_MB = 1
    files = {f"{n}.csv": b"0123456789abcdef" * 65_536 for n in range(2)}
    packed = zipped(files, compression=zipfile.ZIP_DEFLATED)
    assert "The limit is 2 MB" in upload({"a.zip": packed}, "a.zip").error


@pytest.mark.slow
def test_zip_of_many_files_is_refused_with_the_limit(upload):
    packed = zipped(dict.fromkeys((f"{n}.png" for n in range(100_000)), b""))
    row = upload({"many.zip": packed}, "many.zip")
    assert "These are 100,000 files. One upload may have 50,000" in row.error


def test_list_that_would_fill_the_memory_is_not_read(upload, settings, monkeypatch):
    settings.UPLOAD_MAX_FILES = 2
    monkeypatch.setattr(unpacking, "LISTED_BYTES", 40)
    monkeypatch.delattr(zipfile, "ZipFile")
    assert "UPLOAD_MAX_FILES" in upload({"a.zip": PACKED}, "a.zip").error


PACKED = zipped(GOOD)


def test_system_files_and_backslashes_of_a_zip_are_accepted(upload):
    files = {name.replace("/", "\\"): data for name, data in GOOD.items()}
    files |= {"__MACOSX/A/._fox": b"x", "A/.DS_Store": b"x"}
    row = upload({"mine.zip": zipped(files)}, "mine.zip")
    assert row.is_previewed, row.error
    assert row.found["figures"]["pictures"] == 3
    assert row.found["notes"] == [
        "B: no output of these stories, which others have: moon"
    ]
