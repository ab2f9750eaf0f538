"""Tables of answers and scores, made from the database."""

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from django.db.models import Exists, F, OuterRef, Q

from annotate.audit_log.as_of_event import Moment
from annotate.kinds.base import Kind
from annotate.kinds.registry import kind_of_table, kinds_of, tables_of
from annotate.models import MAIN, Answer, Event, Exclusion, Purpose, Study
from annotate.models.studies import LETTERS
from annotate.quality_rules.time_signals import GLANCE
from annotate.responses import timing
from annotate.studies.study_file import read_definition

if TYPE_CHECKING:
    import pandas as pd


def check_marks(purpose: str) -> dict[str, bool]:
    """Return whether a slot checks its annotator, and whether it is a repeat."""
    return {
        "is_gold": purpose not in (Purpose.REAL, Purpose.REPEAT),
        "is_repeat": purpose == Purpose.REPEAT,
    }


def is_surplus(purpose: str, ordinal: int | None) -> bool:
    """Tell whether a slot is outside the redundancy of its unit."""
    return purpose == Purpose.REAL and ordinal is None


def hidden_slots(study: Study, view: str) -> set[int]:
    """Return the slots whose answers a view hides now."""
    hiding = Exclusion.objects.filter(
        slot__study=study, undone_at__isnull=True, views__key=view
    )
    return set(hiding.values_list("slot", flat=True))


AnswerRow = dict[str, Any]

ANSWER_COLUMNS = (
    "round",
    "session",
    "slot",
    "started_at",
    "submitted_at",
    "seconds",
    "is_gold",
    "is_repeat",
    "excluded",
)
IN_SIGHT_HEADER = (
    "slot",
    "story",
    "annotator",
    "shot",
    "seconds",
    "seen",
    "share_seen",
    "is_gold",
    "is_repeat",
    "excluded",
)


def answer_rows(
    study: Study, table: str, *, view: str = MAIN, as_of: Moment | None = None
) -> Iterator[AnswerRow]:
    """Yield submitted answers through a view, with the columns of `header`."""
    with_shots = "shot" in header(study, table)
    for model, kinds in tables_of(study).items():
        if table not in kinds[0].tables:
            continue
        by_name = {kind.name: kind for kind in kinds}
        about: AnswerRow = {}  # rows of one slot follow one another
        for row in _answers(model, kinds, study, view, as_of):
            if about.get("slot") != row["slot__code"]:
                about = _about_slot(row)
            kind = by_name[row["question__kind"]]
            methods = [shown_name(row, letter) for letter in letters(study)]
            shot = {"shot": row["shot"] if kind.of_shots else ""} if with_shots else {}
            cells_of = kind.parts if table == kind.parts_table else kind.rows
            for cells in cells_of(row, methods):
                yield {
                    "story": row["story"],
                    "annotator": row["annotator__name"],
                    **shot,
                    **cells,
                    **about,
                }


def header(study: Study, table: str) -> tuple[str, ...]:
    """Return the columns of a table of a study's answers."""
    kinds = [kind for kind in kinds_of(study) if table in kind.tables]
    if not kinds:  # the study has no question with answers in this table
        kinds = [kind_of_table(table)]
    if table == kinds[0].parts_table:
        return (*kinds[0].parts_columns, *ANSWER_COLUMNS)
    first, *rest = kinds[0].columns
    shot = ["shot"] if any(kind.of_shots for kind in kinds) else []
    return (first, *rest[:1], *shot, *rest[1:], *ANSWER_COLUMNS, *kinds[0].more_columns)


def letters(study: Study) -> str:
    return LETTERS[: study.outputs_at_once]


_FIELDS = (
    "value",
    "question__key",
    "question__kind",
    "annotator",
    "annotator__name",
    "slot",
    "slot__round",
    "slot__session",
    "slot__code",
    "slot__ordinal",
    "slot__started_at",
    "slot__submitted_at",
    "seconds",
    "slot__purpose",
    "slot__unit__purpose",
    "story",
)


def _answers(
    model: type[Answer],
    kinds: list[Kind],
    study: Study,
    view: str,
    as_of: Moment | None,
) -> Iterator[AnswerRow]:
    """Yield the answers of submitted slots, with whether they are excluded."""
    of_shots = ["shot"] if any(kind.of_shots for kind in kinds) else []
    if as_of is None:
        hidden = hidden_slots(study, view)
        # The sum keeps SQLite from reading all answers of the annotator for each slot.
        answers: Any = model.objects.alias(holder=F("annotator_id") + 0).filter(
            slot__study=study,
            slot__submitted_at__isnull=False,
            is_current=True,
            holder=F("slot__annotator_id"),
        )
    else:
        hidden = as_of.hidden_from(view)
        answers = _answers_then(model, study, as_of, of_shots)
    named = [
        f"{name}_{letter}"
        for name in ("method", "degradation")
        for letter in letters(study)
    ]
    fields = (*_FIELDS, *named, *of_shots, *kinds[0].fields_read)
    for row in _with_names(answers, study, of_shots).values(*fields).iterator(2000):
        if as_of is not None:
            slot = as_of.submitted.get(row["slot"])
            if slot is None or slot.annotator != row["annotator"]:
                continue
            row["slot__ordinal"] = slot.ordinal
        surplus = is_surplus(row["slot__purpose"], row["slot__ordinal"])
        yield row | {"excluded": surplus or row["slot"] in hidden}


