"""The export folder of a study, in every format and layout."""

import json
from collections.abc import Callable
from pathlib import Path

from annotate.audit_log.as_of_event import Moment
from annotate.models import MAIN, Study
from annotate.reports import score_tables
from annotate.reports.downloads import describe
from annotate.reports.image_folder import write_image_folder
from annotate.reports.layouts import IMAGE_FOLDER, Request, laid_out
from annotate.reports.table_files import write_tables, write_text
from evalcore.formats.score_table import SIDECAR, sidecar_text

FORMATS = ("csv", "parquet", "jsonl")


def write_export(
    study: Study,
    out: Path,
    *,
    table: str = "",
    form: str = "csv",
    layout: str = "long",
    view: str = MAIN,
    as_of: Moment | None = None,
    with_scores: bool = False,
    bom: bool = False,
    note: Callable[[str], object] = bool,
) -> list[Path]:
    """Write a table of a study into a folder, or all that the layout has.

    The folder of layout `huggingface` has its own formats. The long layout of all
    tables has the study's description beside them. `note` is called with remarks on
    what is left out.

    Raises
    ------
    annotate.reports.layouts.ExportError
        The layout has no such table; nothing is written.
    """
    asked = Request(
        study=study, view=view, as_of=as_of, with_scores=with_scores, note=note
    )
    if layout == IMAGE_FOLDER:
        return write_image_folder(asked, out, table)
    about = {
        "profile": "tabular-data-package",
        "name": study.slug.lower(),
        "title": study.title,
    }
    tables = laid_out(asked, layout, table)
    paths = write_tables(tables, out, form=form, bom=bom, about=about)
    if layout == "long" and table in ("", "scores"):
        told = sidecar_text(score_tables.identities(study))
        paths.append(write_text(out / SIDECAR, [told]))
    if layout == "long" and not table:
        text = json.dumps(describe(study, as_of), ensure_ascii=False, indent=1) + "\n"
        paths.append(write_text(out / "study.json", [text]))
    return paths
