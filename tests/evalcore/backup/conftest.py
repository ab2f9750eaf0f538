"""A server with something to lose, and what its backups hold."""

import hashlib
import json
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from annotate.models import Report
from tests.factories import make_study
from tests.people import answer_everything


@pytest.fixture
def study():
    study = make_study()
    answer_everything(study)
    return study


@pytest.fixture
def report(study, settings) -> Path:
    """The page of a report that is done."""
    row = Report.objects.create(study=study, state="done")
    page = settings.REPORTS_ROOT / str(row.pk) / "report.html"
    page.parent.mkdir(parents=True)
    page.write_text("<main>Alder is best.</main>")
    return page


@pytest.fixture
def key(settings) -> Path:
    """The signing key, as a server without SECRET_KEY keeps it."""
    path = settings.DATA_DIR / "secret_key"
    path.write_text(settings.SECRET_KEY + "\n")
    return path


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "backups"


@pytest.fixture
def back_up(folder, capsys):
    """Make a backup and return its folder."""

    def make(*options: str) -> Path:
        call_command("backup", str(folder), *options)
        return Path(capsys.readouterr().out.partition(": ")[0])

    return make


def rows_of(table: str) -> list[tuple]:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT * FROM {table} ORDER BY 1")
        return cursor.fetchall()


def tree(root: Path) -> dict[str, bytes]:
    """Return every file below a folder, by its path."""
    found = sorted(path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


def rewrite(backup: Path, **changes: object) -> None:
    """Change a manifest, and its own sum with it, as somebody with a reason would."""
    path = backup / "manifest.json"
    data = json.dumps(json.loads(path.read_text()) | changes).encode()
    path.write_bytes(data)
    sha256 = hashlib.sha256(data).hexdigest()
    (backup / "manifest.sha256").write_text(f"{sha256}  manifest.json\n")
