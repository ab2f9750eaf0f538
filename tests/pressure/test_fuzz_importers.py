"""The fuzzing of importers, small: a few wrong files, and what counts as a crash."""

import gc
import shutil
import sys
import time

import pytest

from tests.pressure import fuzz_importers, importers
from tests.pressure.fuzz_importers import ACCEPTED, CRASHED, REFUSED, rows, run_once
from tests.pressure.importers import IMPORTERS, Importer, file

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="/proc tells how much memory an import takes"
)


@pytest.mark.slow
@pytest.mark.django_db
def test_valid_files_are_taken_and_wrong_ones_refused_in_words(tmp_path):
    importers.prepare()
    before = rows()
    for name, importer in IMPORTERS.items():
        for seed, allowed in (("", {ACCEPTED}), (f"{name} 1", {ACCEPTED, REFUSED})):
            folder = tmp_path / "files"
            folder.mkdir()
            outcome, why = run_once(importer, folder, seed, before)
            assert outcome in allowed, (name, seed, why)
            shutil.rmtree(folder)


def leave(path):
    """Do what an importer may not: change the database, and fail."""
    from annotate.models import User

    User.objects.create(username="left behind")
    raise ValueError(path.name)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("read", "outcome", "why"),
    [
        (lambda path: None, ACCEPTED, ""),
        (lambda path: (_ for _ in ()).throw(ValueError(path.name)), REFUSED, "a.csv"),
        (lambda path: (_ for _ in ()).throw(ValueError("no")), CRASHED, "names no"),
        (lambda path: {}["gone"], CRASHED, "KeyError"),
        (lambda path: time.sleep(9), CRASHED, "more than"),
        (lambda path: bytearray(b"x" * (2 * 10**8)), CRASHED, "bytes of memory"),
        (leave, CRASHED, "the database was changed"),
    ],
)
def test_what_counts_as_a_crash(tmp_path, monkeypatch, read, outcome, why):
    monkeypatch.setattr(fuzz_importers, "MOST_SECONDS", 1)
    monkeypatch.setattr(fuzz_importers, "MOST_BYTES", 5 * 10**7)
    gc.collect()  # what tests before left would make room for the rest
    importer = Importer(file("a.csv", "a,b\n1,2\n"), read, (ValueError,))
    found, told = run_once(importer, tmp_path, "", rows())
    assert found == outcome
    assert why in told
