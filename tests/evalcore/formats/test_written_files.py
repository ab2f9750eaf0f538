"""Exported files are written whole and overwrite no others."""

import pytest

from analysis.problems import InputError
from evalcore.formats.written_files import write_files


@pytest.mark.parametrize(
    "name", ["../a.json", "/a.json", "a/../../b", "", "a\0b", "x" * 300]
)
def test_path_outside_folder_is_refused(tmp_path, name):
    out = tmp_path / "out"
    with pytest.raises(InputError, match=r"expected a (path inside|valid file name)"):
        write_files(out, {"good.json": "1", name: "2"}, replace=True)
    assert not out.exists()


def test_links_and_folders_are_not_overwritten(tmp_path):
    target = tmp_path / "target.json"
    target.write_text("keep")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    out = tmp_path / "out"
    (out / "folder.json").mkdir(parents=True)
    (out / "link.json").symlink_to(target)
    (out / "way").symlink_to(elsewhere)
    (out / "file").write_text("1")
    names = ["folder.json", "link.json", "way/a.json", "file/a.json", "good.json"]
    with pytest.raises(InputError) as refused:
        write_files(out, dict.fromkeys(names, "new"), replace=True)
    assert len(refused.value.problems) == 4
    assert target.read_text() == "keep"
    assert not (out / "good.json").exists()
    assert not any(elsewhere.iterdir())
