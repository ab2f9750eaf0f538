"""Findings about tables, as data, and the exit statuses they mean."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import islice

from analysis.problems import SHOWN_OF_A_KIND, listed, without_numbers

# Exit statuses, of `align --require` as well.
SOUND, UNUSABLE, FINDINGS = range(3)


class Kind(StrEnum):
    """Importance of a finding; each value is its heading."""

    TABLE = "Tables"
    UNUSABLE = "Cannot be used"
    CHECK = "Check these"
    LIMIT = "What the tables cannot show, or only in part"
    SUPPORT = "What they can show"


@dataclass(frozen=True)
class Finding:
    """One thing that a table supports, lacks or gets wrong.

    `n` counts what is concerned (rows, outputs, people: `what` says which); `advice` is
    what would be right, or how many more are needed.
    """

    file: str
    kind: Kind
    what: str
    n: int
    advice: str = ""

    def __str__(self) -> str:
        # Problems of readers name their file and line already.
        is_placed = self.what.startswith((f"{self.file}:", "..."))
        text = self.what if is_placed else f"{self.file}: {self.what}"
        return " ".join(filter(None, (text, self.advice)))


def exit_status(findings: Iterable[Finding]) -> int:
    """Return 1 if a table cannot be used, 2 if something is to be checked, else 0."""
    kinds = {finding.kind for finding in findings}
    if Kind.UNUSABLE in kinds:
        return UNUSABLE
    return FINDINGS if Kind.CHECK in kinds else SOUND


def of_questions(found: Iterable[tuple[str, Finding]], every: int) -> Iterator[Finding]:
    """Yield findings about single questions, those that say the same once.

    Of supports that differ in numbers, the one with the fewest is kept; of others, the
    first questions are named. `every` is the number of questions.
    """
    alike: dict[tuple[Kind, str], dict[Finding, list[str]]] = {}
    for question, finding in found:
        own = alike.setdefault((finding.kind, without_numbers(finding.what)), {})
        own.setdefault(finding, []).append(question)
    for (kind, _text), own in alike.items():
        if kind is Kind.SUPPORT and len(own) > 1:
            least = min(own, key=lambda finding: finding.n)
            what = f"{least.what.removesuffix('.')} ({own[least][0]}, the fewest)."
            yield replace(least, what=what)
            continue
        for finding, names in islice(own.items(), SHOWN_OF_A_KIND):
            about = "" if len(names) == every else f"{listed(names)}: "
            yield replace(finding, what=f"{about}{finding.what}")
        rest = [names for _finding, names in own.items()][SHOWN_OF_A_KIND:]
        if rest:
            n = sum(map(len, rest))
            what = f"{n} more questions: as before, with other numbers."
            yield Finding(finding.file, kind, what, n)


def printed(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield findings as lines, the most important kind first, and a conclusion."""
    for kind in Kind:
        own = [str(finding) for finding in findings if finding.kind is kind]
        if own:
            yield f"{kind}:"
            yield from (f"  {text}" for text in own)
            yield ""
    yield {
        SOUND: "Nothing to correct.",
        FINDINGS: "The tables can be used once the points above are checked.",
        UNUSABLE: "Correct what cannot be used first.",
    }[exit_status(findings)]
