"""Tables as LaTeX with booktabs."""

import math

import pandas as pd

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}",
}  # fmt: skip


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints as it stands.

    Examples
    --------
    >>> print(escaped("50 % of a_b"))
    50 \% of a\_b
    """
    return "".join(SPECIAL.get(character, character) for character in text)


def table(frame: pd.DataFrame) -> str:
    r"""Return a tabular with rules; numbers with three decimals, right-aligned.

    It needs `\usepackage{booktabs}`, and `\usepackage[T1]{fontenc}` for quotes.
    """
    numeric = [pd.api.types.is_numeric_dtype(frame[c]) for c in frame.columns]
    alignment = "".join("r" if is_number else "l" for is_number in numeric)
    lines = [f"\\begin{{tabular}}{{{alignment}}}", "\\toprule"]
    lines.append(" & ".join(escaped(str(c)) for c in frame.columns) + r" \\")
    lines.append("\\midrule")
    for row in frame.itertuples(index=False):
        lines.append(" & ".join(_cell(value) for value in row) + r" \\")
    lines += ["\\bottomrule", "\\end{tabular}", ""]
    return "\n".join(lines)


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        if value.is_integer() and abs(value) < 1e9:
            return f"${value:.0f}$" if value < 0 else f"{value:.0f}"
        text = f"{value:.3f}"
        return f"${text}$" if value < 0 else text
    return escaped(str(value))
