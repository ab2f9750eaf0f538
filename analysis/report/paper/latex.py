r"""LaTeX of a paper's tables, for one column or two of A4.

A fragment needs the packages booktabs, array and xcolor (option ``table``); `main` is a
document that includes all fragments.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from analysis.report.paper.layout import (
    Column,
    Line,
    PaperTable,
    Printed,
    packed,
    printed,
)
from analysis.report.paper.sample import OF_FAMILIES
from analysis.report.tables import escaped
from analysis.report.wording import MINUS

# Widths in points: of one column of two, of the text of a narrow page with one column,
# and of a character of either size.
ONE, BOTH = 226.0, 390.0
CHARACTER, SMALL, BETWEEN = 4.4, 4.0, 6.0
# The first column and single headings take at most this width.
WIDEST_STUB, WIDEST_HEAD = 105.0, 64.0
# The most lines of text in one table.
MOST_LINES = 50
# The height of a section's heading, in lines.
HEADING = 1.5
# Longer words may break after a sign, and longer runs without one anywhere.
LONGEST_WORD, LONGEST_RUN = 12, 20
NARROW = frozenset(".,:;[]|'!()iljtf ")
BAR_WIDTH = 30.0
COLOURS = ("0B4A86", "D0D3D2", "E69F00")


def _name(letter: str) -> str:
    """Return the command of a Greek letter.

    >>> _name("Ξ"), _name("λ")
    ('Xi', 'lambda')
    """
    name = unicodedata.name(letter).split()[-1].replace("LAMDA", "LAMBDA")
    return name.title() if letter.isupper() else name.lower()


GREEK = "ΓΔΘΛΞΠΣΦΨΩαβγδεζηθικλμνξπρστφχψω"
MATHS = {
    **dict(
        zip("−≥≤×±→", ("-", r"\geq", r"\leq", r"\times", r"\pm", r"\to"), strict=True)
    ),
    **{c: rf"\{_name(c)}" for c in GREEK},
}
# Characters that LaTeX prints from UTF-8 without further declarations.
KNOWN = frozenset("–—‘’“”†‡•…€")
LATIN_END = 0x180
# Characters of the package CJKutf8: punctuation, kana, Chinese, full width.
CHINESE = re.compile("[\u3000-\u30ff\u4e00-\u9cff\u9e00-\u9fff\uff00-\uffef]")
REFERENCE = r"the families of Table~\ref{tab:families}"
PACKAGES = "% Packages: booktabs, array, xcolor with the option table.\n"


def as_text(text: str) -> str:
    r"""Return a text that LaTeX prints literally, and may break in long words.

    >>> print(as_text("50 % of some_long_name"))
    50 \% of some\_\allowbreak{}long\_\allowbreak{}name
    """
    return " ".join(map(_breakable, text.split()))


def _breakable(word: str) -> str:
    if len(word) <= LONGEST_WORD:
        return literal(word)
    pieces = [
        part[i : i + LONGEST_RUN]
        for part in re.split(r"(?<=[_/|:-])", word)
        for i in range(0, len(part), LONGEST_RUN)
    ]
    return r"\allowbreak{}".join(map(literal, pieces))


def literal(text: str) -> str:
    r"""Return a text that LaTeX prints literally and does not break.

    Characters that need other fonts become boxes with their codes.
    """
    return "".join(map(_character, text)).replace("--", "-{}-")


def _character(c: str) -> str:
    if c in MATHS:
        return f"${MATHS[c]}$"
    if unicodedata.category(c)[0] == "C":
        return ""
    return rf"\fbox{{\tiny {ord(c):04X}}}" if _is_boxed(c) else escaped(c)


def _is_boxed(c: str) -> bool:
    is_plain = ord(c) < LATIN_END or c in KNOWN or c in MATHS
    return not (is_plain or CHINESE.fullmatch(c))


def width_of(text: str, character: float = CHARACTER) -> float:
    """Return the width of a text in points, roughly: Chinese characters are wide."""
    narrow = sum(c in NARROW for c in text)
    capitals = sum(c.isupper() for c in text)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in text)
    boxes = sum(map(_is_boxed, text))
    signs = text.count(MINUS)
    extra = 0.9 * wide + 4 * boxes + 0.4 * (capitals + signs) - 0.45 * narrow
    return character * (len(text) + extra)


def as_latex(table: PaperTable) -> str:
    """Return a table as one float or several, each for one column or for both."""
    rows, notes = printed(table)
    widths = [
        _width(column, [row[i] for row in rows])
        for i, column in enumerate(table.columns)
    ]
    _widen(widths, table.columns)
    used = sum(widths) + BETWEEN * len(widths)
    room = (ONE if WIDEST_STUB + used <= ONE else BOTH) - used
    names = [table.stub, *(line.name for line in table.lines)]
    stub = min(max(WIDEST_STUB, room), 1.1 * max(map(width_of, names)) + 4)
    parts = [
        (columns, lines)
        for columns in packed(table.columns, [w + BETWEEN for w in widths], BOTH - stub)
        for lines in _lines(table.lines, rows)
    ]
    floats = [
        _float(table, part, (rows, widths, stub), notes, n)
        for n, part in enumerate(parts, 1)
    ]
    return PACKAGES + "\n".join(floats)


def _width(column: Column, cells: Sequence[Printed]) -> float:
    """Return the width of a column by its cells and its heading."""
    texts = [
        max(
            width_of(one.text) + width_of(one.above, SMALL),
            width_of(one.below, SMALL),
            BAR_WIDTH * 3 if one.cell.parts else 0.0,
        )
        for one in cells
    ]
    return max(*texts, min(WIDEST_HEAD, width_of(column.title)), 0.0)


def _widen(widths: list[float], columns: Sequence[Column]) -> None:
    """Widen the columns of each group to the longest word of its heading."""
    places: dict[str, list[int]] = {}
    for i, column in enumerate(columns):
        places.setdefault(column.group, []).append(i)
    for group, own in places.items():
        word = max(map(width_of, group.split()), default=0.0) + 2
        missing = word - sum(widths[i] + BETWEEN for i in own) + BETWEEN
        for i in own:
            widths[i] += max(0.0, missing) / len(own)


def _lines(lines: Sequence[Line], rows: Sequence[Sequence[Printed]]) -> Iterator[range]:
    """Yield the lines of each table, which ends before a section that does not fit."""
    height = 2.0 if any(one.below for row in rows for one in row) else 1.0
    start = first = 0
    used = 0.0
    for i, line in enumerate(lines):
        is_new = i > 0 and line.section != lines[i - 1].section
        first = i if is_new else first
        used += height + (HEADING if is_new else 0)
        if used > MOST_LINES:
            end = first if first > start else i
            yield range(start, end)
            start, used = end, height * (i - end + 1) + HEADING
    yield range(start, len(lines))


def _float(
    table: PaperTable,
    part: tuple[list[int], range],
    sizes: tuple[list[list[Printed]], list[float], float],
    notes: Sequence[str],
    n: int,
) -> str:
    """Return one float; those after the first say that they continue it."""
    places, lines = part
    rows, widths, stub = sizes
    columns, own = [table.columns[i] for i in places], [widths[i] for i in places]
    is_narrow = stub + sum(own) + BETWEEN * len(own) <= ONE
    kind = "table" if is_narrow else "table*"
    caption = table.caption
    if n > 1:
        caption = f"{caption.split('. ')[0].rstrip('.')} (continued)."
    label = f"tab:{table.key}" + (f"-{n}" if n > 1 else "")
    bars = [any(row[i].cell.parts for row in rows) for i in places]
    alignment = "".join("l" if is_bar else "c" for is_bar in bars)
    kept = [[rows[i][j] for j in places] for i in lines]
    named = [table.lines[i] for i in lines]
    marks = {one.above for row in kept for one in row}
    own_notes, reasons = notes[: len(table.notes)], notes[len(table.notes) :]
    reasons = [text for text in reasons if text.split()[0] in marks]
    return "\n".join(
        [
            rf"\begin{{{kind}}}[tp]",
            rf"\caption{{{as_text(caption)}}}\label{{{label}}}",
            r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
            r"\begin{tabular}{@{}>{\raggedright\arraybackslash}"
            rf"p{{{stub:.0f}pt}}{alignment}@{{}}}}",
            r"\toprule",
            *_head(table.stub, columns, own),
            r"\midrule",
            *_body(named, kept, stub, stub + sum(own) + BETWEEN * len(own)),
            r"\bottomrule",
            r"\end{tabular}",
            *_notes([*own_notes, *reasons]),
            rf"\end{{{kind}}}",
            "",
        ]
    )


def _head(
    stub: str, columns: Sequence[Column], widths: Sequence[float]
) -> Iterator[str]:
    """Yield the headings of groups, if there are any, and those of columns."""
    starts = [
        i for i, c in enumerate(columns) if not i or columns[i - 1].group != c.group
    ]
    if any(column.group for column in columns):
        cells, rules = [], []
        for start, end in zip(starts, [*starts[1:], len(columns)], strict=True):
            width = sum(widths[start:end]) + BETWEEN * (end - start - 1)
            title = _boxed(columns[start].group, width)
            cells.append(rf"\multicolumn{{{end - start}}}{{c}}{{{title}}}")
            if columns[start].group:
                rules.append(rf"\cmidrule(lr){{{start + 2}-{end + 1}}}")
        yield " & ".join(["", *cells]) + r" \\"
        yield "".join(rules)
    titles = [_boxed(c.title, w) for c, w in zip(columns, widths, strict=True)]
    yield " & ".join([as_text(stub), *titles]) + r" \\"


def _boxed(title: str, width: float) -> str:
    """Return a heading, in several lines if it is wider than its columns."""
    text = as_text(title)
    if width_of(title) <= width:
        return text
    return rf"\parbox[b]{{{width:.0f}pt}}{{\centering {text}}}"


def _body(
    lines: Sequence[Line], rows: Sequence[Sequence[Printed]], stub: float, whole: float
) -> Iterator[str]:
    """Yield the lines, each with its intervals below; sections have a heading."""
    section = ""
    for line, cells in zip(lines, rows, strict=True):
        if line.section != section:
            section = line.section
            title = rf"\emph{{{as_text(section)}}}"
            is_long = 1.1 * width_of(section) > whole
            kind = rf">{{\raggedright}}p{{{whole:.0f}pt}}" if is_long else "l"
            box = rf"\multicolumn{{{len(cells) + 1}}}{{@{{}}{kind}@{{}}}}{{{title}}}"
            yield rf"\addlinespace {box} \\"
        name, extra = as_text(line.name), ""
        has_ends = any(one.below for one in cells)
        high = -(-width_of(line.name) // (stub * 0.85))
        if has_ends and high > 1:
            # A long name shares the line of the intervals.
            name = rf"\smash{{\parbox[t]{{\hsize}}{{\raggedright {name}}}}}"
            extra = rf"[{9.5 * max(0, high - 2):.0f}pt]" if high > 2 else ""
        yield (
            " & ".join([name, *map(_upper, cells)])
            + r" \\"
            + ("" if has_ends else extra)
        )
        if has_ends:
            yield " & ".join(["", *map(_lower, cells)]) + r" \\" + (extra or "[1.5pt]")


def _upper(one: Printed) -> str:
    text = literal(one.text)
    if one.cell.parts:
        return _bar(one.cell.parts)
    if one.cell.is_bold:
        text = rf"\textbf{{{text}}}"
    if one.above:
        text += rf"\textsuperscript{{{literal(one.above)}}}"
    return _shade(one) + text


def _lower(one: Printed) -> str:
    text = rf"{{\scriptsize {literal(one.below)}}}" if one.below else ""
    return _shade(one) + text


def _shade(one: Printed) -> str:
    """Return the colour of a cell, light enough for black text."""
    share = round(40 * one.cell.shade)
    return rf"\cellcolor{{black!{share}}}" if share else ""


def _bar(parts: Sequence[float]) -> str:
    """Return a bar of wins, ties and losses, drawn with rules."""
    total = sum(parts) or 1
    rules = (
        rf"\textcolor[HTML]{{{colour}}}"
        rf"{{\rule{{{3 * BAR_WIDTH * part / total:.1f}pt}}{{5pt}}}}"
        for part, colour in zip(parts, COLOURS, strict=True)
        if part
    )
    return "".join(rules)


def _notes(notes: Sequence[str]) -> Iterator[str]:
    if notes:
        text = r"\\".join(map(as_text, notes))
        yield r"\par\smallskip\parbox{\linewidth}{\raggedright\scriptsize"
        yield rf"{text}}}"


# The whole document -------------------------------------------------------------------


def as_paragraphs(paragraph: str, asked: Iterable[tuple[str, str]]) -> str:
    """Return the methods paragraph, and a reviewer's questions with their answers."""
    text = as_text(paragraph).replace(OF_FAMILIES, REFERENCE)
    lines = [r"\paragraph{Statistical analysis.}", text, ""]
    lines.append(r"\paragraph{Reporting checklist.}")
    lines += [rf"\par\noindent\textbf{{{as_text(q)}}} {as_text(a)}" for q, a in asked]
    return "\n".join([*lines, ""])


