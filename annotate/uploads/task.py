"""Part of an upload with its target and options."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from django.utils.translation import gettext as _

from analysis.commands.given_tables import remarks_on
from analysis.problems import InputError, Problem, Problems, WordedProblem
from analysis.reading import inputs
from analysis.tables import is_text
from annotate.access.permissions import can_create, owns
from annotate.models import Study, Upload
from annotate.studies.drafting import free_slug
from annotate.uploads.detecting import columns_of
from annotate.uploads.names import RefusedUploadError
from evalcore.formats.story_scripts import ForeignScores, GivenByUser
from evalcore.importing.formats import guess_scores, read_foreign_scores
from evalcore.models import Benchmark

if TYPE_CHECKING:
    import pandas as pd

SHOWN_OF_A_KIND = 5
# Columns that a wide table lacks.
LONG = {"scores": "score", "ratings": "rating"}


@dataclass
class ImportTask:
    """A part of an upload with everything that its import needs."""

    upload: Upload
    folder: Path
    kind: str
    path: Path
    benchmark: Benchmark
    method: str
    may_create: bool
    skip_unreadable: bool
    replace: bool
    scale: tuple[int, int]
    study: str

    @property
    def is_new(self) -> bool:
        """Say whether the benchmark does not exist yet."""
        return self.benchmark.pk is None

    def plain(self, text: str) -> str:
        """Return a message about the folder without its path and without options."""
        name = self.upload.name
        text = text.replace(f"{self.folder}/", "").replace(str(self.folder), name)
        for option, words in _fields().items():
            text = text.replace(option, words)
        return text if is_text(text) else ascii(text)

    def lines(self, notes: Iterable[str]) -> list[str]:
        """Return notes, each kind with its first places."""
        worded = Problems(
            WordedProblem(self.plain(note), _kind_of_note(note)) for note in notes
        )
        return worded.lines(shown=SHOWN_OF_A_KIND)

    def read_table(self) -> tuple["pd.DataFrame", list[Problem], list[str]]:
        """Return the rows of a table, its problems, and remarks on it."""
        options: dict[str, Any] = {}
        if self.kind in LONG:
            options["wide"] = LONG[self.kind] not in columns_of(self.path)
        if self.kind == "ratings":
            options["scale"] = self.scale
        problems: list[Problem] = []
        try:
            table = getattr(inputs, f"read_{self.kind}")(self.path, **options)
        except InputError as error:
            if error.table is None:
                raise
            table, problems = cast("pd.DataFrame", error.table), error.problems
        return table, problems, remarks_on(table, self.kind)

    def read_foreign(self) -> ForeignScores | None:
        """Return scores in the format of another program; None for our own table."""
        form = guess_scores(self.path)
        if form == "table":
            return None
        facts = GivenByUser(method=self.method)
        return read_foreign_scores(self.path, form, facts, self.benchmark)


def task_of(upload: Upload, folder: Path) -> ImportTask:
    """Return what is to be imported, as the user has chosen."""
    chosen = upload.chosen
    benchmark = _benchmark(upload)
    return ImportTask(
        upload=upload,
        folder=folder,
        kind=chosen["kind"],
        path=folder / chosen["path"] if chosen["path"] else folder,
        benchmark=benchmark,
        method=chosen["method"],
        may_create=benchmark.pk is None or chosen["create"],
        skip_unreadable=chosen["skip"],
        replace=chosen["replace"],
        scale=(chosen["low"], chosen["high"]),
        study=free_slug(Study, chosen["title"]),
    )


def _benchmark(upload: Upload) -> Benchmark:
    user = upload.created_by
    if user is None or not can_create(user):
        raise RefusedUploadError(_("Only managers can set up studies."))
    slug, title = upload.chosen["benchmark"], upload.chosen["title"]
    if not slug:
        return Benchmark(slug=free_slug(Benchmark, title), title=title)
    found = Benchmark.objects.filter(slug=slug).first()
    if found is None or not owns(user, found):
        raise RefusedUploadError(_("Only an owner of this benchmark may do that."))
    return found


def scale_of(path: Path) -> tuple[int, int] | None:
    """Return the likely scale of a table of ratings, by its lowest and highest."""
    try:
        table = inputs.read_ratings(path, wide="rating" not in columns_of(path))
    except InputError:
        return None
    low, high = table["rating"].min(), table["rating"].max()
    return min(int(low), 1), max(int(high), 2)


def _fields() -> dict[str, str]:
    """Return the fields of the page that stand for options of the commands."""
    create = _("“Add what is missing”")
    return {
        " (choose one run with --timestamp)": "",
        "--create-stories": create,
        "--create": create,
        "--skip-unreadable": _("“Leave out unreadable files”"),
        "--replace": _("“Overwrite stored values”"),
        "--method": _("“Method”"),
        "--scale": _("“Scale”"),
    }


def _kind_of_note(note: str) -> str:
    text = note.partition(": ")[2] or note
    return re.sub(r"\d+", "#", text)
