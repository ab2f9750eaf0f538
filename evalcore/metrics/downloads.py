"""Files that metrics need: what is here, and a script that fetches the rest.

The script is for a machine with network, which may be another one; it needs a shell,
curl and sha256sum. Nothing in this project fetches files itself.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from evalcore.metrics import registry
from evalcore.metrics.weights import (
    LOCK,
    VARIABLE,
    File,
    Weights,
    weights_of,
)

State = Literal["here", "missing", "wrong"]

HEAD = """\
#!/bin/sh
# Fetch weights into the folder of EVALCORE_WEIGHTS_DIR, or the one named here. Files
# that are there stay; a download that broke off is continued.
set -eu
cd "${1:-${EVALCORE_WEIGHTS_DIR:?name the folder for the weights}}"
fetch() {
  [ -e "$1" ] || { mkdir -p "$(dirname "$1")"; echo "$1"
    curl --fail --location --retry 3 --continue-at - --output "$1.part" "$2"
    mv "$1.part" "$1"; }
}
"""


@dataclass(frozen=True)
class Needed:
    """A file that metrics need, as it is on this machine."""

    weights: Weights  # the file or folder that it belongs to
    file: File
    metrics: tuple[str, ...]  # names of the metrics that need it
    # Whether it is here; `wrong` if its size, or its hash if that was asked for, is not
    # the published one.
    state: State
    fault: str = ""  # what is wrong

    @property
    def name(self) -> str:
        """Return its place below the folder that it belongs to."""
        return self.file.path.removeprefix(f"{self.weights.path}/")

    @property
    def size(self) -> str:
        """Return its size in words; empty if it is unknown."""
        return readable_size(self.file.size) if self.file.size else ""

    @property
    def source(self) -> str:
        """Return the address without the file's name, or the package or archive."""
        if self.weights.package:
            return f"in the package {self.weights.package}"
        return self.file.url.rpartition("/")[0] or "in archives, see --script"


def needed(names: Sequence[str], *, hashed: bool = False) -> list[Needed]:
    """Return the files that metrics need, each once.

    `names`: names of metrics, with or without a profile. `hashed`: whether to compare
    hashes, which reads the files; otherwise only sizes.
    """
    users: dict[Weights, list[str]] = {}
    for name in names:
        for weights in weights_of(registry.load(name)):
            users.setdefault(weights, []).append(name)
    return [
        Needed(weights, file, tuple(own), *_state(weights, file, hashed))
        for weights, own in users.items()
        for file in weights.files
    ]


def _state(weights: Weights, file: File, hashed: bool) -> tuple[State, str]:
    path = weights.find()
    found = path and weights.found_files(path)[file]
    if path is None or found is None:
        return "missing", ""
    size = found.stat().st_size
    if file.size and size != file.size:
        also = f" or {len(file.also)} other published file" if file.also else ""
        return "wrong", f"{found}: {size:,} bytes, not {file.size:,}{also}"
    fault = file.fault(found, weights.place(path)) if hashed else ""
    return ("wrong", fault) if fault else ("here", "")


@dataclass(frozen=True)
class Fetches:
    """Weights that are missing here, and the script that fetches them."""

    files: tuple[Needed, ...]

    @property
    def script(self) -> str:
        return script(self.files)

    @property
    def size(self) -> str:
        """Return the size of all files, or of those whose size is known."""
        sizes = [one.file.size for one in self.files]
        return f"{'' if all(sizes) else '≥ '}{readable_size(sum(sizes))}"

    @property
    def groups(self) -> list[tuple[Weights, list[Needed]]]:
        """Return the files by what they belong to."""
        return [
            (weights, list(group))
            for weights, group in groupby(self.files, lambda one: one.weights)
        ]


def fetches(names: Sequence[str]) -> Fetches:
    """Return the weights of metrics that are not here; those of packages are left out.

    `names`: names of metrics, with or without a profile.
    """
    files = [one for one in needed(names) if not one.weights.package]
    return Fetches(tuple(one for one in files if one.state != "here"))


def readable_size(count: int) -> str:
    """Return a number of bytes in decimal units.

    >>> readable_size(1_710_517_724), readable_size(576), readable_size(0)
    ('1.71 GB', '1 kB', '?')
    """
    if not count:
        return "?"
    for unit, factor in (("GB", 10**9), ("MB", 10**6)):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{max(1, round(count / 1000))} kB"


def script(files: Sequence[Needed]) -> str:
    """Return a shell script that fetches files and checks their hashes.

    Files inside packages are left out: installing the package brings them.
    """
    own = [one for one in files if not one.weights.package]
    return "".join([HEAD, *_fetching(own), *_checking([one.file for one in own])])


def _fetching(files: Sequence[Needed]) -> Iterator[str]:
    licences: dict[Weights, list[File]] = {}
    for one in files:
        licences.setdefault(one.weights, []).append(one.file)
    for weights, own in licences.items():
        yield f"\n# {weights.path}; licence: {weights.licence}\n"
        if weights.steps:
            yield f"[ -e {weights.path}/{weights.hub_file} ] || {{\n{weights.steps}}}\n"
        yield from (f"fetch {file.path} '{file.url}'\n" for file in own if file.url)


def _checking(files: Sequence[File]) -> Iterator[str]:
    known = [file for file in files if file.sha256]
    if known:
        yield "\nsha256sum --check <<'END'\n"
        yield from (f"{file.sha256}  {file.path}\n" for file in known)
        yield "END\n"
    if unknown := [file.path for file in files if not file.sha256]:
        yield f"# No hash is published; {VARIABLE}/{LOCK} records the first use.\n"
        yield from (f"sha256sum {path}\n" for path in unknown)
