"""Parsing of numbers in tables, the same for every kind of file.

Importing this loads neither numpy nor pandas: `evalcore` and the web use it as well.
"""

import math
import re
from collections.abc import Iterable

# 3, -0.5, 1e-3.
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
# So many characters of a refused cell are named by their code point.
MOST_CODE_POINTS = 3
# Scales have so many steps from one whole number to the next.
STEPS_OF_ONE = (1, 2, 4, 5, 10, 20)


def as_number(value: object) -> float:
    r"""Return a cell as a number; NaN for what is none, and for true and false.

    Only ASCII digits, signs and points make a number; blanks around it do no harm.

    Examples
    --------
    >>> as_number(" 007 "), as_number("1e400"), as_number("1,5"), as_number(True)
    (7.0, inf, nan, nan)
    >>> as_number("\u00a00.5"), as_number("\uff14"), as_number("\u22120.5")
    (0.5, nan, nan)
    """
    if isinstance(value, str):
        text = value.strip()
        return float(text) if _NUMBER.fullmatch(text) else float("nan")
    is_flag = getattr(getattr(value, "dtype", None), "kind", "") == "b"
    if is_flag or isinstance(value, bool | bytes):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # a whole number of hundreds of digits
        return float("inf")
    except (TypeError, ValueError):
        return float("nan")


def is_nan_word(value: object) -> bool:
    """Say whether a cell is the word that programs write for a missing number."""
    return isinstance(value, str) and value.strip().lower() == "nan"


def step_of(values: Iterable[float]) -> float:
    """Return the step of a scale that has all values; 0 where it has none.

    Examples
    --------
    >>> step_of([3.5, 4, 2]), step_of([57.3, 12.8]), step_of([3.3333, 4.0])
    (0.5, 0.1, 0.0)
    """
    known = list(values)
    for steps in STEPS_OF_ONE:
        if all(math.isclose(v * steps, round(v * steps)) for v in known):
            return 1 / steps
    return 0.0


def with_code_points(text: str) -> str:
    r"""Return a text with the code points of characters that are not ASCII.

    Examples
    --------
    >>> with_code_points("12 %"), ascii(with_code_points("\uff14.5"))
    ('12 %', "'\\uff14.5 (U+FF14)'")
    """
    odd = list(dict.fromkeys(letter for letter in text if not letter.isascii()))
    if not odd:
        return text
    points = ", ".join(f"U+{ord(letter):04X}" for letter in odd[:MOST_CODE_POINTS])
    more = ", ..." if len(odd) > MOST_CODE_POINTS else ""
    return f"{text} ({points}{more})"
