"""Tables as LaTeX with booktabs."""

import pandas as pd

from analysis.results import column_texts

SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    # A row that began with one of these would be read as an option of the one before.
    "[": "{[}",
    "*": "{*}",
}
TABLE = str.maketrans(SPECIAL)
# Longer tables do not fit on a page: they break over several.
LONGEST = 40


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints as it stands.

    >>> print(escaped("50 % of a_b"))
    50 \% of a\_b
    """
    return text.translate(TABLE)


def table(frame: pd.DataFrame) -> str:
    r"""Return a table with rules; numbers with three decimals, right-aligned.

    It needs `\usepackage{booktabs}`, `\usepackage[T1]{fontenc}` for quotes, and, for
    more than 40 rows, `\usepackage{longtable}`: such a table breaks over pages and
    repeats its head. In two columns longtable needs `\onecolumn` before it.
    """
    numeric = [pd.api.types.is_numeric_dtype(frame[c]) for c in frame.columns]
    alignment = "".join("r" if is_number else "l" for is_number in numeric)
    is_long = len(frame) > LONGEST
    name = "longtable" if is_long else "tabular"
    head = " & ".join(escaped(str(c)) for c in frame.columns) + r" \\"
    lines = [rf"\begin{{{name}}}{{{alignment}}}", r"\toprule", head, r"\midrule"]
    if is_long:
        again = [r"\toprule", head, r"\midrule", r"\endhead"]
        lines += [r"\endfirsthead", *again, r"\bottomrule", r"\endfoot"]
    columns = [
        [
            _numeral(text) if is_number else escaped(text)
            for text in column_texts(frame[c])
        ]
        for c, is_number in zip(frame.columns, numeric, strict=True)
    ]
    lines += [" & ".join(row) + r" \\" for row in zip(*columns, strict=True)]
    if not is_long:
        lines.append(r"\bottomrule")
    lines += [rf"\end{{{name}}}", ""]
    return "\n".join(lines)


def _numeral(text: str) -> str:
    """Set what needs it as mathematics: signs, bounds, powers of ten."""
    digits, _e, power = text.partition("e")
    if power.lstrip("+-").isdigit():
        return rf"${digits} \times 10^{{{int(power)}}}$"
    return f"${text}$" if text.startswith(("-", "<")) else text
