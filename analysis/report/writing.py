"""Write a report: one self-contained page, its tables, and its provenance."""

import hashlib
import json
import math
import platform
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from analysis.options import VERSION, AlignOptions, OptionError, commit
from analysis.report.language import gettext, language, retold
from analysis.report.page import as_html, check_story_link
from analysis.report.paper.kit import FOLDER, paper_files, remove_files
from analysis.report.rendering import remove_images, write_images
from analysis.report.sections import Findings, all_figures, findings
from analysis.report.tables import Titles, apart, as_csv, as_latex, titled
from analysis.report.wording import records
from analysis.result_tables.contract import Analysis
from analysis.statistics import TABLES

LIBRARIES = ("numpy", "scipy", "pandas", "krippendorff", "plotly")


def file_hashes(paths: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of each input by its role and file name."""
    return {
        f"{part} ({path.name})": hashlib.sha256(path.read_bytes()).hexdigest()
        for part, path in paths.items()
    }


def check_folder(out: Path) -> None:
    """Raise an error if `out`, or a parent of it, is a file."""
    existing = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not existing.is_dir():
        raise OptionError(f"--out: {str(existing)!r}: expected a folder, not a file")


def run_table(
    options: AlignOptions,
    *,
    hashes: Mapping[str, str],
    date: str,
    command: str,
    resample_default: str,
    source: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Return what is needed to reproduce the report, as keys and values.

    `source` describes the answers if they do not come from files.
    """
    rows = {
        "plumbline": VERSION,
        **({"commit": commit()} if commit() else {}),
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "seed": options.seed,
        "resamples": options.resamples,
        "resample": options.resample or resample_default,
        "confidence": options.confidence,
        "levels": ", ".join(options.levels),
        "coefficients": ", ".join(options.coefficients),
        "top": options.top,
        "top confidence": options.top_confidence or options.confidence,
        "demanded": options.demanded,
        "equivalent within": options.equivalent_within,
        "replaces within": options.replaces_within,
        "epsilon": options.epsilon,
        "scale": _scales(options),
        "questions": _names(options.questions),
        "metrics": _names(options.metrics),
        "excluded methods": ", ".join(options.exclude_methods),
        "baseline": ", ".join(options.baseline),
        "identities": _identities(options),
        "figures": options.figures,
        "language": options.language,
        "paper": "yes" if options.paper else "no",
        "split by": _names(options.split_by),
        "components": _names(options.components or None),
        **(source or {}),
        "date": date,
        "command": command,
        **{f"sha256 of {name}": digest for name, digest in sorted(hashes.items())},
    }
    return pd.DataFrame(
        {"key": list(rows), "value": [str(value) for value in rows.values()]}
    )


def _scales(options: AlignOptions) -> str:
    """Return the scale as on the command line; several with their dimensions."""
    scales = options.scales or ({"": options.scale} if options.scale else {})
    dimensions: dict[str, list[str]] = {}
    for dimension, (low, high) in scales.items():
        dimensions.setdefault(f"{low}:{high}", []).append(dimension)
    if len(dimensions) < 2:
        return "".join(dimensions)
    return "; ".join(f"{s} ({', '.join(names)})" for s, names in dimensions.items())


def _identities(options: AlignOptions) -> str:
    """Return what is done with several identities of a metric."""
    chosen = [f"{metric}={key}" for metric, key in options.identity.items()]
    if options.compare_identities or options.mix_identities:
        chosen.append("compared" if options.compare_identities else "mixed")
    return ", ".join(chosen) or "one of each"


def _names(chosen: tuple[str, ...] | None) -> str:
    """Return the chosen names as text; None means all."""
    return "all" if chosen is None else ", ".join(chosen) or "none"


def write_report(
    analysis: Analysis,
    *,
    out: Path,
    title: str,
    run: pd.DataFrame,
    images: str = "",
    titles: Titles | None = None,
    story_link: str = "",
) -> Path:
    """Write report.html, report.json, tables/, figures/ and paper/ into `out`.

    `paper` is written if the options ask for it.

    Everything is built in a temporary folder beside `out` and moved at the end: a
    failure leaves nothing half-written, and an older report stays until then. Other
    files in `out` are kept.
    """
    check_story_link(story_link)
    check_folder(out)
    staging = _staging(out)
    run = _with_resampled(run, analysis)
    values = dict(zip(run["key"], run["value"], strict=True))
    try:
        tables = {**analysis.tables, "run": run}
        (staging / "tables").mkdir()
        for name, frame in tables.items():
            _write(staging / "tables" / f"{name}.csv", as_csv(frame))
            _write(staging / "tables" / f"{name}.tex", as_latex(frame))
        names = apart([*analysis.tables.values(), analysis.cells], titles or Titles())
        shown = {name: titled(frame, names) for name, frame in analysis.tables.items()}
        with language(values["language"], analysis.sentences):
            sentences = findings(shown, float(values["confidence"]))
            _write(staging / "report.json", _as_json(title, analysis, run, sentences))
            every = values["figures"] == "all"
            cells = titled(analysis.cells, names)
            drawn = all_figures(shown, cells, more=every)
            note = write_images(drawn, staging / "figures", images)
            page = as_html(
                analysis, title, run, shown, drawn, sentences, note, story_link
            )
        _write(staging / "report.html", page)
        if values["paper"] == "yes":
            _write_paper(
                staging / FOLDER, analysis, {**shown, "run": run}, values, title
            )
        _move(staging, out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return out / "report.html"


def _write_paper(
    folder: Path,
    analysis: Analysis,
    tables: Mapping[str, pd.DataFrame],
    run: Mapping[str, str],
    title: str,
) -> None:
    folder.mkdir()
    for name, content in paper_files(analysis, tables, run, title).items():
        (folder / name).write_bytes(content)


def _staging(out: Path) -> Path:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".report-", dir=out.parent))
    except OSError as error:
        raise OptionError(
            f"--out: {str(out)!r}: expected a writable folder ({error.strerror})"
        ) from error


