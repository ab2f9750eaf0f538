"""Terms of statistics and of Plumbline, each explained in one sentence."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from annotate.models import localised

FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Term:
    """A term with its name and its meaning by language."""

    key: str
    names: dict[str, str]
    meanings: dict[str, str]

    @property
    def name(self) -> str:
        return localised(self.names)

    @property
    def meaning(self) -> str:
        return localised(self.meanings)


@dataclass(frozen=True)
class TermGroup:
    """Related terms under a title."""

    titles: dict[str, str]
    terms: tuple[Term, ...]

    @property
    def title(self) -> str:
        return localised(self.titles)


@cache
def groups() -> tuple[TermGroup, ...]:
    """Return the groups of terms in the order of the page."""
    data = tomllib.loads(FILE.read_text("utf-8"))
    return tuple(
        TermGroup(
            {code: group[code] for code in ("en", "zh")},
            tuple(_term(key, texts) for key, texts in group["terms"].items()),
        )
        for group in data["group"]
    )


def _term(key: str, texts: dict[str, str]) -> Term:
    codes = ("en", "zh")
    return Term(
        key,
        {code: texts[code] for code in codes},
        {code: texts[f"{code}_meaning"] for code in codes},
    )


@cache
def terms() -> dict[str, Term]:
    """Return the terms by key."""
    return {term.key: term for group in groups() for term in group.terms}
