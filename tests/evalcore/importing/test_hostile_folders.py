"""Attacks by imported folders: links out of them, pipes, workbooks."""

import json
import os
import re
import shutil
import sys
import time
import zipfile
from pathlib import Path

import pytest
from django.core.management.base import CommandError

from analysis.problems import InputError
from evalcore.formats.json_files import read_json
from evalcore.importing.stories import import_benchmark
from evalcore.models import Story
from tests.pressure import importers
from tests.pressure.importers import IMPORTERS

pytestmark = pytest.mark.django_db

FOLDERS = (
    "benchmark of ViStoryBench",
    "benchmark of Envision",
    "benchmark of OneIG",
    "outputs",
    "outputs of new stories",
    "scores of ViStoryBench",
    "scores of Envision",
    "scores of OneIG",
)
opened: list[Path] = []
is_heard = False


def hear(event, args):
    if event == "open" and is_heard and isinstance(args[0], str):
        opened.append(Path(args[0]))


sys.addaudithook(hear)


def imported(name: str, folder: Path) -> str:
    """Return the message that refuses a folder; empty if it is accepted."""
    global is_heard
    opened.clear()
    is_heard = True
    try:
        IMPORTERS[name].read(folder)
    except CommandError as error:
        return str(error)
    finally:
        is_heard = False
    return ""


@pytest.fixture
def whole(tmp_path, request):
    """Return a valid folder of the format."""
    importers.prepare()
    folder = tmp_path / "whole"
    folder.mkdir()
    IMPORTERS[request.param].write(folder)
    return request.param, folder


def copies(whole: Path):
    """Yield a copy of the folder for each file, and that file's place in it.

    Of files that differ only in their numbers one is taken.
    """
    files = sorted(path for path in whole.rglob("*") if path.is_file())
    assert files
    kinds = {re.sub(r"\d+", "", str(file.relative_to(whole))): file for file in files}
    for number, file in enumerate(kinds.values()):
        folder = whole.with_name(f"copy-{number}")
        shutil.copytree(whole, folder)
        yield folder, folder / file.relative_to(whole)


@pytest.mark.parametrize("whole", FOLDERS, indirect=True)
def test_links_out_of_folder_and_pipes_are_not_opened(whole, tmp_path):
    """Attack: a folder with a link to a file of the server, whose content an import
    would show; or with a pipe, at which it would never end.

    Each file in turn is moved elsewhere and replaced by a link, then by a pipe.
    """
    name, whole = whole
    aside = tmp_path / "elsewhere"
    aside.mkdir()
    for folder, file in copies(whole):
        kept = aside / file.name
        file.rename(kept)
        file.symlink_to(kept)
        said = imported(name, folder)
        assert file not in opened, (file, said)
        assert kept not in opened, (file, said)
        file.unlink()
        os.mkfifo(file)
        said = imported(name, folder)
        assert file not in opened, (file, said)


def test_damaged_workbook_is_reported(tmp_path):
    IMPORTERS["benchmark of ViStoryBench"].write(tmp_path)
    path = tmp_path / "metadata.xlsx"
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as packed:
        part = packed.getinfo("xl/styles.xml")
    start = part.header_offset + 30 + len(part.filename)
    data[start + 20 : start + 60] = b"\xff" * 40
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"metadata.xlsx: expected an Excel workbook"):
        import_benchmark(tmp_path, slug="v")
    assert not Story.objects.exists()


@pytest.mark.slow
def test_huge_workbook_is_refused_before_unpacking(tmp_path):
    """Attack: a small file that fills the memory."""
    IMPORTERS["benchmark of ViStoryBench"].write(tmp_path)
    path = tmp_path / "metadata.xlsx"
    with (
        zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed,
        packed.open("xl/more.xml", "w") as part,
    ):
        for _ in range(1010):
            part.write(bytes(10**6))
    assert path.stat().st_size < 2 * 10**6
    with pytest.raises(InputError, match="at most 1,000 MB when unpacked"):
        import_benchmark(tmp_path, slug="v")


def test_repeated_key_among_many_is_found_quickly(tmp_path):
    """Attack: an object whose keys are all compared with each other."""
    keys = [*map(str, range(30_000)), "29999"]
    path = tmp_path / "a.json"
    path.write_text("{" + ",".join(f"{json.dumps(key)}:1" for key in keys) + "}")
    begun = time.perf_counter()
    with pytest.raises(InputError, match="29999: expected each key once"):
        read_json(path)
    assert time.perf_counter() - begun < 2
