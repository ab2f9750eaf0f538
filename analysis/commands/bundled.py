"""Tables, declarations and options of a study, taken from a bundle."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from analysis.options import AlignOptions
from analysis.questions import EPSILON, HYPOTHESIS_COLUMNS, TRAINED_ON_COLUMNS
from analysis.rankings.composite_weights import Composite, given_composites
from analysis.reading.bundles import OPTIONS, opened
from analysis.reading.files import read_file

# Tables of a bundle by the option that they stand for.
TABLES = {
    "ratings": "ratings",
    "choices": "choices",
    "rankings": "rankings",
    "marked_shots": "marked_shots",
    "scores": "scores",
    "twins": "twins",
    "stories": "stories",
}
EARLIER = "earlier_"


@dataclass(frozen=True)
class Bundled:
    """Input of an analysis from a bundle: files by option, and declarations."""

    files: Mapping[str, Path]
    title: str
    study: Mapping[str, Any]
    hypotheses: pd.DataFrame
    trained_on: pd.DataFrame
    composites: tuple[Composite, ...]
    earlier: Mapping[str, Path] = field(default_factory=dict)

    @property
    def late_method(self) -> str:
        """Return the method that the study adds to an earlier one, or ""."""
        return str(self.study["late_method"])

    def completed(self, options: AlignOptions) -> AlignOptions:
        """Return options, completed by those of the study as its reports are."""
        study = self.study
        if not (options.compare_identities or options.mix_identities):
            usual = {
                metric: identity
                for metric, identity in study["identity"].items()
                if options.metrics is None or metric in options.metrics
            }
            options = replace(options, identity=usual | {**options.identity})
        if not options.top:
            confidence = options.top_confidence or study["top_confidence"]
            options = replace(options, top=study["top"], top_confidence=confidence)
        scales = {key: (low, high) for key, (low, high) in study["scales"].items()}
        demanded = options.demanded or study["demanded"]
        return replace(options, scales=scales, demanded=demanded)


@contextmanager
def unpacked(path: Path, view: str) -> Iterator[Bundled]:
    """Unpack the tables of a bundle as long as they are read."""
    with TemporaryDirectory() as folder, opened(path) as bundle:
        tables = bundle.tables(view, Path(folder))
        at = datetime.fromisoformat(bundle.manifest["moment"]["at"]).timestamp()
        for file in tables.values():
            os.utime(file, (at, at))
        filled = {name: file for name, file in tables.items() if _has_rows(file)}
        hypotheses = pd.DataFrame(columns=list(HYPOTHESIS_COLUMNS))
        if "hypotheses" in filled:
            read = read_file(filled["hypotheses"])
            hypotheses = read.reindex(columns=[*HYPOTHESIS_COLUMNS, EPSILON])
            hypotheses[EPSILON] = pd.to_numeric(hypotheses[EPSILON])
        trained_on = pd.DataFrame(columns=list(TRAINED_ON_COLUMNS))
        if "trained_on" in filled:
            trained_on = read_file(filled["trained_on"])[list(TRAINED_ON_COLUMNS)]
        study = json.loads(bundle.text(OPTIONS))
        yield Bundled(
            {name: filled[own] for name, own in TABLES.items() if own in filled},
            study["title"],
            study,
            hypotheses.reset_index(drop=True),
            trained_on.reset_index(drop=True),
            given_composites(study["composites"]) if study["composites"] else (),
            {
                name.removeprefix(EARLIER): file
                for name, file in filled.items()
                if name.startswith(EARLIER)
            },
        )


def _has_rows(file: Path) -> bool:
    """Say whether a table has a row below its header."""
    with file.open("rb") as stream:
        stream.readline()
        return bool(stream.read(1))
