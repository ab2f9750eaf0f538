"""The signing key that is made at first start, kept, and refused when it is unsafe."""

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from evalcore.serving import environment
from evalcore.serving.environment import kept_key

ROOT = Path(__file__).resolve().parents[3]
ASK = """
import sys
from pathlib import Path
from evalcore.serving.environment import kept_key
sys.stdin.readline()
print(kept_key(Path(sys.argv[1])))
"""


def test_concurrent_processes_share_one_key(tmp_path):
    path = tmp_path / "secret_key"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", ASK, str(path)],
            cwd=ROOT,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for _ in range(6)
    ]
    keys = {process.communicate("go\n")[0] for process in processes}
    assert len(keys) == 1
    assert len(keys.pop().strip()) >= 50
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_key_is_refused_when_the_disk_has_no_permissions(tmp_path, monkeypatch):
    """As exFAT mounts are by default."""
    monkeypatch.setattr(environment, "OTHERS", 0o700)
    with pytest.raises(ImproperlyConfigured, match=r"umask=077.*or set SECRET_KEY"):
        kept_key(tmp_path / "secret_key")


def test_key_that_cannot_be_written_leaves_no_file(tmp_path, monkeypatch):
    def full(_number):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ImproperlyConfigured, match="No space left on device"):
        kept_key(tmp_path / "secret_key")
    assert not list(tmp_path.iterdir())


def test_key_file_is_private(tmp_path):
    before = os.umask(0)
    try:
        kept_key(tmp_path / "secret_key")
    finally:
        os.umask(before)
    assert (tmp_path / "secret_key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o620])
def test_key_is_refused_when_others_can_read_it(tmp_path, mode):
    path = tmp_path / "secret_key"
    kept_key(path)
    path.chmod(mode)
    with pytest.raises(
        ImproperlyConfigured, match="Other users can read the signing key"
    ):
        kept_key(path)


@pytest.mark.parametrize("text", [b"", b"\n", b"short", b"\xff" * 50])
def test_file_without_a_key_is_refused(tmp_path, text):
    path = tmp_path / "secret_key"
    path.write_bytes(text)
    path.chmod(0o600)
    with pytest.raises(ImproperlyConfigured, match="secret_key") as told:
        kept_key(path)
    assert "\n" not in str(told.value)
    assert path.read_bytes() == text
