"""CSV downloads of a study's tables, and the export folder."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from annotate import spreadsheet
from annotate.audit_log.as_of_event import Moment
from annotate.kinds.registry import KINDS, answer_tables
from annotate.models import MAIN, Study
from annotate.presentation import shot_comments
from annotate.reports import score_tables, study_tables
from annotate.studies import rewording
from evalcore.formats.score_table import SIDECAR, sidecar_text

TABLES = (*sorted({name for kind in KINDS.values() for name in kind.tables}), "scores")
CORRECTIONS_HEADER = ("text_version", "since", "text", "before", "after")
WORDS = {True: "true", False: "false"}


def csv_lines(
    study: Study, table: str, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[str]:
    """Yield one table as CSV in pieces; scores do not depend on the view."""
    if table == "scores":
        header: tuple[str, ...] = score_tables.SCORE_HEADER
        rows = score_tables.score_rows(study, as_of=as_of)
    else:
        header = study_tables.header(study, table)
        rows = study_tables.answer_rows(study, table, view=view, as_of=as_of)
    return spreadsheet.csv_lines(
        header, (_plain([row[column] for column in header]) for row in rows)
    )


def _plain(row: Sequence[object]) -> list[object]:
    return [WORDS[cell] if isinstance(cell, bool) else cell for cell in row]


def sha256(study: Study, table: str, *, view: str, as_of: Moment) -> str:
    """Return the hash of a table's download for a view and moment."""
    digest = hashlib.sha256()
    for piece in csv_lines(study, table, view=view, as_of=as_of):
        digest.update(piece.encode())
    return digest.hexdigest()


def write_export(study: Study, out: Path) -> list[Path]:
    """Write the study's tables and its description into a folder."""
    out.mkdir(parents=True, exist_ok=True)
    names = [*answer_tables(study), "scores"]
    found = {f"{name}.csv": csv_lines(study, name) for name in names}
    found[SIDECAR] = iter([sidecar_text(score_tables.identities(study))])
    description = json.dumps(describe(study), ensure_ascii=False, indent=1) + "\n"
    found["in_sight.csv"] = spreadsheet.csv_lines(
        study_tables.IN_SIGHT_HEADER, map(_plain, study_tables.in_sight_rows(study))
    )
    if study.may_comment_on_shots:
        found["shot_comments.csv"] = spreadsheet.csv_lines(
            shot_comments.HEADER, shot_comments.rows(study)
        )
    if study.text_version > 1:
        found["corrections.csv"] = spreadsheet.csv_lines(
            CORRECTIONS_HEADER, _correction_rows(study)
        )
    found["study.json"] = iter([description])
    for name, lines in found.items():
        partial = out / f"{name}.part"
        with partial.open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(lines)
        os.replace(partial, out / name)
    return [out / name for name in found]


def _correction_rows(study: Study) -> Iterator[list[object]]:
    """Yield each correction of a text with the time from which it is in force."""
    for version in rewording.text_versions(study):
        for one in version.corrections:
            since = version.since.isoformat(timespec="seconds")
            yield [version.number, since, one.name, one.before, one.after]


def describe(study: Study) -> dict[str, Any]:
    """Return the description of a study for readers of its tables."""
    from analysis.options import VERSION

    return {
        "plumbline": VERSION,
        "study": study.slug,
        "title": study.title,
        "benchmark": study.benchmark.slug,
        "outputs_at_once": study.outputs_at_once,
        "template": study.template,
        "redundancy": study.redundancy,
        "rounds": study.rounds,
        "session_size": study.session_size,
        "seed": study.seed,
        "consent_version": study.consent_version,
        "text_version": study.text_version,
        "simulated_annotators": list(
            study.annotators.filter(is_simulated=True).values_list("name", flat=True)
        ),
        "questions": [
            {
                "key": q.key,
                "kind": q.kind,
                "title": q.titles,
                "text": q.texts,
                "help": q.help_texts,
                "anchors": q.anchors,
                "scale": [q.scale_min, q.scale_max],
                "allow_tie": q.allow_tie,
                "stories": q.stories,
                "metric": q.metric,
            }
            for q in study.questions.all()
        ],
    }
