"""The files, commands, options and settings that documentation names.

Every check takes a text and yields the names in it that do not exist, each with
its line.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.core.management import get_commands, load_command_class

from analysis.commands.arguments import parser as analysis_parser
from evalcore.management.command_line import NAMES, joined
from tests.variables import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("analysis", "annotate", "evalcore")
FOLDERS = (
    *PACKAGES,
    "benchmarks",
    "docs",
    "fixtures",
    "plumbline",
    "templates",
    "tests",
)
PATH = re.compile(
    r"(?<![\w./<>*{-])(?:[\w.-]+/)*[\w.-]+\.(?:py|js|css|md|toml)\b|(?<![\w./<>*{-])(?:[\w.-]+/)+[\w.-]*"
)
# Endings of files that pages name without a folder only where they are ours.
OURS = (".py", ".js", ".md", ".toml")
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
VARIABLE = re.compile(
    r"(?<![\w./<-])(?:[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b|[A-Z]{3,}(?==))"
)
LINK = re.compile(r"\]\((?!https?://)([^)\s#]*)(?:#([^)\s]+))?\)")
HEADING = re.compile(r"^#+ (.+)$", re.M)
SPAN = re.compile(r"`([^`]+)`")
# Options and variables of other programs.
FOREIGN = {
    "--hypothesis-profile",
    "--queues",
    "--concurrency",
    "--reasoning-parser",
    "OLLAMA_CONTEXT_LENGTH",
    "OLLAMA_NUM_PARALLEL",
    "PLUMBLINE_ADDRESS",  # of a user's script
    "PLUMBLINE_TOKEN",
}
# Lines that begin with other programs, whose options are not checked.
OTHERS = re.compile(
    r"\s*(?:apt-get|useradd|runuser|openssl|curl|systemctl|journalctl|certbot|aws|uvx"
    r"|alias compose|compose|vllm|ollama)\b"
)


@dataclass(frozen=True)
class Name:
    """A name that stands for nothing."""

    line: int
    name: str
    why: str

    def __str__(self) -> str:
        return f"{self.line}: {self.name}: {self.why}"


def wrong_names(page: Path) -> list[Name]:
    """Return every name in a page that stands for nothing, in order."""
    text = page.read_text("utf-8")
    checks = (_paths, _targets, _commands, _scripts, _options, _variables)
    names = {name for check in checks for name in check(text)}
    names.update(_links(text, page.parent))
    return sorted(names, key=lambda one: (one.line, one.name))


def wrong_places(page: Path) -> list[Name]:
    """Return the links and files in a page that do not exist.

    A decision describes its time: its functions and options may have gone since.
    """
    text = page.read_text("utf-8")
    names = {*_links(text, page.parent), *_paths(text)}
    return sorted(names, key=lambda one: one.line)


def _line(text: str, position: int, first: int = 1) -> int:
    return first + text.count("\n", 0, position)


def _code(text: str) -> Iterator[tuple[int, str]]:
    """Yield what is written as code, line by line, with the line's number."""
    paragraph: list[str] = []
    fenced = False
    lines = [*text.splitlines(), ""]
    for number, line in enumerate(lines, 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or (line.startswith("    ") and not paragraph):
            yield from _whole(number, lines)
        elif line.strip() and line[0] not in "|#":
            paragraph.append(line)
            continue
        else:
            yield from _spans(line, number)
        yield from _spans("\n".join(paragraph), number - len(paragraph))
        paragraph = []


def _whole(number: int, lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield a line of a block with its continuation lines, and without its comment."""
    if number > 1 and lines[number - 2].endswith("\\"):
        return  # came with the line before
    whole, following = lines[number - 1], number
    while whole.endswith("\\") and following < len(lines):
        whole = whole[:-1] + lines[following]
        following += 1
    yield number, re.split(r"\s#\s", whole)[0]


def _spans(text: str, first: int) -> Iterator[tuple[int, str]]:
    for span in SPAN.finditer(text):
        yield _line(text, span.start(), first), " ".join(span[1].split())


def sources() -> list[Path]:
    """Return the modules of our packages."""
    return [path for name in PACKAGES for path in sorted((ROOT / name).rglob("*.py"))]


# Files -------------------------------------------------------------------------------


@cache
def _tree() -> frozenset[str]:
    """Return every path of the tree, and every end of one that names a folder or file.

    Pages name a module by its folder and name, or by its name alone.
    """
    found = {path.name for path in ROOT.iterdir()} | {
        f"{path.name}/" for path in ROOT.iterdir() if path.is_dir()
    }
    for folder in (*FOLDERS, ".ci"):
        for path in [ROOT / folder, *(ROOT / folder).rglob("*")]:
            parts = path.relative_to(ROOT).parts
            end = "/" if path.is_dir() else ""
            found |= {"/".join(parts[i:]) + end for i in range(len(parts))}
    return frozenset(found)


def _paths(text: str) -> Iterator[Name]:
    for line, code in _code(text):
        for match in PATH.finditer(code):
            path = match[0]
            ours = path.split("/")[0] in FOLDERS or path.endswith(OURS)
            # One beside placeholders, or in an address, is somebody else's.
            around = next(word for word in code.split() if path in word)
            if not ours or "://" in around or set(around) & set("<>*{}"):
                continue
            if path not in _tree() and f"{path}/" not in _tree():
                yield Name(line, path, "no such file or folder in the tree")


def _links(text: str, folder: Path) -> Iterator[Name]:
    """Yield links of a page in `folder` that lead nowhere."""
    for match in LINK.finditer(text):
        line, (target, anchor) = _line(text, match.start()), match.groups()
        if not (folder / target).exists():
            yield Name(line, target, "the link leads nowhere")
        elif anchor:
            page = (folder / target).read_text("utf-8") if target else text
            if anchor not in _anchors(page):
                yield Name(line, f"{target}#{anchor}", "the page has no such heading")


def _anchors(page: str) -> set[str]:
    """Return the anchors of the headings of a page."""
    kept = (re.sub(r"[^\w\s-]", "", title.lower()) for title in HEADING.findall(page))
    return {re.sub(r"\s", "-", title.strip()) for title in kept}


# Commands ----------------------------------------------------------------------------


@cache
def targets() -> frozenset[str]:
    """Return the targets of the Makefile."""
    text = (ROOT / "Makefile").read_text("utf-8")
    return frozenset(re.findall(r"^([a-z-]+):(?!=)", text, re.M))


def _targets(text: str) -> Iterator[Name]:
    for line, code in _code(text):
        for match in re.finditer(r"(?:^|[\s`])make((?: [a-z][a-z-]*)+)\b", code):
            for word in match[1].split():
                if word not in targets():
                    yield Name(line, f"make {word}", "the Makefile has no such target")


@cache
def _options_of(command: str) -> frozenset[str]:
    """Return the options of a command of manage.py."""
    app = get_commands()[command]
    loaded = load_command_class(app, command) if isinstance(app, str) else app
    return _known(loaded.create_parser("manage.py", command))


def _known(parser) -> frozenset[str]:
    """Return the options of a command, and of those that stand below it."""
    found = {o for action in parser._actions for o in action.option_strings}
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found = found.union(*map(_known, action.choices.values()))
    return frozenset(found)


@cache
def _analyses() -> dict[str, frozenset[str]]:
    """Return the commands of the analysis with their options."""
    (choice,) = [a for a in analysis_parser()._actions if a.dest == "command"]
    return {name: _known(parser) for name, parser in choice.choices.items()}


def _commands(text: str) -> Iterator[Name]:
    programs = r"(?:^|(?<!from)\s|/)(manage\.py|plumbline|plumbline-analysis)"
    called = rf"{programs} ([a-z][\w-]*)([^|;`]*)"
    for line, code in _code(text):
        for match in re.finditer(called, code):
            program, command, rest = match.groups()
            known = _analyses().get(command)
            first = joined([command, *rest.split()])[0]
            own = NAMES.get(first, first)
            if known is None and program != "plumbline-analysis":
                known = _options_of(own) if own in get_commands() else None
                known = known or (frozenset() if command == "help" else None)
            if known is None:
                yield Name(line, f"{program} {command}", "no such command")
                continue
            for option in set(OPTION.findall(rest)) - known:
                yield Name(line, option, f"{program} {command} has no such option")


def _scripts(text: str) -> Iterator[Name]:
    """Yield options that a benchmark or a module of tests lacks."""
    called = r"(benchmarks/\w+\.py|-m (?:benchmarks|tests)(?:\.\w+)+)([^|;`]*)"
    for line, code in _code(text):
        for match in re.finditer(called, code):
            name = match[1].removeprefix("-m ").removesuffix(".py").replace(".", "/")
            if (ROOT / name / "__main__.py").is_file():
                name += "/__main__"
            path = ROOT / f"{name}.py"
            source = path.read_text("utf-8") if path.is_file() else ""
            own = match[2].split(" python ")[0]  # another program may follow
            for option in set(OPTION.findall(own)) - set(OPTION.findall(source)):
                yield Name(line, option, f"{name}.py has no such option")


@cache
def _all_options() -> frozenset[str]:
    """Return the options of all that can be called here."""
    own = [name for name, app in get_commands().items() if "django" not in str(app)]
    found = {option for name in own for option in _options_of(name)}
    found |= {option for known in _analyses().values() for option in known}
    scripts = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "tests").rglob("*.py")]
    for path in scripts:
        calls = re.findall(r'add_argument\(\s*"(--[\w-]+)"', path.read_text("utf-8"))
        found |= set(calls)
    return frozenset(found)


def _options(text: str) -> Iterator[Name]:
    for line, code in _code(text):
        if OTHERS.match(code):
            continue
        for option in OPTION.findall(code):
            builtin = any(
                one in code and option in _options_of(one)
                for one in ("dumpdata", "check")
            )
            if option not in _all_options() | FOREIGN and not builtin:
                yield Name(line, option, "nothing here has such an option")


@cache
def _words() -> frozenset[str]:
    """Return the words in capitals of our own source, Makefile and deployment."""
    deployed = (ROOT / "deploy").glob("*.*")
    files = [ROOT / "Makefile", *sources(), *(p for p in deployed if p.is_file())]
    texts = [path.read_text("utf-8") for path in files]
    return frozenset(re.findall(r"\b[A-Z][A-Z0-9_]{2,}\b", "\n".join(texts)))


def _variables(text: str) -> Iterator[Name]:
    for line, code in _code(text):
        for name in VARIABLE.findall(code):
            if name not in ENVIRONMENT | _words() | FOREIGN:
                yield Name(line, name, "no such setting, variable or constant")
