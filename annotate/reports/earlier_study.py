"""The closed study on whose scale a follow-up study places its late method."""

from typing import TYPE_CHECKING

from analysis.sentences import sentence
from annotate.audit_log import as_of_event
from annotate.audit_log.as_of_event import Moment
from annotate.kinds.registry import answer_tables
from annotate.models import MAIN, Study
from annotate.reports import downloads, study_tables
from annotate.studies.study_file import read_definition

if TYPE_CHECKING:
    from analysis.commands.alignment import EarlierStudy


def late_method(study: Study) -> str:
    """Return the method that a follow-up study adds; empty for other studies."""
    if study.continues is None:
        return ""
    definition = read_definition(study.definition, file="", name=study.template)
    return definition.late_entry.method if definition.late_entry else ""


def read(
    study: Study, view: str, moment: Moment
) -> "tuple[EarlierStudy | None, dict[str, str], tuple[str, ...]]":
    """Return the tables of the closed study at that moment, their hashes, and a note.

    The filter of the report holds for both studies where both have it.
    """
    from analysis.commands.alignment import EarlierStudy

    method, first = late_method(study), study.continues
    if not method or first is None:
        return None, {}, ()
    last = first.events.filter(pk__lte=moment.event).order_by("pk").last()
    if last is None:
        return None, {}, ()
    then = as_of_event.moment(first, last.pk)
    own = view if first.analysis_views.filter(key=view).exists() else MAIN
    names = answer_tables(first, only_counted=True)
    tables = {
        name: study_tables.answers_frame(first, name, view=own, as_of=then)
        for name in names
    }
    hashes = {
        f"{first.slug}: {name}.csv": downloads.sha256(first, name, view=own, as_of=then)
        for name in names
    }
    note = sentence(
        "{method} is placed on the scale of {study} (event {event}). Means of older "
        "methods are of linking outputs here; compare {method} with them by the table "
        "late_differences. All annotators count as different people.",
        method=method,
        study=first.slug,
        event=last.pk,
    )
    return EarlierStudy(tables, method), hashes, (note,)
