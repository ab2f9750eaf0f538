"""Tables of files, folders and bundles, recognised by their columns."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from analysis.commands.bundled import unpacked
from analysis.commands.doctor.findings import Finding, Kind
from analysis.commands.given_tables import (
    directed,
    hypothesis_rows,
    read_table,
    remarks_on,
    tag_rows,
    trained_rows,
)
from analysis.options import WIDE, OptionError, Scale
from analysis.problems import InputError, Problem, listed
from analysis.questions import HYPOTHESIS_COLUMNS, TRAINED_ON_COLUMNS
from analysis.reading.bundles import MAIN
from analysis.reading.files import SUFFIXES, file_and_sheet, read_file
from analysis.reading.inputs import TWIN_COLUMNS, check_ratings
from analysis.reading.shared_names import FILE
from analysis.reading.texts import UNTOLD
from analysis.tables import (
    CHOICE_COLUMNS,
    RANKING_COLUMNS,
    RATING_COLUMNS,
    SCORE_COLUMNS,
)

KINDS = {
    "ratings": RATING_COLUMNS,
    "choices": CHOICE_COLUMNS,
    "rankings": RANKING_COLUMNS,
    "scores": SCORE_COLUMNS,
    "hypotheses": HYPOTHESIS_COLUMNS,
    "trained_on": TRAINED_ON_COLUMNS,
    "stories": ("story",),
}
# Of an incomplete table, the columns that still say what it is.
TELLING = {
    "ratings": {"rating"},
    "choices": {"choice", "method_a", "method_b"},
    "rankings": {"rank"},
    "scores": {"score"},
}
# A table with one of these is no table of tags.
NO_TAGS = {"method", "methods", "annotator", "metric", "slot", "question"}
# A table of methods with one of these has no column for each question or metric.
NO_WIDE = {"metric", "slot", "question", "dimension", "criterion", "file"}
# Tables that exports hold beside the others, and that need no check here.
BESIDE = ("marked_shots", "twins")
ANSWERS = ("ratings", "choices", "rankings")
# Declarations are checked beside the others.
KINDS_READ = (*ANSWERS, "scores", "stories", "hypotheses", "trained_on")


@dataclass
class Opened:
    """The tables that could be read, by kind, and what was found while reading."""

    tables: dict[str, pd.DataFrame] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)

    def refuse(self, file: str, error: InputError | OptionError) -> None:
        """Note every problem of a table."""
        if isinstance(error, OptionError):
            self.findings.append(Finding(file, Kind.UNUSABLE, str(error), 1))
            return
        lines = error.lines()
        file = next((problem.file for problem in error.problems), file)
        rest = error.problems.total - len(lines) + 1
        self.findings += [
            Finding(
                file, Kind.UNUSABLE, text, rest if text.startswith("... and") else 1
            )
            for text in lines
        ]

    def answers(self) -> dict[str, pd.DataFrame]:
        """Return the tables of people's answers."""
        return {kind: self.tables[kind] for kind in ANSWERS if kind in self.tables}


def kind_of(columns: Iterable[object]) -> str:
    """Return what a table is by its columns; "" if they do not say.

    >>> kind_of(["story", "method", "metric", "score"]), kind_of(["story", "rating"])
    ('scores', 'ratings')
    >>> kind_of(["story", "genre"]), kind_of(["Model", "BLEU"])
    ('stories', '')
    >>> kind_of(["story", "method", "csd"]), kind_of(["method", "annotator", "fit"])
    ('scores', 'ratings')
    """
    here = {str(column).strip() for column in columns}
    if {*TWIN_COLUMNS} <= here:
        return "twins"
    if here == {*TRAINED_ON_COLUMNS}:  # more columns may be scores
        return "trained_on"
    kinds = [kind for kind in KINDS if kind != "trained_on"]
    whole = [kind for kind in kinds if {*KINDS[kind]} <= here]
    if whole and whole != ["stories"]:
        return whole[0]
    part = [kind for kind, own in TELLING.items() if own & here]
    if part:
        return max(part, key=lambda kind: len({*KINDS[kind]} & here))
    if "method" in here and not NO_WIDE & here:
        return "ratings" if "annotator" in here else "scores"
    return "stories" if whole and not NO_TAGS & here else ""


def opened(paths: Iterable[Path]) -> Opened:
    """Read all tables of files, folders and bundles, whatever is wrong with some."""
    found = Opened()
    with ExitStack() as stack:
        kinds: dict[str, list[Path]] = {}
        scales: Mapping[str, Scale] = {}
        for path in paths:
            try:
                if path.suffix.lower() == ".zip":
                    bundled = stack.enter_context(unpacked(path, MAIN))
                    scales = bundled.study["scales"]
                    for kind, file in bundled.files.items():
                        kinds.setdefault(kind, []).append(file)
                    if len(bundled.hypotheses):
                        found.tables["hypotheses"] = bundled.hypotheses
                    if len(bundled.trained_on):
                        found.tables["trained_on"] = bundled.trained_on
                    continue
                for file, kind in _recognised(path, found):
                    kinds.setdefault(kind, []).append(file)
            except (InputError, OptionError) as error:
                found.refuse(path.name, error)
        for file in kinds.get("twins", []):
            what = "scores of degraded copies, which are not checked here."
            found.findings.append(Finding(file.name, Kind.LIMIT, what, 1))
        for kind in KINDS_READ:
            _read(kind, kinds.get(kind, []), scales, found)
    return found