def _answers_then(
    model: type[Answer], study: Study, as_of: Moment, place: list[str]
) -> Any:
    """Return the newest revision of each answer at a moment."""
    then = Q(created_at__lte=as_of.at) | Q(revision=1)
    same = ("slot", "question", "annotator", *place)
    later = model.objects.filter(
        **{name: OuterRef(name) for name in same},
        revision__gt=OuterRef("revision"),
        created_at__lte=as_of.at,
    )
    return model.objects.filter(then, ~Exists(later), slot__study=study)


def _with_names(answers: Any, study: Study, order: list[str]) -> Any:
    """Add story, methods and time, without training, in a stable order."""
    return (
        answers.exclude(slot__purpose=Purpose.TRAINING)
        .annotate(
            story=F("slot__unit__story__key"),
            seconds=timing.measured("slot__"),
            **{
                f"{name}_{letter}": F(f"slot__unit__output_{letter}__{path}")
                for name, path in (("method", "method__name"), ("degradation",) * 2)
                for letter in letters(study)
            },
        )
        .order_by("slot__unit", "slot__round", "slot", *order, "question__ordinal")
    )


def shown_name(row: AnswerRow, side: str) -> str:
    """Return the name of a method, with the purpose of its output."""
    name: str = row[f"method_{side}"]
    degradation = row[f"degradation_{side}"]
    purpose = row["slot__unit__purpose"]
    if purpose == Purpose.REAL:
        return name
    beside = any(row.get(f"degradation_{other}") for other in LETTERS if other != side)
    if beside and not degradation:
        return name
    return (
        f"{name} [{purpose}: {degradation}]" if degradation else f"{name} [{purpose}]"
    )


def _about_slot(row: AnswerRow) -> AnswerRow:
    started, submitted = row["slot__started_at"], row["slot__submitted_at"]
    return {
        "round": row["slot__round"],
        "session": row["slot__session"],
        "slot": row["slot__code"],
        "started_at": started.isoformat(timespec="seconds") if started else "",
        "submitted_at": submitted.isoformat(timespec="seconds") if submitted else "",
        "seconds": row["seconds"],
        **check_marks(row["slot__purpose"]),
        "excluded": row["excluded"],
    }


def in_sight_rows(study: Study) -> Iterator[tuple[object, ...]]:
    """Yield the seconds that each shot of a submitted slot was in sight, if recorded.

    `seen` is whether that was long enough, `share_seen` the share of shots seen.
    """
    slots = study.slots.filter(submitted_at__isnull=False, in_sight__isnull=False)
    slots = slots.exclude(purpose=Purpose.TRAINING).order_by("unit", "round", "pk")
    hidden = hidden_slots(study, MAIN)
    enough = study.must_see or GLANCE
    about = ("pk", "purpose", "ordinal", "in_sight")
    names = ("code", "unit__story__key", "annotator__name")
    for slot in slots.values_list(*about, *names).iterator(2000):
        pk, purpose, ordinal, in_sight, *named = slot
        excluded = pk in hidden or is_surplus(purpose, ordinal)
        marks = (*check_marks(purpose).values(), excluded)
        seen = {shot: seconds >= enough for shot, seconds in in_sight.items()}
        share = round(sum(seen.values()) / len(seen), 4) if seen else 0.0
        for shot, seconds in in_sight.items():
            yield *named, int(shot), seconds, seen[shot], share, *marks


def answers_frame(
    study: Study, table: str, *, view: str = MAIN, as_of: Moment | None = None
) -> "pd.DataFrame":
    rows = answer_rows(study, table, view=view, as_of=as_of)
    frame = as_frame(rows, header(study, table))
    kind = next(kind for kind in kinds_of(study) if kind.table == table)
    return kind.checked(frame, file=study.slug)


def scales(study: Study) -> dict[str, tuple[int, int]]:
    """Return the scales of questions by key."""
    questions = study.questions.values_list("key", "scale_min", "scale_max")
    return {
        key: (low, high)
        for key, low, high in questions
        if low is not None and high is not None
    }


def hypotheses_frame(study: Study) -> "pd.DataFrame":
    """Return the metrics declared for questions, and how much worse each may be."""
    import pandas as pd

    rows = study.questions.exclude(metric="").values_list("key", "metric", "epsilon")
    columns = ["question", "metric", "epsilon"]
    return pd.DataFrame(list(rows), columns=columns).astype({"epsilon": float})


def trained_on(study: Study, as_of: Moment | None = None) -> dict[str, list[str]]:
    """Return the metrics that each method was trained on or chosen by, at a moment."""
    changes = study.events.filter(
        kind=Event.Kind.STUDY_EDITED, details__has_key="trained_on"
    ).order_by("pk")
    found: Mapping[str, Sequence[str]] = {}
    if as_of is None or not changes.filter(pk__gt=as_of.event).exists():
        found = study.trained_on
    elif last := changes.filter(pk__lte=as_of.event).last():
        found = last.details["trained_on"]
    elif study.definition:
        found = read_definition(study.definition, file="", name="").trained_on
    return {method: [*metrics] for method, metrics in found.items()}


def trained_on_frame(study: Study, as_of: Moment | None = None) -> "pd.DataFrame":
    """Return the metrics that methods were trained on or chosen by, a row each."""
    import pandas as pd

    by_method = trained_on(study, as_of).items()
    rows = [(name, one) for name, own in by_method for one in own]
    return pd.DataFrame(rows, columns=["method", "metric"])


def as_frame(rows: Iterator[AnswerRow], header: tuple[str, ...]) -> "pd.DataFrame":
    """Return rows as a table of cells that are still to be checked."""
    import pandas as pd

    cells = map(itemgetter(*header), rows)
    return pd.DataFrame(list(cells), columns=list(header)).astype(object)
