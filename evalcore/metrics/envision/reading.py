"""Reading the nine scores in a judge's reply; what is not clear is refused."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from evalcore.metrics.envision.dimensions import CODE, HIGHEST, PAPER, SUB_SCORES
from evalcore.metrics.envision.rubric import NAMES
from evalcore.metrics.llm_judge.scores import Unclear, digits_after, scores_after

# How judges write the names, as regular expressions.
PATTERNS: Mapping[str, str] = MappingProxyType(
    {
        "semantic": r"semantic[\s_]+consistency",
        "factual": r"factual[\s_]+consistency",
        "spatial_temporal": (
            r"spati(?:o|al)[\s_\-\u2010-\u2015]*temporal[\s_]+consistency"
        ),
        "basic_properties": r"basic[\s_]+properties",
        "dynamics": r"dynamics(?:[\s_]+(?:and|&)[\s_]+|[\s_]+)interactivity",
        "physical_reliability": r"physical[\s_]+reliability",
        "expressiveness": "expressiveness",
        "artistic_quality": r"(?:aesthetic|artistic)[\s_]+quality",
        "authenticity": "authenticity",
    }
)


@dataclass(frozen=True)
class Trial:
    """What one reply says."""

    scores: Mapping[str, int]  # all nine, whole numbers from 0 to 5
    # Why some of them are 0 in profile `envision-code-05be960`, by name.
    lacking: Mapping[str, str]


def read_trial(text: str, profile: str = PAPER) -> Trial:
    """Return the nine scores of a reply.

    `text`: what the judge answered. `profile`: `envision-paper`: only a reply with nine
    whole numbers from 0 to 5 is usable. `envision-code-05be960`: as in the reference
    program the first digit after a name is its score (4 of `4.5` and of `4-5`), the
    last mention with a digit from 0 to 5 decides, and a score without any counts 0.
    Bold names are read, which the program passes over.
    """
    read = _last_digit if profile == CODE else _whole_number
    found: dict[str, int] = {}
    lacking: dict[str, str] = {}
    for name in SUB_SCORES:
        try:
            found[name] = read(text, name)
        except ValueError as error:
            lacking[name] = str(error)
    if not found:
        raise ValueError("none of the nine scores is given")
    if lacking and profile != CODE:
        raise ValueError("; ".join(lacking.values()))
    return Trial({name: found.get(name, 0) for name in SUB_SCORES}, lacking)


def _last_digit(text: str, name: str) -> int:
    """Return one score as the reference program reads it."""
    given = [n for n in digits_after(PATTERNS[name], text) if n <= HIGHEST]
    if not given:
        raise ValueError(f"{NAMES[name]} is missing")
    return given[-1]


def _whole_number(text: str, name: str) -> int:
    """Return one score that can be meant in one way only."""
    called = NAMES[name]
    given = []
    for number in scores_after(PATTERNS[name], text, HIGHEST):
        if isinstance(number, Unclear):
            raise ValueError(f"{called}: {number.reason}")
        if number != int(number):
            raise ValueError(f"{called}: {number:g} is no whole number")
        if not 0 <= int(number) <= HIGHEST:
            raise ValueError(f"{called}: {number:g} is not from 0 to {HIGHEST}")
        given.append(int(number))
    if not given:
        raise ValueError(f"{called} is missing")
    if len(set(given)) > 1:
        both = " and ".join(map(str, dict.fromkeys(given)))
        raise ValueError(f"{called} is given as {both}")
    return given[0]
