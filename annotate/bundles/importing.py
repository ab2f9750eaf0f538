"""Import of a bundle: everything is checked first, then stored, or nothing is."""

import hashlib
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.core.validators import slug_re
from django.db import DatabaseError, transaction
from django.utils import timezone

from analysis.problems import shown
from analysis.reading.bundles import SHA256, Bundle, opened
from annotate.bundles.exported_rows import ExportedRows
from annotate.bundles.imported_rows import ImportedRows
from annotate.bundles.parts import PARTS, Selection
from annotate.models import (
    Annotator,
    Invitation,
    Study,
    StudyMember,
    User,
    mark_of,
    new_token,
)
from annotate.studies.drafting import LONGEST_SLUG, unused_slug
from evalcore import media, media_store
from evalcore.database.postgresql import analyze
from evalcore.media import original_path
from evalcore.models import Benchmark, MediaFile, Output, Story

EXTENSIONS = (media.EXTENSION, "mp4", "webm")
REPORT = re.compile(r"reports/(\d+)/(.+)")


@dataclass(frozen=True)
class Imported:
    """A study that came in a bundle, and remarks on what differs here."""

    study: Study
    is_new_benchmark: bool
    remarks: tuple[str, ...]


def import_bundle(path: Path, *, slug: str = "", owner: User | None = None) -> Imported:
    """Store the study of a bundle, under another name if `slug` is given.

    Raises
    ------
    InputError
        The bundle is damaged, from a newer version, or of a study that exists.
    """
    with opened(path) as bundle, _stored_files(bundle) as stored:
        bundle.check()
        _check_parts(bundle)
        slugs = _names(bundle, slug)
        for name in bundle.files:
            if name.startswith("media/"):
                _store_media(bundle, name, stored)
        try:
            with transaction.atomic():
                found = _store(bundle, slugs, stored)
                if owner is not None:
                    role = StudyMember.Role.MANAGER
                    for name in slugs.values():
                        study = Study.objects.get(slug=name)
                        StudyMember.objects.create(study=study, user=owner, role=role)
        except DatabaseError as error:
            bundle.refuse(f"rows that fit one another ({shown(str(error))})")
        analyze(*dict.fromkeys(part.model for part in PARTS.values()))
        return found


def _check_parts(bundle: Bundle) -> None:
    """Refuse a bundle without the rows of a part."""
    for part in PARTS.values():
        number = bundle.manifest["rows"].get(part.name)
        if part.file not in bundle.files or type(number) is not int:
            bundle.refuse(f"a file {part.file}")


def _names(bundle: Bundle, slug: str) -> dict[str, str]:
    """Return what each study of the bundle is called here."""
    main = bundle.manifest["study"]
    found = {}
    for line, row in enumerate(bundle.rows(PARTS["Study"].file), start=1):
        own = str(row.get("slug"))
        name = slug if slug and own == main else own
        if not slug_re.fullmatch(name) or len(name) > LONGEST_SLUG:
            bundle.refuse(
                f"a name of a study, not {shown(name)!r}", PARTS["Study"].file, line
            )
        if own != main:
            name = unused_slug(Study, name)
        elif Study.objects.filter(slug=name).exists():
            bundle.refuse(
                f"a new study; {name!r} is here already (--as NEWNAME imports it "
                "under another name)"
            )
        found[own] = name
    if main not in found:
        bundle.refuse(f"the study {shown(main)!r}", PARTS["Study"].file)
    return found


# Files ------------------------------------------------------------------------------


@contextmanager
def _stored_files(bundle: Bundle) -> Iterator[list[Path]]:
    """Remove the files that were stored if the import fails."""
    stored: list[Path] = []
    is_complete = False
    try:
        yield stored
        is_complete = True
    finally:
        for path in () if is_complete else stored:
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            elif not MediaFile.objects.filter(pk=path.stem).exists():
                path.unlink(missing_ok=True)


def _store_media(bundle: Bundle, name: str, stored: list[Path]) -> None:
    """Store a picture or video, which is named by its content."""
    sha256, _dot, extension = name.removeprefix("media/").partition(".")
    if not SHA256.fullmatch(sha256) or extension not in EXTENSIONS:
        bundle.refuse(f"pictures and videos ({', '.join(EXTENSIONS)})", name)
    if bundle.files[name]["sha256"] != sha256:
        bundle.refuse("a name that is its SHA-256", name)
    target = original_path(MediaFile(sha256=sha256, extension=extension))
    if target.exists():
        return
    with media_store.temporary_file(target.parent, extension) as draft:
        bundle.copy(name, draft)
        if extension == media.EXTENSION:
            try:
                width, height = media.measure_picture(draft)
            except media.UnreadablePictureError as error:
                bundle.refuse(str(error), name)
            most = settings.MEDIA_MAX_MEGAPIXELS
            if width * height > most * 10**6:
                told = f"at most {most} megapixels (MEDIA_MAX_MEGAPIXELS)"
                bundle.refuse(told, name)
        media_store.place(draft, target)
    stored.append(target)


