"""A minimal Word document (Office Open XML) of paragraphs and tables."""

import io
import re
import zipfile
from collections.abc import Iterable, Sequence
from xml.sax.saxutils import escape

from analysis.report.paper.layout import PARTS, PaperTable, Printed, packed, printed

OFFICE = "http://schemas.openxmlformats.org"
XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
TYPE = (
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
)
FILES = {
    "[Content_Types].xml": f'<Types xmlns="{OFFICE}/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
    'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/>'
    f'<Override PartName="/word/document.xml" ContentType="{TYPE}"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{OFFICE}/package/2006/relationships">'
    f'<Relationship Id="r1" Type="{OFFICE}/officeDocument/2006/relationships/'
    'officeDocument" Target="word/document.xml"/></Relationships>',
}
# A zip file needs a time; one of its own would make two runs differ.
TIME = (1980, 1, 1, 0, 0, 0)
# More columns do not fit on a sheet.
MOST_COLUMNS = 10
# Half points.
BODY, CAPTION, CELL, INTERVAL = 22, 20, 18, 15
CONTROL = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def as_docx(title: str, texts: Sequence[str], tables: Iterable[PaperTable]) -> bytes:
    """Return a document with a heading, paragraphs, and tables with captions."""
    body = [_paragraph(_run(title, BODY + 8, "<w:b/>"))]
    body += [_paragraph(_run(text, BODY)) for text in texts]
    for n, table in enumerate(tables, 1):
        caption = _run(f"Table {n}. ", CAPTION, "<w:b/>") + _run(table.caption, CAPTION)
        body.append(_paragraph(caption, "<w:keepNext/>"))
        rows, notes = printed(table)
        sizes = [1.0] * len(table.columns)
        for places in packed(table.columns, sizes, MOST_COLUMNS):
            body.append(_table(table, rows, places))
            body.append(_paragraph(""))
        body += [_paragraph(_run(note, INTERVAL)) for note in (*notes, "")]
    page = (
        '<w:sectPr><w:pgSz w:w="16838" w:h="11906" w:orient="landscape"/><w:pgMar '
        'w:top="900" w:right="900" w:bottom="900" w:left="900" w:header="400" '
        'w:footer="400" w:gutter="0"/></w:sectPr>'
    )
    space = f'xmlns:w="{OFFICE}/wordprocessingml/2006/main"'
    document = (
        f"<w:document {space}><w:body>{''.join(body)}{page}</w:body></w:document>"
    )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {**FILES, "word/document.xml": document}.items():
            archive.writestr(zipfile.ZipInfo(name, TIME), XML + text)
    return buffer.getvalue()


def _run(text: str, size: int, style: str = "") -> str:
    """Return a run of text; `style` precedes the size, as the schema orders them."""
    plain = escape(CONTROL.sub("", text))
    look = f'<w:rPr>{style}<w:sz w:val="{size}"/></w:rPr>'
    if "vertAlign" in style:
        look = f'<w:rPr><w:sz w:val="{size}"/>{style}</w:rPr>'
    return f'<w:r>{look}<w:t xml:space="preserve">{plain}</w:t></w:r>'


def _paragraph(runs: str, keep: str = "", side: str = "") -> str:
    """Return a paragraph; `side` is its alignment."""
    aligned = f'<w:jc w:val="{side}"/>' if side else ""
    space = '<w:spacing w:before="0" w:after="40"/>'
    return f"<w:p><w:pPr>{keep}{space}{aligned}</w:pPr>{runs}</w:p>"


def _table(
    table: PaperTable, rows: Sequence[Sequence[Printed]], places: Sequence[int]
) -> str:
    """Return some columns of a table, with rules around it and under the heading."""
    columns = [table.columns[i] for i in places]
    width = 15000 // (len(columns) + 2)
    widths = [2 * width, *(width for _column in columns)]
    rule = '<w:{0} w:val="single" w:sz="8" w:space="0" w:color="000000"/>'
    borders = "".join(rule.format(side) for side in ("top", "bottom"))
    look = (
        '<w:tblPr><w:tblW w:w="0" w:type="auto"/>'
        f"<w:tblBorders>{borders}</w:tblBorders></w:tblPr>"
    )
    grid = "".join(f'<w:gridCol w:w="{one}"/>' for one in widths)
    heads = [
        f"{column.group}: {column.title}" if column.group else column.title
        for column in columns
    ]
    above = (_paragraph(_run(one, CELL, "<w:b/>"), side="center") for one in heads)
    lines = [_row([_text(table.stub, bold=True), *above], is_head=True)]
    section = ""
    for line, cells in zip(table.lines, rows, strict=True):
        if line.section != section:
            section = line.section
            blank = [_text("") for _column in columns]
            lines.append(_row([_text(section, bold=True), *blank]))
        lines.append(_row([_text(line.name), *(_number(cells[i]) for i in places)]))
    return f"<w:tbl>{look}<w:tblGrid>{grid}</w:tblGrid>{''.join(lines)}</w:tbl>"


def _row(cells: Iterable[str], *, is_head: bool = False) -> str:
    """Return a row; a heading is repeated on every page and has a rule below."""
    head = "<w:cantSplit/>" + ("<w:tblHeader/>" if is_head else "")
    line = '<w:bottom w:val="single" w:sz="4" w:space="0" w:color="000000"/>'
    rule = f"<w:tcPr><w:tcBorders>{line}</w:tcBorders></w:tcPr>" if is_head else ""
    inner = "".join(f"<w:tc>{rule}{cell}</w:tc>" for cell in cells)
    return f"<w:tr><w:trPr>{head}</w:trPr>{inner}</w:tr>"


def _text(text: str, *, bold: bool = False) -> str:
    return _paragraph(_run(text, CELL, "<w:b/>" if bold else ""))


def _number(one: Printed) -> str:
    text = one.text
    if one.cell.parts:
        counts = zip(one.cell.parts, PARTS, strict=True)
        text = ", ".join(f"{n:.0f} {part}" for n, part in counts)
    runs = _run(text, CELL, "<w:b/>" if one.cell.is_bold else "")
    if one.above:
        runs += _run(one.above, CELL, '<w:vertAlign w:val="superscript"/>')
    below = _paragraph(_run(one.below, INTERVAL), side="center") if one.below else ""
    return _paragraph(runs, side="center") + below
