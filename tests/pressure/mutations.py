"""Valid files made wrong, in ways that people and attackers find.

What is drawn follows from the random numbers alone: a seed gives the same files.
"""

import csv
import io
import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

# Values that programs stumble over, wherever a cell, a key or a value stands.
TEXTS = (
    "",
    " ",
    "0",
    "-1",
    "1e999",
    "NaN",
    "null",
    "９",
    "²",
    "9" * 5000,
    "a" * 10_000,
    "\0",
    "\ud800",
    "ﷺ" * 300,
    "../../etc/passwd",
    "/etc/passwd",
    "=1+2",
    "'; DROP TABLE x; --",
    "%s %(name)s {0}",
    "</script><script>alert(1)</script>",
    '"',
    ",",
    "\r",
    "a\nb",
    "!!python/object/apply:os.system [id]",
    "&a [*a, *a]",
)
VALUES: tuple[Any, ...] = (
    None,
    True,
    0,
    -1,
    2**31,
    2**63,
    10**30,
    -(10**400),
    float("nan"),
    float("inf"),
    [],
    {},
    {"a": {"b": [1]}},
    *TEXTS,
)
SNIPPETS = (
    b"\0",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\r",
    b'"',
    b",",
    b"[" * 2000,
    b'{"a":' * 2000,
    b",x" * 5000,
    b"\n" * 5000,
    b"\xed\xa0\x80",
    b"\xff\xff\xff\xff",
    b"\x80\x00\x00\x00",
    b"&a [&b [*a]]",
    b"#EXTM3U\nfile:///etc/passwd\n",
)
PASSWD = Path("/etc/passwd")


def mutate(folder: Path, chance: random.Random, *, is_whole: bool) -> None:
    """Make some of the files below a folder wrong, in place.

    Where the folder is imported as a whole, links and pipes may lie in it. The file
    that somebody names may be one, and is waited for.
    """
    of_files = OF_FILES + OF_FOLDERS if is_whole else OF_FILES
    for _ in range(chance.choice((1, 1, 1, 2, 4))):
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        files = [path for path in files if not path.is_symlink()]
        if not files:
            return
        path = chance.choice(files)
        if chance.random() < 0.08:
            chance.choice(of_files)(path, files, chance)
        else:
            path.write_bytes(_changed(path, chance))


def _changed(path: Path, chance: random.Random) -> bytes:
    """Return another content: of the file's own form where it has one."""
    data = path.read_bytes()
    if chance.random() < 0.7:
        try:
            return _changed_text(path.suffix.lower(), data.decode("utf-8-sig"), chance)
        except (ValueError, RecursionError, csv.Error):
            pass  # it has been changed before, or never was such a text
    for _ in range(chance.choice((1, 1, 3, 8))):
        data = chance.choice(OF_BYTES)(data, chance)
    return data


def _changed_text(suffix: str, text: str, chance: random.Random) -> bytes:
    if suffix == ".json":
        changed = json.dumps(_other(json.loads(text), chance))
    elif suffix == ".jsonl":
        lines = text.splitlines()
        place = chance.randrange(len(lines))
        lines[place] = json.dumps(_other(json.loads(lines[place]), chance))
        changed = "\n".join(lines)
    elif suffix in (".csv", ".tsv"):
        changed = _other_cells(text, "\t" if suffix == ".tsv" else ",", chance)
    else:
        words = text.split(" ")
        words[chance.randrange(len(words))] = chance.choice(TEXTS)
        changed = " ".join(words)
    coding = chance.choice(("utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "gbk"))
    return changed.encode(coding, "surrogatepass" if coding == "utf-8" else "replace")


def _other(value: Any, chance: random.Random) -> Any:
    """Return a JSON value with one of its parts replaced, dropped or doubled."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        key = chance.choice(sorted(value))
        rest = {name: part for name, part in value.items() if name != key}
        what = chance.random()
        if what < 0.1:
            return rest
        if what < 0.2:
            return rest | {chance.choice(TEXTS): value[key]}
        return value | {key: _other(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        place = chance.randrange(len(value))
        what = chance.random()
        if what < 0.1:
            return value[:place] + value[place + 1 :]
        if what < 0.2:
            return value + [value[place]] * chance.choice((1, 200))
        return [*value[:place], _other(value[place], chance), *value[place + 1 :]]
    return chance.choice(VALUES)


def _other_cells(text: str, separator: str, chance: random.Random) -> str:
    rows = list(csv.reader(io.StringIO(text), delimiter=separator))
    place = chance.randrange(len(rows))
    row = rows[place]
    what = chance.random()
    if what < 0.1:
        rows.insert(place, list(row))
    elif what < 0.2 and row:
        del row[chance.randrange(len(row))]
    elif what < 0.3:
        row += [chance.choice(TEXTS)] * chance.choice((1, 3000))
    elif row:
        row[chance.randrange(len(row))] = chance.choice(TEXTS)
    out = io.StringIO()
    csv.writer(out, delimiter=separator).writerows(rows)
    return out.getvalue()


# Of bytes -----------------------------------------------------------------------------


def _place(data: bytes, chance: random.Random) -> int:
    """Return a place, more often near the start, where formats say what they are."""
    return int(len(data) * chance.random() ** 3)


def _flip(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + bytes([chance.randrange(256)]) + data[at + 1 :]


def _cut(data: bytes, chance: random.Random) -> bytes:
    return data[: int(len(data) * chance.random())]


def _without(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + data[at + chance.choice((1, 4, 100)) :]


def _put(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    return data[:at] + chance.choice(SNIPPETS) + data[at:]


def _over(data: bytes, chance: random.Random) -> bytes:
    at, put = _place(data, chance), chance.choice(SNIPPETS)
    return data[:at] + put + data[at + len(put) :]


def _doubled(data: bytes, chance: random.Random) -> bytes:
    at = _place(data, chance)
    part = data[at : at + chance.choice((8, 200, 5000))]
    return data[:at] + part * chance.choice((2, 50)) + data[at:]


OF_BYTES: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _flip,
    _flip,
    _flip,
    _cut,
    _without,
    _put,
    _over,
    _doubled,
)

# Of whole files -----------------------------------------------------------------------

Files = list[Path]


def _link(path: Path, files: Files, chance: random.Random) -> None:
    path.unlink()
    path.symlink_to(chance.choice((PASSWD, Path("/dev/zero"), path.parent, path)))


def _folder(path: Path, files: Files, chance: random.Random) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path, files: Files, chance: random.Random) -> None:
    path.unlink()
    os.mkfifo(path)


def _swapped(path: Path, files: Files, chance: random.Random) -> None:
    path.write_bytes(chance.choice(files).read_bytes())


def _renamed(path: Path, files: Files, chance: random.Random) -> None:
    name = chance.choice(
        (b"\xff.json", b"a\nb.png", b"shot_99999999999.png", b"x" * 250, b"=1.csv")
    )
    path.rename(os.fsdecode(os.fsencode(path.parent) + b"/" + name))


def _copied(path: Path, files: Files, chance: random.Random) -> None:
    copy = path.with_name(chance.choice(("2", "00", "shot_1", "x")) + path.suffix)
    if not copy.exists():
        copy.write_bytes(path.read_bytes())


def _gone(path: Path, files: Files, chance: random.Random) -> None:
    path.unlink()


OF_FILES = (_folder, _swapped, _renamed, _copied, _gone)
OF_FOLDERS = (_link, _pipe)
