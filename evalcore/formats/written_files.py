"""Writing of exported files: all or none, without overwriting others."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from analysis.problems import InputError, Problem
from evalcore.formats.json_files import refuse

# Contents of files, by path below the target folder.
Files = dict[str, str]


@dataclass
class Written:
    """Summary of an export."""

    files: int
    new: int = 0
    replaced: int = 0

    def line(self, what: str) -> str:
        """Return the summary as a sentence; `what` describes the content."""
        files = f"{self.files} file{'s' * (self.files != 1)}"
        if not self.new and not self.replaced:
            return f"Nothing new: {what} in {files}, all unchanged."
        return f"Wrote {what} to {files} ({self.new} new, {self.replaced} replaced)."


def as_json(value: Any) -> str:
    r"""Return JSON in the style of ViStoryBench's programs, with keys in order."""
    return json.dumps(value, indent=4, sort_keys=True)


def as_lines(rows: Iterable[Any], **how: Any) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, **how) + "\n" for row in rows)


def write_files(root: Path, files: Mapping[str, str], *, replace: bool) -> Written:
    """Write files below a folder; a second call changes nothing.

    Every file is first written beside its place, so that no interruption leaves a
    partly written file.
    """
    written = Written(len(files))
    problems: list[Problem] = []
    todo: dict[Path, bytes] = {}
    for name, text in sorted(files.items()):
        problem = _in_the_way(root, name)
        if problem:
            problems.append(Problem(str(root / name), problem))
            continue
        path, data = root / name, text.encode()
        there = path.read_bytes() if path.exists() else None
        if there is None:
            written.new += 1
        elif there != data and not replace:
            what = "no different file at this path (--replace overwrites it)"
            problems.append(Problem(str(path), what))
        elif there != data:
            written.replaced += 1
        if there != data:
            todo[path] = data
    if problems:
        raise InputError(problems)
    _write(todo)
    return written


def _in_the_way(root: Path, name: str) -> str:
    parts = PurePosixPath(name).parts
    if not parts or name.startswith("/") or set(parts) & {"..", "."}:
        return "a path inside the folder"
    if set(name) & set("\\\0") or max(len(part.encode()) for part in parts) > 240:
        return "a valid file name"
    path = root / name
    if path.is_symlink() or path.is_dir():
        return "no link or folder at this path"
    for parent in path.parents:
        if parent == root.parent:
            break
        if parent.is_symlink() and parent != root:
            return "a path without links"
        if parent.exists() and not parent.is_dir():
            return f"a folder, not a file, at {parent}"
    return ""


def _write(todo: Mapping[Path, bytes]) -> None:
    beside = {path: path.with_name(f".{path.name}.part") for path in todo}
    try:
        for path, data in todo.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            beside[path].write_bytes(data)
        for path, part in beside.items():
            os.replace(part, path)
    except OSError as error:
        what = f"a writable folder ({error.strerror})"
        refuse(error.filename, what, cause=error)
    finally:
        for part in beside.values():
            part.unlink(missing_ok=True)
