"""Write a report: one self-contained page, its tables, and how it was made."""

import base64
import hashlib
import json
import math
import platform
import re
import shutil
import tempfile
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd
from jinja2 import Environment, PackageLoader, StrictUndefined

from analysis import claims, figures, latex
from analysis.alignment import Analysis
from analysis.options import AlignOptions, OptionError
from analysis.printing import column_texts
from analysis.version import VERSION

LIBRARIES = ("numpy", "scipy", "pandas", "statsmodels", "krippendorff", "plotly")
# A spreadsheet would take text that begins so for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# How plotly's source sets the text of a style element.
STYLE_TEXT = re.compile(r"\.textContent='((?:[^'\\]|\\.)*)'")

TABLE_TITLES = {
    "method_means": "What people say of each method",
    "agreement": "How well people agree with one another",
    "correlations": "How well metrics agree with people",
    "pairwise_accuracy": "How often a metric prefers what people prefer",
    "metric_comparisons": "Whether one metric agrees better than another",
    "leaderboard": "Ranking by side-by-side answers",
    "win_rates": "Wins, ties and losses",
    "run": "How this report was made",
}


def file_hashes(paths: Mapping[str, Path]) -> dict[str, str]:
    """Return the SHA-256 of each input by its part in the analysis and its name."""
    return {
        f"{part} ({path.name})": hashlib.sha256(path.read_bytes()).hexdigest()
        for part, path in paths.items()
    }


def check_folder(out: Path) -> None:
    """Refuse a file where a folder should be; asked before anything is computed."""
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
) -> pd.DataFrame:
    """Return what is needed to make the same report again, as key and value."""
    rows = {
        "plumbline": VERSION,
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
        "seed": options.seed,
        "resamples": options.resamples,
        "resample": options.resample or resample_default,
        "confidence": options.confidence,
        "levels": ", ".join(options.levels),
        "coefficients": ", ".join(options.coefficients),
        "epsilon": options.epsilon,
        "scale": "{}:{}".format(*options.scale) if options.scale else "",
        "excluded methods": ", ".join(options.exclude_methods),
        "date": date,
        "command": command,
        **{f"sha256 of {name}": digest for name, digest in sorted(hashes.items())},
    }
    return pd.DataFrame(
        {"key": list(rows), "value": [str(value) for value in rows.values()]}
    )


def write_report(
    analysis: Analysis, *, out: Path, title: str, run: pd.DataFrame
) -> Path:
    """Write report.html, report.json and tables/ into `out`.

    Everything is built in a temporary folder beside it and moved into place at the end:
    a failure leaves nothing half-written, and an older report stays until then. Files
    in `out` that this function does not write are kept.

    Parameters
    ----------
    analysis
        Tables, cells and notes.
    out
        The folder; it is created.
    title
        Heading of the page.
    run
        From `run_table`.

    Returns
    -------
    pathlib.Path
        The page.

    Raises
    ------
    OptionError
        When nothing can be written there.
    """
    check_folder(out)
    staging = _staging(out)
    run = _with_resampled(run, analysis)
    try:
        tables = {**analysis.tables, "run": run}
        (staging / "tables").mkdir()
        for name, frame in tables.items():
            _write(staging / "tables" / f"{name}.csv", as_csv(frame))
            _write(staging / "tables" / f"{name}.tex", latex.table(frame))
        _write(staging / "report.json", _as_json(title, analysis, run))
        _write(staging / "report.html", as_html(analysis, title=title, run=run))
        _move(staging, out)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return out / "report.html"


def _staging(out: Path) -> Path:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(prefix=".report-", dir=out.parent))
    except OSError as error:
        raise OptionError(
            f"--out: {str(out)!r}: expected a place to write to ({error.strerror})"
        ) from error


def _with_resampled(run: pd.DataFrame, analysis: Analysis) -> pd.DataFrame:
    """Add what was drawn for the intervals of each table, below what was asked for."""
    rows = [
        {"key": f"resample {table}", "value": "+".join(parts)}
        for table, parts in sorted(analysis.resampled.items())
    ]
    asked = 1 + int((run["key"] == "resample").argmax())
    return pd.concat(
        [run[:asked], pd.DataFrame(rows, columns=run.columns), run[asked:]],
        ignore_index=True,
    )