def _with_resampled(run: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """Add the resampled units of each table, below the option."""
    rows = [
        {"key": f"resample {table}", "value": "+".join(parts)}
        for table, parts in sorted(analysis.resampled.items())
    ]
    place = 1 + int((run["key"] == "resample").argmax())
    return pd.concat(
        [run[:place], pd.DataFrame(rows, columns=run.columns), run[place:]],
        ignore_index=True,
    )


def _move(staging: Path, out: Path) -> None:
    """Move the new files into place and remove those of an older report."""
    (out / "tables").mkdir(parents=True, exist_ok=True)
    for name in TABLES:
        for suffix in (".csv", ".tex"):
            (out / "tables" / f"{name}{suffix}").unlink(missing_ok=True)
    remove_images(out)
    remove_files(out)
    for folder in (
        *(staging / name for name in ("tables", "figures", FOLDER)),
        staging,
    ):
        if not folder.is_dir():
            continue
        (out / folder.relative_to(staging)).mkdir(exist_ok=True)
        for path in sorted(folder.iterdir()):
            if path.is_file():
                path.replace(out / path.relative_to(staging))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def _as_json(
    title: str, analysis: Analysis, run: pd.DataFrame, sentences: Findings
) -> str:
    """Return everything as JSON, with a line for each row of a table."""
    head = {
        "title": gettext(title),
        "claims": sentences.shown,
        "limits": sentences.not_shown,
        "notes": [retold(note) for note in analysis.notes],
    }
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
    tables = [
        f"{encode(name)}: [\n" + ",\n".join(map(encode, _records(frame))) + "\n]"
        for name, frame in {**analysis.tables, "run": run}.items()
    ]
    parts = [f"{encode(key)}: {encode(value)}" for key, value in head.items()]
    parts.append('"tables": {\n' + ",\n".join(tables) + "\n}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values; undefined numbers are null."""
    undefined = frame.isna() | frame.isin([math.inf, -math.inf])
    return records(frame.astype(object).mask(undefined, None))