def _recognised(path: Path, found: Opened) -> Iterator[tuple[Path, str]]:
    """Yield the tables of a file or folder with their kinds."""
    if not path.is_dir():
        kind = kind_of(read_file(path).columns)
        if not kind:
            raise InputError([_unknown(path)])
        yield path, kind
        return
    known = SUFFIXES.replace(" or ", " ").replace(",", "").split()
    files = sorted(file for file in path.iterdir() if file.suffix.lower() in known)
    # Of two tables of ratings, ratings.csv comes first.
    files.sort(key=lambda file: file.stem not in KINDS)
    others: list[Path] = []
    is_empty = True
    for file in files:
        if file.stem in BESIDE:
            continue
        try:
            kind = kind_of(read_file(file).columns)
        except InputError as error:
            if file.suffix.lower() == ".txt":  # notes, perhaps
                others.append(file)
            else:
                found.refuse(file.name, error)
                is_empty = False
            continue
        if kind:
            yield file, kind
            is_empty = False
        else:
            others.append(file)
    if is_empty:
        tables = [file for file in others if file.suffix.lower() != ".txt"]
        expected = f"a folder with tables of {listed(KINDS)}"
        raise InputError(
            map(_unknown, tables) if tables else [Problem(str(path), expected)]
        )
    if others:
        what = f"not recognised, and left out: {listed(x.name for x in others)}."
        found.findings.append(Finding(path.name, Kind.LIMIT, what, len(others)))


def _unknown(path: Path) -> Problem:
    needed = "; ".join(f"{kind} ({', '.join(own)})" for kind, own in KINDS.items())
    columns = listed(read_file(path).columns)
    expected = (
        f"the columns of {needed}; found {columns}. Rename the columns. Tables with a "
        "column for each question or metric have a column method"
    )
    return Problem(file_and_sheet(path)[0].name, expected, 1)


def _read(
    kind: str, files: list[Path], scales: Mapping[str, Scale], found: Opened
) -> None:
    for file in files:
        name = file_and_sheet(file)[0].name
        if kind in found.tables:
            what = f"another table of {kind}; {_name(found, kind)} is checked alone."
            advice = "align takes one table of each kind: join them if they are parts."
            found.findings.append(Finding(name, Kind.CHECK, what, 1, advice))
            continue
        try:
            if kind == "stories":
                table = tag_rows(file)
                assert table is not None
                found.tables[kind] = table
            elif kind in ("hypotheses", "trained_on"):
                _read_declared(kind, file, found)
            else:
                found.tables[kind] = _answers_or_scores(kind, file, scales, found)
        except (InputError, OptionError) as error:
            found.refuse(name, error)


def _answers_or_scores(
    kind: str, file: Path, scales: Mapping[str, Scale], found: Opened
) -> pd.DataFrame:
    # Without a column of values, each question or metric has its own.
    wide = not TELLING[kind] & {*map(str.strip, map(str, read_file(file).columns))}
    table = read_table(kind, file, {**WIDE, "scale": None, "wide": wide})
    name = str(table.attrs[FILE])
    for remark in remarks_on(table, kind):
        found.findings.append(Finding(name, Kind.CHECK, remark, 1))
    if kind == "ratings":
        for dimension, (low, high) in scales.items():
            rows = table[table["dimension"] == dimension]
            check_ratings(rows, file=name, scale=(low, high))
    if kind == "scores":
        untold = [*table.attrs[UNTOLD]]
        table, _remarks = directed(table)
        found.findings += _assumed(name, table, untold)
    return table


def _assumed(
    file: str, scores: pd.DataFrame, untold: Sequence[str]
) -> Iterator[Finding]:
    """Yield the direction that is assumed for metrics without one in any cell."""
    directions = scores.drop_duplicates("metric").set_index("metric")
    better = directions["higher_is_better"].reindex(sorted(untold)).dropna()
    for is_higher, word in ((True, "higher"), (False, "lower")):
        names = [*better.index[better.astype(bool) == is_higher]]
        if names:
            what = f"{word} is assumed to be better for {listed(names)}."
            advice = "A column higher_is_better (true or false) says it."
            yield Finding(file, Kind.LIMIT, what, len(names), advice)


def _read_declared(kind: str, file: Path, found: Opened) -> None:
    """Read declarations; names are checked where there are answers and scores."""
    people, scores = found.answers(), found.tables.get("scores")
    if not people or scores is None:
        what = "its names are checked only beside people's answers and scores."
        found.findings.append(Finding(file.name, Kind.LIMIT, what, 1))
        return
    tables = {**dict.fromkeys(ANSWERS), **people, "scores": scores}
    read = hypothesis_rows if kind == "hypotheses" else trained_rows
    table = read(file, tables)
    assert table is not None
    table.attrs[FILE] = file.name
    found.tables[kind] = table


def _name(found: Opened, kind: str) -> str:
    return str(found.tables[kind].attrs.get(FILE, kind))
