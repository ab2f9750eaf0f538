"""How far a study is: methods (or pairs of methods) by stories.

Everything is read from the units and the counters they keep, never from all slots, so
that a page over a million answers stays fast. Where there are many stories or rows,
neighbours are folded into one.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from django.core.cache import cache
from django.db.models import Count, F, Q, QuerySet, Sum

from annotate.models import Choice, Flag, Purpose, Question, Rating, Slot, Study
from evalcore.models import Method, Story

State = Slot.State
# The slots that redundancy asks for. The others are left out of the analysis, or
# surplus.
WANTED = Q(ordinal__isnull=False) & ~Q(state=State.EXCLUDED)
SURPLUS = Q(ordinal__isnull=True, purpose=Purpose.REAL) & ~Q(state=State.WITHDRAWN)
# A grid shows so many columns and rows one by one; more are folded into fewer.
MOST, COLUMNS, ROWS = 40, 10, 20
# Flags that make one doubt what an annotator has submitted.
DOUBTS = (Flag.Action.WARN, Flag.Action.PAUSE, Flag.Action.EXCLUDE)


@dataclass(frozen=True)
class Totals:
    """The slots of a study."""

    submitted: int
    wanted: int
    leased: int
    excluded: int
    surplus: int

    @property
    def open(self) -> int:
        """Return how many slots within the redundancy nobody has in hand."""
        return max(self.wanted - self.submitted - self.leased, 0)

    @property
    def left(self) -> int:
        """Return how many slots are not submitted yet."""
        return max(self.wanted - self.submitted, 0)

    @property
    def percent(self) -> int:
        """Return the whole per cent that is done; 100 only when complete."""
        return 100 * self.submitted // self.wanted if self.wanted else 0


class Unfolded(NamedTuple):
    """A unit with what was counted for it; there may be tens of thousands."""

    pk: int
    methods: tuple[str, ...]
    story: str
    done: int
    doubted: int
    leased: int
    wanted: int
    aside: bool


@dataclass(frozen=True)
class Cell:
    """The slots of one row in one column; several units where these are folded.

    `doubted` of the done ones come from annotators with a warning or worse. `worst` is
    the unit that is furthest behind.
    """

    done: int
    doubted: int
    leased: int
    wanted: int
    aside: int
    worst: Unfolded
    query: str
    folded: bool

    @property
    def adjusted(self) -> int:
        """Return the done slots of annotators whom no rule has flagged."""
        return self.done - self.doubted

    @property
    def text(self) -> str:
        """Return what stands in the cell."""
        if self.doubted:
            return f"{self.done} ({self.adjusted})/{self.wanted}"
        return f"{self.done}/{self.wanted}"

    @property
    def share(self) -> int:
        """Return done of wanted in quarters, 0 to 4; 4 only when complete."""
        return 4 * self.done // self.wanted if self.wanted else 0


@dataclass(frozen=True)
class Fold:
    """Neighbouring names shown as one; a lone name is itself."""

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
        """Return the places it holds, as the page's address names them."""
        return f"{self.first}-{self.last}"


@dataclass(frozen=True)
class Row:
    """One method, or one pair of methods, over the stories shown; or several."""

    fold: Fold
    methods: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    done: int
    doubted: int
    wanted: int

    @property
    def name(self) -> str:
        return self.fold.label

    @property
    def query(self) -> str:
        """Return how the list of slots is asked for those of this row."""
        return urlencode([("method", method) for method in self.methods])


@dataclass(frozen=True)
class Grid:
    """The heat map: what stands in its columns and rows, and how much there is."""

    columns: tuple[Fold, ...]
    rows: tuple[Row, ...]
    n_stories: int
    n_rows: int
    doubted: int
    shown: str = ""

    @property
    def is_part(self) -> bool:
        return bool(self.shown)

    @property
    def is_folded(self) -> bool:
        return any(fold.is_folded for fold in self.columns) or any(
            row.fold.is_folded for row in self.rows
        )


