"""Finding a score in what a judge wrote.

Judges decorate: `**Score:** 3`, `Score: 3/4`, `"score": 3`, `| Score | 3 |`. What could
be meant otherwise is refused rather than guessed: a range, a share of another scale, a
number that counts something.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

SHOWN = 16
DECORATION = r"[*_`\"']{0,9}"
OPENING = r"*_`\"'\[(<"
GAP = rf"[{OPENING} \t]*"
COLON = r"[ \t]*[:\uff1a=|]"
NUMBER = re.compile(r"(?P<number>-?\d{1,6}(?:\.\d{1,6})?)(?P<rest>[^\n]{0,80})")
OF = re.compile(r"\s*(?:[\[(]\s*)?(?:/|out\s+of|of)\s*(\d{1,6})", re.IGNORECASE)
# What a scale in brackets before the colon ends with: `(0-4)`, `(out of 10)`.
TOP = re.compile(
    r"(?:\d\s*(?:[-\u2010-\u2015~]|to)|/|of|max(?:imum)?:?)\s*(\d{1,6})\s*$", re.I
)
RANGE = re.compile(r"\s*(?:[-\u2013\u2014~]|to|or|and)\s*\d", re.IGNORECASE)
# What may follow a score; anything else tells that the number counts something.
END = re.compile(r"\s*(?:points?\b|because\b|since\b|as\b|for\b|[^\w\s%]|$)", re.I)


@dataclass(frozen=True)
class Unclear:
    """A number that is no score, with the reason."""

    reason: str


def scores_after(label: str, text: str, highest: int) -> list[float | Unclear]:
    """Return every number that stands after a label and a colon.

    `label`: a regular expression; the case of letters does not matter. `text`: what the
    judge wrote. `highest`: the top of the scale: `3/4` is a score where this is 4.
    Result: in their order; a number that cannot be taken as a score as `Unclear`. It
    may lie outside the scale.

    >>> scores_after("score", "Quite close. **Score (0-4):** 3/4", 4)
    [3.0]
    >>> scores_after("score", "Score: 75/100", 4)
    [Unclear(reason='75 is out of 100, not of 4')]
    """
    found = []
    for match in _mentions(label, rf"{COLON}{GAP}(?P<next>\n\s*{GAP})?", text):
        number = NUMBER.match(text, match.end())
        if number is None:
            continue
        score = _score(number, highest, match["scale"] or "")
        # On the next line only a score stands alone; `1. The scene` is a list.
        if match["next"] and not re.fullmatch(r"\W*", _beyond(number)):
            continue
        found.append(score)
    return found


def digits_after(label: str, text: str) -> list[int]:
    """Return the first digit after each mention of a label, whatever follows it.

    So a program reads that looks for one digit: 4 of `4.5`, 3 of `3-4`, 1 of `10`. A
    colon may be missing.

    >>> digits_after("score", "**Score:** 3-4, no, score 2.5")
    [3, 2]
    """
    mentions = _mentions(label, rf"(?:{COLON}[{OPENING}\s]*|\s*)(?P<digit>\d)", text)
    return [int(match["digit"]) for match in mentions]


def _mentions(label: str, then: str, text: str) -> Iterator[re.Match[str]]:
    """Yield where a label stands, perhaps with a scale in brackets, and what follows.

    `label` and `then` are regular expressions.
    """
    scale = r"(?:[ \t]*\((?P<scale>[^()\n]{0,40})\))?"
    return re.finditer(
        rf"(?<![^\W_]){label}{DECORATION}{scale}{DECORATION}{then}", text, re.I
    )


def _beyond(number: re.Match[str]) -> str:
    """Return what follows a number on its line, without `/4`."""
    rest = number["rest"]
    of = OF.match(rest)
    return rest[of.end() :] if of else rest


def _score(number: re.Match[str], highest: int, scale: str) -> float | Unclear:
    value, rest = number["number"], number["rest"]
    for top in (OF.match(rest), TOP.search(scale)):
        if top and int(top[1]) != highest:
            return Unclear(f"{value} is out of {top[1]}, not of {highest}")
    if RANGE.match(_beyond(number)):
        return Unclear(f"{value}{rest[:SHOWN]} is a range")
    if not END.match(_beyond(number)):
        return Unclear(f"{value}{rest[:SHOWN]} is no score")
    return float(value)
