"""Progress of a study: totals, counts of each unit, and the heat map."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Count, Q, QuerySet, Sum

from annotate.kinds.registry import counted_answers
from annotate.models import Flag, Purpose, Question, Slot, Study
from evalcore.models import Story

SlotState = Slot.State
# Redundancy asks for these slots. The others are left out of the analysis or surplus.
WANTED = Q(ordinal__isnull=False) & ~Q(state=SlotState.EXCLUDED)
SURPLUS = Q(ordinal__isnull=True, purpose=Purpose.REAL) & ~Q(state=SlotState.WITHDRAWN)
# These flags cast doubt on what an annotator has submitted.
DOUBTS = (Flag.Action.WARN, Flag.Action.PAUSE, Flag.Action.EXCLUDE)


@dataclass(frozen=True)
class Totals:
    """Numbers of slots of a study."""

    submitted: int
    wanted: int
    leased: int
    excluded: int
    surplus: int = 0  # counted by `tallies`

    @property
    def open(self) -> int:
        """Return how many slots within the redundancy are neither leased nor done."""
        return max(self.wanted - self.submitted - self.leased, 0)

    @property
    def left(self) -> int:
        """Return how many slots are not submitted yet."""
        return max(self.wanted - self.submitted, 0)

    @property
    def percent(self) -> int:
        """Return the percentage done, rounded down: 100 only when complete."""
        return 100 * self.submitted // self.wanted if self.wanted else 0


class UnitCount(NamedTuple):
    """A unit with its counts; units sort by the first fields."""

    methods: tuple[str, ...]
    story: str
    pk: int
    aside: bool
    done: int
    doubted: int
    leased: int
    wanted: int


def totals(study: Study) -> Totals:
    """Return the numbers of slots of a study, without the surplus."""
    sums = study.units.filter(purpose=Purpose.REAL).aggregate(
        done=Sum("submitted"), wanted=Sum("redundancy")
    )
    return Totals(
        submitted=sums["done"] or 0,
        wanted=(sums["wanted"] or 0) * study.rounds,
        leased=leases(study).count(),
        excluded=study.slots.filter(state=SlotState.EXCLUDED).count(),
    )


def leases(study: Study) -> QuerySet[Slot]:
    """Return the leased slots within the redundancy, by deadline."""
    return study.slots.filter(state=SlotState.LEASED, ordinal__isnull=False).order_by(
        "lease_until"
    )


def units(study: Study) -> list[UnitCount]:
    """Return every real unit with its counts, by methods and stories."""
    doubted = _doubted(study)
    in_hand = Counter(leases(study).values_list("unit", flat=True))
    real = study.units.filter(purpose=Purpose.REAL).order_by()
    rows = real.values_list(
        "pk",
        "story__key",
        "set_aside_at",
        "submitted",
        "redundancy",
        *study.output_paths(below="__method__name"),
    )
    return sorted(
        UnitCount(
            tuple(filter(None, methods)),
            story,
            pk,
            aside is not None,
            done,
            min(doubted[pk], done),
            in_hand[pk],
            redundancy * study.rounds,
        )
        for pk, story, aside, done, redundancy, *methods in rows
    )


def _doubted(study: Study) -> Counter[int]:
    """Count by unit the submitted slots of annotators with a warning or worse."""
    flagged = Flag.objects.filter(
        annotator__study=study, resolved_at__isnull=True, action__in=DOUBTS
    ).values_list("annotator", flat=True)
    done = Slot.objects.filter(
        annotator__in=list(flagged), state=SlotState.SUBMITTED, ordinal__isnull=False
    )
    return Counter(done.values_list("unit", flat=True))


def of_question(
    counts: Sequence[UnitCount], study: Study, question: Question
) -> list[UnitCount]:
    """Return the units that a question applies to, with its answers counted."""
    stories = Story.objects.filter(benchmark=study.benchmark_id).only("key", "tags")
    keys = {story.key for story in stories if question.is_asked_of(story)}
    asked = [unit for unit in counts if unit.story in keys]
    if not study.is_imported:
        return asked
    answered = _answered(study, question)
    return [
        unit._replace(done=n, doubted=min(unit.doubted, n))
        for unit in asked
        for n in [answered.get(unit.pk, 0)]
    ]


def _answered(study: Study, question: Question) -> dict[int, int]:
    """Count the answers to a question by unit, cached until the log changes."""
    latest = study.events.order_by("-id").values_list("id", flat=True).first()
    key = f"answered-{study.created_at.timestamp()}-{question.pk}-{latest}"

    def count() -> dict[int, int]:
        units = counted_answers(question).values_list("slot__unit")
        return dict(units.annotate(n=Count("pk")))

    return cast("dict[int, int]", cache.get_or_set(key, count, 600))


# Up to MOST columns or rows are shown one by one; more are folded into these numbers.
MOST, COLUMNS, ROWS = 40, 10, 20


@dataclass(frozen=True)
class Cell:
    """A cell of the heat map: one unit, or several that are folded together."""

    query: str
    folded: bool
    done: int
    doubted: int
    leased: int
    wanted: int
    aside: int
    worst: UnitCount

    @property
    def adjusted(self) -> int:
        """Return the number of done slots of annotators without flags."""
        return self.done - self.doubted

    @property
    def text(self) -> str:
        if self.doubted:
            return f"{self.done} ({self.adjusted})/{self.wanted}"
        return f"{self.done}/{self.wanted}"

    @property
    def share(self) -> int:
        """Return the share done in quarters, 0 to 4: 4 only when complete."""
        return 4 * self.done // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class Fold:
    """Neighbouring names that share a row or column, or a single name."""

    first: int
    last: int
    names: tuple[str, ...]

    @property
    def is_folded(self) -> bool:
        return len(self.names) > 1

    @property
    def label(self) -> str:
        if self.is_folded:
            return f"{self.names[0]} – {self.names[-1]}"
        return self.names[0]

    @property
    def span(self) -> str:
        """Return its range of places, as in the page's address."""
        return f"{self.first}-{self.last}"


