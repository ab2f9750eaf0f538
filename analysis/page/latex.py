"""Tables as LaTeX with booktabs."""

import pandas as pd

from analysis.page.printing import column_texts

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#",
    "_": r"\_", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", '"': r"\textquotedbl{}",
}  # fmt: skip
TABLE = str.maketrans(SPECIAL)


def escaped(text: str) -> str:
    r"""Return text that LaTeX prints as it stands.

    Examples
    --------
    >>> print(escaped("50 % of a_b"))
    50 \% of a\_b
    """
    return text.translate(TABLE)


def table(frame: pd.DataFrame) -> str:
    r"""Return a tabular with rules; numbers with three decimals, right-aligned.

    It needs `\usepackage{booktabs}`, and `\usepackage[T1]{fontenc}` for quotes.
    """
    numeric = [pd.api.types.is_numeric_dtype(frame[c]) for c in frame.columns]
    alignment = "".join("r" if is_number else "l" for is_number in numeric)
    lines = [f"\\begin{{tabular}}{{{alignment}}}", "\\toprule"]
    lines.append(" & ".join(escaped(str(c)) for c in frame.columns) + r" \\")
    lines.append("\\midrule")
    columns = [
        [
            _numeral(text) if is_number else escaped(text)
            for text in column_texts(frame[c])
        ]
        for c, is_number in zip(frame.columns, numeric, strict=True)
    ]
    lines += [" & ".join(row) + r" \\" for row in zip(*columns, strict=True)]
    lines += ["\\bottomrule", "\\end{tabular}", ""]
    return "\n".join(lines)


def _numeral(text: str) -> str:
    """Set what needs it as mathematics: signs, bounds, powers of ten."""
    digits, _e, power = text.partition("e")
    if power.lstrip("+-").isdigit():
        return rf"${digits} \times 10^{{{int(power)}}}$"
    return f"${text}$" if text.startswith(("-", "<")) else text
