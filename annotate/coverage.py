"""How far a study is: every cell of methods by stories, every annotator."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlencode

from django.db.models import Count, Max, Q

from annotate.models import Annotator, Purpose, Slot, Study

State = Slot.State
# The slots that redundancy asks for. The others are left out of the analysis, or
# surplus.
WANTED = Q(ordinal__isnull=False) & ~Q(state=State.EXCLUDED)
SURPLUS = Q(ordinal__isnull=True, purpose=Purpose.REAL) & ~Q(state=State.WITHDRAWN)


@dataclass(frozen=True)
class Cell:
    """The slots of a row (a method, or a pair of methods) in a story."""

    methods: tuple[str, ...]
    story: str
    done: int
    leased: int
    wanted: int

    @property
    def row(self) -> str:
        return " / ".join(self.methods)

    @property
    def query(self) -> str:
        """Return how the list of slots is asked for those of this cell."""
        return f"{_methods_query(self.methods)}&{urlencode({'story': self.story})}"

    @property
    def share(self) -> int:
        """Return done of wanted in quarters, 0 to 4; 4 only when complete."""
        return 4 * self.done // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class Row:
    """One method, or one pair of methods, over all stories."""

    name: str
    methods: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    done: int
    wanted: int

    @property
    def query(self) -> str:
        """Return how the list of slots is asked for those of this row."""
        return _methods_query(self.methods)


def _methods_query(methods: tuple[str, ...]) -> str:
    return urlencode([("method", method) for method in methods])


@dataclass(frozen=True)
class Person:
    """One annotator's progress."""

    annotator: Annotator
    submitted: int
    planned: int
    surplus: int
    submitted_surplus: int
    session: int
    sessions: int
    last: datetime | None


@dataclass(frozen=True)
class Coverage:
    """Everything that the coverage page shows."""

    stories: tuple[str, ...]
    rows: tuple[Row, ...]
    people: tuple[Person, ...]
    leases: tuple[Slot, ...]
    wanted: int
    submitted: int
    leased: int
    open: int
    excluded: int
    surplus: int

    @property
    def percent(self) -> int:
        """Return the whole per cent that is done; 100 only when complete."""
        return 100 * self.submitted // self.wanted if self.wanted else 0


def coverage(study: Study) -> Coverage:
    """Count the slots of a study; the number of queries does not depend on its size."""
    counts = _counts(study)
    stories = sorted({story for _row, story in counts})
    names = sorted({row for row, _story in counts})
    rows = []
    total: Counter[str] = Counter()
    for methods in names:
        cells = [_cell(methods, story, counts) for story in stories]
        present = [cell for cell in cells if cell is not None]
        rows.append(
            Row(
                " / ".join(methods),
                methods,
                tuple(cells),
                sum(cell.done for cell in present),
                sum(cell.wanted for cell in present),
            )
        )
    for tally in counts.values():
        total.update(tally)
    return Coverage(
        stories=tuple(stories),
        rows=tuple(rows),
        people=_people(study),
        leases=tuple(
            study.slots.filter(state=State.LEASED)
            .select_related("annotator", "unit__story", "unit__output_a__method",
                            "unit__output_b__method")
            .order_by("lease_until")
        ),
        wanted=total["wanted"],
        submitted=total["submitted"],
        leased=total["leased"],
        open=total["open"],
        excluded=total["excluded"],
        surplus=total["surplus"],
    )  # fmt: skip


def _counts(study: Study) -> dict[tuple[tuple[str, ...], str], Counter[str]]:
    """Return the tallies of each row and story in one query."""
    inside = Q(ordinal__isnull=False)
    grouped = (
        study.slots.filter(purpose=Purpose.REAL)
        .values(
            "unit__story__key", "unit__output_a__method__name",
            "unit__output_b__method__name",
        )
        .annotate(
            submitted=Count("pk", filter=inside & Q(state=State.SUBMITTED)),
            leased=Count("pk", filter=inside & Q(state=State.LEASED)),
            open=Count("pk", filter=inside & Q(state=State.OPEN)),
            excluded=Count("pk", filter=Q(state=State.EXCLUDED)),
            surplus=Count("pk", filter=SURPLUS),
        )
        .order_by()
    )  # fmt: skip
    result = {}
    for entry in grouped:
        a = entry.pop("unit__output_a__method__name")
        b = entry.pop("unit__output_b__method__name")
        story = entry.pop("unit__story__key")
        tally = Counter(entry)
        tally["wanted"] = tally["submitted"] + tally["leased"] + tally["open"]
        result[(a, b) if b else (a,), story] = tally
    return result


def _cell(
    methods: tuple[str, ...],
    story: str,
    counts: dict[tuple[tuple[str, ...], str], Counter[str]],
) -> Cell | None:
    tally = counts.get((methods, story))
    if tally is None:
        return None
    return Cell(methods, story, tally["submitted"], tally["leased"], tally["wanted"])


def _people(study: Study) -> tuple[Person, ...]:
    mine = Q(slots__ordinal__isnull=False)
    done = mine & Q(slots__state=State.SUBMITTED)
    surplus = Q(slots__ordinal__isnull=True, slots__purpose=Purpose.REAL)
    annotators = study.annotators.annotate(
        submitted=Count("slots", filter=done),
        planned=Count("slots", filter=mine & ~Q(slots__state=State.EXCLUDED)),
        surplus=Count("slots", filter=surplus),
        submitted_surplus=Count(
            "slots", filter=surplus & Q(slots__state=State.SUBMITTED)
        ),
        session=Max("slots__session", filter=done),
        sessions=Max("slots__session"),
        last=Max("slots__submitted_at"),
    ).order_by("name")
    return tuple(
        Person(
            a,
            a.submitted,
            a.planned,
            a.surplus,
            a.submitted_surplus,
            a.session or 0,
            a.sessions or 0,
            a.last,
        )
        for a in annotators
    )
