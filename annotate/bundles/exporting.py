"""Export of a study as a bundle, in one pass.

Rows are streamed; only the agreement on its card takes the memory of a report.
"""

import hashlib
import json
import os
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from django.utils import timezone

from analysis.options import VERSION, AlignOptions, Progress, silent
from analysis.reading.bundles import BLOCK, FORMAT, MANIFEST, OPTIONS
from annotate.audit_log import as_of_event
from annotate.audit_log.as_of_event import Moment
from annotate.bundles import croissant, data_card
from annotate.bundles.exported_rows import ExportedRows, without_codes
from annotate.bundles.parts import PARTS, Selection, of_study
from annotate.bundles.tables import main_tables, readable_stories, view_texts
from annotate.models import Study
from annotate.reports import study_scores
from annotate.reports.declarations import own_composites
from annotate.reports.downloads import plain_lines
from annotate.reports.earlier_study import late_method
from annotate.reports.table_files import PACKAGE, WRITERS, resource
from annotate.reports.writing import completed_options
from evalcore.media import original_path

APPS = ("annotate", "evalcore")
# Fixed, so that the same study gives the same bytes.
DATE = (1980, 1, 1, 0, 0, 0)
PACKED, STORED = zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED


class BundleError(ValueError):
    """A study that cannot be exported whole; the message says why."""


@dataclass
class _Writer:
    """A zip that is being written, and the checksums of its files."""

    packed: zipfile.ZipFile
    files: dict[str, dict[str, Any]] = field(default_factory=dict)

    @contextmanager
    def open(
        self, name: str, method: int = PACKED
    ) -> Iterator[Callable[[bytes], None]]:
        """Open a file of the zip for writing."""
        entry = zipfile.ZipInfo(name, DATE)
        entry.compress_type, entry.external_attr = method, 0o644 << 16
        digest, size = hashlib.sha256(), 0
        with self.packed.open(entry, "w", force_zip64=True) as out:

            def write(block: bytes) -> None:
                nonlocal size
                digest.update(block)
                size += len(block)
                out.write(block)

            yield write
        self.files[name] = {"sha256": digest.hexdigest(), "bytes": size}

    def text(self, name: str, pieces: Iterable[str]) -> None:
        """Write a text in pieces."""
        with self.open(name) as write:
            for piece in pieces:
                write(piece.encode())

    def copy(self, name: str, path: Path, method: int) -> None:
        """Write a file."""
        with self.open(name, method) as write, path.open("rb") as source:
            while block := source.read(BLOCK):
                write(block)


def write_bundle(
    study: Study,
    out: Path,
    *,
    pictures: bool = True,
    license: str = "",
    progress: Progress = silent,
) -> dict[str, Any]:
    """Write a study and everything that belongs to it; return the manifest.

    The file appears under its name when it is whole.
    """
    draft = out.with_name(f"{out.name}.part")
    try:
        with zipfile.ZipFile(draft, "w", PACKED) as packed, _snapshot():
            manifest = _write(study, _Writer(packed), pictures, license, progress)
        os.replace(draft, out)
    finally:
        draft.unlink(missing_ok=True)
    return manifest


@contextmanager
def _snapshot() -> Iterator[None]:
    """Let every query see the database as the first one does; nobody waits for it."""
    if connection.in_atomic_block:
        yield
    elif connection.vendor == "postgresql":
        with transaction.atomic():
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            yield
    else:
        # Django's own begin with the write lock.
        with connection.cursor() as cursor:
            cursor.execute("BEGIN")
            try:
                yield
            finally:
                cursor.execute("ROLLBACK")


def _write(
    study: Study, out: _Writer, pictures: bool, license: str, progress: Progress
) -> dict[str, Any]:
    study = Study.objects.select_related("continues", "benchmark").get(pk=study.pk)
    first = study.continues
    if first is not None and first.benchmark_id != study.benchmark_id:
        raise BundleError(
            f"{study.slug} continues {first.slug}, which is about another benchmark."
        )
    moment = _moment(study)
    chosen = of_study(study, pictures=pictures)
    rows = ExportedRows(chosen)
    for part in PARTS.values():
        progress(part.name)
        out.text(part.file, rows.lines(part))
    manifest = {
        "format": FORMAT,
        "plumbline": VERSION,
        "study": study.slug,
        "title": study.title,
        "benchmark": study.benchmark.slug,
        "moment": {
            "event": rows.number("Event", moment.event),
            "at": _newest(study).astimezone(UTC).isoformat(timespec="seconds"),
        },
        "pictures": pictures,
        "license": license,
        "views": [*study.analysis_views.values_list("key", flat=True)],
        "migrations": _migrations(),
        "rows": rows.counts,
    }
    progress("pictures")
    _write_media(chosen, out)
    _write_reports(chosen, rows, out)
    progress("tables")
    counts = _write_tables(study, moment, chosen, manifest, out)
    out.text("stories.jsonl", readable_stories(chosen))
    out.text("study.yaml", [without_codes(study.definition)])
    out.text(OPTIONS, [_as_json(_options(study, moment))])
    progress("data card")
    out.text("README.md", [data_card.card(study, manifest, counts)])
    manifest = {
        **manifest,
        "made_at": timezone.now().isoformat(timespec="seconds"),
        "files": out.files,
    }
    entry = zipfile.ZipInfo(MANIFEST, DATE)
    entry.external_attr = 0o644 << 16
    out.packed.writestr(entry, _as_json(manifest), PACKED)
    return manifest


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


