"""Hypotheses and composites, declared by the study or by files given instead."""

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from analysis.options import AlignOptions
from analysis.rankings.composite_weights import Composite
from analysis.sentences import sentence
from annotate.audit_log.as_of_event import Moment
from annotate.models import Study
from annotate.reports import study_scores, study_tables
from annotate.studies.study_file import read_definition

if TYPE_CHECKING:
    import pandas as pd

# File suffixes for the texts of a stored report.
SUFFIXES = {"hypotheses": ".csv", "composites": ".yaml"}
# The folder of given files inside the folder of a report.
FOLDER = "inputs"
Files = Mapping[str, Path]


@dataclass(frozen=True)
class Declarations:
    """Declarations beside answers and scores, with the hash of each part."""

    hypotheses: "pd.DataFrame"
    composites: tuple[Composite, ...]
    hashes: Mapping[str, str]
    notes: tuple[str, ...]


def declarations(
    study: Study,
    files: Files,
    tables: "Mapping[str, pd.DataFrame | None]",
    tags: "pd.DataFrame | None",
    options: AlignOptions,
) -> Declarations:
    """Return the declarations of a study, or those of files in their place."""
    from analysis.commands.given_tables import composite_parts, hypothesis_rows
    from analysis.reading.kept_answers import chosen_tables

    covered = chosen_tables(tables, options)
    composites = own = own_composites(study)
    if path := files.get("composites"):
        composites = ()
        if path.stat().st_size:
            composites = composite_parts(path, covered, tags)
    hypotheses = own_hypotheses = study_tables.hypotheses_frame(study)
    if path := files.get("hypotheses"):
        hypotheses = own_hypotheses[:0]
        if path.stat().st_size:
            found = hypothesis_rows(path, covered, composites)
            assert found is not None
            hypotheses = found
    values = {
        "hypotheses": own_hypotheses.to_dict("list"),
        "composites": own,
    }
    hashes = {
        f"{name} of the study": sha256(repr(value).encode()).hexdigest()
        for name, value in values.items()
        if name not in files
    } | {
        f"{name} ({kept_name(name, path)})": sha256(path.read_bytes()).hexdigest()
        for name, path in files.items()
    }
    notes = tuple(_notes(files, hypotheses, own_hypotheses))
    return Declarations(hypotheses, composites, hashes, notes)


def own_composites(study: Study) -> tuple[Composite, ...]:
    """Return the composites of the study's file; imported studies have no file."""
    if not study.definition:
        return ()
    definition = read_definition(study.definition, file=study.slug, name=study.slug)
    return definition.composites


def unscored(study: Study, as_of: Moment | None = None) -> list[str]:
    """Return the declared names of metrics that shaped methods, but have no scores."""
    trained_on = study_tables.trained_on(study, as_of).values()
    if not (named := {metric for own in trained_on for metric in own}):
        return []
    known = study_scores.metrics_among(study, named, as_of)
    return sorted(named - known - {one.name for one in own_composites(study)})


def _notes(
    files: Files, hypotheses: "pd.DataFrame", own: "pd.DataFrame"
) -> Iterator[str]:
    """Yield remarks on declarations that replace the study's."""
    if "hypotheses" in files:
        yield sentence(
            "Metrics were declared for this report, not by the study: {metrics} (in "
            "the study: {own}).",
            metrics=_as_text(hypotheses),
            own=_as_text(own),
        )
    if "composites" in files:
        yield sentence("Composites were given for this report, not by the study.")


def _as_text(hypotheses: "pd.DataFrame") -> str:
    pairs = zip(hypotheses["question"], hypotheses["metric"], strict=True)
    names = [sentence("{question} by {metric}", question=q, metric=m) for q, m in pairs]
    return sentence("{names}", names=names) if names else sentence("none")


@contextmanager
def as_files(texts: Mapping[str, str]) -> Iterator[Files]:
    """Provide the texts of a stored report as temporary files."""
    with TemporaryDirectory() as folder:
        paths = {name: Path(folder) / f"{name}{SUFFIXES[name]}" for name in texts}
        for name, path in paths.items():
            path.write_text(texts[name], encoding="utf-8", newline="")
        yield paths


def kept_name(name: str, path: Path) -> str:
    """Return the path of a part's file in the folder of a report."""
    return f"{FOLDER}/{name}{path.suffix}"


def keep(files: Files, out: Path) -> None:
    """Copy the given files into the folder of a report, and remove older ones."""
    for name in SUFFIXES.keys() - files.keys():
        for older in (out / FOLDER).glob(f"{name}.*"):
            older.unlink()
    for name, path in files.items():
        place = out / kept_name(name, path)
        place.parent.mkdir(exist_ok=True)
        if not (place.exists() and place.samefile(path)):
            shutil.copyfile(path, place)
