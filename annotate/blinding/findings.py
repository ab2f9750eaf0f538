"""What a check of blinding found: leaks, warnings, and how much was looked at."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field


@dataclass(frozen=True, order=True)
class BlindingFinding:
    """Something that tells methods apart, where, whom it tells, what would be right."""

    what: str
    where: str
    method: str
    right: str

    def line(self) -> str:
        who = f"{self.method}: " if self.method else ""
        return f"{who}{self.what}; {self.where}; right: {self.right}"


@dataclass
class LookedAt:
    """What was looked at."""

    slots: int = 0
    pages: int = 0
    pictures: int = 0
    videos: int = 0
    others: int = 0
    bytes: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        return (
            f"Looked at {self.slots} slots: {self.pages} pages, {self.pictures} "
            f"pictures, {self.videos} videos, {self.others} other answers, "
            f"{self.bytes / 1e6:,.1f} MB in {self.seconds:.1f} s."
        )


@dataclass
class BlindingReport:
    """All that was found; a study is blind when there is no leak."""

    leaks: list[BlindingFinding] = field(default_factory=list)
    warnings: list[BlindingFinding] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    counts: LookedAt = field(default_factory=LookedAt)

    @property
    def is_blind(self) -> bool:
        return not self.leaks

    def as_dict(self) -> dict[str, object]:
        return {
            "blind": self.is_blind,
            "leaks": [asdict(one) for one in self.leaks],
            "warnings": [asdict(one) for one in self.warnings],
            "notes": self.notes,
            "looked_at": asdict(self.counts),
        }


def folded(findings: Iterable[BlindingFinding]) -> list[BlindingFinding]:
    """Return one finding for each thing that was found, with its first place."""
    places: dict[tuple[str, str, str], list[str]] = {}
    for one in findings:
        key = (one.what, one.method, one.right)
        listed = places.setdefault(key, [])
        if one.where not in listed:
            listed.append(one.where)
    return [
        BlindingFinding(
            what,
            where[0] + f", and {len(where) - 1} more places" * (len(where) > 1),
            method,
            right,
        )
        for (what, method, right), where in places.items()
    ]
