"""Table of scores with what made them, and the file of full hashes beside it."""

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from analysis.problems import InputError, Problem
from analysis.tables import Lines, defused
from evalcore.formats.json_files import read_json
from evalcore.metrics.identity import PARTS, Identity, fingerprint_of

TABLE, SIDECAR = "scores.csv", "score_identities.json"
# The columns that say what made a score.
MADE_BY = (*PARTS, "identity", "computed_at")
HEADER = ("story", "method", "metric", "score", "shot", "higher_is_better", *MADE_BY)
_FILES = ("weight_files", "prompt_files")


def is_made_by(told: object) -> bool:
    """Return whether a file's object has texts of the columns, and nothing else."""
    return (
        isinstance(told, dict)
        and set(told) <= {*MADE_BY}
        and all(isinstance(text, str) for text in told.values())
    )


def written_time(at: datetime | None) -> str:
    """Return a time as a table has it: ISO 8601, UTC, whole seconds."""
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else ""


def table_text(rows: Iterable[Sequence[object]]) -> str:
    """Return the table as CSV, in which no text can run as a formula.

    `rows` have cells in the order of `HEADER`.
    """
    text = io.StringIO()
    writer = csv.writer(Lines(text))
    writer.writerow(HEADER)
    for row in rows:
        writer.writerow([defused(v) if isinstance(v, str) else v for v in row])
    return text.getvalue()


def sidecar_text(identities: Iterable[Identity]) -> str:
    """Return the file of identities by their key, with the hashes of all files."""
    told = {
        one.key: {
            "metric": one.metric,
            **{name: getattr(one, name) for name in PARTS},
            **{name: dict(sorted(getattr(one, name).items())) for name in _FILES},
        }
        for one in sorted(identities, key=lambda one: (one.metric, one.key))
    }
    return json.dumps(told, ensure_ascii=False, indent=1) + "\n"


def read_sidecar(beside: Path) -> dict[str, Identity]:
    """Return the identities in a folder, or beside a file; none without the file."""
    folder = beside if beside.is_dir() else beside.parent
    path = folder / SIDECAR
    if path.is_symlink() or not path.is_file():
        return {}
    told = read_json(path)
    if not isinstance(told, dict):
        raise InputError([Problem(str(path), "an object of identities by their key")])
    found, problems = {}, []
    for key, one in told.items():
        if (identity := _identity(one)) is None or identity.key != key:
            what = "an identity whose texts give this key, and whose hashes are texts"
            problems.append(Problem(str(path), what, value=key[:40]))
        else:
            found[key] = identity
    if problems:
        raise InputError(problems)
    return found


def _identity(told: Any) -> Identity | None:
    """Return an identity of the file; None if it is none."""
    if not isinstance(told, Mapping):
        return None
    texts = {name: told.get(name, "") for name in ("metric", *PARTS)}
    files = {name: told.get(name, {}) for name in _FILES}
    if not all(isinstance(one, dict) for one in files.values()):
        return None
    parts = [*texts.values(), *(v for one in files.values() for v in one.values())]
    if not all(isinstance(part, str) for part in parts):
        return None
    weights = files["weight_files"]
    if weights and fingerprint_of(weights) != texts["weights"]:
        return None
    return Identity(**texts, **files)
