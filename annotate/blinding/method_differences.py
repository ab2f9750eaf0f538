"""What differs between methods in addresses, in words and numbers, and in gaps."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping

from django.db.models import Count, Q, QuerySet

from annotate.blinding.findings import BlindingFinding, Telltale
from annotate.blinding.leak_scan import NO_NAMES, Scanner
from annotate.blinding.seat_crawl import Visit
from evalcore.models import Output

MORE_OFTEN = "more often on this method's pages than on others of the same stories"
_ATTRIBUTE = re.compile(r'([\w-]+)="([^"]*)"')
_NUMBER = re.compile(r"\d+(\.\d+)?(px|s)?")


def repeated_addresses(
    slots: Iterable[tuple[str, Mapping[str, str]]],
) -> Iterator[BlindingFinding]:
    """Yield addresses of pictures, given with their methods, that slots share."""
    seen: dict[str, str] = {}
    for code, addresses in slots:
        for address, method in addresses.items():
            first = seen.setdefault(address, code)
            if first != code:
                yield BlindingFinding(
                    "the same address of a picture in two slots",
                    f"at {address}, of slots {first} and {code}",
                    method,
                    "addresses below the annotator's own link and the slot's code",
                )


def telling_parts(
    addresses: Iterable[tuple[str, str, list[str]]],
) -> Iterator[BlindingFinding]:
    """Yield parts of addresses, given with their methods, that one method alone has."""
    listed = list(addresses)
    owners: dict[str, set[str]] = defaultdict(set)
    for _where, method, parts in listed:
        for part in parts:
            owners[part].add(method)
    if len({method for _where, method, _parts in listed}) < 2:
        return
    for where, method, parts in listed:
        for part in parts:
            if owners[part] == {method}:
                yield BlindingFinding(
                    f"“{part}” stands only in addresses of this method",
                    f"at {where}",
                    method,
                    "addresses that say only where a picture stands",
                )


def compare_gaps(outputs: QuerySet[Output]) -> Iterator[BlindingFinding]:
    """Yield how often shots are missing where that is not equally often everywhere."""
    lacking = Count("frames", filter=Q(frames__media=None))
    rows = outputs.filter(frames__isnull=False).annotate(lacking=lacking)
    gaps: dict[str, list[bool]] = defaultdict(list)
    for method, absent in rows.order_by("pk").values_list("method__name", "lacking"):
        gaps[method].append(absent > 0)
    if len({sum(each) / len(each) for each in gaps.values()}) > 1:
        listed = ", ".join(
            f"{method} {sum(each)} of {len(each)}"
            for method, each in sorted(gaps.items())
        )
        yield BlindingFinding(
            f"outputs that lack shots: {listed}",
            "in shots that are missing",
            "",
            "every shot of every method, or a study without those stories",
        )


class PageCounts:
    """Counts of common telltales and of numbers, which alone prove nothing."""

    def __init__(self, scanner: Scanner) -> None:
        self.scanner = scanner
        # Of each story: the methods of a slot, and what stands how often where.
        self.stories: dict[
            str, list[tuple[frozenset[str], Counter[tuple[Telltale | str, str]]]]
        ] = defaultdict(list)

    def add(self, visit: Visit) -> None:
        """Count what the pages of a slot hold, in each attribute and in the text."""
        counted: Counter[tuple[Telltale | str, str]] = Counter()
        for page in visit.pages:
            rest = self.scanner.without_own(visit.plain(page.text))
            attributes = _ATTRIBUTE.findall(rest)
            for place, text in [*attributes, ("text", _ATTRIBUTE.sub(" ", rest))]:
                for one, pattern in self.scanner.telltales.common.items():
                    if n := len(pattern.findall(text)):
                        counted[one, place] += n
                if _NUMBER.fullmatch(text):
                    counted[text, place] += 1
        methods = frozenset(output.method.name for output in visit.shown.values())
        self.stories[visit.unit.story.key].append((methods, counted))

    def words(self) -> Iterator[BlindingFinding]:
        """Yield telltales that every story shows more often with their method."""
        for one, place in self._counted():
            if isinstance(one, Telltale) and self._tells((one, place), one.methods):
                what, where = f"{one.kind} “{one.text}”", f"in {place}, {MORE_OFTEN}"
                yield BlindingFinding(what, where, one.who, NO_NAMES)

    def numbers(self) -> Iterator[BlindingFinding]:
        """Yield numbers in attributes that every story shows more often with one."""
        pages = [shown for each in self.stories.values() for shown, _c in each]
        for one, place in self._counted():
            for name in sorted(set().union(*pages)) if isinstance(one, str) else ():
                if self._tells((one, place), frozenset([name])):
                    what, where = f"number {one}", f"in {place}, {MORE_OFTEN}"
                    right = "the same numbers for all methods"
                    yield BlindingFinding(what, where, name, right)

    def _counted(self) -> list[tuple[Telltale | str, str]]:
        every = (counted for pages in self.stories.values() for _m, counted in pages)
        return sorted(set().union(*every), key=str)

    def _tells(self, key: tuple[Telltale | str, str], methods: frozenset[str]) -> bool:
        compared = [
            (
                [counted[key] for shown, counted in pages if shown & methods],
                [counted[key] for shown, counted in pages if not shown & methods],
            )
            for pages in self.stories.values()
        ]
        both = [(own, others) for own, others in compared if own and others]
        return bool(both) and all(min(own) > max(others) for own, others in both)
