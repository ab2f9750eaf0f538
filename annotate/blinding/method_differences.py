"""Differences between methods in words and numbers of pages, and in gaps."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Set

from django.db.models import Count, Q, QuerySet

from annotate.blinding.findings import BlindingFinding, Telltale
from annotate.blinding.leak_scan import NO_NAMES, Scanner
from annotate.blinding.seat_crawl import Visit
from evalcore.models import Output

MORE_OFTEN = "more often on this method's pages than on others of the same stories"
# A telltale or a number, and the attribute that it stands in, or the text.
Key = tuple[Telltale | str, str]
_ATTRIBUTE = re.compile(r'([\w-]{1,60})="([^"]*)"')
_NUMBER = re.compile(r"\d+(\.\d+)?(px|s)?")


def compare_gaps(outputs: QuerySet[Output]) -> Iterator[BlindingFinding]:
    """Yield the numbers of missing shots if they differ between methods."""
    lacking = Count("frames", filter=Q(frames__media=None))
    rows = outputs.filter(frames__isnull=False).annotate(lacking=lacking)
    gaps: dict[str, list[bool]] = defaultdict(list)
    for method, absent in rows.order_by("pk").values_list("method__name", "lacking"):
        gaps[method].append(absent > 0)
    shares = {name: sum(each) / len(each) for name, each in gaps.items()}
    if len(set(shares.values())) > 1:
        listed = [f"{name} {sum(each)} of {len(each)}" for name, each in gaps.items()]
        yield BlindingFinding(
            f"outputs with missing shots: {', '.join(sorted(listed))}",
            "in missing shots",
            "",
            "all shots from every method, or a study without these stories",
        )


class PageCounts:
    """Counts of common telltales and of numbers, which alone prove nothing."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        self.methods: set[str] = set()
        # By story: the methods of a slot, and the counts of each text and place.
        self.stories: dict[str, list[tuple[set[str], Counter[Key]]]] = defaultdict(list)

    def add(self, visit: Visit) -> None:
        """Count telltales and numbers on a slot's pages, by attribute or text."""
        counted: Counter[Key] = Counter()
        for page in visit.pages:
            rest = self.scanner.without_own(visit.plain(page.text))
            attributes = _ATTRIBUTE.findall(rest)
            for place, text in [*attributes, ("text", _ATTRIBUTE.sub(" ", rest))]:
                for one, pattern in self.scanner.telltales.common.items():
                    if n := len(pattern.findall(text)):
                        counted[one, place] += n
                if _NUMBER.fullmatch(text):
                    counted[text, place] += 1
        methods = {output.method.name for output in visit.shown.values()}
        self.methods |= methods
        self.stories[visit.unit.story.key].append((methods, counted))

    def words(self) -> Iterator[BlindingFinding]:
        """Yield telltales more frequent with their method in every story."""
        for one, place in self._keys():
            if isinstance(one, Telltale) and self._tells((one, place), one.methods):
                what, where = f"{one.kind} “{one.text}”", f"in {place}, {MORE_OFTEN}"
                yield BlindingFinding(what, where, one.who, NO_NAMES)

    def numbers(self) -> Iterator[BlindingFinding]:
        """Yield numbers more frequent with one method in every story."""
        for key in self._keys():
            for name in sorted(self.methods) if isinstance(key[0], str) else ():
                if self._tells(key, {name}):
                    what, where = f"number {key[0]}", f"in {key[1]}, {MORE_OFTEN}"
                    right = "the same numbers for all methods"
                    yield BlindingFinding(what, where, name, right)

    def _keys(self) -> list[Key]:
        every = (counted for pages in self.stories.values() for _m, counted in pages)
        return sorted(set().union(*every), key=str)

    def _tells(self, key: Key, methods: Set[str]) -> bool:
        compared = [
            (
                [counted[key] for shown, counted in pages if shown & methods],
                [counted[key] for shown, counted in pages if not shown & methods],
            )
            for pages in self.stories.values()
        ]
        both = [(own, others) for own, others in compared if own and others]
        return bool(both) and all(min(own) > max(others) for own, others in both)