def _store_reports(bundle: Bundle, rows: ImportedRows, stored: list[Path]) -> None:
    """Store the files of reports in the folders of their new ids."""
    for name in bundle.files:
        if found := REPORT.fullmatch(name):
            pk = rows.pk("Report", int(found[1]))
            folder = Path(settings.REPORTS_ROOT) / str(pk)
            if folder not in stored:
                folder.mkdir(mode=0o700, parents=True)
                stored.append(folder)
            target = folder / found[2]
            target.parent.mkdir(parents=True, exist_ok=True)
            bundle.copy(name, target)


# Rows -------------------------------------------------------------------------------


def _store(bundle: Bundle, slugs: dict[str, str], stored: list[Path]) -> Imported:
    rows = ImportedRows(bundle, slugs)
    told = next(bundle.rows(PARTS["Benchmark"].file), {})
    name = str(told.get("slug"))
    same = _same_benchmark(bundle, name)
    rows.benchmark = unused_slug(Benchmark, name)
    remarks = []
    for part in PARTS.values():
        if part.of_benchmark and not part.key and same is not None:
            rows.reuse(part, same.pks(part))
        else:
            _check_media_rows(bundle, part.name)
            rows.store(part)
    if same is None and rows.benchmark != name:
        remarks.append(
            f"A benchmark {name!r} with other contents is here already; that of the "
            f"bundle is called {rows.benchmark!r}."
        )
    if rows.has_new_codes:
        remarks.append(
            "Codes of ratings (column slot of its tables) are new: the bundle's are "
            "used by another study here."
        )
    for old, new in slugs.items():
        if old != new:
            remarks.append(f"The study {old!r} is called {new!r} here.")
    _store_reports(bundle, rows, stored)
    study = Study.objects.get(slug=slugs[bundle.manifest["study"]])
    _invite(slugs.values())
    return Imported(study, same is None, tuple(remarks))


def _check_media_rows(bundle: Bundle, part: str) -> None:
    """Refuse rows of pictures that are neither in the bundle nor here."""
    if part != "MediaFile":
        return
    file = PARTS[part].file
    for line, row in enumerate(bundle.rows(file), start=1):
        name = f"media/{row.get('sha256')}.{row.get('extension')}"
        if name not in bundle.files:
            bundle.refuse(
                f"a picture or video that it has, not {shown(name)}", file, line
            )


def _invite(slugs: Iterable[str]) -> None:
    """Give people invitations that let nobody in, as those whose link was revoked."""
    people = Annotator.objects.filter(study__slug__in=[*slugs])
    people = people.exclude(state=Annotator.State.PLANNED)
    now = timezone.now()
    Invitation.objects.bulk_create(
        (
            Invitation(annotator=one, token=mark_of(new_token()), revoked_at=now)
            for one in people.iterator(2000)
        ),
        batch_size=500,
    )


def _same_benchmark(bundle: Bundle, name: str) -> ExportedRows | None:
    """Return the rows of a benchmark that has the contents of the bundle's."""
    like = re.compile(rf"{re.escape(name)}(-\d+)?")
    for row in Benchmark.objects.filter(slug__startswith=name).order_by("pk"):
        if like.fullmatch(row.slug):
            rows = ExportedRows(_selection(bundle, row))
            if _is_same(bundle, rows):
                return rows
    return None


def _selection(bundle: Bundle, benchmark: Benchmark) -> Selection:
    """Return the stories and outputs of a benchmark that a bundle names."""
    keys = [row.get("key") for row in bundle.rows(PARTS["Story"].file)]
    stories = Story.objects.filter(benchmark=benchmark, key__in=keys)
    wanted = {
        (keys[row["story"] - 1], row["method"], row["degradation"])
        for row in bundle.rows(PARTS["Output"].file)
    }
    rows = Output.everything.filter(story__in=stories)
    columns = ("pk", "story__key", "method__name", "degradation")
    outputs = {
        pk for pk, *place in rows.values_list(*columns) if tuple(place) in wanted
    }
    return Selection(
        benchmark.pk,
        frozenset(stories.values_list("pk", flat=True)),
        frozenset(outputs),
        pictures=bundle.manifest["pictures"],
    )


def _is_same(bundle: Bundle, rows: ExportedRows) -> bool:
    """Say whether rows are those of the bundle, but for names and dates of entry."""
    for part in PARTS.values():
        if part.of_benchmark:
            digest = hashlib.sha256()
            for line in rows.lines(part):
                digest.update(line.encode())
            is_same = digest.hexdigest() == bundle.files[part.file]["sha256"]
            if not (is_same or part.key or part.name == "Benchmark"):
                return False
    return True
