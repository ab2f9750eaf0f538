"""The version and commit that reports and the server's page name."""

import subprocess

import pytest

from analysis.options import VERSION, commit, release

HASH = "17e8f0660f8d1c9f6a7b0d2f8c3a4b5c6d7e8f90"


def test_release_names_version_and_commit():
    assert release() == (f"{VERSION} ({commit()})" if commit() else VERSION)


def test_commit_comes_from_the_repository(tmp_path):
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    name = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    subprocess.run(
        [*git, *name, "commit", "-q", "--allow-empty", "-m", "1"], check=True
    )
    head = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True)
    assert commit(tmp_path) == head[:10]


@pytest.mark.parametrize(
    ("content", "known"),
    [(f"{HASH}\n", HASH[:10]), ("\n", ""), ("main\n", ""), ("é", ""), (None, "")],
)
def test_commit_comes_from_a_file_without_repository(tmp_path, content, known):
    if content is not None:
        (tmp_path / "analysis").mkdir()
        (tmp_path / "analysis" / ".commit").write_text(content, "utf-8")
    assert commit(tmp_path) == known