@dataclass(frozen=True)
class HeatMapRow:
    """A row of the heat map: a method, a set of methods, or several of these."""

    fold: Fold
    methods: tuple[str, ...]
    cells: tuple[Cell | None, ...]

    @property
    def present(self) -> list[Cell]:
        return [cell for cell in self.cells if cell is not None]

    @property
    def done(self) -> int:
        return sum(cell.done for cell in self.present)

    @property
    def wanted(self) -> int:
        return sum(cell.wanted for cell in self.present)

    @property
    def name(self) -> str:
        return self.fold.label

    @property
    def query(self) -> str:
        """Return the query that lists the slots of this row."""
        return urlencode({"method": self.methods}, doseq=True)


@dataclass(frozen=True)
class HeatMap:
    """The heat map, or a part of it."""

    columns: tuple[Fold, ...]
    rows: tuple[HeatMapRow, ...]
    part: str = ""

    @property
    def is_folded(self) -> bool:
        return any(fold.is_folded for fold in self.columns) or any(
            row.fold.is_folded for row in self.rows
        )

    @property
    def marks(self) -> dict[str, bool]:
        """Return which marks occur in the map, for its legend."""
        cells = [cell for row in self.rows for cell in row.present]
        return {
            "doubted": any(cell.doubted for cell in cells),
            "leased": any(cell.leased and not cell.folded for cell in cells),
            "aside": any(cell.aside for cell in cells),
        }


def grid(counts: Sequence[UnitCount], *, stories: str = "", rows: str = "") -> HeatMap:
    """Arrange units by method and story, folding long rows and columns."""
    keys = sorted({unit.story for unit in counts})
    sets = sorted({unit.methods for unit in counts})
    columns = fold(keys, stories, COLUMNS)
    bands = fold([" / ".join(methods) for methods in sets], rows, ROWS)
    column_of = {key: n for n, one in enumerate(columns) for key in one.names}
    band_of = {
        methods: n
        for n, one in enumerate(bands)
        for methods in sets[one.first - 1 : one.last]
    }
    by_place: dict[tuple[int, int], list[UnitCount]] = defaultdict(list)
    for unit in counts:
        if unit.methods in band_of and unit.story in column_of:
            by_place[band_of[unit.methods], column_of[unit.story]].append(unit)
    heat_rows = []
    for i, band in enumerate(bands):
        methods = () if band.is_folded else sets[band.first - 1]
        cells = (
            _cell(by_place[i, j], methods, band, column) if (i, j) in by_place else None
            for j, column in enumerate(columns)
        )
        heat_rows.append(HeatMapRow(band, methods, tuple(cells)))
    return HeatMap(tuple(columns), tuple(heat_rows), f"{stories} {rows}".strip())


def fold(names: Sequence[str], places: str, into: int, most: int = MOST) -> list[Fold]:
    """Return names one by one, or neighbours together if there are many."""
    first, last = _span(places, len(names))
    n = last - first + 1
    size = -(-n // into) if n > most else 1
    ends = [(at, min(at + size - 1, last)) for at in range(first, last + 1, size)]
    return [Fold(at, end, tuple(names[at - 1 : end])) for at, end in ends]


def _span(places: str, n: int) -> tuple[int, int]:
    """Return the first and last place in an address; all places if it is invalid."""
    low, _dash, high = places.partition("-")
    if not (low.isdecimal() and high.isdecimal()) or len(places) > 20:
        return 1, n
    first, last = int(low), min(int(high), n)
    return (first, last) if 1 <= first <= last else (1, n)


def _cell(
    units: list[UnitCount], methods: tuple[str, ...], band: Fold, column: Fold
) -> Cell:
    folded = band.is_folded or column.is_folded
    if folded:
        query = urlencode({"stories": column.span, "rows": band.span})
    else:
        query = urlencode({"method": methods, "story": column.names[0]}, doseq=True)
    done, doubted, leased, wanted, aside = (
        sum(getattr(unit, name) for unit in units)
        for name in ("done", "doubted", "leased", "wanted", "aside")
    )
    worst = min(units, key=lambda unit: unit.done / max(unit.wanted, 1))
    return Cell(query, folded, done, doubted, leased, wanted, aside, worst)
