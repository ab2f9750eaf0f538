"""The folder ``paper``: every table as LaTeX and CSV, one document of each kind."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from analysis.report import checklist
from analysis.report.paper import latex
from analysis.report.paper.docx import as_docx
from analysis.report.paper.layout import PaperTable, as_frame
from analysis.report.paper.methods import method_tables
from analysis.report.paper.metrics import agreement_tables, judge_table
from analysis.report.paper.results import result_tables
from analysis.report.paper.sample import family_tables, flow_tables, paragraph
from analysis.report.paper.subgroups import heat_tables, win_tables
from analysis.report.tables import as_csv
from analysis.report.uncertainty import IntervalSources
from analysis.report.wording import ResultTables, word
from analysis.result_tables.contract import Analysis

FOLDER = "paper"
# Questions of the checklist that the methods paragraph and captions answer.
IN_PARAGRAPH = ("intervals", "again")
# What is missing, by the beginning of a table's key, and why it may be.
ABSENT = {
    "metrics": "no metric has a coefficient",
    "methods": "no question has values of methods",
    "judges": "no metric was compared with single annotators",
    "heat": "no metric has values in two groups of stories by a tag",
    "wins": "no choices side by side, or many pairs of methods without --baseline",
    "families": "no p-value was adjusted",
}


def paper_tables(tables: ResultTables, percent: str) -> Iterator[PaperTable]:
    """Yield the tables of a paper in reading order; those without rows are left out."""
    for made in (
        flow_tables(tables),
        agreement_tables(tables, percent),
        judge_table(tables, percent),
        method_tables(tables, percent),
        result_tables(tables, percent),
        heat_tables(tables, percent),
        win_tables(tables, percent),
        family_tables(tables),
    ):
        yield from (table for table in made if table.lines)


def paper_files(
    analysis: Analysis,
    tables: ResultTables,
    run: Mapping[str, str],
    title: str,
) -> dict[str, bytes]:
    """Return the files of the folder by name.

    `tables` are those of the analysis with titles in place of keys, and `run`.
    """
    percent = f"{100 * float(run['confidence']):g} %"
    found = list(paper_tables(tables, percent))
    results = {name: one for name, one in tables.items() if name != "run"}
    asked = [
        answer
        for answer in checklist.answers(results, analysis.notes, run, IntervalSources())
        if answer[0] not in {word("asked", key) for key in IN_PARAGRAPH}
    ]
    methods = paragraph(tables, run, analysis.judged)
    absent = missing(found)
    texts = {f"{table.key}.tex": latex.as_latex(table) for table in found}
    texts["paragraph.tex"] = latex.as_paragraphs(methods, asked)
    keys = [table.key for table in found]
    texts["main.tex"] = latex.main(
        title, [title, absent, *texts.values()], keys, absent
    )
    texts |= {f"{table.key}.csv": as_csv(as_frame(table)) for table in found}
    listed = [methods, *(f"{question} {answer}" for question, answer in asked), absent]
    files = {name: text.encode() for name, text in texts.items()}
    return files | {"paper.docx": as_docx(title, [*filter(None, listed)], found)}


def missing(found: Sequence[PaperTable]) -> str:
    """Return which tables are not there, and why."""
    keys = [table.key for table in found]
    why = [
        f"{name} ({reason})"
        for name, reason in ABSENT.items()
        if not any(key.startswith(name) for key in keys)
    ]
    return f"Not in this kit: {'; '.join(why)}." if why else ""


def remove_files(out: Path) -> None:
    """Remove the kit of an older report, but not other files."""
    folder = out / FOLDER
    main = folder / "main.tex"
    if not main.is_file():
        return
    keys = latex.included(main.read_text(encoding="utf-8", errors="replace"))
    names = [f"{key}.{kind}" for key in keys for kind in ("tex", "csv")]
    for name in (*names, "main.tex", "paper.docx"):
        (folder / name).unlink(missing_ok=True)
    if not any(folder.iterdir()):
        folder.rmdir()
