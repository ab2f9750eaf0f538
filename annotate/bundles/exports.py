"""Export jobs of tables and bundles: request, write, remove after a week."""

import logging
import shutil
import zipfile
from collections.abc import Sequence
from datetime import timedelta
from functools import partial
from pathlib import Path

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotate.access.permissions import can_manage
from annotate.audit_log import as_of_event
from annotate.models import MAIN, Export, Study, User
from annotate.reports import building
from annotate.reports.export_folder import FORMATS, write_export
from annotate.reports.layouts import IMAGE_FOLDER, LAYOUTS, ExportError, check_table
from evalcore.media import file_digest
from evalcore.serving import log
from evalcore.serving.workers import Heartbeat

logger = logging.getLogger(__name__)

State = Export.State
RETENTION = timedelta(days=7)
# Files that become no smaller in an archive.
PACKED = (".png", ".parquet")


# A layout of one file, which has every table, and all else that a study has.
BUNDLE = "bundle"


class TooManyExportsError(ExportError):
    """The account has as many unfinished exports as it may have."""


@transaction.atomic
def ask(
    study: Study,
    user: User | None,
    *,
    table: str = "",
    format: str = "csv",
    layout: str = "long",
    view: str = MAIN,
    as_of: int | None = None,
    with_scores: bool = False,
    bom: bool = False,
) -> Export:
    """Queue an export of a table, or of all that the layout has.

    Raises
    ------
    annotate.reports.layouts.ExportError
        The study has no such table, layout, view or event; the message says what it
        has.
    """
    _check_one_of("format", format, FORMATS)
    _check_one_of("layout", layout, [*LAYOUTS, IMAGE_FOLDER])
    views = {one.key: one for one in study.analysis_views.all()}
    _check_one_of("view", view, [*views])
    check_table(study, layout, table)
    if as_of is not None and not study.events.filter(pk=as_of).exists():
        text = _("Event %(event)d is not in the log of %(study)s.")
        raise ExportError(text % {"event": as_of, "study": study.slug})
    _check_unfinished(user)
    return Export.objects.create(
        study=study,
        created_by=user,
        view=views[view],
        as_of_id=as_of,
        table=table,
        form=format,
        layout=layout,
        with_scores=with_scores,
        bom=bom,
    )


@transaction.atomic
def ask_bundle(study: Study, user: User | None, *, pictures: bool) -> Export:
    """Queue an export of everything that belongs to the study, in one file."""
    _check_unfinished(user)
    return Export.objects.create(
        study=study,
        created_by=user,
        view=study.analysis_views.get(key=MAIN),
        form="zip",
        layout=BUNDLE,
        pictures=pictures,
    )


def visible_exports(study: Study, user: User) -> QuerySet[Export]:
    """Return the exports that a user may see: bundles are for managers."""
    rows = study.exports.select_related("created_by", "view", "as_of")
    return rows if can_manage(user, study) else rows.exclude(layout=BUNDLE)


def _check_unfinished(user: User | None) -> None:
    if building.has_most_unfinished(Export, user):
        text = _("You have %(most)d unfinished exports. Wait, or delete one.")
        raise TooManyExportsError(text % {"most": building.MOST_UNFINISHED})


def _check_one_of(what: str, value: str, known: Sequence[str]) -> None:
    if value not in known:
        expected = ", ".join(known)
        raise ExportError(f"{what}: {value[:40]!r}: expected one of {expected}")


def root() -> Path:
    return Path(settings.REPORTS_ROOT) / "exports"


def path_of(export: Export) -> Path:
    """Return where the file of a finished export lies."""
    return root() / str(export.pk) / export.name


def waiting() -> list[int]:
    """Return the exports without a worker, the oldest first."""
    rows = Export.objects.filter(building.waiting()).order_by("created_at", "pk")
    return list(rows.values_list("pk", flat=True))


def delete(export: Export) -> None:
    """Delete an export with its file; a worker that writes it notices at its end."""
    transaction.on_commit(
        partial(shutil.rmtree, root() / str(export.pk), ignore_errors=True)
    )
    export.delete()


def tidy_up() -> None:
    """Delete old exports, and the files of those that are deleted."""
    Export.objects.filter(finished_at__lt=timezone.now() - RETENTION).delete()
    known = {str(pk) for pk in Export.objects.values_list("pk", flat=True)}
    for place in root().glob("*"):
        if place.name not in known:
            shutil.rmtree(place, ignore_errors=True)


def write(pk: int) -> None:
    """Write one export, unless another worker has it."""
    rows = Export.objects.filter(building.waiting(), pk=pk)
    if not Export.claim(rows):
        return
    export = Export.objects.select_related("study__benchmark", "view").get(pk=pk)
    log.note(study=export.study.slug)
    place = root() / str(pk)
    shutil.rmtree(place, ignore_errors=True)  # what a lost worker left
    changes: dict[str, object] = {"state": State.DONE}
    try:
        place.mkdir(mode=0o700, parents=True)
        with Heartbeat(f"export {pk}", partial(Export.sign, pk)):
            write_file = _bundle if export.layout == BUNDLE else _tables
            file, notes = write_file(export, place)
        size, sha256 = file.stat().st_size, file_digest(file)
        changes |= {"name": file.name, "bytes": size, "sha256": sha256, "notes": notes}
    except Exception as error:
        logger.exception("export %s failed", pk)
        changes |= {"state": State.FAILED, "error": str(error) or type(error).__name__}
        shutil.rmtree(place, ignore_errors=True)
    own = Export.objects.filter(pk=pk, state=State.RUNNING)
    if not own.update(finished_at=timezone.now(), **changes):
        shutil.rmtree(place, ignore_errors=True)


def _bundle(export: Export, place: Path) -> tuple[Path, list[str]]:
    """Write a bundle; return its path, and no remarks."""
    from annotate.bundles import exporting  # loads pandas, which web servers do without

    file = place / f"{export.study.slug}.zip"
    exporting.write_bundle(export.study, file, pictures=export.pictures)
    return file, []


def _tables(export: Export, place: Path) -> tuple[Path, list[str]]:
    """Write tables, several into an archive; return its path, and remarks."""
    study, notes = export.study, list[str]()
    draft = place / "draft"
    moment = None
    if export.as_of_id is not None:
        moment = as_of_event.moment(study, export.as_of_id)
    paths = write_export(
        study,
        draft,
        table=export.table,
        form=export.form,
        layout=export.layout,
        view=export.view.key,
        as_of=moment,
        with_scores=export.with_scores,
        bom=export.bom,
        note=notes.append,
    )
    name = f"{study.slug}-{export.table or 'tables'}-{export.layout}"
    if len(paths) == 1:
        file = place / f"{name}{paths[0].suffix}"
        paths[0].rename(file)
    else:
        file = place / f"{name}.zip"
        with zipfile.ZipFile(file, "w") as archive:
            for path in paths:
                how = zipfile.ZIP_STORED
                if path.suffix not in PACKED:
                    how = zipfile.ZIP_DEFLATED
                archive.write(path, path.relative_to(draft), how)
    shutil.rmtree(draft)
    return file, notes
