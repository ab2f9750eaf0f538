"""What tells methods apart only when their answers are held side by side."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from annotate.blinding.file_metadata import Facts
from annotate.blinding.findings import BlindingFinding

# The length of a file follows from the picture in it, which is shown anyway; the others
# change with every answer.
OWN = {"content-length", "set-cookie", "expires", "date"}
FORBIDDEN = {"etag", "last-modified", "content-disposition"}
DIFFERENT_SECONDS = 0.05


@dataclass(frozen=True)
class SentMedia:
    """An answer with a picture or a video of a method."""

    address: str
    group: str
    method: str
    headers: Mapping[str, str]
    facts: Facts
    story: str = ""


def forbidden_headers(
    address: str, headers: Mapping[str, str]
) -> Iterator[BlindingFinding]:
    """Yield headers by which equal contents or files could be recognised."""
    for name, value in headers.items():
        if name.lower() in FORBIDDEN:
            yield BlindingFinding(
                f"header {name} ({value[:60]})",
                f"at {address}",
                "",
                "no ETag, Last-Modified or Content-Disposition in any answer",
            )


def compare_headers(sent: Iterable[SentMedia]) -> Iterator[BlindingFinding]:
    """Yield headers that some methods have, or have with another value."""
    right = "the same headers with the same values for all methods"
    for group, answers in _grouped(sent):
        shown = [(a, {n.lower(): v for n, v in a.headers.items()}) for a in answers]
        names = {name for _a, headers in shown for name in headers}
        for name in sorted(names - OWN - FORBIDDEN):
            found = [(a, headers.get(name, "none")) for a, headers in shown]
            yield from _odd(found, f"header {name} of {group}:", right)


def compare_marks(sent: Iterable[SentMedia]) -> Iterator[BlindingFinding]:
    """Yield colour profiles and encoder settings that not all methods have."""
    right = "the same format, profile and encoder for all methods"
    for group, answers in _grouped(sent):
        marks = [(a, ", ".join((a.facts.kind, *a.facts.marks))) for a in answers]
        yield from _odd(marks, f"{group} differ in their files:", right)


def compare_sizes(
    sent: Iterable[SentMedia], box: tuple[int, int] | None
) -> Iterator[BlindingFinding]:
    """Yield sizes in pixels by which a method could be recognised."""
    right = "all in one size"
    if box:
        right += ", {} x {} for the display".format(*box)
    for group, answers in _grouped(sent):
        sized = [(a, "{} x {}".format(*a.facts.size)) for a in answers if a.facts.size]
        yield from _odd(sized, f"{group} are", right, " pixels")


def compare_videos(sent: Iterable[SentMedia]) -> Iterator[BlindingFinding]:
    """Yield frame rates and durations that differ; watching tells them anyway."""
    by_rate: dict[str, set[float]] = defaultdict(set)
    by_story: dict[str, dict[str, float]] = defaultdict(dict)
    for one in sent:
        if one.facts.frame_rate:
            by_rate[one.method].add(round(one.facts.frame_rate, 2))
        if one.facts.seconds:
            by_story[one.story][one.method] = one.facts.seconds
    for what, told in (
        ("frame rate", {m: sorted(rates) for m, rates in by_rate.items()}),
        ("duration", _unequal(by_story)),
    ):
        if len({str(value) for value in told.values()}) > 1:
            listed = ", ".join(f"{m} {told[m]}" for m in sorted(told))
            yield BlindingFinding(
                f"{what} differs between methods: {listed}",
                "in videos",
                "",
                "videos of the same length and frame rate, if methods allow it",
            )


def _unequal(by_story: dict[str, dict[str, float]]) -> dict[str, str]:
    """Return the durations of the first story in which methods differ in them."""
    for seconds in by_story.values():
        if max(seconds.values()) - min(seconds.values()) > DIFFERENT_SECONDS:
            return {method: f"{length:.2f} s" for method, length in seconds.items()}
    return {}


def compare_gaps(gaps: Mapping[str, tuple[int, int]]) -> Iterator[BlindingFinding]:
    """Yield how often shots are missing where that is not equally often everywhere."""
    if len({lacking / every for lacking, every in gaps.values()}) > 1:
        listed = ", ".join(
            f"{method} {lacking} of {every}"
            for method, (lacking, every) in sorted(gaps.items())
        )
        yield BlindingFinding(
            f"outputs that lack shots: {listed}",
            "in shots that are missing",
            "",
            "every shot of every method, or a study without those stories",
        )


def repeated_addresses(
    assignments: Iterable[tuple[str, Mapping[str, str]]],
) -> Iterator[BlindingFinding]:
    """Yield addresses of pictures that two assignments share."""
    seen: dict[str, str] = {}
    for name, addresses in assignments:
        for address, method in addresses.items():
            first = seen.setdefault(address, name)
            if first != name:
                yield BlindingFinding(
                    "the same address of a picture in two assignments",
                    f"at {address}, of {first} and {name}",
                    method,
                    "addresses below the annotator's own link and the slot's code",
                )


def telling_parts(
    addresses: Iterable[tuple[str, str, tuple[str, ...]]], most: int
) -> Iterator[BlindingFinding]:
    """Yield parts of addresses that occur with one method only."""
    listed = list(addresses)
    owners: dict[str, set[str]] = defaultdict(set)
    for _address, method, parts in listed:
        for part in parts:
            owners[part].add(method)
    methods = {method for _address, method, _parts in listed}
    for address, method, parts in listed:
        for part in parts:
            counts = part.isdigit() and int(part) <= most
            if len(methods) > 1 and owners[part] == {method} and not counts:
                yield BlindingFinding(
                    f"“{part}” stands only in addresses of this method",
                    f"at {address}",
                    method,
                    "addresses that say only where a picture stands",
                )


def _grouped(sent: Iterable[SentMedia]) -> Iterator[tuple[str, list[SentMedia]]]:
    groups: dict[str, list[SentMedia]] = defaultdict(list)
    for one in sent:
        groups[one.group].append(one)
    yield from groups.items()


def _odd(
    values: list[tuple[SentMedia, str]], what: str, right: str, unit: str = ""
) -> Iterator[BlindingFinding]:
    """Yield what differs from the value that most answers have, with both values."""
    if not values:
        return
    usual = Counter(value for _one, value in values).most_common(1)[0][0]
    for one, value in values:
        if value != usual:
            found = f"{what} {value}{unit}, elsewhere {usual}"
            yield BlindingFinding(found, f"at {one.address}", one.method, right)