def _migrations() -> dict[str, list[str]]:
    """Return the migrations of the tables that rows were read from."""
    rows = MigrationRecorder.Migration.objects.filter(app__in=APPS).order_by("name")
    return {app: [*rows.filter(app=app).values_list("name", flat=True)] for app in APPS}


def _moment(study: Study) -> Moment:
    """Return the study as it is now; nothing is noted in its log."""
    last = study.events.order_by("pk").last()
    if last is None:
        return Moment(0, timezone.now(), {}, {})
    return replace(as_of_event.moment(study, last.pk), at=timezone.now())


def _newest(study: Study) -> datetime:
    """Return the time of the last event of a study."""
    last = study.events.order_by("pk").last()
    return last.at if last else study.created_at


def _write_media(chosen: Selection, out: _Writer) -> None:
    """Write pictures and videos as they are: they are packed already."""
    for row in chosen.media().order_by("pk").iterator(2000):
        name, path = f"media/{row.sha256}.{row.extension}", original_path(row)
        try:
            out.copy(name, path, STORED)
        except OSError as error:
            raise BundleError(
                f"{path}: cannot be read ({error.strerror}). Restore it from a backup, "
                "or export without pictures (--no-pictures)."
            ) from error
        if out.files[name]["sha256"] != row.sha256:
            raise BundleError(
                f"{path} is damaged: it does not match its SHA-256 checksum. Restore "
                "it from a backup, or export without pictures (--no-pictures)."
            )


def _write_reports(chosen: Selection, rows: ExportedRows, out: _Writer) -> None:
    """Write the files of finished reports."""
    part = PARTS["Report"]
    for number, pk in enumerate(rows.pks(part), start=1):
        folder = Path(settings.REPORTS_ROOT) / str(pk)
        for path in sorted(one for one in folder.rglob("*") if one.is_file()):
            name = path.relative_to(folder).as_posix()
            out.copy(f"reports/{number}/{name}", path, PACKED)


def _write_tables(
    study: Study,
    moment: Moment,
    chosen: Selection,
    manifest: dict[str, Any],
    out: _Writer,
) -> dict[str, int]:
    """Write tables as CSV and Parquet with their descriptions; count their rows."""
    from pyarrow import parquet

    resources, filled, counts = [], [], {}
    for table in main_tables(study, moment, chosen):
        path = f"{table.name}.csv"
        out.text(f"tables/{path}", plain_lines(table.columns, iter(table.rows)))
        resources.append(resource(table, path, "csv"))
    about = {"profile": "tabular-data-package", "name": study.slug.lower()}
    package = {**about, "title": study.title, "resources": resources}
    out.text(f"tables/{PACKAGE}", [_as_json(package)])
    for name, pieces in view_texts(study):
        out.text(name, pieces)
    with TemporaryDirectory() as folder:
        for table in main_tables(study, moment, chosen):
            draft, path = Path(folder) / table.name, f"parquet/{table.name}.parquet"
            WRITERS["parquet"](draft, table, bom=False)
            out.copy(path, draft, STORED)
            if number := parquet.read_metadata(draft).num_rows:
                counts[table.name] = number
                filled.append((table, path))
            draft.unlink()
    described = croissant.described(manifest, filled, out.files)
    out.text("croissant.json", [_as_json(described)])
    return counts


def _options(study: Study, moment: Moment) -> dict[str, Any]:
    """Return what a report of the study sets beside its tables."""
    choice = study_scores.choice_of(study, AlignOptions(), moment)
    options = completed_options(study, AlignOptions(), choice)
    return {
        "title": study.title,
        "identity": dict(options.identity),
        "top": options.top,
        "top_confidence": options.top_confidence,
        "demanded": options.demanded,
        "scales": {key: list(ends) for key, ends in options.scales.items()},
        "late_method": late_method(study),
        "composites": {
            one.name: {"over": one.over, "kind": one.kind, "weights": dict(one.parts)}
            for one in own_composites(study)
        },
    }