def totals(
    study: Study,
    *,
    found: Sequence[Unfolded] | None = None,
    surplus: int | None = None,
) -> Totals:
    """Sum the units' counters, of `units` where these were read already.

    Surplus slots are counted unless they are given.
    """
    if found is None:
        sums = study.units.filter(purpose=Purpose.REAL).aggregate(
            done=Sum("submitted"), wanted=Sum("redundancy")
        )
        done, wanted = sums["done"] or 0, (sums["wanted"] or 0) * study.rounds
    else:
        done = sum(unit.done for unit in found)
        wanted = sum(unit.wanted for unit in found)
    if surplus is None:
        surplus = study.slots.filter(SURPLUS).count()
    return Totals(
        submitted=done,
        wanted=wanted,
        leased=leases(study).count(),
        excluded=study.slots.filter(state=State.EXCLUDED).count(),
        surplus=surplus,
    )


def leases(study: Study) -> QuerySet[Slot]:
    """Return the wanted slots that somebody has in hand, the first to run out first."""
    return study.slots.filter(state=State.LEASED, ordinal__isnull=False).order_by(
        "lease_until"
    )


def units(study: Study) -> list[Unfolded]:
    """Return every real unit with its counts, by methods and story."""
    names = dict(Method.objects.values_list("pk", "name"))
    stories = dict(
        Story.objects.filter(benchmark=study.benchmark_id).values_list("pk", "key")
    )
    leased = Counter(leases(study).values_list("unit", flat=True))
    doubted = doubted_units(study)
    real = study.units.filter(purpose=Purpose.REAL).order_by()
    aside = set(real.filter(set_aside_at__isnull=False).values_list("pk", flat=True))
    pairs: dict[tuple[int, int | None], tuple[str, ...]] = {}
    found = []
    # Whole numbers only: other columns would be converted one by one.
    for pk, a, b, story, done, redundancy in real.values_list(
        "pk", "output_a__method", "output_b__method", "story", "submitted", "redundancy"
    ):
        methods = pairs.get((a, b))
        if methods is None:
            methods = (names[a],) if b is None else (names[a], names[b])
            pairs[a, b] = methods
        found.append(
            Unfolded(
                pk, methods, stories[story], done, min(doubted.get(pk, 0), done),
                leased.get(pk, 0), redundancy * study.rounds, pk in aside,
            )
        )  # fmt: skip
    return found


def of_question(
    found: Sequence[Unfolded], study: Study, question: Question
) -> list[Unfolded]:
    """Return the units that a question is asked of, with the answers it has.

    In a planned study a submitted slot answers every question that is asked of its
    story; imported answers may be partial, so theirs are counted.
    """
    asked = stories_of(study, question)
    answered = {} if study.template else _answered(study, question)
    return [
        unit
        if study.template
        else unit._replace(
            done=answered.get(unit.pk, 0),
            doubted=min(unit.doubted, answered.get(unit.pk, 0)),
        )
        for unit in found
        if unit.story in asked
    ]


def stories_of(study: Study, question: Question) -> set[str]:
    """Return the keys of the stories that a question is asked of."""
    rows = Story.objects.filter(benchmark=study.benchmark_id)
    return {
        key
        for key, tags in rows.values_list("key", "tags")
        if all(
            str(tags.get(tag)) in map(str, some)
            for tag, some in question.stories.items()
        )
    }


def doubted_units(study: Study) -> Counter[int]:
    """Count per unit the submitted slots of annotators with a warning or worse."""
    flagged = Flag.objects.filter(
        annotator__study=study, resolved_at__isnull=True, action__in=DOUBTS
    ).values_list("annotator", flat=True)
    done = Slot.objects.filter(
        annotator__in=list(flagged), state=State.SUBMITTED, ordinal__isnull=False
    )
    return Counter(done.values_list("unit", flat=True))