def included(main: str) -> list[str]:
    """Return the names of the files that a document of `main` includes."""
    return re.findall(r"^\\input\{([a-z0-9_]+)\.tex\}$", main, re.M)


def main(title: str, texts: Iterable[str], keys: Sequence[str], absent: str) -> str:
    """Return a document with the methods paragraph and all tables.

    `texts` are the contents of all files, which may have Chinese characters.
    """
    chinese = sorted({c for text in texts for c in CHINESE.findall(text)})
    return "\n".join(
        [
            "% Compile with pdflatex, twice for the references.",
            r"\documentclass[10pt,twocolumn,a4paper]{article}",
            r"\usepackage[T1]{fontenc}",
            r"\usepackage[utf8]{inputenc}",
            r"\usepackage[margin=18mm,columnsep=7mm]{geometry}",
            r"\usepackage[table]{xcolor}",
            r"\usepackage{array,booktabs,textcomp}",
            r"\IfFileExists{lmodern.sty}{\usepackage{lmodern}}{}",
            r"\emergencystretch=2em \extrafloats{200}",
            r"\renewcommand{\floatpagefraction}{.6}",
            r"\renewcommand{\dblfloatpagefraction}{.6}",
            r"\setlength{\abovecaptionskip}{0pt}\setlength{\belowcaptionskip}{4pt}",
            *_declared(chinese),
            r"\begin{document}",
            *([r"\CJKbegin"] if chinese else []),
            rf"\section*{{{as_text(title)}}}",
            r"\input{paragraph.tex}",
            "",
            as_text(absent),
            *(rf"\input{{{key}.tex}}" for key in keys),
            *([r"\CJKfinish"] if chinese else []),
            r"\end{document}",
            "",
        ]
    )


def _declared(chinese: Sequence[str]) -> Iterator[str]:
    """Yield what prints Chinese characters, or boxes with their codes instead."""
    if not chinese:
        return
    yield r"\newcommand{\CJKbegin}{}\newcommand{\CJKfinish}{}"
    yield r"\IfFileExists{CJKutf8.sty}{\usepackage{CJKutf8}%"
    yield r"  \renewcommand{\CJKbegin}{\begin{CJK*}{UTF8}{gbsn}}%"
    yield r"  \renewcommand{\CJKfinish}{\clearpage\end{CJK*}}%"
    yield r"}{% Without CJKutf8, Chinese characters print as their codes."
    for c in chinese:
        box = rf"\fbox{{\tiny {ord(c):04X}}}"
        yield rf"  \DeclareUnicodeCharacter{{{ord(c):04X}}}{{{box}}}%"
    yield "}"
