"""Run the tests that changed files can reach: `make check`.

    python -m tests.reached -n auto

What is changed is what differs from the branch `main`, or on it from its last commit.
A test module is reached when it imports something changed, directly or not; by what
imports do not tell, see `other_ways`. A file that is no Python reaches the tests of its
folder. Where nothing is changed, or something that all rests on, every test is reached.
"""

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path, PurePath

import grimp

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("analysis", "annotate", "evalcore", "fixtures", "plumbline", "tests")
# What reads the whole tree is always run.
TREE = {"tests/test_documentation.py", "tests/test_structure.py"}
# What is no Python, and the tests that look at it.
FOLDERS = {
    "analysis": ["tests/analysis"],
    "annotate": ["tests/annotate"],
    "docs": [
        "tests/annotate/pages/test_access.py",
        "tests/evalcore/metrics",
        "tests/test_notebooks.py",
    ],
    "evalcore": ["tests/evalcore"],
    "fixtures": ["tests/fixtures"],
    "templates": ["tests/annotate"],
}
PAGES = ("annotate.urls", "evalcore.urls")
COMMANDS = re.compile(r"\.management\.commands\.(\w+)$")


def git(*words: str) -> list[str]:
    done = subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return done.stdout.splitlines()


def changed() -> list[str]:
    """Return the files that differ from `main`, new ones included."""
    (base,) = git("merge-base", "HEAD", "main") or ["HEAD"]
    new = git("ls-files", "--others", "--exclude-standard")
    return git("diff", "--name-only", base) + new


def module(path: PurePath) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def path_of(name: str) -> str:
    return name.replace(".", "/") + ".py"


def other_ways(name: str, text: str, modules: set[str]) -> Iterator[str]:
    """Yield what a test module reaches without an import: pages and commands."""
    if re.search(r"client\b|live_server|\breverse\(", text, re.I):
        yield from PAGES
    for other in modules:
        command = COMMANDS.search(other)
        if command and re.search(rf"\b{command[1]}\b", text):
            yield other


def imports() -> grimp.ImportGraph:
    """Return who imports what, with what tests reach in other ways."""
    graph = grimp.build_graph(*PACKAGES)
    for name in graph.find_descendants("tests"):
        file = ROOT / path_of(name)
        text = file.read_text("utf-8") if file.exists() else ""
        for other in other_ways(name, text, graph.modules):
            graph.add_import(importer=name, imported=other)
    return graph


def reached_by(path: str, graph: grimp.ImportGraph) -> set[str] | None:
    """Return the test files that a file can reach; None means all."""
    file = PurePath(path)
    if file.suffix == ".md" and file.parent == PurePath():
        return set()  # the tests of the tree read it
    if file.suffix != ".py":
        tests = FOLDERS.get(file.parts[0])
        return set(tests) if tests and len(file.parts) > 1 else None
    if file.name == "conftest.py":
        return {str(file.parent)}
    name = module(file)
    if name not in graph.modules:
        return set()  # a script, or gone
    found = graph.find_downstream_modules(name) | {name}
    return {
        path_of(one)
        for one in found
        if one.startswith("tests.") and one.rpartition(".")[2].startswith("test_")
    } | ({path} if file.parts[0] == "analysis" else set())


def closeness(test: str, paths: list[str]) -> int:
    """Return how many folders a test at most shares with what was changed."""
    own = PurePath(test.removeprefix("tests/")).parts
    return max((shared(own, PurePath(path).parts) for path in paths), default=0)


def shared(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def tests_below(path: str) -> list[str]:
    """Return the test files of a folder; where it has doctests only, itself."""
    found = [str(file.relative_to(ROOT)) for file in (ROOT / path).rglob("test_*.py")]
    return found or [path]


def reached(paths: list[str]) -> list[str]:
    """Return what pytest is to run after these files have changed, closest first."""
    graph = imports()
    found = [reached_by(path, graph) for path in paths]
    if not found or None in found:
        found.append({"tests", "analysis"})
    there = [
        path for path in TREE.union(*filter(None, found)) if (ROOT / path).exists()
    ]
    files = {file for path in there for file in tests_below(path)}
    return sorted(files, key=lambda path: (-closeness(path, paths), path))


if __name__ == "__main__":
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-m",
        "not browser and not slow",
        "--most-seconds=100",
    ]
    sys.exit(subprocess.call([*command, *sys.argv[1:], *reached(changed())], cwd=ROOT))