def _move(staging: Path, out: Path) -> None:
    """Move the new files into place and remove the tables of an older report."""
    (out / "tables").mkdir(parents=True, exist_ok=True)
    for name in TABLE_TITLES:
        for suffix in (".csv", ".tex"):
            (out / "tables" / f"{name}{suffix}").unlink(missing_ok=True)
    for folder in (staging / "tables", staging):
        for path in sorted(folder.iterdir()):
            if path.is_file():
                path.replace(out / path.relative_to(staging))


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="")


def as_csv(frame: pd.DataFrame) -> str:
    """Return a table as CSV: full precision, empty for undefined, no formulas.

    Text that a spreadsheet would run as a formula gets an apostrophe before it.
    """
    safe = frame.copy()
    for column in safe.columns:
        if not pd.api.types.is_numeric_dtype(safe[column]):
            safe[column] = safe[column].map(_defused)
    text: str = safe.to_csv(index=False, lineterminator="\n")
    return text


def _defused(value: object) -> object:
    if isinstance(value, str) and value.startswith(FORMULA):
        return f"'{value}"
    return value


def _as_json(title: str, analysis: Analysis, run: pd.DataFrame) -> str:
    content = {
        "title": title,
        "claims": list(claims.sentences(analysis.tables, analysis.permutations)),
        "limits": list(claims.limits(analysis.tables, analysis.permutations)),
        "notes": list(analysis.notes),
        "tables": {
            name: _records(frame)
            for name, frame in {**analysis.tables, "run": run}.items()
        },
    }
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return rows as plain values; undefined numbers are null."""
    rows = frame.astype(object).to_dict("records")
    return [{str(key): _plain(value) for key, value in row.items()} for row in rows]


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return None if value is pd.NA else value


def as_html(analysis: Analysis, *, title: str, run: pd.DataFrame) -> str:
    """Return the whole page; it needs nothing else to be read."""
    environment = Environment(
        loader=PackageLoader("analysis"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    values = dict(zip(run["key"], run["value"], strict=True))
    return environment.get_template("report.html").render(
        title=title,
        run=values,
        claims=claims.sentences(analysis.tables, analysis.permutations),
        limits=claims.limits(analysis.tables, analysis.permutations),
        notes=analysis.notes,
        date=_readable(values["date"]),
        drawn=_drawn(analysis),
        figures=figures.all_figures(analysis.tables, analysis.cells),
        plotly=figures.plotly_source(),
        tables=[
            _table_for_page(name, frame)
            for name, frame in {**analysis.tables, "run": run}.items()
        ],
        version=VERSION,
    )


def _readable(date: str) -> str:
    return date.replace("T", " ").replace("+00:00", " UTC")


def _drawn(analysis: Analysis) -> list[str]:
    """Return each unit that was resampled, with the tables it stands behind."""
    tables: dict[str, list[str]] = {}
    for table, parts in sorted(analysis.resampled.items()):
        tables.setdefault(" and ".join(parts), []).append(table)
    return [f"{unit} for {', '.join(names)}" for unit, names in tables.items()]


def _table_for_page(name: str, frame: pd.DataFrame) -> dict[str, Any]:
    numeric = [pd.api.types.is_numeric_dtype(frame[c]) for c in frame.columns]
    columns = [
        [
            _with_true_minus(text) if is_number else text
            for text in column_texts(frame[c])
        ]
        for c, is_number in zip(frame.columns, numeric, strict=True)
    ]
    return {
        "name": name,
        "title": TABLE_TITLES.get(name, name.replace("_", " ").capitalize()),
        "columns": list(zip(frame.columns, numeric, strict=True)),
        "rows": [
            list(zip(row, numeric, strict=True)) for row in zip(*columns, strict=True)
        ],
    }


def _with_true_minus(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}")


def content_security_policy(html: str) -> str:
    """Return the strictest policy under which this page works.

    Scripts and styles run only if their text is one of the page's own, by hash. plotly
    adds an empty style element and fills it through the object model, which the hash
    of the empty text admits, and one whose text stands in its source; it also sets
    style attributes on what it draws.
    """
    scripts = [
        _hash(text) for text in re.findall(r"<script>(.*?)</script>", html, re.S)
    ]
    own = re.findall(r"<style>(.*?)</style>", html, re.S)
    styles = [_hash(text) for text in (*own, *STYLE_TEXT.findall(html), "")]
    return "; ".join(
        [
            "default-src 'none'",
            "img-src data: blob:",
            f"script-src {' '.join(scripts)}",
            f"style-src-elem {' '.join(styles)}",
            "style-src-attr 'unsafe-inline'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'self'",
        ]
    )


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
