"""Uploads as the browser leaves them, and what workers make of them."""

import io
import zipfile
import zlib

import pytest

from annotate.models import Upload, User
from annotate.uploads import queue, receiving, working
from tests.factories import picture_bytes


@pytest.fixture
def alice():
    return User.objects.create_user("alice", is_superuser=True)


def zipped(files: dict[str, bytes], **options) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **options) as packed:
        for name, data in files.items():
            packed.writestr(name, data)
    return buffer.getvalue()


def pictures(*names: str, size=(96, 64)) -> dict[str, bytes]:
    return {name: picture_bytes(name, size) for name in names}


@pytest.fixture
def upload(alice):
    """Return a function that receives files and has a worker look at them."""

    def receive(files: dict[str, bytes], name: str = "mine", user=None) -> Upload:
        listed = [[path, len(data), 1] for path, data in files.items()]
        row = receiving.begin(user or alice, name, listed)
        data = b"".join(files.values())
        receiving.receive(row, 0, zlib.crc32(data), data)
        return worked(row)

    return receive


def worked(row: Upload) -> Upload:
    working.work_on(row.pk)
    row.refresh_from_db()
    return row


def checked_again(row: Upload, **chosen) -> Upload:
    assert queue.change(row, chosen)
    return worked(row)


def imported(row: Upload) -> Upload:
    assert queue.accept(row, {})
    return worked(row)