def _answered(study: Study, question: Question) -> dict[int, int]:
    """Count the answers to a question per unit, once for each state of the log."""
    latest = study.events.order_by("-id").values_list("id", flat=True).first()
    key = f"answered-{study.created_at.timestamp()}-{question.pk}-{latest}"
    model = Choice if study.is_pairwise else Rating

    def count() -> dict[int, int]:
        rows = model.objects.filter(
            question=question, is_current=True, annotator=F("slot__annotator"),
            slot__state=State.SUBMITTED, slot__ordinal__isnull=False,
        )  # fmt: skip
        counted = rows.values_list("slot__unit").annotate(n=Count("pk")).order_by()
        return dict(counted)

    return cache.get_or_set(key, count, 600)


def grid(found: Sequence[Unfolded], *, stories: str = "", rows: str = "") -> Grid:
    """Arrange units by method and story; fold what is more than fits.

    `stories` and `rows` name the places to show, as in "1-40"; all when empty.
    """
    names = sorted({unit.methods for unit in found})
    keys = sorted({unit.story for unit in found})
    columns = fold(keys, stories, COLUMNS)
    bands = fold([" / ".join(methods) for methods in names], rows, ROWS)
    column_of = {key: i for i, one in enumerate(columns) for key in one.names}
    band_of = {
        methods: i
        for i, band in enumerate(bands)
        for methods in names[band.first - 1 : band.last]
    }
    here: dict[tuple[int, int], list[Unfolded]] = defaultdict(list)
    for unit in found:
        if unit.story in column_of and unit.methods in band_of:
            here[band_of[unit.methods], column_of[unit.story]].append(unit)
    made = []
    for i, band in enumerate(bands):
        methods = () if band.is_folded else names[band.first - 1]
        cells = [
            _cell(here[i, j], methods, band, column) for j, column in enumerate(columns)
        ]
        present = [cell for cell in cells if cell is not None]
        made.append(
            Row(
                band,
                methods,
                tuple(cells),
                sum(cell.done for cell in present),
                sum(cell.doubted for cell in present),
                sum(cell.wanted for cell in present),
            )
        )
    shown = f"{stories} {rows}".strip()
    doubted = sum(row.doubted for row in made)
    return Grid(tuple(columns), tuple(made), len(keys), len(names), doubted, shown)


def fold(names: Sequence[str], places: str, into: int, most: int = MOST) -> list[Fold]:
    """Return names one by one, or neighbours together where they are more than `most`.

    Examples
    --------
    >>> [one.label for one in fold(["a", "b", "c", "d", "e"], "", 3, most=4)]
    ['a – b', 'c – d', 'e']
    >>> [one.label for one in fold(["a", "b", "c", "d", "e"], "2-4", 3, most=4)]
    ['b', 'c', 'd']
    """
    first, last = _span(places, len(names))
    n = last - first + 1
    size = -(-n // into) if n > most else 1
    ends = [(at, min(at + size - 1, last)) for at in range(first, last + 1, size)]
    return [Fold(at, end, tuple(names[at - 1 : end])) for at, end in ends]


def _span(places: str, n: int) -> tuple[int, int]:
    """Return the first and the last place that an address names; all if it is odd."""
    low, _dash, high = places.partition("-")
    if not (low.isdecimal() and high.isdecimal()) or len(places) > 20:
        return 1, n
    first, last = int(low), min(int(high), n)
    return (first, last) if 1 <= first <= last else (1, n)


def _cell(
    here: Sequence[Unfolded], methods: tuple[str, ...], band: Fold, column: Fold
) -> Cell | None:
    if not here:
        return None
    folded = band.is_folded or column.is_folded
    if folded:
        query = urlencode({"stories": column.span, "rows": band.span})
    else:
        asked = [("method", method) for method in methods]
        query = urlencode([*asked, ("story", column.names[0])])
    _pks, _methods, _stories, done, doubted, leased, wanted, aside = zip(
        *here, strict=True
    )
    return Cell(
        done=sum(done),
        doubted=sum(doubted),
        leased=sum(leased),
        wanted=sum(wanted),
        aside=sum(aside),
        worst=min(here, key=lambda unit: unit.done / (unit.wanted or 1)),
        query=query,
        folded=folded,
    )
