"""Find texts that a stranger has to read twice; `make rules` runs this.

    python -m tests.plain_words [--count] [PATH ...]

reads docstrings, comments and names of tests of Python files, comments of scripts,
styles and templates, and the English texts of catalogues and pages.
"""

import argparse
import ast
import io
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# Where marks are looked for: the start of a docstring, any text, the name of a test.
FIRST, ANYWHERE, TEST_NAME = "docstring", "text", "test"
MARKS = [
    (mark["where"], re.compile(mark["pattern"]), mark["say"])
    for mark in tomllib.loads(Path(__file__).with_suffix(".toml").read_text())["mark"]
]
# Files whose words are others', or are about these words.
LEFT_OUT = (
    "tests/plain_words.",
    "LICENSE",
    "CHANGELOG.md",
    "docs/decisions/",
    "evalcore/metrics/llm_judge/prompts.toml",
    # Generated from the views, whose texts are looked at there.
    "docs/reference/openapi.yaml",
)
SUFFIXES = (".py", ".html", ".js", ".css", ".po", ".toml", ".md", ".yaml", ".txt")


@dataclass(frozen=True)
class Text:
    """A text with its place; `where` is one of the three above."""

    path: str
    line: int
    where: str
    text: str


def texts_of(path: Path) -> Iterator[Text]:
    """Yield the texts of a file that people read."""
    name = str(path.relative_to(ROOT))
    content = path.read_text("utf-8")
    if path.suffix == ".py":
        yield from _python(name, content)
    elif path.suffix == ".po":
        for match in re.finditer(r'^msgid ((?:".*"\n)+)', content, re.M):
            text = "".join(re.findall(r'"(.*)"\n', match[1]))
            yield Text(name, _line(content, match.start()), ANYWHERE, text)
    elif path.suffix in {".js", ".css"}:
        for match in re.finditer(
            r"/\*.*?\*/|(?<!:)//.*", content, re.S if path.suffix == ".css" else 0
        ):
            yield Text(name, _line(content, match.start()), ANYWHERE, match[0])
    elif path.suffix == ".html":
        for match in re.finditer(
            r"\{#.*?#\}|\{% comment.*?endcomment %\}", content, re.S
        ):
            yield Text(name, _line(content, match.start()), ANYWHERE, match[0])
    else:
        # Code and single words are names, which are a contract.
        for number, line in enumerate(content.splitlines(), 1):
            if path.suffix == ".toml" and not re.search(r"[.,;!?]( |\"|$)|#", line):
                continue
            text = re.sub(r"`[^`]*`|\"[^\" ]*\"|\(#[^)]*\)", "", line)
            yield Text(name, number, ANYWHERE, text)


def _line(content: str, position: int) -> int:
    return content.count("\n", 0, position) + 1


def _python(name: str, content: str) -> Iterator[Text]:
    is_test = name.startswith("tests/")
    for node in ast.walk(ast.parse(content)):
        if not isinstance(
            node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        ):
            continue
        line = getattr(node, "lineno", 1)
        if is_test and getattr(node, "name", "").startswith("test_"):
            yield Text(name, line, TEST_NAME, node.name)
        docstring = ast.get_docstring(node)
        if docstring:
            if not getattr(node, "name", "").startswith("test_"):
                yield Text(name, line, FIRST, docstring)
            yield Text(name, line, ANYWHERE, docstring)
    for token in tokenize.generate_tokens(io.StringIO(content).readline):
        if token.type == tokenize.COMMENT:
            yield Text(name, token.start[0], ANYWHERE, token.string)


def marks_in(text: Text) -> Iterator[tuple[str, str]]:
    """Yield the marked words of a text, each with what to write instead."""
    for where, pattern, say in MARKS:
        find = pattern.match if where == FIRST else pattern.search
        if where == text.where and (match := find(text.text)):
            yield match[0], say


def files(paths: list[str]) -> list[Path]:
    """Return the tracked files below paths that hold texts."""
    listed = subprocess.run(
        ["git", "ls-files", *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\n")
    return [
        ROOT / name
        for name in listed
        if name.endswith(SUFFIXES)
        and not name.startswith(LEFT_OUT)
        and "/migrations/" not in name
        and "/data/" not in name
        and "requirements" not in name
        and (ROOT / name).exists()
    ]


def main() -> int:
    """Print every marked text, or their number by file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", action="store_true", help="numbers only")
    parser.add_argument("paths", nargs="*")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in files(options.paths):
        for text in texts_of(path):
            for word, say in marks_in(text):
                counts[text.where] += 1
                if not options.count:
                    print(f"{text.path}:{text.line}: {word!r}: {say}")
    print(", ".join(f"{where} {n}" for where, n in counts.items()) or "no marks")
    return bool(counts)


if __name__ == "__main__":
    sys.exit(main())
