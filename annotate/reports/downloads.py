"""The tables of a study: their columns, their rows, and their CSV."""

import hashlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from annotate import spreadsheet
from annotate.audit_log.as_of_event import Moment
from annotate.kinds.registry import KINDS, answer_tables
from annotate.models import MAIN, Study
from annotate.presentation import shot_comments
from annotate.reports import score_tables, story_tables, study_tables
from annotate.studies import rewording

if TYPE_CHECKING:
    import pandas as pd

TABLES = (
    *sorted({name for kind in KINDS.values() for name in kind.tables}),
    "scores",
    "stories",
)
CORRECTIONS_HEADER = ("text_version", "since", "text", "before", "after")
# Tables that depend on neither view nor moment.
WHOLE = {
    "in_sight": study_tables.IN_SIGHT_HEADER,
    "shot_comments": shot_comments.HEADER,
    "corrections": CORRECTIONS_HEADER,
}
WORDS = {True: "true", False: "false"}


def exported_tables(study: Study) -> list[str]:
    """Return the names of all tables of a study, in the order of the export folder."""
    names = [*answer_tables(study), "scores"]
    names += ["stories"] if story_tables.stories_header(study)[1:] else []
    names += ["in_sight"]
    names += ["shot_comments"] if study.may_comment_on_shots else []
    return names + (["corrections"] if study.text_version > 1 else [])


def header(study: Study, table: str) -> tuple[str, ...]:
    """Return the columns of an exported table."""
    if table in WHOLE:
        return WHOLE[table]
    if table == "stories":
        return story_tables.stories_header(study)
    if table == "scores":
        return score_tables.SCORE_HEADER
    return study_tables.header(study, table)


def table_rows(
    study: Study, table: str, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[Sequence[object]]:
    """Yield the cells of a table, in the order of `header`; "" is no value.

    Scores do not depend on the view.
    """
    if table == "in_sight":
        return study_tables.in_sight_rows(study)
    if table == "stories":
        return story_tables.story_rows(study, as_of)
    if table == "shot_comments":
        return shot_comments.rows(study)
    if table == "corrections":
        return _correction_rows(study)
    if table == "scores":
        rows = score_tables.score_rows(study, as_of=as_of)
    else:
        rows = study_tables.answer_rows(study, table, view=view, as_of=as_of)
    columns = header(study, table)
    return ([row[column] for column in columns] for row in rows)


def csv_lines(
    study: Study, table: str, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[str]:
    """Yield one table as CSV in pieces."""
    rows = table_rows(study, table, view=view, as_of=as_of)
    return plain_lines(header(study, table), rows)


def plain_lines(
    columns: Sequence[str], rows: Iterator[Sequence[object]]
) -> Iterator[str]:
    """Yield rows as CSV in pieces, with flags as words."""
    return spreadsheet.csv_lines(columns, map(_plain, rows))


def frame_rows(frame: "pd.DataFrame") -> Iterator[Any]:
    """Yield the rows of a table, with empty cells for missing values."""
    return frame.astype(object).where(frame.notna(), "").itertuples(index=False)


def frame_lines(frame: "pd.DataFrame") -> Iterator[str]:
    """Yield a table as CSV in pieces, with empty cells for missing values."""
    return plain_lines([*map(str, frame)], frame_rows(frame))


def _plain(row: Sequence[object]) -> list[object]:
    return [WORDS[cell] if isinstance(cell, bool) else cell for cell in row]


def sha256(study: Study, table: str, *, view: str, as_of: Moment) -> str:
    """Return the hash of a table's download for a view and moment."""
    digest = hashlib.sha256()
    for piece in csv_lines(study, table, view=view, as_of=as_of):
        digest.update(piece.encode())
    return digest.hexdigest()


def _correction_rows(study: Study) -> Iterator[list[object]]:
    """Yield each correction of a text with the time from which it is in force."""
    for version in rewording.text_versions(study):
        for one in version.corrections:
            since = version.since.isoformat(timespec="seconds")
            yield [version.number, since, one.name, one.before, one.after]


def describe(study: Study, as_of: Moment | None = None) -> dict[str, Any]:
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
                "epsilon": q.epsilon,
            }
            for q in study.questions.all()
        ],
        "trained_on": study_tables.trained_on(study, as_of),
    }
